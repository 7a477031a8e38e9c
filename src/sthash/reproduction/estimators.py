"""Hashers by import path: they are made and fitted, and their codes are checked before they are scored.

A hasher is any class that takes ``n_bits`` and has ``fit(X)`` and ``transform(Q)``. The latter gives packed codes, as
`sthash.codes.pack` makes them. The codes of the corpus are ``codes_`` if the hasher has it, and otherwise
``transform(X)``.
"""

from __future__ import annotations

import importlib
import time
import warnings
from dataclasses import dataclass
from typing import Any

from sthash import codes
from sthash.codes import Codes
from sthash.hashing import PredictionWarning
from sthash.reproduction.conditions import ConditionsError, Method

ENCODINGS = 10  # the fastest one counts


@dataclass(frozen=True)
class TimedCodes:
    """Codes of the corpus and of the queries at one length, and how long they took in seconds."""

    corpus: Codes
    queries: Codes
    fit_seconds: float
    encode_seconds: float


def find_class(path: str) -> Any:
    """Import ``package.module:Class``, or say what is wrong with it."""
    module, colon, name = path.partition(":")
    if not (module and colon and name):
        raise ConditionsError(f"method {path!r} must have the form package.module:Class.")
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ConditionsError(
            f"method {path!r}: module {module!r} cannot be imported ({error}). Check the path."
        ) from error
    for part in name.split("."):
        if not hasattr(found, part):
            raise ConditionsError(f"method {path!r}: {module} has no {part!r}. Check the name.")
        found = getattr(found, part)
    if not callable(found):
        raise ConditionsError(f"method {path!r} is a {type(found).__name__}. Name a class that takes n_bits.")
    for action in ("fit", "transform"):
        if isinstance(found, type) and not callable(getattr(found, action, None)):
            raise ConditionsError(f"method {path!r} has no {action}(). A hasher needs fit(X) and transform(Q).")
    return found


def make(method: Method, n_bits: int, **more: Any) -> Any:
    """Make a hasher of this length."""
    factory = find_class(method.estimator)
    try:
        hasher = factory(n_bits=n_bits, **{**method.settings, **more})
    except TypeError as error:
        raise ConditionsError(
            f"method {method.name!r} cannot be made with n_bits={n_bits} ({error}). Correct its settings."
        ) from error
    if method.reduce is None:
        return hasher
    from sklearn.decomposition import TruncatedSVD
    from sklearn.pipeline import make_pipeline

    return make_pipeline(TruncatedSVD(method.reduce, random_state=0), hasher)


def encode(hasher: Any, n_bits: int, train: Any, test: Any, name: str) -> TimedCodes:
    """Fit a hasher and take its codes; refuse anything but packed codes of this length."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PredictionWarning)  # the scores say it
        hasher.fit(train)
    fit_seconds = time.perf_counter() - start
    durations = []
    for _ in range(ENCODINGS):
        start = time.perf_counter()
        queries = hasher.transform(test)
        durations.append(time.perf_counter() - start)
    last = hasher.steps[-1][1] if hasattr(hasher, "steps") else hasher
    corpus = getattr(last, "codes_", None)
    if corpus is None:
        corpus = hasher.transform(train)
    for what, given, rows in (("corpus", corpus, train.shape[0]), ("queries", queries, test.shape[0])):
        checked = codes.check(given, n_bits, f"codes of the {what} by {name}")
        if len(checked) != rows:
            raise ValueError(
                f"{name} gave {len(checked)} codes for {rows} documents of the {what}. One per document is needed."
            )
    return TimedCodes(corpus, queries, fit_seconds, min(durations))
