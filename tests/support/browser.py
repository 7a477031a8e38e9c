"""A real server and a real browser, for the tests of the page and for its pictures."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sthash.cli.standard_library import doc_strings
from sthash.sources import Document


def library_documents(*modules: str) -> list[Document]:
    """Documentation of some modules of the standard library, or of all."""
    found = {entry.name: entry for entry in doc_strings() if not modules or entry.module in modules}
    return [Document(entry.name, entry.text, entry.module) for entry in found.values()]


@contextmanager
def serving(
    source: Path, port: int = 0, *options: str, **environment: str
) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    """Run ``sth serve``; give its address and its process, which is ended at the end if it has not been before."""
    command = [sys.executable, "-m", "sthash.cli", "serve", str(source), "--port", str(port), "--quiet", *options]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=os.environ | environment)
    try:
        said = server.stderr.readline()
        address = re.search(r"http://\S+", said)
        if address is None:
            raise RuntimeError(f"sth serve did not start: {said}{server.stderr.read()}")
        yield address[0], server
    finally:
        if server.poll() is None:
            server.send_signal(signal.SIGTERM)
        server.wait(60)
        server.stderr.close()
