"""Seconds and memory: contestants timed in turns, and work measured in a process of its own."""

from __future__ import annotations

import gc
import math
import multiprocessing
import os
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Timing:
    """Seconds by the clock and seconds of processor time, one of each per repetition, and the fastest run's result.

    Processor time counts all threads and child processes. A busy machine changes it less than the clock.
    """

    wall: list[float]
    cpu: list[float]  # empty if it is not known
    result: Any = None

    @property
    def best(self) -> float:
        """Least seconds by the clock."""
        return min(self.wall)

    @property
    def median(self) -> float:
        """Median of the seconds by the clock."""
        return statistics.median(self.wall)

    @property
    def best_cpu(self) -> float:
        """Least seconds of processor time."""
        return min(self.cpu)

    def by_the_clock(self) -> Timing:
        """Leave out processor time, where other processes do part of the work."""
        return Timing(self.wall, [], self.result)

    def plus(self, other: Timing) -> Timing:
        """Add another piece of work that follows this one."""
        return Timing([self.best + other.best], [self.best_cpu + other.best_cpu], other.result)

    def per(self, items: float) -> Timing:
        """Divide all seconds by a number of items, such as queries."""
        return Timing([one / items for one in self.wall], [one / items for one in self.cpu], self.result)


def cpu_seconds() -> float:
    """Processor time of this process and of its finished children so far."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + children.ru_utime + children.ru_stime


def timed(work: Callable[[], Any]) -> Timing:
    """Time one call."""
    cpu, start = cpu_seconds(), time.perf_counter()
    result = work()
    wall = time.perf_counter() - start
    return Timing([wall], [cpu_seconds() - cpu], result)


def time_in_turns(
    contestants: Mapping[str, Callable[[], Any]],
    repetitions: int = 5,
    budget: float = math.inf,
    at_least: int = 2,
) -> dict[str, Timing]:
    """Time several pieces of work in turns, so that all of them meet the same state of the machine.

    Parameters
    ----------
    contestants : mapping of names to functions
    repetitions : int
        Runs per contestant.
    budget : float
        Seconds after which a contestant stops early.
    at_least : int
        Runs per contestant that the budget does not prevent.
    """
    timings = {name: Timing([], []) for name in contestants}

    def waits(timing: Timing) -> bool:
        done = len(timing.wall)
        return done < repetitions and (done < at_least or sum(timing.wall) < budget)

    while turn := [name for name, timing in timings.items() if waits(timing)]:
        for name in turn:
            before, now = timings[name], timed(contestants[name])
            faster = not before.wall or now.best < before.best
            timings[name] = Timing(
                before.wall + now.wall, before.cpu + now.cpu, now.result if faster else before.result
            )
    return timings


def time_each(
    contestants: Mapping[str, Callable[[Any], Any]], items: Sequence[Any], repetitions: int = 15
) -> dict[str, Timing]:
    """Time calls that take one item each, in turns: the median over the items of the best repetition."""
    best = {name: [math.inf] * len(items) for name in contestants}
    cpu: dict[str, list[float]] = {name: [] for name in contestants}
    for _ in range(repetitions):
        for name, function in contestants.items():
            began = cpu_seconds()
            for place, item in enumerate(items):
                start = time.perf_counter()
                function(item)
                best[name][place] = min(best[name][place], time.perf_counter() - start)
            cpu[name].append((cpu_seconds() - began) / len(items))
    return {name: Timing([statistics.median(best[name])], cpu[name]) for name in contestants}


# Memory


@dataclass(frozen=True)
class Isolated:
    """Work that ran in a process of its own: its timing and result, and the peak of memory before and after, in MiB."""

    timing: Timing
    before: float
    peak: float


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Isolated:
    """Run a function of a module in a new process, and measure its time and memory there."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_isolated, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        isolated: Isolated = receiver.recv()
    except EOFError:
        process.join()
        raise RuntimeError(f"{function.__name__} failed in its own process; see its traceback above.") from None
    process.join()
    return isolated


def _isolated(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    before = peak_memory()
    timing = timed(lambda: function(*arguments))
    sender.send(Isolated(timing, before, peak_memory()))


def peak_memory() -> float:
    """Largest resident size of this process so far, in MiB. On Linux ``ru_maxrss`` would include the parent's."""
    status = Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().split("VmHWM:")[1].split()[0]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def resident_memory() -> int:
    """Bytes that this process holds now (Linux)."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
