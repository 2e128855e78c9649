"""A training step that can be undone, and split exactly, inside Keras's own loop."""
