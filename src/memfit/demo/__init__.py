"""A small model and data set for `memfit demo`."""
