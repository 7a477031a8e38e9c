"""Measurements of one method on one split of a corpus, as plain values for a JSON file."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from sthash import codes
from sthash.codes import Codes
from sthash.evaluation.ball import score
from sthash.evaluation.measures import precision_at, query_f1
from sthash.evaluation.significance import micro_sign_test, paired_test
from sthash.evaluation.tallies import tally
from sthash.reproduction.conditions import Method
from sthash.reproduction.corpora import RELEVANCES, CorpusSplit
from sthash.reproduction.estimators import TimedCodes, encode, make


def measure_scores(
    data: CorpusSplit, method: Method, protocol: Mapping[str, Any], *, relearn: bool = False
) -> dict[str, Any]:
    """Score a method at every length and radius under both definitions of relevance.

    The longest code is learned once and cut, unless the bits of the method have no order or ``relearn`` is true.
    """
    lengths = protocol["lengths"]
    groups = method.groups(lengths, relearn=relearn)
    train, test = data.rows(method.rows)
    tested = protocol["significance"]["bits"]
    scores: dict[str, dict[str, list[Any]]] = {name: {"balls": [], "rankings": []} for name in RELEVANCES}
    kept, shapes, seconds = None, {}, {}
    for group in groups:
        found = encode(make(method, group[-1]), group[-1], train, test, method.title)
        for name in RELEVANCES:
            measured = score(
                found.corpus,
                found.queries,
                data.relevance(name, protocol["neighbors"]),
                lengths=group,
                radii=protocol["radii"],
                k=protocol["ranking"],
            )
            scores[name]["balls"] += [asdict(ball) for ball in measured.balls]
            scores[name]["rankings"] += [asdict(ranking) for ranking in measured.rankings]
        for n_bits in {tested, lengths[-1]} & set(group):
            shapes[str(n_bits)] = code_shape(codes.prefix(found.corpus, n_bits), n_bits)
        if lengths[-1] in group:
            seconds = _seconds(found, data)
        if tested in group:
            kept = {name: _text(codes.prefix(getattr(found, name), tested)) for name in ("corpus", "queries")}
    return {
        "documents": {"train": data.train.shape[0], "test": data.test.shape[0], "terms": data.train.shape[1]},
        "seconds": seconds,
        "bits": lengths[-1],
        "scores": scores,
        "shape": shapes,
        "codes": kept,
    }


def code_shape(corpus: Codes, n_bits: int) -> dict[str, Any]:
    """How well codes fill their space: entropy, balance and correlation of bits, documents per bucket.

    Examples
    --------
    >>> import numpy as np
    >>> from sthash.reproduction.measurements import code_shape
    >>> shape = code_shape(np.array([[0], [1], [2], [2]], dtype=np.uint8), 2)
    >>> shape["entropy"], shape["buckets"], shape["largest_bucket"], shape["least_on"]
    (1.5, 3, 2, 0.25)
    """
    balance = codes.bit_balance(corpus, n_bits)
    correlation = np.abs(codes.bit_correlation(corpus, n_bits)[np.triu_indices(n_bits, 1)])
    sizes = np.unique(corpus, axis=0, return_counts=True)[1]
    return {
        "entropy": codes.code_entropy(corpus),
        "most_entropy": float(min(n_bits, np.log2(len(corpus)))),
        "least_on": float(balance.min()),
        "most_on": float(balance.max()),
        "mean_correlation": float(correlation.mean()) if len(correlation) else 0.0,
        "largest_correlation": float(correlation.max(initial=0.0)),
        "buckets": len(sizes),
        "largest_bucket": int(sizes.max()),
        "alone": float((sizes == 1).sum() / len(corpus)),
    }


def measure_significance(
    data: CorpusSplit, sth: Mapping[str, Any], baseline: Mapping[str, Any], protocol: Mapping[str, Any]
) -> dict[str, Any]:
    """Test STH against a baseline; both results hold the codes.

    The one-sided micro sign test is that of the paper. Beside it are two-sided tests with one value per query: the F1
    of its answer, and the precision of its ranking.
    """
    condition = protocol["significance"]
    ours, theirs = (
        (_codes(result["codes"]["corpus"]), _codes(result["codes"]["queries"])) for result in (sth, baseline)
    )
    bits, radius = condition["bits"], condition["radius"]
    tests = {}
    for name in RELEVANCES:
        relevance = data.relevance(name, protocol["neighbors"])
        seen = [tally(*pair, relevance, [bits])[0] for pair in (ours, theirs)]
        tests[name] = asdict(micro_sign_test(ours, theirs, relevance, n_bits=bits, radius=radius)) | {
            "query_f1": asdict(paired_test(*(query_f1(one, radius) for one in seen))),
            "query_precision": asdict(paired_test(*(precision_at(one, protocol["ranking"]) for one in seen))),
        }
    return tests


def _seconds(found: TimedCodes, data: CorpusSplit) -> dict[str, float]:
    return {
        "fit": found.fit_seconds,
        "encode": found.encode_seconds,
        "fit_a_document": found.fit_seconds / data.train.shape[0],
        "encode_a_document": found.encode_seconds / data.test.shape[0],
    }


def _text(packed: Codes) -> dict[str, Any]:
    return {"rows": len(packed), "base64": base64.b64encode(np.ascontiguousarray(packed).tobytes()).decode()}


def _codes(kept: Mapping[str, Any]) -> Codes:
    return np.frombuffer(base64.b64decode(kept["base64"]), dtype=np.uint8).reshape(kept["rows"], -1)
