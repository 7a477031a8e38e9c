"""Fuzzed requests: valid ones, changed in their values, their bytes, their heads and their framing.

`run` serves a small collection in a process of its own and sends requests for some time. No answer may be an error of
the server, except 503 for too much load, every error must be JSON as documented, and the memory must stay within what
`sthash.serve.Limits` allows. The same seed sends the same requests.
"""

from __future__ import annotations

import json
import socket
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from sthash.serve import Limits
from support.corpus import make_documents
from support.factories import create_collection
from support.fuzzed_requests import FuzzedRequest, RequestMaker
from support.server import Server, running

# Short times, so that a request that never ends does not hold up the others; little memory, so that it is filled.
LIMITS: dict[str, float] = {
    "header_seconds": 2,
    "body_seconds": 2,
    "send_seconds": 5,
    "seconds": 10,
    "body_bytes": 4 * 2**20,
    "all_bodies_bytes": 64 * 2**20,
    "answer_bytes": 4 * 2**20,
    "all_answers_bytes": 16 * 2**20,
    "connections": 64,
}
WAIT_SECONDS = 30.0


@dataclass
class Report:
    """What the fuzzer has seen.

    Attributes
    ----------
    seed, requests : int
    seconds : float
    statuses : Counter
        Number of answers per status; 0 for a connection that was closed without one.
    failures : list of str
        What must not be, with the request that led to it.
    peak_bytes, bound_bytes : int
        Most memory of the server, and what it may have.
    """

    seed: int
    requests: int = 0
    seconds: float = 0.0
    statuses: Counter[int] = field(default_factory=Counter)
    failures: list[str] = field(default_factory=list)
    peak_bytes: int = 0
    bound_bytes: int = 0

    def __str__(self) -> str:
        answered = ", ".join(f"{status}: {count:,}" for status, count in sorted(self.statuses.items()))
        return (
            f"{self.requests:,} requests in {self.seconds:.0f} s (seed {self.seed}), {len(self.failures)} failures, "
            f"peak {self.peak_bytes / 2**20:.0f} of {self.bound_bytes / 2**20:.0f} MiB; {answered}"
        )


class Exchange:
    """Sends requests to a server, over one connection for as long as that can be used."""

    def __init__(self, server: Server) -> None:
        self._address = server.address
        self._socket: socket.socket | None = None

    def send(self, request: FuzzedRequest) -> bytes:
        """Return the bytes of the answer; of several answers all."""
        if request.whole:
            try:
                return self._send(request, self._connected())
            except ConnectionError:  # an idle connection may have been closed
                self.close()
                return self._send(request, self._connected())
        with socket.create_connection(self._address, timeout=WAIT_SECONDS) as connection:
            received = b""
            try:
                connection.sendall(request.content)
                connection.shutdown(socket.SHUT_WR)
                while part := connection.recv(1 << 16):
                    received += part
            except TimeoutError:
                raise
            except OSError:  # the server has closed the connection
                pass
            return received

    def _connected(self) -> socket.socket:
        if self._socket is None:
            self._socket = socket.create_connection(self._address, timeout=WAIT_SECONDS)
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return self._socket

    def _send(self, request: FuzzedRequest, connection: socket.socket) -> bytes:
        received = b""
        with suppress(ConnectionError):  # it may have been refused before it was whole
            connection.sendall(request.content)
        while b"\r\n\r\n" not in received:
            part = connection.recv(1 << 16)
            if not part:
                break
            received += part
        head, _, body = received.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line.partition(b":")[2]) for line in lines if line.startswith(b"content-length:")), 0)
        while request.method != "HEAD" and len(body) < length:
            part = connection.recv(1 << 16)
            if not part:
                break
            body += part
        if not received or b"connection: close" in lines or lines[0].split()[1:2] != [b"200"]:
            self.close()
        if not received:
            raise ConnectionResetError
        return head + b"\r\n\r\n" + body

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def problem(request: FuzzedRequest, answer: bytes) -> tuple[int, str | None]:
    """Return the status of an answer, and what is wrong with it."""
    if not answer:
        return 0, None
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 "):
        return 0, f"this is no HTTP: {head[:100]!r}"
    status = int(head.split()[1])
    if status >= 500 and status != 503:
        return status, f"an error of the server: {body[:300]!r}"
    if status >= 400 and request.whole and request.method != "HEAD":
        try:
            error = json.loads(body)["error"]
            if not (error["code"] and error["message"] and error["remedy"]):
                return status, f"an error that says too little: {body[:300]!r}"
        except (ValueError, KeyError, TypeError):
            return status, f"an error that is not as documented: {body[:300]!r}"
    return status, None


def run(
    seconds: float, seed: int, *, max_requests: int | None = None, progress: Callable[[Report], None] | None = None
) -> Report:
    """Send fuzzed requests for some time, or until there are so many; see the module.

    Parameters
    ----------
    seconds : float
    seed : int
    max_requests : int, optional
    progress : callable, optional
        Called with the report now and then.
    """
    report, maker = Report(seed), RequestMaker(seed)
    with tempfile.TemporaryDirectory() as folder:
        path, log = Path(folder, "some.sth"), Path(folder, "log")
        create_collection(path, make_documents(300), n_bits=16, n_neighbors=10, recipe="paper").close()
        with running(path, log=log, **LIMITS) as server:
            exchange = Exchange(server)
            exchange.send(FuzzedRequest(b"GET /map HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", True, "GET"))
            start = time.monotonic()  # the first requests on a busy machine come late
            report.bound_bytes = server.memory() + Limits(**LIMITS).memory_bytes  # type: ignore[arg-type]
            while time.monotonic() - start < seconds and report.requests != max_requests:
                request = maker.request()
                report.requests += 1
                try:
                    status, wrong = problem(request, exchange.send(request))
                except TimeoutError:
                    exchange.close()
                    status, wrong = 0, f"no answer within {WAIT_SECONDS:g} s"
                except ConnectionError as error:
                    exchange.close()
                    status, wrong = 0, None if server.process.poll() is None else f"the server has ended ({error})"
                report.statuses[status] += 1
                if wrong is not None:
                    report.failures.append(f"request {report.requests}: {wrong} after {request.content[:500]!r}")
                if server.process.poll() is not None or len(report.failures) > 20:
                    break
                if report.requests % 1000 == 0:
                    report.peak_bytes, report.seconds = server.memory(), time.monotonic() - start
                    if progress is not None:
                        progress(report)
            exchange.close()
            if server.process.poll() is None:
                report.peak_bytes = server.memory()
                status, _ = server.end()
                if status != 0:
                    report.failures.append(f"the server ended with status {status}")
        said = log.read_text()
        if "Traceback" in said:
            report.failures.append(f"the log has a traceback: {said[said.index('Traceback') :][:2000]}")
    if report.peak_bytes > report.bound_bytes:
        report.failures.append(f"the server took {report.peak_bytes:,} bytes, more than {report.bound_bytes:,}")
    report.seconds = time.monotonic() - start
    return report
