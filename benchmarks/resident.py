"""How far this process's memory rises while a block runs."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import psutil

INTERVAL_SECONDS = 0.005


@dataclass
class Growth:
    bytes: int = 0


@contextmanager
def growth() -> Iterator[Growth]:
    process, grown, done = psutil.Process(), Growth(), threading.Event()
    before = process.memory_info().rss

    def look() -> None:
        grown.bytes = max(grown.bytes, process.memory_info().rss - before)

    def keep_looking() -> None:
        while not done.wait(INTERVAL_SECONDS):
            look()

    watcher = threading.Thread(target=keep_looking)
    watcher.start()
    try:
        yield grown
    finally:
        done.set()
        watcher.join()
        look()
