"""What vectors are compared by."""

from __future__ import annotations

from typing import Literal

Metric = Literal["cosine", "ip"]
METRICS = ("cosine", "ip")
