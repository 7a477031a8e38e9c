"""Metrics in the format of Prometheus: of the requests, the process and the collections.

Several processes that serve together count in files of a folder that they share, as prometheus-client does it if
``PROMETHEUS_MULTIPROC_DIR`` names the folder. Whichever of them is asked then answers for all.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector
from prometheus_client.registry import Collector

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64)
SHARED_FOLDER = "PROMETHEUS_MULTIPROC_DIR"


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        own = CollectorRegistry()
        self._requests = Counter(
            "sthash_requests", "Requests answered.", ("method", "route", "status", "collection"), registry=own
        )
        self._seconds = Histogram(
            "sthash_request_seconds", "Time to answer a request.", ("route",), buckets=SECONDS, registry=own
        )
        self._collection_seconds = Counter(
            "sthash_collection_seconds", "Time to answer the requests of a collection.", ("collection",), registry=own
        )
        self._errors = Counter("sthash_errors", "Errors by code.", ("code", "collection"), registry=own)
        self.in_flight = Gauge(
            "sthash_in_flight", "Requests that are being answered.", registry=own, multiprocess_mode="livesum"
        )
        self.batch = Histogram(
            "sthash_search_batch", "Searches that were answered together.", buckets=SIZES, registry=own
        )
        self.documents: dict[str, int] = {}
        self._registry = own
        if folder := os.environ.get(SHARED_FOLDER):
            self._registry = CollectorRegistry()
            MultiProcessCollector(self._registry, folder)  # type: ignore[no-untyped-call]
        self._registry.register(_Processes())
        self._registry.register(_Documents(self.documents))

    def record(
        self, method: str, route: str, status: int, collection: str | None, error: str | None, seconds: float
    ) -> None:
        """Count a request that has been answered."""
        self._requests.labels(method, route, status, collection or "").inc()
        self._seconds.labels(route).observe(seconds)
        if collection is not None:
            self._collection_seconds.labels(collection).inc(seconds)
        if error is not None:
            self._errors.labels(error, collection or "").inc()

    def set_documents(self, documents: dict[str, int]) -> None:
        """Say how many documents each collection has."""
        self.documents.clear()
        self.documents.update(documents)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self._registry)


class _Processes(Collector):
    """CPU time, memory and open files of all processes that serve."""

    def collect(self) -> Iterable[Metric]:
        """Return the sums over the processes; the time of the start is that of the first."""
        found: dict[str, Metric] = {}
        for pid in _pids():
            for metric in ProcessCollector(pid=partial(_same, pid), registry=None).collect():
                known = found.setdefault(metric.name, metric)
                if known is not metric:
                    pairs = zip(known.samples, metric.samples, strict=True)
                    join = min if metric.name.endswith("start_time_seconds") else _sum
                    known.samples = [one._replace(value=join(one.value, other.value)) for one, other in pairs]
        return found.values()


class _Documents(Collector):
    def __init__(self, documents: dict[str, int]) -> None:
        self._documents = documents

    def collect(self) -> Iterator[Metric]:
        """Return the number of documents of each collection."""
        gauge = GaugeMetricFamily("sthash_documents", "Documents per collection.", labels=["collection"])
        for name, count in self._documents.items():
            gauge.add_metric([name], count)
        yield gauge


def _pids() -> list[int | str]:
    """Return the processes that serve and still live."""
    folder = os.environ.get(SHARED_FOLDER)
    if not folder:
        return ["self"]
    named = {int(path.stem.rpartition("_")[2]) for path in Path(folder).glob("*_*.db")}
    return [pid for pid in sorted(named) if Path(f"/proc/{pid}").exists()]


def _same(pid: int | str) -> int | str:
    return pid


def _sum(one: float, other: float) -> float:
    return one + other
