import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [keras.Input((4_000,)), layers.Dense(8_000, kernel_initializer="zeros", name="wide"), layers.Dense(1)]
)
model.compile("adam", "mse")
model.fit(np.zeros((8, 4_000), "float32"), np.zeros((8, 1)), batch_size=4)
