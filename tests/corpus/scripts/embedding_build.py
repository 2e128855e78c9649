import keras
from keras import layers

model = keras.Sequential(
    [keras.Input((20,), dtype="int32"), layers.Embedding(2_000_000, 64, name="words"), layers.GRU(8)]
)
model.compile("sgd", "mse")
