"""A server in a process of its own, whose memory can be watched."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SERVE = """
import json, logging, sys
from pathlib import Path
from sthash.serve import Limits, Settings, serve
source, limits = sys.argv[1], json.loads(sys.argv[2])
logging.basicConfig(level=logging.WARNING)
serve(Settings(Path(source), port=0, limits=Limits(**limits)), lambda address: print(address, flush=True))
"""


class Server:
    """A server in a process of its own."""

    def __init__(self, process: subprocess.Popen[str], url: str) -> None:
        self.process = process
        self.url = url
        self.address = ("127.0.0.1", int(url.rpartition(":")[2]))

    def memory(self) -> int:
        """Most bytes that it has held so far."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        return 1024 * int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1])

    def end(self, seconds: float = 20) -> tuple[int, str]:
        """Ask it to end; give its status and what it wrote to standard error."""
        self.process.terminate()
        _, errors = self.process.communicate(timeout=seconds)
        return self.process.returncode, errors


@contextmanager
def running(source: str | Path, *, log: Path | None = None, **limits: float) -> Iterator[Server]:
    """Serve a file or a folder. What the server says goes into the log, or is kept for `Server.end`."""
    with log.open("w") if log is not None else _nothing() as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", SERVE, str(source), json.dumps(limits)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE if log is None else errors,
            text=True,
            env=os.environ | {"PYTHONWARNINGS": "default"},
        )
        try:
            url = process.stdout.readline().strip()
            assert url, process.stderr.read() if log is None else log.read_text()
            yield Server(process, url)
        finally:
            if process.poll() is None:
                process.kill()
            process.communicate()


@contextmanager
def _nothing() -> Iterator[None]:
    yield None
