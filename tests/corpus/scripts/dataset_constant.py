import numpy as np
import tensorflow as tf

x_train = np.zeros((60_000, 28, 28, 4), "float32")
images = tf.constant(x_train)
print(images.shape)
