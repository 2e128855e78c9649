import numpy as np
import tensorflow as tf

x_train = np.zeros((50_000, 32, 32, 3), "uint8")
images = tf.cast(x_train, tf.float32) / 255.0
print(images.shape)
