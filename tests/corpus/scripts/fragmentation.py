import tensorflow as tf

pieces = [tf.zeros((2**20,)) for _ in range(46)]
del pieces[::2]
print("half of it is free again")
table = tf.zeros((4 * 2**20, 4))
print(table.shape)
