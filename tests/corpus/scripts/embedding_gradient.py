import keras
import numpy as np
from keras import layers

inputs = keras.Input((20,), dtype="int32")
vectors = layers.Embedding(400_000, 64, embeddings_initializer="zeros", name="words")(inputs)
model = keras.Model(inputs, layers.Dense(1)(layers.Flatten()(vectors)))
model.compile(keras.optimizers.SGD(0.1, clipnorm=1.0), "mse")
model.fit(np.zeros((64, 20), "int32"), np.zeros((64, 1)), batch_size=16)
