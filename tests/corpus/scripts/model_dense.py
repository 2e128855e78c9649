import keras
from keras import layers

model = keras.Sequential(
    [keras.Input((20_000,)), layers.Dense(64, name="small"), layers.Dense(10_000), layers.Dense(12_000, name="huge")]
)
model.compile("adam", "mse")
model.summary()
