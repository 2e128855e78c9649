"""An out-of-memory error is recognised whoever reports it, and nothing else is."""

import numpy as np
import pytest

from memfit.device import is_out_of_memory, read_failure
from memfit.device.channel import State
from memfit.device.death import explain_death
from memfit.errors import ChildFailed, DoesNotFit

GRAPH = """Graph execution error:

Detected at node gradient_tape/net/c2/Conv2DBackpropInput defined at (most recent call last):
  File "train.py", line 9, in <module>

OOM when allocating tensor with shape[64,60,60,64] and type float on /device:CPU:0 by allocator bfc_cpu
\t [[{{node gradient_tape/net/c2/Conv2DBackpropInput}}]]
Hint: If you want to see a list of allocated tensors when OOM happens, add report_tensor_allocations_upon_oom"""

DUMP = """W0000 bfc_allocator.cc:502] \
Allocator (GPU_0_bfc) ran out of memory trying to allocate 762.94MiB (rounded to 800000000)requested by op Mul
I0000 bfc_allocator.cc:1128] Stats:
Limit:                       200.00MiB
InUse:                       164.50MiB
MaxInUse:                    164.67MiB
"""


class XlaRuntimeError(RuntimeError):
    """As JAX names it."""


class OutOfMemoryError(RuntimeError):
    """As PyTorch names it."""


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        XlaRuntimeError("RESOURCE_EXHAUSTED: Out of memory while trying to allocate 17179869184 bytes."),
        OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 MiB (GPU 0; 7.80 GiB total capacity)"),
        RuntimeError("[enforce fail] DefaultCPUAllocator: can't allocate memory: you tried to allocate 4000000 bytes"),
    ],
)
def test_out_of_memory_is_recognised(error):
    assert is_out_of_memory(error)


def test_numpys_own_error_is_recognised_and_read():
    with pytest.raises(MemoryError) as caught:
        np.zeros((2**24, 2**24, 8))
    assert is_out_of_memory(caught.value)
    failure = read_failure(str(caught.value))
    assert (failure.shape, failure.dtype) == ((2**24, 2**24, 8), "float64")
    assert failure.bytes == 2**54  # 16 PiB


@pytest.mark.parametrize(
    "error", [ValueError("OOM when allocating tensor"), RuntimeError("shapes differ"), KeyError("CUDA")]
)
def test_other_errors_are_not(error):
    assert not is_out_of_memory(error)


def test_a_graph_error_tells_the_tensor_the_op_and_the_device():
    failure = read_failure(GRAPH)
    assert failure.shape == (64, 60, 60, 64)
    assert failure.dtype == "float32"
    assert failure.bytes == 64 * 60 * 60 * 64 * 4
    assert failure.op == "gradient_tape/net/c2/Conv2DBackpropInput"
    assert failure.device == "/device:CPU:0"
    assert failure.allocator == "bfc_cpu"


def test_an_allocators_dump_tells_what_was_held():
    failure = read_failure(DUMP)
    assert (failure.allocator, failure.bytes, failure.op) == ("GPU_0_bfc", 800_000_000, "Mul")
    assert (failure.limit, failure.in_use) == (200 * 2**20, int(164.5 * 2**20))


def test_a_text_without_any_failure_tells_nothing():
    assert read_failure("all went well").bytes is None


@pytest.mark.parametrize(("code", "how"), [(-11, "segfault"), (139, "segfault"), (-6, "abort"), (134, "abort")])
def test_a_crash_after_a_failed_allocation_is_running_out(code, how):
    death = explain_death(code, DUMP, budget=200 * 2**20, state=None)
    assert isinstance(death, DoesNotFit)
    assert (death.failure.how, death.failure.bytes) == (how, 800_000_000)


def test_a_crash_names_the_op_and_the_layer_as_the_user_knows_them():
    op = "gradient_tape/net.memfit.25._1/block.memfit.9./dense_1.memfit.8._1/Gelu/mul_2/Mul"
    failure = explain_death(-11, DUMP.replace("by op Mul", f"by op {op}"), budget=200 * 2**20, state=None).failure
    assert failure.op == "gradient_tape/net_1/block/dense_1_1/Gelu/mul_2/Mul"
    assert failure.layer == "block/dense_1"


def test_a_crash_with_a_full_allocator_is_running_out():
    death = explain_death(-11, "", budget=100, state=State(live=95, peak=99))
    assert isinstance(death, DoesNotFit)


def test_a_crash_without_any_sign_of_memory_is_not():
    death = explain_death(-11, "something else", budget=100, state=State(live=5, peak=9))
    assert isinstance(death, ChildFailed)
    assert "SIGSEGV" in str(death)


@pytest.mark.parametrize("code", [-9, 137])
def test_a_killed_child_ran_out_of_host_memory(code):
    death = explain_death(code, "", budget=None, state=State(live=2**30, peak=2**30))
    assert isinstance(death, DoesNotFit)
    assert "1.00 GiB" in str(death)
