"""TensorFlow's best-fit-with-coalescing allocator, simulated byte for byte."""

from __future__ import annotations

from bisect import bisect_left, insort
from dataclasses import dataclass, field

ALIGNMENT = 256
FIRST_REGION = 2 << 20
LARGEST_SLACK = 128 << 20
REGION_GAP = 1 << 30


class OutOfMemory(Exception):
    """The simulated limit does not hold the requested bytes."""


def rounded(size: int) -> int:
    return max(ALIGNMENT, (size + ALIGNMENT - 1) & -ALIGNMENT)


@dataclass
class Allocator:
    """Chunks are keyed by address; free ones are kept in (size, address) order, which is what the bins amount to."""

    limit: int = 1 << 50
    in_use: int = 0
    peak: int = 0
    pool: int = 0
    next_region: int = FIRST_REGION
    next_address: int = 1 << 62
    sizes: dict[int, int] = field(default_factory=dict)
    before: dict[int, int] = field(default_factory=dict)
    free: list[tuple[int, int]] = field(default_factory=list)
    is_free: set[int] = field(default_factory=set)
    watches_touches: bool = True
    # the end of each region, as far as it was never handed out
    untouched: list[tuple[int, int]] = field(default_factory=list)
    touched: int = 0

    def allocate(self, request: int) -> int:
        size = (request + 255) & -256 or 256
        free = self.free
        at = bisect_left(free, (size, 0))
        if at == len(free):
            self._extend(size)
            at = bisect_left(free, (size, 0))
        have, address = free.pop(at)
        self.is_free.discard(address)
        if have >= size * 2 or have - size >= LARGEST_SLACK:
            self._split(address, have, size)
            have = size
        self.in_use += have
        if self.in_use > self.peak:
            self.peak = self.in_use
        if self.untouched:
            self._touch(address, address + size)
        return address

    def _touch(self, address: int, end: int) -> None:
        for place, (start, last) in enumerate(self.untouched):
            if address < last and end > start:
                self.touched += end - start
                if end < last:
                    self.untouched[place] = (end, last)
                else:
                    del self.untouched[place]
                return

    def release(self, address: int) -> None:
        sizes, before, is_free = self.sizes, self.before, self.is_free
        size = sizes[address]
        self.in_use -= size
        after = address + size
        if after in is_free:
            size += self._absorb(after)
        previous = before.get(address, -1)
        if previous in is_free:
            self._unlist(previous)
            size += sizes[previous]
            del sizes[address], before[address]
            address = previous
        sizes[address] = size
        after = address + size
        if after in sizes:
            before[after] = address
        is_free.add(address)
        insort(self.free, (size, address))

    def _absorb(self, address: int) -> int:
        self._unlist(address)
        del self.before[address]
        return self.sizes.pop(address)

    def _unlist(self, address: int) -> None:
        self.is_free.discard(address)
        del self.free[bisect_left(self.free, (self.sizes[address], address))]

    def _split(self, address: int, have: int, size: int) -> None:
        rest, left = address + size, have - size
        self.sizes[address] = size
        self.sizes[rest] = left
        self.before[rest] = address
        after = rest + left
        if after in self.sizes:
            self.before[after] = rest
        self.is_free.add(rest)
        insort(self.free, (left, rest))

    def _extend(self, size: int) -> None:
        available = (self.limit - self.pool) & -ALIGNMENT
        if size > available:
            raise OutOfMemory
        grew = False
        while size > self.next_region:
            self.next_region *= 2
            grew = True
        region = min(self.next_region, available)
        if not grew:
            self.next_region *= 2
        self._add_region(region)

    def _add_region(self, region: int) -> None:
        self.next_address -= region + REGION_GAP  # the system maps new regions below the old ones
        address = self.next_address
        self.pool += region
        self.sizes[address] = region
        if self.watches_touches:
            self.untouched.append((address, address + region))
        self.is_free.add(address)
        insort(self.free, (region, address))
