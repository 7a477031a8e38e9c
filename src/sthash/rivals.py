"""The former name of `sthash.baselines`; it goes away with version 0.3."""

from __future__ import annotations

import warnings
from typing import Any

from sthash import baselines
from sthash.model_file import FORMER_KINDS

warnings.warn("sthash.rivals is now called sthash.baselines; import that instead.", DeprecationWarning, stacklevel=2)


def __getattr__(name: str) -> Any:
    return getattr(baselines, FORMER_KINDS.get(name, name))
