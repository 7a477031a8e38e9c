"""Scores as the semantic-hashing literature reports them: precision at 100 for some code lengths, method by method.

Queries are the test documents, the training documents are ranked by the Hamming distance of their codes, and those that
share a label with the query are relevant. Documents at the same distance have no order, so precision is its expected
value over all orders of the ties.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from sthash.checks import check_choice
from sthash.evaluation import Relevance, SharedLabels, Topics, score
from sthash.progress import Progress, silent
from sthash.reproduction.conditions import ConditionsError, Method, RowKind, load_conditions, own_method
from sthash.reproduction.datasets import DatasetError, LabeledTexts, load_20newsgroups, tfidf_counts
from sthash.reproduction.estimators import encode, make
from sthash.reproduction.labeled_texts import load_labeled
from sthash.reproduction.labeled_vectors import load_vectors
from sthash.reproduction.matlab_files import Part, load_mat
from sthash.vectors.lengths import unit_rows

Weights = Literal["auto", "tfidf", "given"]
LENGTHS = (16, 32, 64, 128)


@dataclass(frozen=True)
class FieldCorpus:
    """Unit rows of the documents (train) and of the queries (test), and which documents are relevant to which query.

    The counts of the terms are there if the corpus has them.
    """

    name: str
    train: Any
    test: Any
    relevance: Relevance
    train_counts: Any = None
    test_counts: Any = None

    def rows(self, kind: RowKind) -> tuple[Any, Any]:
        """Give the rows that a method takes: counts if it needs them and the corpus has them."""
        if kind == "counts" and self.train_counts is not None:
            return self.train_counts, self.test_counts
        return self.train, self.test


@dataclass(frozen=True)
class FieldScore:
    """Precision of one method at one code length; None and an error where it failed."""

    method: str
    n_bits: int
    precision: float | None
    seconds: float | None = None
    error: str | None = None


def load_corpus(
    path: str, *, queries: Part = "test", weights: Weights = "auto", last: int | None = None, random_state: int = 0
) -> FieldCorpus:
    """Load a labeled corpus: a ``.mat`` or ``.npz`` file, a folder per label, a file of records, ``20newsgroups``.

    Parameters
    ----------
    path : str
    queries : {"test", "cv"}
        The part of a ``.mat`` file whose documents are the queries.
    weights : {"auto", "tfidf", "given"}
        How the values of a ``.mat`` file are weighted: as term counts by the paper's TF-IDF, or not at all. ``auto``
        takes whole numbers for counts. Rows get unit length in any case.
    last : int, optional
        The last so many rows of a ``.npz`` file are the queries; without it, 40 % of the rows drawn at random.
    random_state : int
        Seed of the split of texts and vectors that come without one.
    """
    check_choice("weights", weights, get_args(Weights))
    check_choice("queries", queries, get_args(Part))
    if Path(path).suffix == ".mat":
        rows = load_mat(path, queries)
        counts = all(np.array_equal(part.data, np.round(part.data)) for part in (rows.train, rows.test))
        if weights == "tfidf" or (weights == "auto" and counts):
            train, test = tfidf_counts(rows.train, rows.test)
        else:
            train, test = (unit_rows(part.astype(np.float32)) for part in (rows.train, rows.test))
        several = rows.train_labels.ndim == 2
        relevance = (SharedLabels if several else Topics)(rows.train_labels, rows.test_labels)
        given = (rows.train, rows.test) if counts else (None, None)
        return FieldCorpus(Path(path).stem, train, test, relevance, *given)
    if Path(path).suffix == ".npz":
        return _load_vectors(Path(path), last, random_state)
    if last is not None:
        raise DatasetError(f"{path} holds no vectors; last is for .npz files only. Leave it out.")
    if queries == "cv":
        raise DatasetError(f"{path} has no part cv; only .mat files have one. Take the test part.")
    texts = _load_texts(path, random_state)
    from sthash.text import TextVectorizer

    vectorizer = TextVectorizer()
    train, test = vectorizer.fit_transform(texts.train_texts), vectorizer.transform(texts.test_texts)
    given = vectorizer.term_counts(texts.train_texts), vectorizer.term_counts(texts.test_texts)
    return FieldCorpus(texts.name, train, test, Topics(texts.train_labels, texts.test_labels), *given)


def _load_vectors(path: Path, last: int | None, random_state: int) -> FieldCorpus:
    found = load_vectors(path, last=last, random_state=random_state)
    train, test = unit_rows(found.train), unit_rows(found.test)
    return FieldCorpus(found.name, train, test, Topics(found.train_labels, found.test_labels))


def _load_texts(path: str, random_state: int) -> LabeledTexts:
    if path == "20newsgroups" and not Path(path).exists():
        return load_20newsgroups()
    return load_labeled(path, random_state=random_state)


def choose_methods(names: Sequence[str] = (), *, dense: bool = False) -> list[Method]:
    """Choose methods by name; by default all that take such rows: the paper's recipe, then ours, then the baselines."""
    every = load_conditions().methods
    default = [name for name, method in every.items() if method.suits(dense=dense)]
    if unknown := [name for name in names if name not in every and ":" not in name]:
        raise ConditionsError(
            f"method {unknown[0]!r} is not known. Use one of {', '.join(every)}, or package.module:Class."
        )
    return [every.get(name) or own_method(name) for name in names or default]


def field_scores(
    corpus: FieldCorpus,
    methods: Sequence[Method],
    lengths: Sequence[int] = LENGTHS,
    k: int = 100,
    report: Progress = silent,
) -> Iterator[FieldScore]:
    """Learn codes by each method at each length, and give the mean precision of the first k documents of all queries.

    Bits that have an order are learned once, and a shorter code is a prefix. A method that fails gives its error.
    """
    for place, method in enumerate(methods):
        report(method.title, place, len(methods))
        train, test = corpus.rows(method.rows)
        for group in [list(lengths)] if method.lengths == "prefix" else [[n] for n in lengths]:
            try:
                found = encode(make(method, group[-1]), group[-1], train, test, method.title)
                scores = score(found.corpus, found.queries, corpus.relevance, lengths=group, radii=[0], k=k)
            except (ValueError, TypeError, ArithmeticError, MemoryError) as error:
                yield from (FieldScore(method.title, n_bits, None, error=str(error)) for n_bits in group)
            else:
                for ranking in scores.rankings:
                    seconds = found.fit_seconds if ranking.n_bits == group[-1] else None
                    yield FieldScore(method.title, ranking.n_bits, ranking.precision_at_k, seconds)
    report("done", len(methods), len(methods))


def as_table(scores: Sequence[FieldScore], style: Literal["markdown", "latex"] = "markdown") -> str:
    """Write scores as a table, one row per method and one column per code length; the best of a column is bold."""
    lengths = sorted({one.n_bits for one in scores})
    cells = {(one.method, one.n_bits): one.precision for one in scores}
    best = {
        n: max((one.precision for one in scores if one.n_bits == n and one.precision is not None), default=0)
        for n in lengths
    }
    bold = "**{}**" if style == "markdown" else r"\textbf{{{}}}"
    lines = [["method", *(f"{n} bits" for n in lengths)]]
    for method in dict.fromkeys(one.method for one in scores):
        values = [cells.get((method, n)) for n in lengths]
        shown = ["–" if value is None else f"{value:.4f}" for value in values]
        lines.append(
            [
                method,
                *(
                    bold.format(text) if value is not None and value == best[n] else text
                    for text, value, n in zip(shown, values, lengths, strict=True)
                ),
            ]
        )
    if style == "markdown":
        lines.insert(1, ["---"] * (len(lengths) + 1))
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)
    rows = [" & ".join(line).replace("–", "--") + r" \\" for line in lines]
    head = rf"\begin{{tabular}}{{l{'r' * len(lengths)}}}"
    return "\n".join([head, r"\hline", rows[0], r"\hline", *rows[1:], r"\hline", r"\end{tabular}"])


def as_json(corpus: FieldCorpus, scores: Sequence[FieldScore], k: int) -> str:
    """Write the corpus, the conditions and all scores as JSON."""
    from sthash import __version__

    content = {
        "corpus": corpus.name,
        "documents": {"train": corpus.train.shape[0], "test": corpus.test.shape[0], "terms": corpus.train.shape[1]},
        "relevant": "shares a label",
        "measure": f"precision at {k}",
        "sthash": __version__,
        "scores": [asdict(one) for one in scores],
    }
    return json.dumps(content, indent=1, ensure_ascii=False)
