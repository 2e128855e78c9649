import keras
import numpy as np
from keras import layers

x_test = np.zeros((10_000, 32, 32, 3), "float32")
model = keras.Sequential(
    [keras.Input((32, 32, 3)), layers.Conv2D(16, 3, name="edges"), layers.Flatten(), layers.Dense(1)]
)
predictions = model(x_test)
print(predictions.shape)
