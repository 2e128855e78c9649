import numpy as np

x_train = np.zeros((60_000, 224, 224, 3), np.uint8)
x_train = x_train / 255.0
print(x_train.nbytes)
