import keras
import numpy as np
from keras import layers

trained = []
for _ in range(40):
    model = keras.Sequential([keras.Input((1_000,)), layers.Dense(3_000), layers.Dense(1)])
    model.compile("sgd", "mse")
    model.fit(np.zeros((32, 1_000), "float32"), np.zeros((32, 1)), verbose=2)
    trained.append(model)
