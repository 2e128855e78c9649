import keras
import numpy as np
from keras import layers

inputs = keras.Input((6000, 16))
attended = layers.MultiHeadAttention(4, 8, name="attention")(inputs, inputs)
model = keras.Model(inputs, layers.Dense(1)(attended))
model.compile("adam", "mse")
x = np.zeros((8, 6000, 16), "float32")
model.fit(x, np.zeros((8, 6000, 1), "float32"), batch_size=2)
