"""Getting hold of a Keras model and of data that it can train on, here or in a child process."""
