"""Try the wheel of a folder as a user would: PYTHON tools/try_wheel.py FOLDER [--constraints FILE] [--serve] [--test].

Installs the wheel that fits this Python into an empty environment, runs the demo there, and measures the import. With
``--serve`` it installs the extra `serve`, too, and waits for the first page of `sth serve`. With ``--test`` it also
runs the tests that the workflow runs (`tool.cibuildwheel` in pyproject.toml). Works on every system.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import sysconfig
import tempfile
import time
import tomllib
import urllib.request
import venv
import zipfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
MOST_BYTES = 5e6
MOST_SECONDS = 0.1
MOST_SECONDS_OF_SERVICE = 60
IMPORTS = 7
TIMER = "import time; start = time.process_time(); import sthash; print(time.process_time() - start)"


# All that a wheel may have, and what it must have.
CONTENT = re.compile(
    r"sthash/([a-z_]+/)*[a-z0-9_]+\.pyi?|sthash/py\.typed|sthash/_core[\w.-]*\.(so|pyd)|sthash\.libs/[\w.+-]+"
    r"|sthash/serve/page/[a-z_]+\.(css|html|js|svg)|sthash/reproduction/([a-z_]+/)*[\w-]+\.(yaml|json)"
    r"|sthash-[\w.]+\.dist-info/(METADATA|WHEEL|RECORD|entry_points\.txt|licenses/(LICENSE|NOTICES)|sboms/[\w.-]+)"
)
NEEDED = (
    "sthash/__init__.py",
    "sthash/py.typed",
    "sthash/serve/page/index.html",
    "/licenses/LICENSE",
    "/licenses/NOTICES",
)


def unexpected(names: list[str]) -> list[str]:
    """Return the files that a wheel should not have, and those that it lacks."""
    files = [name for name in names if not name.endswith("/")]
    missing = [needed for needed in NEEDED if not any(name.endswith(needed) for name in files)]
    return [name for name in files if not CONTENT.fullmatch(name)] + missing


def main() -> None:
    """Try the wheel, and end with an error if anything is not as promised."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--constraints", type=Path)
    parser.add_argument("--serve", action="store_true")
    parser.add_argument("--test", action="store_true")
    given = parser.parse_args()
    versions = {wheel.name.split("-")[1] for wheel in given.folder.glob("sthash-*.whl")}
    if len(versions) != 1:
        sys.exit(f"{given.folder} must have wheels of one version of sthash, but has: {sorted(versions)}.")
    wanted = versions.pop()
    for wheel in given.folder.glob("sthash-*.whl"):
        if found := unexpected(zipfile.ZipFile(wheel).namelist()):
            sys.exit(f"{wheel} should not have, or lacks: {', '.join(found)}")
    without_gil = " without the GIL" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    say(f"Python {sys.version.split()[0]}{without_gil}")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        empty = Path(folder).resolve()
        venv.create(empty / "venv", with_pip=True)
        programs = empty / "venv" / ("Scripts" if os.name == "nt" else "bin")
        python = str(programs / "python")
        limits = ["-c", str(given.constraints.resolve())] if given.constraints else []
        install = [python, "-m", "pip", "install", "--quiet", *limits]
        # Nothing is compiled: all that sthash needs comes in wheels, too.
        name = f"sthash[serve]=={wanted}" if given.serve else f"sthash=={wanted}"
        wheels = ["--only-binary", ":all:", "--find-links", str(given.folder.resolve()), name]
        run(f"installing the wheel (pip install '{name}')", [*install, *wheels], empty)
        version = run("", [str(programs / "sth"), "version"], empty).strip()
        installed = run("", [python, "-m", "pip", "list", "--format=freeze"], empty)
        if version.split()[1] != wanted or f"sthash=={wanted}" not in installed.split():
            sys.exit(f"This should be sthash {wanted}. `sth version` says {version!r}, and pip says:\n{installed}")
        run("running the demo (sth demo python.sth)", [str(programs / "sth"), "demo", "python.sth"], empty)
        run("one search (sth search python.sth …)", [str(programs / "sth"), "search", "python.sth", "a queue"], empty)
        if given.serve:
            seconds = first_page([str(programs / "sth"), "serve", "python.sth", "--port"], empty)
            say(f"  serving the first page (sth serve python.sth): {seconds:.1f} s")
        seconds = min(float(run("", [python, "-c", TIMER], empty)) for _ in range(IMPORTS))
        say(f"  import: {seconds:.3f} CPU seconds, the best of {IMPORTS}")
        if seconds >= MOST_SECONDS:
            sys.exit(f"`import sthash` takes {MOST_SECONDS} s or more. Look for what it loads: python -X importtime.")
        if given.test:
            run_tests(install, python, empty)
    for wheel in sorted(given.folder.glob("*.whl")):
        size = wheel.stat().st_size
        say(f"  {wheel.name}: {size / 1e6:.2f} MB")
        if size >= MOST_BYTES:
            sys.exit(f"{wheel} has {MOST_BYTES / 1e6:.0f} MB or more. Look for what is in it: unzip -lv.")


def run_tests(install: list[str], python: str, folder: Path) -> None:
    """Run the tests of the workflow, beside a copy of their sources and of nothing else."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["cibuildwheel"]
    place = folder / "tests"
    place.mkdir()
    for name in settings["test-sources"]:
        source = ROOT / name
        shutil.copytree(source, place / name) if source.is_dir() else shutil.copy(source, place / name)
    run("installing what the tests need", [*install, *settings["test-requires"]], folder)
    _, *arguments = shlex.split(settings["test-command"])
    # PyStemmer would bring the GIL back, and a warning about that is an error in the tests.
    without_gil = {"PYTHON_GIL": "0"} if sysconfig.get_config_var("Py_GIL_DISABLED") else {}
    say("  " + run("running the tests", [python, *arguments], place, **without_gil).strip().splitlines()[-1])


def run(what: str, command: list[str], folder: Path, **settings: str) -> str:
    """Run a command in a folder, away from the sources, and return what it prints."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    start = time.monotonic()
    done = subprocess.run(  # noqa: S603 - our own commands
        command,
        cwd=folder,
        env=environment | {"PYTHONUTF8": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1"} | settings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed:\n{done.stdout[-5000:]}")
    if what:
        say(f"  {what}: {time.monotonic() - start:.1f} s")
    return done.stdout


def first_page(command: list[str], folder: Path) -> float:
    """Start a service, and return the seconds until it has answered with its page."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    log, start = folder / "serve.log", time.monotonic()
    with log.open("wb") as output:
        service = subprocess.Popen([*command, str(port)], cwd=folder, stdout=output, stderr=output)  # noqa: S603
    try:
        while time.monotonic() - start < MOST_SECONDS_OF_SERVICE and service.poll() is None:
            try:
                with opener.open(f"http://127.0.0.1:{port}/") as answer:
                    if b"<html" in answer.read():
                        return time.monotonic() - start
            except OSError:
                time.sleep(0.05)
    finally:
        service.terminate()
        service.wait()
    sys.exit(f"{shlex.join([*command, str(port)])} gives no page:\n{log.read_text(errors='replace')}")


def say(text: str) -> None:
    """Say how far it is."""
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
