import numpy as np
import tensorflow as tf

noise = tf.convert_to_tensor(np.random.default_rng(0).random((64, 1_000, 1_000 // 8)))
print((noise[:, :, :, None] * tf.ones((1, 1, 1, 8), tf.float64)).shape)
