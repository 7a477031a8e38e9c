"""The process that runs cases, one after the other, and says on standard output which one it has begun."""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import itertools
import os
import sys
import traceback
from pathlib import Path
from random import Random

MOST_MEMORY = int(os.environ.get("STHASH_FUZZ_MIB", "2048")) << 20


def use_core(path: str) -> None:
    """Load another build of the C++ core in place of the installed one."""
    spec = importlib.util.spec_from_file_location("sthash._core", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["sthash._core"] = module
    spec.loader.exec_module(module)
    importlib.import_module("sthash")._core = module


def random_of(seed: int, target: str, number: int) -> Random:
    """Give the source of randomness of a case."""
    return Random(f"{seed} {target} {number}")


def peak_memory() -> int:
    """Most bytes that this process has had; what `resource` tells includes the process that has started it."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Run cases until told to stop; leave at the first that goes wrong."""
    parser = argparse.ArgumentParser()
    parser.add_argument("target")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--step", type=int, default=1)
    parser.add_argument("--count", type=int)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--prepare", action="store_true")
    arguments = parser.parse_args()
    if os.environ.get("STHASH_FUZZ_CORE"):
        use_core(os.environ["STHASH_FUZZ_CORE"])
    target = importlib.import_module(f"fuzz.{arguments.target}")
    if arguments.prepare:
        target.prepare(arguments.folder)
        return
    numbers = itertools.count(arguments.first, arguments.step)
    for number in itertools.islice(numbers, arguments.count):
        print("begin", number, flush=True)  # noqa: T201
        try:
            outcome = target.case(
                random_of(arguments.seed, arguments.target, number), arguments.folder, arguments.scratch
            )
        except BaseException:
            traceback.print_exc()
            sys.exit(1)
        if peak_memory() > MOST_MEMORY:
            sys.stderr.write(f"the process has taken more than {MOST_MEMORY >> 20} MiB\n")
            sys.exit(2)
        print("end", number, outcome, flush=True)  # noqa: T201


if __name__ == "__main__":
    main()
