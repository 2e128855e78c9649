"""Training through memfit: the updates of plain `fit`, whatever memory does."""

import numpy as np
import pytest

from memfit.device import run_in_child
from memfit.training.schedule import IMPATIENCE, PATIENCE, Schedule

MIB = 2**20
CASES = [
    "sample_weights",
    "class_weights",
    "masks",
    "masks_and_weights",
    "mean_by_weights",
    "sums",
    "regularizers",
    "added_loss",
    "several_outputs",
    "clipped",
    "clipped_globally",
    "averaged_weights",
    "kerass_own_accumulation",
    "scaled_loss",
    "scheduled",
    "several_steps_at_once",
    "compiled_by_xla",
    "eager",
    "eager_masks",
    "scores",
    "validated",
    "masks_validated",
    "sparse_embedding",
    "a_data_set",
    "a_generator",
    "not_built",
    "custom_step",
    "weights_followed",
    "two_optimizers",
    "two_optimizers_together",
]


@pytest.mark.real
@pytest.mark.parametrize("names", [CASES[0::3], CASES[1::3], CASES[2::3]], ids=["a", "b", "c"])
def test_whole_or_in_parts_the_updates_are_those_of_plain_fit(names):
    for name, (whole, *in_thirds) in run_in_child("training_jobs:exactness", names).items():
        assert whole[:2] == (0, 0), name
        assert whole[2]["micro_batches"] == 1, name
        for weights, logs, record in in_thirds:
            assert weights < 1e-9, name
            assert logs < 1e-9, name
            assert record["micro_batches"] == 3, name
            assert record["updates"] == whole[2]["updates"] > 0, name


@pytest.mark.real
def test_on_several_replicas_the_updates_are_the_same_too():
    for name, (whole, split, _) in run_in_child("training_jobs:mirrored", ["sample_weights", "masks"]).items():
        assert whole[:2] == (0, 0), name
        assert max(split[:2]) < 1e-9, name
        assert (whole[2]["micro_batches"], split[2]["micro_batches"]) == (1, 2), name


@pytest.mark.real
def test_out_of_memory_anywhere_ends_as_the_same_micro_batches_without_it():
    found = run_in_child("training_jobs:faults", None)
    assert {name: result["identical"] for name, result in found.items()} == dict.fromkeys(found, True)
    assert all(result["hits"] > 0 for name, result in found.items() if name != "callback")
    first = found["first"]["record"]
    assert first["recoveries"][0] == {"epoch": 1, "step": 1, "cause": "batch_too_large", "from": 1, "to": 2}
    assert (first["updates"], first["samples_seen"]) == (10, 70)
    assert found["last, short"]["record"]["recoveries"][0]["step"] == 5
    assert found["twice in a row"]["parts"][1] == 4
    assert found["validation"]["record"]["recoveries"][0]["cause"] == "evaluation_batch"
    assert found["generator"]["record"]["samples_seen"] == 35
    assert found["callback"]["shapes"] == [(35, 3)] * 2
    said = found["middle"]["said"].splitlines()
    assert said[0].startswith("memfit: step 3 of epoch 1 ran out of memory")
    assert sum("normalizes by the statistics of each micro-batch" in line for line in said) == 1


@pytest.mark.real
def test_what_is_not_memory_passes_through_and_the_model_stays_usable():
    found = run_in_child("training_jobs:passing", None)
    assert found["ValueError"] == ("ValueError", True, False, "mine", True, True)
    assert found["KeyboardInterrupt"] == ("KeyboardInterrupt", True, False, "", True, True)
    kind, _, caused, text, *usable = found["MemoryError"]
    assert (kind, caused, usable) == ("DoesNotFit", True, [True, True])
    assert "outside of a training step" in text
    assert found["nan"]
    assert found["records"] == ([4, 2], [4, 2])
    assert found["given back"]


@pytest.mark.real
def test_two_hundred_times_out_of_memory_cost_nothing():
    budget = 200 * MIB
    found = run_in_child("training_jobs:endurance", budget, budget=budget)
    assert found["hits"] > 200
    assert found["growth"] <= 0
    assert found["block"] > 0


@pytest.mark.real
def test_under_a_budget_the_micro_batches_are_known_before_the_first_step():
    budget = 100 * MIB
    found = run_in_child("training_jobs:under_budget", budget, budget=budget)
    history, weights = run_in_child("training_jobs:plain_weights", None)
    planned_history, planned_weights, record = found["planned"]
    assert record["micro_batches"] > 1
    assert [change["cause"] for change in record["recoveries"]] == ["planned"]
    assert record["peak_bytes"] <= budget
    assert (record["updates"], record["samples_seen"], record["batch_size"]) == (4, 160, 64)
    for key, values in history.items():
        assert planned_history[key] == pytest.approx(values, rel=1e-4)
    for planned, plain in zip(planned_weights, weights, strict=True):
        assert np.abs(planned - plain).max() <= 1e-5 * max(1.0, np.abs(plain).max())
    assert found["squeezed"]["recoveries"][0]["cause"] == "device_shared"
    assert found["squeezed"]["updates"] == 4
    assert found["handwritten"] == ["planned"]
    assert found["evaluated"] == (80, 4)
    assert found["live beside batches"] < 32 * MIB
    assert found["impossible"].startswith("not even one sample fits: a step on it needs about")


@pytest.mark.real
def test_where_plain_fit_has_just_enough_memory_it_is_enough_for_memfit():
    """Memfit's step that writes nothing before all is computed would need more: its gradients all at once.

    So near the limit the order that operations happen to take decides, for plain `fit` too: one run of three will do.
    """
    plain = [run_in_child("training_jobs:heavy", ("plain", "adam", 8), budget=1024 * MIB) for _ in range(3)]
    weights = plain[0][0]
    budget = int(1.1 * max(peak for _, peak, _ in plain))
    for _ in range(3):
        guarded, peak, record = run_in_child("training_jobs:heavy", ("memfit", "adam", 8), budget=budget)
        assert record["updates"] == 6
        assert peak <= budget
        if record["micro_batches"] == 1:
            break
    assert record["micro_batches"] == 1
    assert all(np.array_equal(a, b) for a, b in zip(weights, guarded, strict=True))


@pytest.mark.real
def test_a_budget_that_holds_one_sample_holds_any_batch_of_them():
    """Though there is no room for the sum of the gradients: they are summed on the host."""
    _, of_one, _ = run_in_child("training_jobs:heavy", ("plain", "sgd", 1), budget=1024 * MIB)
    weights, of_all, _ = run_in_child("training_jobs:heavy", ("plain", "sgd", 1024), budget=1024 * MIB)
    budget = int(1.15 * of_one)
    assert of_all > 1.5 * budget
    guarded, peak, record = run_in_child("training_jobs:heavy", ("memfit", "sgd", 1024), budget=budget)
    assert 1 < record["micro_batches"] < 128
    assert record["recoveries"][0]["cause"] == "planned"
    assert peak <= budget
    for ours, plain in zip(guarded, weights, strict=True):
        assert np.abs(ours - plain).max() <= 1e-5 * max(1.0, np.abs(plain).max())


@pytest.mark.real
def test_it_does_not_matter_where_gradients_are_summed():
    assert max(run_in_child("training_jobs:summed", None)) < 1e-9


@pytest.mark.real
def test_a_step_that_couples_samples_is_found_among_random_layers_too():
    found = run_in_child("training_jobs:coupled", None)
    assert not any("couples" in note for note in found["alone"])
    assert any("couples the samples" in note for note in found["compared"])
    assert all(any("random layers" in note for note in notes) for notes in found.values())


@pytest.mark.real
@pytest.mark.parametrize("loss", ["mean", "sum"])
def test_a_hand_written_step_makes_the_same_updates_and_returns_the_same(loss):
    found = run_in_child("training_jobs:handwritten", loss)
    for kind in ("traced", "eager"):
        difference, record = found[kind]
        assert difference < 1e-9, kind
        assert (record["updates"], record["samples_seen"], record["micro_batches"]) == (5, 40, 4)
    assert found["said"].startswith("memfit: step 3 ran out of memory")


def test_a_schedule_halves_after_running_out_and_grows_back_after_a_while():
    schedule = Schedule()
    assert schedule.parts(64) == 1
    assert schedule.shrink(64, 1)
    assert (schedule.parts(64), schedule.parts(40), schedule.parts(7)) == (2, 2, 1)
    for _ in range(PATIENCE):
        assert not schedule.due_to_grow()
        schedule.succeeded()
    assert schedule.due_to_grow()
    schedule.grow(64)
    assert schedule.parts(64) == 1
    assert schedule.shrink(64, 1)
    assert schedule.patience == PATIENCE * IMPATIENCE


def test_a_schedule_never_grows_beyond_its_plan_and_ends_at_one_sample():
    schedule = Schedule()
    schedule.plan(16)
    assert schedule.parts(64) == 4
    assert schedule.shrink(64, 4)
    schedule.calm = PATIENCE
    schedule.grow(64)
    assert schedule.parts(64) == 4
    assert not schedule.due_to_grow()
    assert schedule.shrink(2, 1)
    assert not schedule.shrink(2, 2)
