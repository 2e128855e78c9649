"""What parent and child say to each other: pickled messages over the child's standard streams."""

from __future__ import annotations

import io
import pickle
import threading
from dataclasses import dataclass
from typing import IO, Any


@dataclass(frozen=True)
class Job:
    """What the child is to do: call `function`, named as "module:name", with the cloudpickled `payload`."""

    function: str
    payload: bytes


@dataclass(frozen=True)
class Progress:
    """What the child is doing now."""

    text: str


@dataclass(frozen=True)
class Printed:
    """What the user's own code printed."""

    text: str


@dataclass(frozen=True)
class State:
    """The allocator's last known state, in case the child dies."""

    live: int
    peak: int


@dataclass(frozen=True)
class Result:
    value: Any


@dataclass(frozen=True)
class Raised:
    """An error of the job's: `error` where it is memfit's own, else only its texts."""

    error: Exception | None
    summary: str
    traceback: str


class Sender:
    """The child's end. Several threads may speak."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._lock = threading.Lock()

    def send(self, message: Any) -> None:
        with self._lock:
            pickle.dump(message, self._stream)
            self._stream.flush()


class Printing(io.TextIOBase):
    """Stands in for the child's `sys.stdout` and `sys.stderr`."""

    def __init__(self, sender: Sender) -> None:
        self._sender = sender

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self._sender.send(Printed(text))
        return len(text)
