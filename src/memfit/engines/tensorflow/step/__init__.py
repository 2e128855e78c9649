"""The graph that TensorFlow will run for a training step, told in the terms of `memfit.simulation`."""
