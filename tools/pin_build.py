"""Write build-tools.txt: what release builds are made with, in exact versions, with the hash of every file.

Run it after `make pins`: python tools/pin_build.py. The versions are those of constraints.txt. pip says which file each
system of the workflow `wheels` would get, and its hash; nothing is installed.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TARGET = ROOT / "build-tools.txt"
TOOLS = ("build", "cmake", "nanobind", "ninja", "packaging", "pathspec", "pyproject_hooks", "scikit_build_core")
MANYLINUX = ("manylinux_2_28", "manylinux_2_17", "manylinux2014", "manylinux_2_12", "manylinux2010")
MUSLLINUX = ("musllinux_1_2", "musllinux_1_1")
MACOS = ("macosx_11_0", "macosx_10_13", "macosx_10_10", "macosx_10_9")
# For each system the tags of the wheels that fit it.
SYSTEMS = [[f"{tag}_{machine}" for tag in tags] for tags in (MANYLINUX, MUSLLINUX) for machine in ("x86_64", "aarch64")]
SYSTEMS += [[f"{tag}_{fits}" for tag in MACOS for fits in (machine, "universal2")] for machine in ("arm64", "x86_64")]
SYSTEMS += [["win_amd64"]]


def pinned() -> dict[str, str]:
    """Return the versions that constraints.txt has of the tools."""
    versions = {}
    for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines():
        name, _, version = line.partition("==")
        if name.lower().replace("-", "_") in TOOLS:
            versions[name.lower().replace("-", "_")] = version
    return versions


def hash_for(requirement: str, platforms: list[str]) -> str:
    """Return the hash of the file that pip takes on a system."""
    with tempfile.TemporaryDirectory() as folder:
        options = [option for platform in platforms for option in ("--platform", platform)]
        command = [sys.executable, "-m", "pip", "install", "--dry-run", "--no-deps", "--ignore-installed", "-q"]
        command += ["--only-binary", ":all:", *options, "--target", folder, "--report", "-", requirement]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603
        report = json.loads(answer.stdout)
    (item,) = report["install"]
    return str(item["download_info"]["archive_info"]["hashes"]["sha256"])


def requirements() -> str:
    """Return the lines of the file."""
    versions = pinned()
    if missing := [tool for tool in TOOLS if tool not in versions]:
        raise SystemExit(f"constraints.txt has no {', '.join(missing)}. Run make pins in an environment that has them.")
    lines = ["# What release builds are made with. Made by: python tools/pin_build.py"]
    for tool in TOOLS:
        requirement = f"{tool.replace('_', '-')}=={versions[tool]}"
        hashes = sorted({hash_for(requirement, platforms) for platforms in SYSTEMS})
        lines.append(" \\\n    ".join([requirement, *(f"--hash=sha256:{digest}" for digest in hashes)]))
    return "\n".join(lines) + "\n"


def is_pinned(text: str) -> bool:
    """Whether each requirement has an exact version and hashes."""
    items = re.sub(r"\\\n", " ", text).splitlines()
    pattern = re.compile(r"[\w-]+==[\w.]+(\s+--hash=sha256:[0-9a-f]{64})+")
    return all(pattern.fullmatch(item.strip()) for item in items if item.strip() and not item.startswith("#"))


if __name__ == "__main__":
    TARGET.write_text(requirements(), encoding="utf-8")
