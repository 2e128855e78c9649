"""A part of a batch, counted as what it is of the whole: losses and metrics that do not simply average over samples."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import tensorflow as tf
from keras.src.losses import loss as losses
from keras.src.metrics import reduction_metrics as metrics

_thread = threading.local()
_reduce = losses.reduce_weighted_values
_samplewise = metrics.reduce_to_samplewise_values


class Measured(BaseException):
    """All denominators are known: the rest of the step is of no interest."""


@dataclass
class Share:
    """A part with `fraction` of the batch's samples, whose losses have the denominators `whole` (one each).

    `weight` is what its gradients count: its fraction where a batch's loss is a mean, 1 where it is a sum.

    Losses that divide by what their mask or weights sum to are scaled so that the mean over the parts, weighted by
    samples, is the loss of the whole batch.
    """

    fraction: Any
    whole: Any
    weight: Any
    wanted: int | None = None
    own: list[Any] = field(default_factory=list)

    def scaled(self, loss: Any, values: Any, sample_weight: Any, mask: Any, reduction: str | None, dtype: Any) -> Any:
        if tf.convert_to_tensor(values).shape.rank == 0:
            return loss
        if reduction == "sum":
            return loss / tf.cast(self.fraction, loss.dtype)
        own = _denominator(values, sample_weight, mask, reduction, dtype)
        if own is None:
            return loss
        self.own.append(own)
        if len(self.own) == self.wanted:
            raise Measured
        if self.wanted is not None:
            return loss
        factor = tf.math.divide_no_nan(own, self.whole[len(self.own) - 1]) / self.fraction
        return loss * tf.cast(factor, loss.dtype)


@contextmanager
def counted(share: Share) -> Iterator[Share]:
    """In this block, in this thread, losses and metrics see a part of a batch."""
    with (
        mock.patch.object(losses, "reduce_weighted_values", _reduced),
        mock.patch.object(metrics, "reduce_to_samplewise_values", _weighted),
    ):
        _thread.share = share
        try:
            yield share
        finally:
            _thread.share = None


def _share() -> Share | None:
    return getattr(_thread, "share", None)


def _reduced(
    values: Any, sample_weight: Any = None, mask: Any = None, reduction: Any = "sum_over_batch_size", dtype: Any = None
) -> Any:
    loss = _reduce(values, sample_weight=sample_weight, mask=mask, reduction=reduction, dtype=dtype)
    share = _share()
    return loss if share is None else share.scaled(loss, values, sample_weight, mask, reduction, dtype)


def _weighted(values: Any, sample_weight: Any, reduce_fn: Any, dtype: Any) -> Any:
    """One value for the whole batch, such as its loss, counts by the part's fraction."""
    values, sample_weight = _samplewise(values, sample_weight, reduce_fn, dtype)
    share = _share()
    if share is None or sample_weight is not None or len(values.shape) > 0:
        return values, sample_weight
    return values * tf.cast(share.weight, values.dtype), tf.cast(share.fraction, values.dtype)


def _denominator(values: Any, sample_weight: Any, mask: Any, reduction: Any, dtype: Any) -> Any:
    """What the loss is divided by, up to a constant factor; None where that is the number of samples."""
    if reduction == "mean_with_sample_weight" and (sample_weight is not None or mask is not None):
        values = tf.convert_to_tensor(values, dtype)
        weights = losses.apply_mask(
            None if sample_weight is None else tf.cast(sample_weight, values.dtype),
            None if mask is None else tf.cast(mask, values.dtype),
            dtype=values.dtype,
            reduction=reduction,
        )
        return tf.reduce_sum(tf.cast(weights, tf.float64))
    if reduction in ("mean", "sum_over_batch_size") and mask is not None:
        return tf.reduce_sum(tf.cast(mask, tf.float64))
    return None
