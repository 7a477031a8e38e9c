"""``sth serve`` on a collection of 244,163 documents, beside the same searches in-process.

The load comes from a second process over loopback: from several numbers of connections without a pause, then at 80 % of
the highest rate, and then at three times of it; all that for one process that serves, and for two, directly and behind
nginx with TLS, if that is installed (the settings are those of deploy/nginx.conf).
``--collection FILE`` uses a file that exists; ``--seconds`` sets how long each load lasts.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import data
from collection import build_row, measured_build
from harness import Run, figure, main
from sthash import Collection
from timing import in_own_process

K, BATCH = 10, 64
CONNECTIONS = (1, 8, 64, 256)
WORKERS = (1, 2)
SPARE_CONNECTIONS = 512
OVERLOAD = 3


class Connection(asyncio.Protocol):
    """One connection of the load: it sends a request, and gives the status of the answer."""

    def __init__(self) -> None:
        self.answer: asyncio.Future[int] | None = None
        self._received = bytearray()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the way to send."""
        self.transport: Any = transport

    def ask(self, request: bytes) -> asyncio.Future[int]:
        """Send a request; the status comes as a future."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer

    def data_received(self, received: bytes) -> None:
        """Wait for the head and for as many bytes as it says."""
        self._received += received
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._received.lower().find(b"content-length: ") + 16
        size = int(self._received[start : self._received.find(b"\r\n", start)])
        if len(self._received) >= end + 4 + size:
            status, self._received = int(self._received[9:12]), bytearray()
            if self.answer is not None and not self.answer.done():
                self.answer.set_result(status)

    def connection_lost(self, error: Exception | None) -> None:
        """Count a connection that the server closes as an error."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(0)


class Load:
    """Requests from several connections, and what came back."""

    def __init__(self, port: int, connections: int, requests: list[bytes], tls: bool) -> None:
        self.port, self.connections, self.requests = port, connections, requests
        self.context = ssl.create_default_context() if tls else None
        if self.context is not None:  # a certificate that was made for this benchmark
            self.context.check_hostname, self.context.verify_mode = False, ssl.CERT_NONE
        self.free: list[Connection] = []
        self.times: list[float] = []
        self.statuses: Counter[int] = Counter()
        self.skipped = 0

    async def connect(self) -> Connection:
        """Open a connection."""
        loop = asyncio.get_running_loop()
        return (await loop.create_connection(Connection, "127.0.0.1", self.port, ssl=self.context))[1]

    async def ask(self, connection: Connection, number: int) -> None:
        """Send one request and note the answer."""
        start = time.perf_counter()
        status = await connection.ask(self.requests[number % len(self.requests)])
        self.statuses[status] += 1
        if status == 200:
            self.times.append(time.perf_counter() - start)

    async def hold(self, seconds: float) -> None:
        """Ask from all connections without a pause."""
        end = time.perf_counter() + seconds

        async def repeat(connection: Connection, number: int) -> None:
            while time.perf_counter() < end:
                if connection.transport.is_closing():  # a proxy closes a connection after some requests
                    connection = await self.connect()
                await self.ask(connection, number)
                number += self.connections

        await asyncio.gather(*(repeat(connection, number) for number, connection in enumerate(self.free)))

    async def push(self, seconds: float, rate: float) -> None:
        """Ask at a rate, whether or not earlier answers have come."""

        async def lend(connection: Connection, number: int) -> None:
            if connection.transport.is_closing():  # the server closes connections that stay silent
                connection = await self.connect()
            await self.ask(connection, number)
            self.free.append(connection)

        begin, tasks = time.perf_counter(), set()
        for number in range(int(rate * seconds)):
            wait = begin + number / rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            elif number % 64 == 0:
                await asyncio.sleep(0)
            if not self.free:
                self.skipped += 1
                continue
            task = asyncio.create_task(lend(self.free.pop(), number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)

    async def run(self, seconds: float, rate: float | None) -> dict[str, Any]:
        """Open the connections, ask, and sum up."""
        self.free = [await self.connect() for _ in range(self.connections)]
        begin = time.perf_counter()
        await (self.hold(seconds) if rate is None else self.push(seconds, rate))
        taken = time.perf_counter() - begin
        p50, p99 = (1000 * np.percentile(self.times, (50, 99))).tolist() if self.times else (0.0, 0.0)
        statuses = {f"status {status}": count for status, count in sorted(self.statuses.items())}
        answers = len(self.times) / taken
        return {"answers/s": answers, "p50 ms": p50, "p99 ms": p99, **statuses, "not sent": self.skipped}


def load(
    port: int, connections: int, seconds: float, texts: list[str], rate: float | None = None, tls: bool = False
) -> dict[str, Any]:
    """Load the service from this process."""
    head = f"POST /search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: "
    bodies = [json.dumps({"text": text, "k": K}).encode() for text in texts]
    requests = [head.encode() + b"%d\r\n\r\n" % len(body) + body for body in bodies]
    return asyncio.run(Load(port, connections, requests, tls).run(seconds, rate))


def in_process(path: Path, texts: list[str], seconds: float) -> dict[str, float]:
    """Give the searches per second in this process: one by one, and many at once."""
    with Collection.open(path) as collection:
        collection.search_many(texts[:BATCH], K)
        searches: dict[str, Callable[[list[str]], list[Any]]] = {
            "search": lambda some: [collection.search(text, K, explain=True) for text in some],
            "search_many": lambda some: collection.search_many(some, K, explain=True),
        }
        rates = {}
        for name, search in searches.items():
            count, begin = 0, time.perf_counter()
            while time.perf_counter() - begin < seconds:
                start = count % max(1, len(texts) - BATCH)
                count += len(search(texts[start : start + BATCH]))
            rates[name] = count / (time.perf_counter() - begin)
    return rates


def measure(run: Run) -> None:
    """Build a collection if none is given, serve it, and load it."""
    if run.arguments.collection:
        serve(run, run.arguments.collection)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sth")
        run.add(build_row("build", measured_build(run, path), path, 64))
        serve(run, path)


def serve(run: Run, path: Path) -> None:
    """Measure in-process, then over HTTP."""
    texts = data.descriptions(run.quick).queries
    seconds = run.choose(run.arguments.seconds, 0.5)
    rates = in_process(path, texts, min(10, seconds))
    for name, rate in rates.items():
        run.add(figure(name, f"in-process, {name}", rate, "searches/s"))
    for workers in run.choose(run.arguments.workers, (1,)):
        command = [str(Path(sys.executable).parent / "sth"), "serve", str(path), "--port", "0", "--quiet"]
        with subprocess.Popen([*command, "--workers", str(workers)], stderr=subprocess.PIPE, text=True) as server:
            try:
                assert server.stderr is not None
                port = int(server.stderr.readline().rpartition("(")[0].rpartition(":")[2])
                load_service(run, Service(server.pid, port, workers), rates, texts, seconds)
                if shutil.which("nginx"):
                    with tempfile.TemporaryDirectory() as folder, behind_nginx(port, Path(folder)) as outer:
                        load_service(run, Service(server.pid, outer, workers, tls=True), rates, texts, seconds)
            finally:
                server.terminate()


@dataclass(frozen=True)
class Service:
    """What is loaded: the process that serves, the port, how many processes, and whether nginx stands in front."""

    pid: int
    port: int
    workers: int
    tls: bool = False


def load_service(run: Run, service: Service, rates: dict[str, float], texts: list[str], seconds: float) -> None:
    """Load a service."""
    workers, port, tls = service.workers, service.port, service.tls
    named = ("" if workers == 1 else f"{workers}-workers-") + ("nginx-" if tls else "")
    kind = "over HTTPS, nginx" if tls else "over HTTP"
    plural = "" if workers == 1 else f", {workers} processes"
    if not run.quick:
        in_own_process(load, port, 8, min(3, seconds), texts, None, tls)  # warms the service up
    best, rate = 0.0, 0.0
    for connections in run.choose(run.arguments.connections, (4,)):
        held = in_own_process(load, port, connections, seconds, texts, None, tls).timing.result
        rate = held.pop("answers/s")
        best = max(best, rate)
        setting = {"connections": connections, "workers": workers, "seconds": seconds}
        for name, peer in rates.items():
            run.add(
                figure(
                    f"{named}connections-{connections}-{name}",
                    f"{kind}, {connections} connections{plural}",
                    rate,
                    "searches/s",
                    peer=f"{name} in-process",
                    theirs=peer,
                    setting=setting,
                    details=held | {"memory MiB": memory(service.pid)},
                )
            )
    spare = run.choose(SPARE_CONNECTIONS, 8)
    for name, share in (("most", 0.8), ("overload", OVERLOAD)):
        details = in_own_process(load, port, spare, seconds / 2, texts, share * best, tls).timing.result
        accepted, what = details.pop("answers/s"), f"{kind}, {share:g} times the highest rate{plural}"
        setting = {"connections": spare, "workers": workers, "seconds": seconds / 2}
        run.add(figure(f"{named}{name}", what, accepted, "searches/s", setting=setting, details=details))


@contextmanager
def behind_nginx(port: int, folder: Path) -> Iterator[int]:
    """Start nginx with TLS before a port of this machine, as deploy/nginx.conf has it; give its port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        outer = free.getsockname()[1]
    certificate = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=localhost"]
    made = ["-keyout", folder / "key.pem", "-out", folder / "fullchain.pem"]
    subprocess.run(["openssl", "req", *certificate, *made], check=True, capture_output=True)
    settings = (Path(__file__).parents[1] / "deploy" / "nginx.conf").read_text()
    for ours, here in (
        ("server sthash:8000;", f"server 127.0.0.1:{port};"),
        ("listen 443 ssl;", f"listen 127.0.0.1:{outer} ssl;"),
        ("/etc/nginx/certificates", str(folder)),
    ):
        assert ours in settings, ours
        settings = settings.replace(ours, here)
    paths = "".join(
        f"{kind}_temp_path {folder}/{kind};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    head = f"daemon off; worker_processes auto; pid {folder}/pid; error_log stderr error;"
    events = "events { worker_connections 4096; }"
    (folder / "nginx.conf").write_text(f"{head}\n{events}\nhttp {{ access_log off; {paths}\n{settings}\n}}\n")
    with subprocess.Popen(["nginx", "-c", folder / "nginx.conf", "-p", folder]) as proxy:
        try:
            for _ in range(100):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", outer)) == 0:
                        break
                time.sleep(0.1)
            yield outer
        finally:
            proxy.terminate()


def memory(pid: int) -> float:
    """Return the resident memory of a process and its children, in MiB."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    files = (Path(f"/proc/{number}/status") for number in (pid, *children))
    lines = (line for file in files for line in file.read_text().splitlines() if line.startswith("VmRSS"))
    return sum(int(line.split()[1]) for line in lines) / 1024


def options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the load."""
    parser.add_argument("--collection", type=Path)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--workers", type=int, nargs="+", default=WORKERS)


if __name__ == "__main__":
    main(__file__, __doc__, measure, peers=["fastapi", "uvicorn"], options=options)
