"""Estimate: the peak of a training step for every batch size, by simulating the graph that the engine will run."""
