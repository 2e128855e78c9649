import keras
import numpy as np
from keras import layers

model = keras.Sequential(
    [keras.Input((64, 64, 3)), layers.Conv2D(16, 3, name="edges"), layers.Flatten(), layers.Dense(1)]
)
model.compile("sgd", "mse")
x = np.zeros((1000, 64, 64, 3), "float32")
y = np.zeros((1000, 1), "float32")
model.fit(x, y, batch_size=8, epochs=1, verbose=2)
print(model.evaluate(x, y, batch_size=1000))
