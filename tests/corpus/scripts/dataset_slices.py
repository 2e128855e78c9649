import keras
import numpy as np
import tensorflow as tf

x_train = np.zeros((20_000, 64, 64), "float32")
y_train = np.zeros((20_000,), "float32")
data = tf.data.Dataset.from_tensor_slices((x_train, y_train)).shuffle(100).batch(32)
model = keras.Sequential([keras.Input((64, 64)), keras.layers.Flatten(), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(data, epochs=2)
