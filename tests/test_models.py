"""TARGETs and data, as far as no model is needed."""

import numpy as np
import pytest

from memfit.errors import BadInput, UsageError
from memfit.models.batch import check_batch_size, portable
from memfit.models.structure import Spec
from memfit.models.target import Target


@pytest.mark.parametrize("text", ["model.py", "build", "model.py:", ":build", "model.py:not a name", "x.h5"])
def test_a_malformed_target_is_wrong_usage(text):
    with pytest.raises(UsageError, match="TARGET is"):
        Target(text).check()


@pytest.mark.parametrize("text", ["missing.py:build", "missing.keras"])
def test_a_missing_file_is_named(text):
    with pytest.raises(BadInput, match="there is no file 'missing"):
        Target(text).check()


@pytest.mark.parametrize("size", [0, -1, 1.5, "32", True, None])
def test_a_batch_size_is_a_positive_whole_number(size):
    with pytest.raises(UsageError, match=r"at least 1\. Received"):
        check_batch_size(size)


def test_data_travels_as_one_batch_in_its_structure():
    data = {"a": np.ones((100, 3)), "b": [np.ones((100, 2)), None]}
    carried = portable(data, 8)
    assert carried["a"].shape == (8, 3)
    assert carried["b"][0].shape == (8, 2)
    assert carried["b"][1] is None


def test_a_data_set_is_refused_with_what_to_pass_instead():
    with pytest.raises(BadInput, match=r"next\(iter\(data\)\)"):
        portable((row for row in range(3)), 8)


def test_a_spec_keeps_its_shape_and_dtype():
    class TensorSpec:
        shape, dtype, name = (None, 7), np.dtype("int32"), "tokens"

    assert portable(TensorSpec(), 8) == Spec((None, 7), "int32", "tokens")
