"""Amounts of memory: as people write them (`parse_size`, `format_size`), and the default limit (`default_memory`)."""

from __future__ import annotations

import os
import re
from numbers import Integral
from pathlib import Path

# Files with the memory limit of a container, in the two versions of cgroups.
_CONTAINER_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_UNKNOWN_MACHINE = 8 << 30
MOST_UNASKED_BYTES = 4 << 30
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i?))?B?", re.IGNORECASE | re.ASCII)


def parse_size(name: str, size: int | str) -> int:
    """Return a number of bytes: ``"4GB"`` is 4 · 10⁹, ``"4GiB"`` is 4 · 2³⁰, and an int is a number of bytes.

    Parameters
    ----------
    name : str
        Name of the argument, for errors.
    size : int or str
        A str is a number and a unit: B, KB, MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024). The
        final B may be left out.

    Examples
    --------
    >>> from sthash.sizes import parse_size
    >>> parse_size("memory", "4GB"), parse_size("memory", "4GiB"), parse_size("memory", "1.5 kB")
    (4000000000, 4294967296, 1500)
    """
    if isinstance(size, str):
        found = _SIZE.fullmatch(size.strip())
        if found is None:
            raise ValueError(f"{name}={size!r} is not an amount of memory. Use one like 500MB or 4GiB.")
        number, prefix, binary = found.groups()
        unit = 1024 if binary else 1000
        count = int(float(number) * unit ** "BKMGT".index((prefix or "B").upper()))
    elif isinstance(size, Integral) and not isinstance(size, bool):
        count = int(size)
    else:
        raise TypeError(f"{name}={size!r} must be a number of bytes, or a str such as '4GB'.")
    if count < 1:
        raise ValueError(f"{name}={size!r} must be at least one byte. Use an amount like 500MB or 4GiB.")
    return count


def format_size(count: float) -> str:
    """Write an amount of memory for people, with two digits.

    Examples
    --------
    >>> from sthash.sizes import format_size
    >>> format_size(5_000), format_size(3 << 20), format_size(5 << 29)
    ('5 KiB', '3 MiB', '2.5 GiB')
    """
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= size:
            return f"{count / size:.2g} {unit}" if count < 10 * size else f"{count / size:,.0f} {unit}"
    return f"{max(count / 1024, 1):.0f} KiB"


def machine_bytes() -> int:
    """Return the memory of the machine, or of the container that this process is in."""
    try:
        found = [int(os.sysconf("SC_PHYS_PAGES")) * int(os.sysconf("SC_PAGE_SIZE"))]
    except (AttributeError, OSError, ValueError):
        return _UNKNOWN_MACHINE
    for name in _CONTAINER_LIMITS:
        try:
            found.append(int(Path(name).read_text(encoding="ascii")))
        except (OSError, ValueError):  # there is none, or it is "max"
            continue
    return min(found)


def default_memory() -> int:
    """Return the bytes that a task may take unless it is told: a quarter of the machine's, and at most 4 GiB.

    Examples
    --------
    >>> from sthash.sizes import default_memory
    >>> default_memory() <= 4 * 2**30
    True
    """
    return min(machine_bytes() // 4, MOST_UNASKED_BYTES)
