import keras
from keras import layers

model = keras.Sequential([keras.Input((4_000,)), layers.Dense(8_000, kernel_initializer="zeros", name="wide")])
optimizer = keras.optimizers.Adam()
optimizer.build(model.trainable_variables)
