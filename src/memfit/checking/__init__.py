"""Check: run a script up to its training, train nothing, and say whether it will fit."""
