import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [
        keras.Input((160, 160, 160, 1)),
        layers.Conv3D(16, 3, padding="same", name="scan"),
        layers.GlobalAveragePooling3D(),
        layers.Dense(1),
    ]
)
model.compile("sgd", "mse")
model.fit(np.zeros((4, 160, 160, 160, 1), "float32"), np.zeros((4, 1), "float32"), batch_size=1)
