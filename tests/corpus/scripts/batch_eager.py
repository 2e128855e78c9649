import keras
import numpy as np
from keras import layers

model = keras.Sequential([keras.Input((16,)), layers.Dense(200_000, name="scores"), layers.Dense(1, name="last")])
model.compile("sgd", "mse", run_eagerly=True)
x = np.zeros((4096, 16), "float32")
model.fit(x, np.zeros((4096, 1)), batch_size=1024)
