"""The recorder accounts for every byte of every kind of model."""

import pytest

from conftest import MODELS, ZOO
from memfit.measurement.run import measure_target
from memfit.models.target import Target
from memfit.sizes import format_size

pytestmark = pytest.mark.real


@pytest.mark.parametrize("name", MODELS)
def test_every_byte_is_accounted_for(name):
    measured = measure_target(Target(f"{ZOO}:{name}"), batch_size=32)
    assert sum(measured.by_kind.values()) == measured.peak
    assert sum(size for _, size in measured.by_layer) == measured.peak
    assert measured.peak == pytest.approx(measured.allocator_peak, rel=0.01)
    assert measured.peak - measured.by_kind["padding"] == measured.requested
    assert max(moment.live for moment in measured.timeline) == measured.peak
    assert measured.by_kind["other"] < 0.03 * measured.peak
    assert measured.by_kind["weights"] > 0
    hidden = dict(measured.by_layer).get("(compiled)", 0) > measured.peak / 2
    assert hidden == (name == "compiled_by_xla")
    assert bool(measured.notes) == hidden
    assert f"batch 32: {format_size(measured.peak)}" in str(measured)


def test_the_layers_that_hold_the_memory_are_named():
    measured = measure_target(Target(f"{ZOO}:embedding"), batch_size=8)
    table = 50_000 * 64 * 4
    layers = dict(measured.by_layer)
    assert layers["embedding"] >= 3 * table  # the table and Adam's two copies of it
    assert measured.by_kind["weights"] >= table
    assert measured.by_kind["optimizer"] >= 2 * table
