"""A target that fails in every way, so that the tests can see that the pool notices it."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from random import Random

PERIOD = 8


def prepare(folder: Path) -> None:
    """Nothing is needed on the disk."""


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Crash, hang, raise, take much memory, or be well behaved."""
    how = random.randrange(PERIOD)
    if how == 0:
        os.kill(os.getpid(), signal.SIGSEGV)
    if how == 1:
        time.sleep(3600)
    if how == 2:
        raise IndexError("nobody documents this one")
    if how == 3:
        os._exit(3)
    if how == 4:
        b"x" * (300 << 20)
    return "fine"
