"""Jobs for children that the tests start."""

import os
import signal


def be_killed(payload, reporter):
    reporter.state(live=2**20, peak=2**20)
    os.kill(os.getpid(), signal.SIGKILL)


def read_the_allocator(payload, reporter):
    """Live and peak bytes while 8 MiB are held, after they are gone, and after the peak was reset."""
    import tensorflow as tf

    from memfit import device

    device.enforce(payload)  # the budget that the child was started under is in force already
    states = []
    tensor = tf.zeros((2**21,))
    states.append(device.live_and_peak())
    del tensor
    states.append(device.live_and_peak())
    device.reset_peak()
    states.append(device.live_and_peak())
    return states
