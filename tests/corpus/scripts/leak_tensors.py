import keras
import tensorflow as tf

model = keras.Sequential([keras.Input((256,)), keras.layers.Dense(1024, name="wide"), keras.layers.Dense(1)])
optimizer = keras.optimizers.SGD(0.1)
history = []
for step in range(1000):
    x = tf.random.normal((2048, 256))
    with tf.GradientTape() as tape:
        output = model(x, training=True)
        loss = tf.reduce_mean(output**2)
    optimizer.apply(tape.gradient(loss, model.trainable_variables), model.trainable_variables)
    history.append(tape.watched_variables() and x)
    used = tf.config.experimental.get_memory_info("CPU:0")["current"]
    print(f"step {step}: loss {float(loss):.4f}, memory {used / 2**20:.1f} MiB", flush=True)
