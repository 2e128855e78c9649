"""A training step simulated: an engine-neutral graph, run on a simulated executor and a simulated allocator."""
