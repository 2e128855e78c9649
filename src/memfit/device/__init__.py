"""The virtual device: a budget that is real everywhere, a child process to spend it in, and what is left of both."""

from memfit.device.budget import enforce, live_and_peak, reset_peak
from memfit.device.child import run_in_child
from memfit.device.host import HostMemory, host_memory
from memfit.device.oom import is_out_of_memory, read_failure

__all__ = [
    "HostMemory",
    "enforce",
    "host_memory",
    "is_out_of_memory",
    "live_and_peak",
    "read_failure",
    "reset_peak",
    "run_in_child",
]
