"""Forked processes: a connection to SQLite must not be used in, or closed by, another process than its own.

A fork waits for the threads that are inside a collection, for a while. The child then has no lock that nobody will
release, leaves the connections of its parent alone, and reopens the files when it uses them. If a thread stays
inside for longer, SQLite may be left locked in the child for ever; there, collections are refused instead.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Protocol
from weakref import WeakSet

from sthash.collection.file.journal import forget_open_files

WAIT_SECONDS = 5.0
GIVE_WAY_SECONDS = 0.2


class Guarded(Protocol):
    """What uses SQLite, always holding its lock."""

    lock: threading.RLock

    def leave_to_parent(self) -> None:
        """Forget the connection, which is the parent's, and the lock, which a thread of the parent may hold."""


_all: WeakSet[Guarded] = WeakSet()
_turn = threading.Lock()
_held: list[threading.RLock] = []
_waiting = False
_stuck = False
_unsafe = False


def guard(user: Guarded) -> None:
    """Let forks wait for a user of SQLite."""
    with _turn:
        _all.add(user)


def give_way() -> None:
    """Let a fork that waits go first, so that a thread which is inside again and again does not keep it waiting."""
    if _waiting and _turn.acquire(timeout=GIVE_WAY_SECONDS):
        _turn.release()


def is_unsafe() -> bool:
    """Whether this process was forked while a thread of its parent was inside SQLite."""
    return _unsafe


def _before() -> None:
    global _stuck, _waiting
    deadline = time.monotonic() + WAIT_SECONDS
    _turn.acquire()
    _stuck, _waiting = False, True
    for user in sorted(_all, key=id):
        if user.lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _held.append(user.lock)
        else:
            _stuck = True


def _release() -> None:
    global _waiting
    _waiting = False
    while _held:
        _held.pop().release()
    _turn.release()


def _in_child() -> None:
    global _unsafe
    _unsafe = _unsafe or _stuck
    forget_open_files()
    for user in list(_all):
        user.leave_to_parent()
    _release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before, after_in_parent=_release, after_in_child=_in_child)
