"""Measure: train a few real steps in a child process and say where every byte was at the highest moment."""
