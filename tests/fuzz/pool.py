"""Workers that run cases for some time; when one of them dies, its case is noted and another goes on after it."""

from __future__ import annotations

import os
import queue
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

TESTS = Path(__file__).parents[1]


@dataclass(frozen=True)
class Finding:
    """A case that went wrong."""

    target: str
    seed: int
    number: int
    what: str

    def __str__(self) -> str:
        again = f"make fuzz TARGET={self.target} SEED={self.seed} CASE={self.number}"
        return f"{self.target}, seed {self.seed}, case {self.number}: {self.what}\n  again: {again}"


@dataclass
class Report:
    """What a run has done: cases by outcome, and findings."""

    outcomes: Counter[str] = field(default_factory=Counter)
    findings: list[Finding] = field(default_factory=list)

    @property
    def cases(self) -> int:
        """Number of cases that came to an end."""
        return self.outcomes.total()


def run(
    target: str,
    seed: int,
    seconds: float,
    *,
    workers: int = 2,
    count: int | None = None,
    first: int = 0,
    case_seconds: float = 60.0,
    most_findings: int = 20,
    environment: dict[str, str] | None = None,
    progress: Callable[[Finding], None] | None = None,
) -> Report:
    """Run cases of a target.

    Parameters
    ----------
    target : str
        Name of a module beside this one, with ``prepare`` and ``case``.
    seed : int
        The same seed gives the same cases.
    seconds : float
        When to stop.
    workers : int
        Number of processes.
    count : int, optional
        Stop after so many cases.
    first : int
        Number of the first case.
    case_seconds : float
        A case that takes longer is a finding.
    most_findings : int
        Stop after so many.
    environment : dict, optional
        Variables for the workers, such as those of a sanitizer.
    progress : callable, optional
        Called with each finding.
    """
    report = Report()
    lock = threading.Lock()
    paths = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
    variables = os.environ | {"PYTHONPATH": paths, "PYTHONWARNINGS": "ignore"} | (environment or {})

    def found(finding: Finding) -> None:
        with lock:
            report.findings.append(finding)
        if progress:
            progress(finding)

    def work(place: int, folder: Path, ends: float) -> None:
        scratch = folder / f"worker{place}"
        scratch.mkdir()
        following, left = first + place, None if count is None else len(range(place, count, workers))
        while time.monotonic() < ends and len(report.findings) < most_findings and (left is None or left > 0):
            run_worker = _Worker(
                [target, "--seed", seed, "--first", following, "--step", workers, "--folder", folder / "seeds"]
                + ["--scratch", scratch] + ([] if left is None else ["--count", left]),
                variables,
                folder / f"log{place}",
            )  # fmt: skip
            begun, outcomes, what = run_worker.watch(ends, case_seconds)
            with lock:
                report.outcomes.update(outcomes)
            if what:
                found(Finding(target, seed, following if begun is None else begun, what))
            done = len(outcomes) + bool(what)
            left = None if left is None else left - done
            following += workers * max(done, 1)
            if not what:
                return

    # In memory where that can be had: no case is about the disk, and syncs would take most of the time.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        folder = Path(name)
        (folder / "seeds").mkdir()
        command = [target, "--seed", seed, "--folder", folder / "seeds", "--scratch", folder, "--prepare"]
        subprocess.run(_command(command), env=variables, check=True)
        threads = [
            threading.Thread(target=work, args=(place, folder, time.monotonic() + seconds)) for place in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return report


def _command(arguments: list[object]) -> list[str]:
    return [sys.executable, "-m", "fuzz.worker", *map(str, arguments)]


class _Worker:
    """One process, and what it says."""

    def __init__(self, arguments: list[object], environment: dict[str, str], log: Path) -> None:
        self._log = log
        with log.open("wb") as errors:
            self._process = subprocess.Popen(
                _command(arguments), env=environment, stdout=subprocess.PIPE, stderr=errors, text=True
            )
        self._lines: queue.Queue[str | None] = queue.Queue()
        self._listener = threading.Thread(target=self._listen, daemon=True)
        self._listener.start()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        with self._process.stdout as lines:
            for line in lines:
                self._lines.put(line)
        self._lines.put(None)

    def watch(self, ends: float, case_seconds: float) -> tuple[int | None, list[str], str]:
        """Wait for the end; return the case it was at, the outcomes before, and what went wrong."""
        begun: int | None = None
        outcomes: list[str] = []
        try:
            while True:
                try:
                    line = self._lines.get(timeout=case_seconds)
                except queue.Empty:
                    return begun, outcomes, f"it took more than {case_seconds:g} s"
                if line is None:
                    status = self._process.wait()
                    return begun, outcomes, self._explained(status) if status else ""
                word, number, *rest = line.split(maxsplit=2)
                if word == "begin":
                    begun = int(number)
                elif word == "end":
                    outcomes.append(rest[0].strip())
                if word == "end" and time.monotonic() > ends:
                    return begun, outcomes, ""
        finally:
            self._process.kill()
            self._process.wait()
            self._listener.join()

    def _explained(self, status: int) -> str:
        """Say how it ended, with the lines of its log that tell the most."""
        log = self._log.read_text(errors="replace").splitlines()
        telling = [line.strip() for line in log if "ERROR: " in line or "runtime error:" in line]
        frames = [line.strip() for line in log if line.lstrip().startswith("#")][:4]
        how = f"signal {-status}" if status < 0 else f"exit {status}"
        return "\n    ".join([how, *(telling or log[-6:])[:6], *frames])
