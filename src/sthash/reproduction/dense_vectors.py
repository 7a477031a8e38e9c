"""Dense vectors: how well codes preserve the nearest neighbors of the corpus, or of a truncated SVD of a sparse one.

Three methods are compared at the same code length: a recipe of `SelfTaughtHashing`, the signs after a random rotation
of the vectors (one coordinate per bit), and PCA-ITQ.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp

from sthash import codes
from sthash.baselines import IterativeQuantization
from sthash.codes import Codes
from sthash.evaluation.ball import score
from sthash.evaluation.relevance import Neighbors
from sthash.hashing import SelfTaughtHashing
from sthash.reproduction.corpora import CorpusSplit
from sthash.reproduction.error_analysis import ranked


def measure_dense(data: CorpusSplit, recipe: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Give the share of the true cosine neighbors among the nearest codes, for each method and length."""
    train, test = _dense_rows(data, settings["dimensions"])
    top = min(settings["top"], len(train))
    relevance = Neighbors(ranked(train, test, top, cosine=True), len(train))
    shares: dict[str, dict[str, float]] = {}
    for n_bits in settings["lengths"]:
        for name, (corpus, queries) in _codings(train, test, recipe, n_bits).items():
            ranking = score(corpus, queries, relevance, lengths=[n_bits], radii=[0], k=settings["among"]).rankings[0]
            shares.setdefault(name, {})[str(n_bits)] = ranking.precision_at_k * settings["among"] / top
    return {"dimensions": train.shape[1], "recipe": recipe, "shares": shares}


def _dense_rows(data: CorpusSplit, dimensions: int) -> tuple[Any, Any]:
    """Reduce sparse rows by a truncated SVD; dense ones are taken as they are."""
    if not sp.issparse(data.train):
        return data.train, data.test
    from sklearn.decomposition import TruncatedSVD

    svd = TruncatedSVD(min(dimensions, min(data.train.shape) - 1), random_state=0).fit(data.train)
    train, test = (np.asarray(svd.transform(part), dtype=np.float32) for part in (data.train, data.test))
    return train, test


def _codings(train: Any, test: Any, recipe: Any, n_bits: int) -> dict[str, tuple[Codes, Codes]]:
    hashers = {
        recipe: SelfTaughtHashing(n_bits, recipe=recipe),
        "PCA-ITQ": IterativeQuantization(n_bits),
    }
    found = {name: (hasher.fit(train).codes_, hasher.transform(test)) for name, hasher in hashers.items()}
    rotation = np.linalg.qr(np.random.default_rng(0).standard_normal((train.shape[1], train.shape[1])))[0]
    kept = rotation[:, :n_bits]
    found["random rotation"] = codes.pack(train @ kept > 0), codes.pack(test @ kept > 0)
    return found
