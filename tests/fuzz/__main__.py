"""``python -m fuzz``: run the fuzzers for some time, print the seed, and exit with 1 if there are findings."""

from __future__ import annotations

import argparse
import importlib.util
import os
import secrets
import subprocess
import sys
import time
from pathlib import Path

from fuzz.pool import Finding, run

# The quick ones first: what they leave of their share of the time goes to the others.
TARGETS = ("index_files", "model_files", "sources", "queries", "arrays", "collection_files")


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__)
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}, http; default: all")
    parser.add_argument("--seconds", type=float, default=120, help="for all targets together")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--case", type=int, default=None, help="run this case alone")
    parser.add_argument("--count", type=int, default=None, help="most cases per target")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--core", default=None, help="a build of the C++ core with sanitizers")
    arguments = parser.parse_args()
    seed = secrets.randbits(32) if arguments.seed is None else arguments.seed
    http = importlib.util.find_spec("support.http_fuzzer") is not None
    targets = arguments.targets or [*TARGETS, *(["http"] if http else [])]
    say(
        f"seed {seed}; {', '.join(targets)}; {arguments.seconds:g} s"
        + (f"; {arguments.core}" if arguments.core else "")
    )
    failed = False
    ends = time.monotonic() + arguments.seconds
    for place, target in enumerate(targets):
        begun = time.monotonic()
        seconds = max((ends - begun) / (len(targets) - place), 1.0)
        if target == "http":
            failed |= not run_http(seconds, seed, arguments.count)
            continue
        alone = arguments.case is not None
        report = run(
            target,
            seed,
            seconds,
            workers=1 if alone else arguments.workers,
            first=arguments.case or 0,
            count=1 if alone else arguments.count,
            environment=sanitizers(arguments.core) if arguments.core else None,
            progress=say,
        )
        say(f"{target}: {report.cases} cases, {len(report.findings)} findings, {time.monotonic() - begun:.0f} s")
        for outcome, number in sorted(report.outcomes.items()):
            say(f"  {number:7d} {outcome}")
        failed |= bool(report.findings) or report.cases == 0
    sys.exit(failed)


def run_http(seconds: float, seed: int, count: int | None) -> bool:
    """Send fuzzed requests; say whether all went well."""
    from support import http_fuzzer

    report = http_fuzzer.run(seconds, seed, max_requests=count)
    say(f"http: {report}")
    for failure in report.failures:
        say(f"  {failure}")
    return report.requests > 0 and not report.failures


def sanitizers(core: str) -> dict[str, str]:
    """Give the variables with which Python loads a core that is built with sanitizers."""
    libraries = []
    for name in ("libasan.so", "libstdc++.so.6"):
        found = subprocess.run(
            [os.environ.get("CXX", "c++"), f"-print-file-name={name}"], capture_output=True, text=True, check=True
        )
        libraries.append(str(Path(found.stdout.strip()).resolve()))
    return {
        "STHASH_FUZZ_CORE": str(Path(core).resolve()),
        "LD_PRELOAD": " ".join(libraries),
        # Python leaks on purpose; a request for gigabytes must fail as it does elsewhere.
        "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1:max_allocation_size_mb=2048:quarantine_size_mb=64",
        "UBSAN_OPTIONS": "print_stacktrace=1:halt_on_error=1",
        "OPENBLAS_NUM_THREADS": "1",
    }


def say(what: str | Finding) -> None:
    """Print a line at once."""
    print(what, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
