"""Queries, relevance judgments and runs, in the files of BEIR and TREC."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from os import PathLike
from pathlib import Path

from sthash.evaluation.retrieval import Qrels, Run, ranked_keys
from sthash.files import replacing
from sthash.sources import Document
from sthash.sources.compression import opened

AnyPath = str | PathLike[str]
QUERIES = (
    "{name} holds no queries. It should be JSON lines with _id and text, lines of id, tab and text, or TREC topics."
)


def read_queries(path: AnyPath) -> dict[str, str]:
    r"""Read queries: id → text.

    The file has JSON lines with ``_id`` (or ``id``) and ``text``, as in BEIR; or lines of id, tab and text; or topics
    of TREC (``<top>``), whose titles are the queries.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> from sthash.evaluation import read_queries
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "queries.tsv")
    ...     _ = path.write_text("q1\tdog bones\nq2\tcat fish\n")
    ...     read_queries(path)
    {'q1': 'dog bones', 'q2': 'cat fish'}
    """
    lines = list(_lines(path))
    start = next((line for _, line in lines if line.strip()), "").lstrip()
    if start.startswith("<"):
        found = _topics("\n".join(line for _, line in lines))
    elif start.startswith("{"):
        found = ((place, *_json_query(place, line)) for place, line in lines if line.strip())
    else:
        found = ((place, *_tab_query(place, line)) for place, line in lines if line.strip())
    queries: dict[str, str] = {}
    for place, query, text in found:
        if query in queries:
            raise ValueError(f"{place}: the query {query!r} is there twice. Give each query one id.")
        queries[query] = text
    if not queries:
        raise ValueError(QUERIES.format(name=path))
    return queries


def read_qrels(path: AnyPath) -> dict[str, dict[str, int]]:
    """Read relevance judgments: query id → document key → grade.

    A line has the query, an unused field, the document and the grade (TREC); or the query, the document and the grade,
    separated by tabs, after a line of headings (BEIR).
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, (place, line) in enumerate(_lines(path)):
        parts = line.rstrip("\n").split("\t") if line.count("\t") == 2 else line.split()
        if not parts:
            continue
        grade = _whole(parts[-1])
        if grade is None and number == 0 and len(parts) in (3, 4):
            continue  # headings
        if len(parts) not in (3, 4) or grade is None:
            raise ValueError(
                f"{place}: {line.strip()[:60]!r} is no judgment. It should be: query 0 document grade (TREC), or "
                "query, document and grade with tabs between them (BEIR)."
            )
        qrels.setdefault(parts[0], {})[parts[-2]] = grade
    if not qrels:
        raise ValueError(f"{path} holds no judgments. It should have lines such as: query 0 document 1")
    return qrels


def read_run(path: AnyPath) -> dict[str, dict[str, float]]:
    """Read a run of TREC: lines of query, ``Q0``, document, rank, score and a name."""
    run: dict[str, dict[str, float]] = {}
    for place, line in _lines(path):
        parts = line.split()
        if not parts:
            continue
        score = _number(parts[4]) if len(parts) in (5, 6) else None
        if score is None:
            raise ValueError(
                f"{place}: {line.strip()[:60]!r} is no line of a run. It should be: query Q0 document rank score name"
            )
        run.setdefault(parts[0], {})[parts[2]] = score
    if not run:
        raise ValueError(f"{path} holds no run. It should have lines such as: query Q0 document 1 2.5 name")
    return run


def write_run(path: AnyPath, run: Run, name: str = "sthash") -> None:
    """Write a run for trec_eval and other tools."""
    for query, scores in run.items():
        for word in (query, *scores):
            if not word or len(word.split()) != 1 or word != word.strip():
                raise ValueError(f"{word!r} has spaces, which a run cannot have in ids. Use other keys.")
    with replacing(path) as temporary, temporary.open("w", encoding="utf-8") as file:
        for query, scores in run.items():
            for rank, key in enumerate(ranked_keys(scores), start=1):
                file.write(f"{query} Q0 {key} {rank} {scores[key]:.9g} {name}\n")


def read_beir_corpus(folder: AnyPath) -> Iterator[Document]:
    """Iterate over the documents of a BEIR folder; title and text are one text."""
    path = _existing(Path(folder, "corpus.jsonl"))
    for place, line in _lines(path):
        if line.strip():
            record = _record(place, line)
            text = "\n".join(str(record[part]) for part in ("title", "text") if record.get(part))
            yield Document(_id(place, record), text)


def read_beir(folder: AnyPath, part: str = "test") -> tuple[dict[str, str], dict[str, dict[str, int]]]:
    """Read queries and judgments of a BEIR folder: ``queries.jsonl`` and ``qrels/test.tsv``."""
    qrels = _existing(Path(folder, "qrels", f"{part}.tsv"))
    return read_queries(_existing(Path(folder, "queries.jsonl"))), read_qrels(qrels)


def select_judged(queries: dict[str, str], qrels: Qrels) -> tuple[dict[str, str], dict[str, dict[str, int]], int]:
    """Return the judged queries, their judgments, and the number of judged queries that have no text."""
    asked = {query: queries[query] for query in qrels if query in queries}
    if not asked:
        raise ValueError(
            f"no judged query is among the queries: judged are {_some(qrels)}, and the queries are {_some(queries)}. "
            "Give queries and judgments of the same collection."
        )
    return asked, {query: dict(qrels[query]) for query in asked}, len(qrels) - len(asked)


def _some(names: Qrels | dict[str, str]) -> str:
    return ", ".join(repr(name) for name in list(names)[:3]) + (", …" if len(names) > 3 else "")


def _existing(path: Path) -> Path:
    candidates = [path, *(path.with_name(path.name + ending) for ending in (".gz", ".xz", ".bz2", ".zst"))]
    for candidate in candidates:
        if candidate.is_file():
            return candidate
    raise FileNotFoundError(
        f"{path} does not exist. A BEIR folder has corpus.jsonl, queries.jsonl and qrels/test.tsv; "
        "--part names another file of judgments."
    )


def _lines(path: AnyPath) -> Iterator[tuple[str, str]]:
    with opened(Path(path)) as stream:
        for number, line in enumerate(stream, start=1):
            place = f"{path}, line {number}"
            try:
                yield place, line.decode("utf-8-sig" if number == 1 else "utf-8")
            except UnicodeDecodeError as error:
                raise ValueError(f"{place} is not UTF-8. Convert the file, for example with iconv.") from error


def _record(place: str, line: str) -> dict[str, object]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{place} is not JSON ({error}). Each line should be one object.") from error
    if not isinstance(record, dict):
        raise ValueError(f"{place} is not a JSON object. Each line should be one, with _id and text.")
    return record


def _id(place: str, record: dict[str, object]) -> str:
    for name in ("_id", "id", "key"):
        if isinstance(record.get(name), str | int):
            return str(record[name])
    raise ValueError(f"{place} has no _id. Each line should be an object with _id and text.")


def _json_query(place: str, line: str) -> tuple[str, str]:
    record = _record(place, line)
    text = record.get("text")
    if not isinstance(text, str):
        raise ValueError(f"{place} has no text. Each line should be an object with _id and text.")
    return _id(place, record), text


def _tab_query(place: str, line: str) -> tuple[str, str]:
    query, tab, text = line.strip("\r\n").partition("\t")
    if not tab:
        raise ValueError(f"{place} has no tab. A line should be the id of a query, a tab, and the query.")
    return query.strip(), text.strip()


def _topics(content: str) -> Iterator[tuple[str, str, str]]:
    for number, topic in enumerate(re.split(r"(?i)<top\b[^>]*>", content)[1:], start=1):
        query = re.search(r"(?i)<num>\s*(?:number:)?\s*([^\s<]+)", topic)
        title = re.search(r"(?is)<title>\s*(?:topic:)?\s*(.*?)\s*(?:<|$)", topic)
        if query is None or title is None:
            raise ValueError(f"topic {number} has no <num> or no <title>. Each topic needs both.")
        yield f"topic {number}", query[1], " ".join(title[1].split())


def _whole(value: str) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if math.isfinite(number) else None
