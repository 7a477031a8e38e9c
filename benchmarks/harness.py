"""The harness of all benchmarks: one kind of row, one command line, JSON results; timing.py has the clocks.

A script gives `main` one or more parts. A part is a function that takes a `Run`, measures, and adds rows to the run::

    def measure(run: Run) -> None:
        timings = time_in_turns({"sthash": ours, "scikit-learn": theirs})
        run.add(compare("total", "raw text to a model", timings, setting={"bits": 64}))

    if __name__ == "__main__":
        main(__file__, __doc__, measure, peers=["scikit-learn"])

Rows are printed as they come. At the end of a part its rows are written to ``benchmarks/results/NAME.json``, or to
``NAME-PART.json`` if the script has several parts. tools/readme_table.py makes the table of README.md from these files.
Pictures of the site are drawn in docs/images.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path
from typing import Any, TypeVar

from sthash._core import simd_path
from sthash.files import replacing
from timing import Timing

T = TypeVar("T")

RESULTS = Path(__file__).parent / "results"
PICTURES = Path(__file__).parents[1] / "docs" / "images"
LIBRARIES = ("sthash", "numpy", "scipy", "scikit-learn")
SECONDS = {"s": 1.0, "ms": 1e3, "µs": 1e6}
LARGER_IS_BETTER = ("share", "precision", "recall", "F1", "nDCG", "ratio")  # and every rate: "documents/s"
OURS = "sthash"


# Rows


@dataclass(frozen=True)
class Row:
    """One measurement, usually beside a peer's.

    Attributes
    ----------
    id : str
        Name of the row, unique in its part.
    what : str
        What was done.
    ours, theirs : float
        The figures of sthash and of the peer, in ``unit``.
    ratio, cpu_ratio : float
        How many times as good ours is: by the clock, and by processor time.
    least_ratio : float
        The ratio that this row must reach. The script fails if it does not.
    setting : dict
        Under which conditions: data, bits, threads.
    details : dict
        Other figures of the same run: quality, memory.
    """

    id: str
    what: str
    ours: float
    unit: str
    peer: str | None = None
    theirs: float | None = None
    ratio: float | None = None
    cpu_ratio: float | None = None
    least_ratio: float | None = None
    setting: dict[str, Any] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)

    @property
    def missed(self) -> bool:
        """Whether the ratio is less than it must be."""
        return self.least_ratio is not None and self.ratio is not None and self.ratio < self.least_ratio


def figure(
    id: str,  # noqa: A002 the field's own name
    what: str,
    ours: float,
    unit: str,
    *,
    peer: str | None = None,
    theirs: float | None = None,
    **more: Any,
) -> Row:
    """Make a row of figures that are known; the ratio follows from the unit."""
    ratio = None
    if theirs is not None:
        larger = unit.endswith("/s") or unit in LARGER_IS_BETTER
        ratio = ours / theirs if larger else theirs / ours
    return Row(id, what, ours, unit, peer, theirs, ratio, **more)


def compare(
    id: str,  # noqa: A002 the field's own name
    what: str,
    timings: Mapping[str, Timing],
    unit: str = "s",
    *,
    ours: str = OURS,
    details: Mapping[str, Any] | None = None,
    **more: Any,
) -> Row:
    """Make a row of timings: ours against the fastest of the others.

    The unit begins with ``s``, ``ms`` or ``µs``, or is a rate such as ``documents/s``.
    """
    mine = timings[ours]
    own = {"median": in_unit(mine.median, unit), "repetitions": len(mine.wall), **(details or {})}
    others = {name: timing for name, timing in timings.items() if name != ours}
    if not others:
        return figure(id, what, in_unit(mine.best, unit), unit, details=own, **more)
    peer = min(others, key=lambda name: others[name].best)
    theirs = others[peer]
    own["their median"] = in_unit(theirs.median, unit)
    cpu_ratio = theirs.best_cpu / mine.best_cpu if mine.cpu and theirs.cpu and mine.best_cpu > 0 else None
    return figure(
        id,
        what,
        in_unit(mine.best, unit),
        unit,
        peer=peer,
        theirs=in_unit(theirs.best, unit),
        cpu_ratio=cpu_ratio,
        details=own,
        **more,
    )


def in_unit(seconds: float, unit: str) -> float:
    """Give seconds in another unit of time, or seconds per item as a rate."""
    return 1 / seconds if unit.endswith("/s") else seconds * SECONDS[unit.split()[0]]


# Runs


@dataclass
class Run:
    """One run of one part: the command line, and the rows so far."""

    arguments: argparse.Namespace
    rows: list[Row] = field(default_factory=list)

    @property
    def quick(self) -> bool:
        """Whether this is only a trial of the script, on a little made-up data."""
        return bool(self.arguments.quick)

    def choose(self, full: T, quick: T) -> T:
        """Give the first value, or in a quick run the second."""
        return quick if self.quick else full

    def picture(self, name: str) -> Path | None:
        """Say where to draw a picture of the site: beside the results if they have a folder of their own."""
        if folder := self.arguments.results:
            folder.mkdir(parents=True, exist_ok=True)
            return Path(folder) / name
        return None if self.quick else PICTURES / name

    def add(self, row: Row) -> Row:
        """Keep a row and print it."""
        if any(row.id == other.id for other in self.rows):
            raise ValueError(f"The row {row.id!r} was added before. Give each row of a part its own id.")
        self.rows.append(row)
        print(line(row), flush=True)
        return row


def main(
    script: str,
    description: str | None,
    parts: Callable[[Run], None] | Mapping[str, Callable[[Run], None]],
    *,
    peers: Sequence[str] = (),
    options: Callable[[argparse.ArgumentParser], None] | None = None,
) -> None:
    """Run a script: read the command line, measure each part, print its rows and write them.

    Parameters
    ----------
    script : str
        Its ``__file__``.
    description : str
        Its docstring, for ``--help``.
    parts : function or mapping of names to functions
    peers : sequence of str
        Packages whose versions belong into the results.
    options : function
        Adds options of the script's own.
    """
    name = Path(script).stem
    several = parts if isinstance(parts, Mapping) else {name: parts}
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    if isinstance(parts, Mapping):
        parser.add_argument("parts", nargs="*", metavar="PART", help=f"only these parts: {', '.join(parts)}")
    parser.add_argument(
        "--quick", action="store_true", help="try the script on a little made-up data; figures mean nothing"
    )
    parser.add_argument("--results", type=Path, metavar="DIR", help="folder for the JSON results and the pictures")
    if options:
        options(parser)
    arguments = parser.parse_args()
    chosen = getattr(arguments, "parts", None) or list(several)
    if unknown := [part for part in chosen if part not in several]:
        parser.error(f"There is no part {', '.join(unknown)}. Choose from {', '.join(several)}.")
    folder = arguments.results or (None if arguments.quick else RESULTS)
    described = machine(peers)
    print(f"{described['cpu']}, {described['cores']} cores, {described['simd']}; load average {load_average()}")
    missed: list[Row] = []
    for part in chosen:
        run, before, start = Run(arguments), load_average(), time.perf_counter()
        print(f"\n{part}")
        several[part](run)
        content = {
            "script": f"benchmarks/{name}.py",
            "part": part if isinstance(parts, Mapping) else None,
            "date": datetime.now(UTC).date().isoformat(),
            "quick": arguments.quick,
            "machine": described,
            "load_average": {"before": before, "after": load_average()},
            "seconds": round(time.perf_counter() - start),
            "rows": [asdict(row) for row in run.rows],
        }
        if folder:
            write(folder / f"{name if part == name else f'{name}-{part}'}.json", content)
        missed += [row for row in run.rows if row.missed]
    if missed and not arguments.quick:
        sys.exit(f"Missed the least ratio: {', '.join(row.id for row in missed)}")


def write(path: Path, content: Mapping[str, Any]) -> None:
    """Write a result, all of it or nothing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(rounded(content), indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"-> {path}")


def rounded(value: Any) -> Any:
    """Give floats four digits, which is more than a timing deserves."""
    if isinstance(value, Mapping):
        return {key: rounded(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.4g}")
    return value.item() if hasattr(value, "item") else value


def machine(peers: Sequence[str] = ()) -> dict[str, Any]:
    """Describe the machine and the versions of all that takes part."""
    return {
        "cpu": cpu_model(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "simd": simd_path(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        "versions": {name: metadata.version(name) for name in (*LIBRARIES, *peers) if installed(name)},
    }


def cpu_model() -> str:
    """Name of the processor."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for found in info.read_text().splitlines():
            if found.startswith("model name"):
                return found.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def installed(package: str) -> bool:
    """Whether a package is there."""
    try:
        metadata.version(package)
    except metadata.PackageNotFoundError:
        return False
    return True


def load_average() -> float:
    """Load average of the last minute: above the number of cores, others were using the machine too."""
    return round(os.getloadavg()[0], 2)


# Printing


def line(row: Row) -> str:
    """Show a row on one line."""
    setting = ", ".join(f"{name} {number(value)}" for name, value in row.setting.items())
    shown = f"  {row.what:<46} {number(row.ours):>10} {row.unit:<14}"
    if row.ratio is not None and row.theirs is not None:
        shown += f" {row.peer}: {number(row.theirs)}, ratio {number(row.ratio)}"
        shown += f" (CPU {number(row.cpu_ratio)})" if row.cpu_ratio is not None else ""
    if row.least_ratio is not None:
        shown += f", at least {row.least_ratio:g}"
    skipped = ("median", "their median", "repetitions")
    details = ", ".join(f"{name} {number(value)}" for name, value in row.details.items() if name not in skipped)
    return "  ".join(filter(None, (shown, setting and f"[{setting}]", details))).rstrip()


def number(value: Any) -> str:
    """Show a number with three digits, and whole numbers whole."""
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
    return str(value)
