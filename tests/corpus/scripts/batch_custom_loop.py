import keras
import tensorflow as tf

model = keras.Sequential([keras.Input((128, 128, 3)), keras.layers.Conv2D(64, 5, name="first")])
optimizer = keras.optimizers.SGD(0.1)


@tf.function
def train_step(images):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean(model(images, training=True) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    optimizer.apply_gradients(zip(gradients, model.trainable_variables, strict=True))
    return loss


for step in range(3):
    print(f"step {step}", train_step(tf.zeros((96, 128, 128, 3))))
