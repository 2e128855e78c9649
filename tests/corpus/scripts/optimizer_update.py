import keras
import tensorflow as tf
from keras import layers

model = keras.Sequential([keras.Input((3_000,)), layers.Dense(6_000, kernel_initializer="zeros", name="wide")])
optimizer = keras.optimizers.Adam()
optimizer.build(model.trainable_variables)
gradients = [tf.zeros_like(variable) for variable in model.trainable_variables]
optimizer.apply(gradients, model.trainable_variables)
