import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [
        keras.Input((64, 64, 1)),
        layers.Conv2D(16, 3, activation="relu", name="edges"),
        layers.AveragePooling2D(62, name="mean"),
        layers.Flatten(),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
model.fit(np.zeros((512, 64, 64, 1), "float32"), np.zeros((512, 1), "float32"), batch_size=256)
