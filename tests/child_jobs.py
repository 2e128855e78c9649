"""Jobs for children that the tests start."""

import os
import signal


def be_killed(payload, reporter):
    reporter.state(live=2**20, peak=2**20)
    os.kill(os.getpid(), signal.SIGKILL)
