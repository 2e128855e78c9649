"""Watching a script: what it trains and what it feeds are reported before TensorFlow gets them."""
