"""The service on a collection of 245 k documents: requests a second and latency, beside the same searches in-process.

The load comes from a second process over loopback. Run with ``--collection`` to use a file that is there already, and
``--seconds`` to hold each load for another time than 60 s.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np

from collection import build, queries
from sthash import Collection

K = 10
CONNECTIONS = (1, 8, 64)
SPARE_CONNECTIONS = 512


class Connection(asyncio.Protocol):
    """One connection of the load: sends a request, and tells the status and the size of the answer."""

    def __init__(self):
        self.answer = None
        self._received = bytearray()

    def connection_made(self, transport):
        """Keep the way to send."""
        self.transport = transport

    def ask(self, request):
        """Send a request; the answer comes as a future."""
        self.answer = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return self.answer

    def data_received(self, data):
        """Wait for the head and as many bytes as it says."""
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        start = self._received.find(b"content-length: ") + 16
        size = int(self._received[start : self._received.find(b"\r\n", start)])
        if len(self._received) >= end + 4 + size:
            status, self._received = int(self._received[9:12]), bytearray()
            if not self.answer.done():
                self.answer.set_result(status)

    def connection_lost(self, error):
        """Count a connection that the server closes as an error."""
        if self.answer is not None and not self.answer.done():
            self.answer.set_result(0)


def requests(texts, port):
    """Give the bytes of a search for each text."""
    bodies = [json.dumps({"text": text, "k": K, "explain": True}).encode() for text in texts]
    head = f"POST /search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\nContent-Length: "
    return [head.encode() + b"%d\r\n\r\n" % len(body) + body for body in bodies]


async def load(port, connections, seconds, rate):
    """Ask from all connections without a pause; or, at a rate, whether or not earlier answers have come."""
    loop = asyncio.get_running_loop()
    asked = requests(queries(), port)

    async def connected():
        return (await loop.create_connection(Connection, "127.0.0.1", port))[1]

    free = [await connected() for _ in range(connections)]
    times, statuses, skipped = [], Counter(), 0
    begin = time.perf_counter()
    end = begin + seconds

    async def one(connection, number):
        start = time.perf_counter()
        status = await connection.ask(asked[number % len(asked)])
        statuses[status] += 1
        if status == 200:
            times.append(time.perf_counter() - start)

    async def closed(connection, number):
        while time.perf_counter() < end:
            await one(connection, number)
            number += connections

    async def lent(connection, number):
        if connection.transport.is_closing():  # the server does not wait for ever for who says nothing
            connection = await connected()
        await one(connection, number)
        free.append(connection)

    if rate is None:
        await asyncio.gather(*(closed(connection, number) for number, connection in enumerate(free)))
    else:
        tasks = set()
        for number in range(int(rate * seconds)):
            wait = begin + number / rate - time.perf_counter()
            if wait > 0:
                await asyncio.sleep(wait)
            elif number % 64 == 0:
                await asyncio.sleep(0)
            if not free:
                skipped += 1
                continue
            task = asyncio.create_task(lent(free.pop(), number))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
        await asyncio.gather(*tasks)
    took = time.perf_counter() - begin
    p50, p99 = (1000 * np.percentile(times, (50, 99))).tolist() if times else (0.0, 0.0)
    print(
        json.dumps(
            {"seconds": took, "accepted": len(times), "statuses": statuses, "p50": p50, "p99": p99, "skipped": skipped}
        )
    )


def loaded(port, connections, seconds, rate=None):
    """Run the load in a process of its own."""
    command = [sys.executable, __file__, "--load", f"{port},{connections},{seconds},{rate or 0}"]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    found = json.loads(result.stdout)
    found["rate"] = found["accepted"] / found["seconds"]
    return found


def in_process(path, texts, seconds):
    """Searches a second in this process: one by one, and many at once."""
    with Collection.open(path) as collection:
        collection.search_many(texts[:64], K)
        rates = []
        for search in (
            lambda start: [collection.search(text, K, explain=True) for text in texts[start : start + 64]],
            lambda start: collection.search_many(texts[start : start + 64], K, explain=True),
        ):
            count, begin = 0, time.perf_counter()
            while time.perf_counter() - begin < seconds:
                count += len(search(count % 960))
            rates.append(count / (time.perf_counter() - begin))
    return rates


def show(name, found):
    """Print a row."""
    statuses = ", ".join(f"{count:,} × {status}" for status, count in sorted(found["statuses"].items()))
    print(f"  {name:<30}{found['rate']:>9,.0f}{found['p50']:>9.1f}{found['p99']:>9.1f}   {statuses}", flush=True)


def measure(path, seconds, numbers):
    """Serve a collection and load it from some numbers of connections; from the last, also with three times as much."""
    texts = queries()
    single, batch = in_process(path, texts, min(10, seconds))
    print(f"\nin-process, searches a second: search {single:,.0f}; search_many, 64 at a time, {batch:,.0f}")
    command = [str(Path(sys.executable).parent / "sth"), "serve", str(path), "--port", "0", "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as server:
        try:
            port = int(server.stderr.readline().rpartition("(")[0].rpartition(":")[2])
            loaded(port, 8, 3)
            print(f"  {'over HTTP':<30}{'answers/s':>9}{'p50 ms':>9}{'p99 ms':>9}   statuses")
            for connections in numbers:
                held = loaded(port, connections, seconds)
                show(f"{connections} connections, {seconds} s", held)
            print(f"  at {connections} connections: {held['rate'] / single:.2f} times search in-process, ", end="")
            print(f"{held['rate'] / batch:.2f} times search_many")
            over = loaded(port, SPARE_CONNECTIONS, seconds / 2, 3 * held["rate"])
            show(f"3 times that load, {seconds / 2:.0f} s", over)
            print(
                f"  p99 of the accepted: {over['p99'] / held['p99']:.2f} times; {over['skipped']:,} could not be sent"
            )
        finally:
            server.terminate()


def main():
    """Build if need be, then measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--collection")
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--connections", type=int, nargs="+", default=CONNECTIONS)
    parser.add_argument("--load", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.load:
        port, connections, seconds, rate = map(float, arguments.load.split(","))
        asyncio.run(load(int(port), int(connections), seconds, rate or None))
        return
    if arguments.collection:
        measure(arguments.collection, arguments.seconds, arguments.connections)
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "c.sth")
        build(path, None, arguments.bits)
        measure(path, arguments.seconds, arguments.connections)


if __name__ == "__main__":
    main()
