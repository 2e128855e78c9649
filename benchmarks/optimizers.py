"""Optimizers with options, made when a model is compiled: their variables are part of what a case holds."""

from __future__ import annotations

from keras import optimizers


def momentum() -> optimizers.Optimizer:
    return optimizers.SGD(0.01, momentum=0.9, nesterov=True)


def clipping() -> optimizers.Optimizer:
    return optimizers.Adam(1e-3, clipnorm=1.0)


def weight_decaying() -> optimizers.Optimizer:
    return optimizers.AdamW(1e-3, weight_decay=0.01, global_clipnorm=1.0)


def averaging() -> optimizers.Optimizer:
    return optimizers.Adam(1e-3, use_ema=True)


def accumulating() -> optimizers.Optimizer:
    return optimizers.Adam(1e-3, gradient_accumulation_steps=4)


def loss_scaling() -> optimizers.Optimizer:
    return optimizers.LossScaleOptimizer(optimizers.SGD(1e-3, momentum=0.9))
