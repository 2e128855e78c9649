"""What memfit claims, measured: `python -m benchmarks.estimate` holds each estimate against real trainings."""
