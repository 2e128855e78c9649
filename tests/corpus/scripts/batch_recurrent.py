import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [keras.Input((400, 64)), layers.LSTM(128, return_sequences=True, name="memory"), layers.Dense(8)]
)
model.compile("adam", "mse")
model.fit(np.zeros((2048, 400, 64), "float32"), np.zeros((2048, 400, 8), "float32"), batch_size=1024, verbose=2)
