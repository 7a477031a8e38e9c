"""Metrics in the format of Prometheus."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

SECONDS = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30)
SIZES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.requests = Counter(
            "sthash_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "sthash_request_seconds", "Time to answer a request.", ("route",), buckets=SECONDS, registry=self.registry
        )
        self.errors = Counter("sthash_errors", "Errors by code.", ("code",), registry=self.registry)
        self.in_flight = Gauge("sthash_in_flight", "Requests that are being answered.", registry=self.registry)
        self.batch = Histogram(
            "sthash_search_batch", "Searches that were answered together.", buckets=SIZES, registry=self.registry
        )
        self.documents = Gauge(
            "sthash_documents",
            "Documents per collection, as of the last request for the list.",
            ("collection",),
            registry=self.registry,
        )
