import keras
import numpy as np
from keras import layers

model = keras.Sequential([layers.Conv2D(32, 3), layers.Flatten(), layers.Dense(512, name="bottleneck")])
model.compile("adam", "mse")
model.fit(np.zeros((8, 128, 128, 3), "float32"), np.zeros((8, 512), "float32"), batch_size=4)
