"""The child of `memfit run`: the script as `__main__`, with every training guarded once it has imported Keras."""

from __future__ import annotations

import faulthandler
import os
import signal
import sys
import threading
from contextlib import ExitStack

from memfit import engines
from memfit.device.oom import is_out_of_memory
from memfit.errors import DoesNotFit
from memfit.running.advice import advice
from memfit.running.order import Order, write_whole
from memfit.scripts import Script, exit_code, print_error
from memfit.scripts.imports import when_imported
from memfit.training.feeding import too_large
from memfit.training.guard import Guarding
from memfit.training.keeper import Keeper
from memfit.training.messages import say
from memfit.training.schedule import Schedule

DOES_NOT_FIT = 3


def main() -> None:
    order = Order.read(sys.argv[1])
    _die_with_the_parent(order.lifeline)
    crash = order.crash.open("w")  # stays open: a crash writes to it
    faulthandler.enable(crash)
    guards = ExitStack()  # never left: the script's threads and exit handlers train under it too
    when_imported("keras", lambda: _guard(order, guards))
    sys.exit(run(Script.from_command(order.words)))


def run(script: Script) -> int:
    """The exit code that Python itself would end with."""
    try:
        script.run()
    except SystemExit as ended:
        return exit_code(ended)
    except KeyboardInterrupt as interrupted:
        print_error(interrupted)
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except DoesNotFit as error:
        say(str(error))
        for line in str(getattr(error, "memfit", "")).splitlines():
            say(line)
        return DOES_NOT_FIT
    except BaseException as error:
        print_error(error)
        if is_out_of_memory(error):
            for line in advice(error):
                say(line)
        return 1
    return 0


class Supervised(Guarding):
    """Begins with as many micro-batches as the parent says, and writes down each training at once."""

    def __init__(self, order: Order) -> None:
        super().__init__(order.budget, [])
        self.order = order

    def keeper(self, schedules: dict[str, Schedule]) -> Keeper:
        for kind in ("train", "test", "predict"):
            schedules.setdefault(kind, Schedule(least=self.order.parts))
        return super().keeper(schedules)

    def finished(self, keeper: Keeper) -> None:
        super().finished(keeper)
        write_whole(self.order.journal, [record.to_dict() for record in self.records])


def _guard(order: Order, guards: ExitStack) -> None:
    engine, size = engines.current(), too_large(order.budget)
    guards.enter_context(engine.feeding_datasets(size))
    guards.enter_context(engine.feeding_arrays(size))
    guards.enter_context(engine.guarding(Supervised(order)))


def _die_with_the_parent(lifeline: int) -> None:
    """The parent holds the other end: when it is gone, even by SIGKILL, so is this process."""

    def wait() -> None:
        os.read(lifeline, 1)
        os.kill(os.getpid(), signal.SIGKILL)

    threading.Thread(target=wait, daemon=True, name="memfit-lifeline").start()


if __name__ == "__main__":
    main()
