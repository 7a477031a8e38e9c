"""Arguments and options that several commands share, alone or in groups.

A group is a dataclass; a command takes it as one parameter, and `sthash.cli.option_groups` shows its fields to typer.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli.conditions import parse_conditions

if TYPE_CHECKING:
    from sthash.sources import Document

# An amount of memory: 4GiB and 4GB are what they are; 4G is 4GB.
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*(?:([KMGT])(i)?)?B?", re.IGNORECASE | re.ASCII)

Path = Annotated[str, typer.Argument(metavar="COLLECTION", help="The file of the collection.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Count = Annotated[int, typer.Option("-k", help="How many documents.")]
Radius = Annotated[
    int | None, typer.Option(help="Look only at codes that differ from the query's code in at most this many bits.")
]
Threads = Annotated[int | None, typer.Option(help="Number of threads.  [default: one per available core]")]
Text = Annotated[
    list[str],
    typer.Argument(
        metavar="TEXT", help="A text, in one or more words; - reads it from standard input.", show_default=False
    ),
]
Where = Annotated[
    list[str] | None,
    typer.Option(
        metavar="CONDITION",
        help="Only documents that meet it: label=sport, 'year>=2020', 'lang in en,de', 'author exists', '!draft'. "
        "May be given several times.",
    ),
]


def text_of(words: list[str]) -> str:
    """Give the text that arguments stand for: their words, or standard input."""
    return sys.stdin.read() if words == ["-"] else " ".join(words)


def parse_count(text: str) -> int | None:
    """Return a number of documents; None for all."""
    if text.strip().lower() in ("all", "0"):
        return None
    digits = text.replace(",", "").replace("_", "")
    if not (digits.isascii() and digits.isdigit()):
        raise typer.BadParameter(f"--learn-on {text!r} is not a number of documents. Use a number, or: all.")
    return int(digits)


def parse_bytes(text: str) -> int:
    """Return an amount of memory: a number with a unit, or of bytes."""
    found = SIZE.fullmatch(text.strip())
    if found is None:
        raise typer.BadParameter(f"--learn-memory {text!r} is not an amount of memory. Use one like 500MiB or 4GiB.")
    number, prefix, binary = found.groups()
    return int(float(number) * (1000 if prefix and binary is None else 1024) ** "BKMGT".index((prefix or "B").upper()))


@dataclass(frozen=True)
class SourceOptions:
    """Where documents are read from, and how."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Folders of text files; .md (one document), .txt (one per line), .jsonl, .json, .csv, .tsv or "
            ".parquet files, also compressed as .gz, .xz, .bz2 or .zst; - for standard input.",
            show_default=False,
        ),
    ]
    key: Annotated[str | None, typer.Option(help="Field that holds the key.  [default: key or id]")] = None
    text: Annotated[str | None, typer.Option(help="Field that holds the text.  [default: text]")] = None
    label: Annotated[str | None, typer.Option(help="Field that holds the label.  [default: label]")] = None
    encoding: Annotated[
        str | None,
        typer.Option(
            help="Encoding of the sources; several, separated by commas, are tried in turn.  "
            "[default: UTF-8, or UTF-16 or UTF-32 where the text is]"
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(help="Format of sources whose names do not tell it: txt, jsonl, json, csv, tsv, md or parquet."),
    ] = None
    include: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Of folders, only files like this: '*.md'. May be given several times."),
    ] = None
    exclude: Annotated[
        list[str] | None,
        typer.Option(metavar="PATTERN", help="Of folders, no files like this: 'drafts'. May be given several times."),
    ] = None
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Skip what cannot be read, and write to COLLECTION.skipped.jsonl what it was."),
    ] = False

    @contextmanager
    def documents(
        self, beside: str, *, vectors: str | None = None, width: int | None = None, metric: str = "cosine"
    ) -> Iterator[Iterator[Document]]:
        """Read the documents, as they are asked for; a file of what is skipped goes beside another one.

        ``vectors`` is the field, or the ``.npy`` file, that has their vectors, of ``width`` values and this metric.
        """
        from sthash.cli.skipped import skipping
        from sthash.sources import SourceFields, read_documents
        from sthash.sources.vectors import is_vector_file

        file = vectors if is_vector_file(vectors) else None
        fields = SourceFields(self.key, self.text, self.label, vector=None if file is not None else vectors)
        with skipping(self.skip_bad, beside) as on_bad:
            yield read_documents(
                self.sources,
                fields,
                encoding=self.encoding,
                format=self.format,
                include=self.include or (),
                exclude=self.exclude or (),
                on_bad=on_bad,
                vector_file=file,
                width=width,
                metric=metric,  # type: ignore[arg-type]  # checked where the collection is built
            )

    def words(self) -> list[str]:
        """Give the options as a command line has them, without the sources."""
        words = []
        for name, value in asdict(self).items():
            option = f"--{name.replace('_', '-')}"
            if value is True:
                words.append(option)
            elif value and name != "sources":
                words += [word for each in ([value] if isinstance(value, str) else value) for word in (option, each)]
        return words


@dataclass(frozen=True)
class LearningOptions:
    """How codes are learned; None leaves a setting to the library."""

    bits: Annotated[int | None, typer.Option(help="Bits per code.")] = None
    neighbors: Annotated[int | None, typer.Option(help="Neighbors per document in the graph.")] = None
    recipe: Annotated[
        str | None,
        typer.Option(
            help="How codes are learned: paper, topics, neighbors (best for most texts) or embeddings (for vectors); "
            "sth tune finds the best."
        ),
    ] = None
    learn_on: Annotated[
        str | None,
        typer.Option(
            "--learn-on",
            "--sample-size",
            metavar="N|all",
            help="Learn from a random sample of at most this many documents; all for as many as the limits allow.",
        ),
    ] = None
    learn_seconds: Annotated[
        float | None, typer.Option(help="Learn from as many documents as take about so long on two cores.")
    ] = None
    learn_memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Learn from as many documents as take about so much memory: 500MiB, 4GiB.  "
            "[default: half of the machine's]",
        ),
    ] = None
    scatter: Annotated[
        float | None, typer.Option(help="Weight of random hyperplanes; 4 with --bits 512 finds more by cosine.")
    ] = None
    seed: Annotated[int | None, typer.Option(help="Seed of the sample and of the learning.")] = None

    def settings(self) -> dict[str, Any]:
        """Give the settings that are not None, by the names that the library has for them."""
        settings = {
            "n_bits": self.bits,
            "n_neighbors": self.neighbors,
            "recipe": self.recipe,
            "learning_seconds": self.learn_seconds,
            "learning_bytes": None if self.learn_memory is None else parse_bytes(self.learn_memory),
            "scatter": self.scatter,
            "random_state": self.seed,
        }
        given = {name: value for name, value in settings.items() if value is not None}
        return given if self.learn_on is None else given | {"sample_size": parse_count(self.learn_on)}


@dataclass(frozen=True)
class LanguageOptions:
    """What the texts are written in."""

    language: Annotated[
        str,
        typer.Option(
            help="Language of the texts, which picks stems and stop words: german, japanese, ...; none for neither."
        ),
    ] = "english"
    fold_accents: Annotated[
        bool, typer.Option("--fold-accents", help="Let accents make no difference: cafe finds café.")
    ] = False


@dataclass(frozen=True)
class SearchArguments:
    """Which hits to show, and how."""

    k: Count = 10
    radius: Radius = None
    where: Where = None
    codes_only: Annotated[
        bool, typer.Option("--codes-only", help="Rank by the distances of the codes, not by vectors.")
    ] = False
    json: Json = False

    def keywords(self) -> dict[str, Any]:
        """Give the arguments of `Collection.search`."""
        return {
            "k": self.k,
            "radius": self.radius,
            "where": parse_conditions(self.where),
            "rerank": not self.codes_only,
            "explain": True,
        }


@dataclass(frozen=True)
class QueryArguments(SearchArguments):
    """Which hits of a typed query to show, and how."""

    ranking: Annotated[
        str,
        typer.Option(
            help="What hits are ranked by: bm25; graph, which is BM25 and the neighbors; cosine, through the codes, or "
            "ip in collections with that metric; hybrid, which is BM25 and the vectors; auto, which is graph or hybrid "
            "for a typed query, and cosine or ip for a whole document."
        ),
    ] = "auto"
    correct: Annotated[
        bool, typer.Option("--correct", help="In place of a word that no document has, search for the closest one.")
    ] = False
    explain: Annotated[bool, typer.Option("--explain", help="Say how the hits were found and ranked.")] = False

    def keywords(self) -> dict[str, Any]:
        """Give the arguments of `Collection.search`."""
        return super().keywords() | {"ranking": self.ranking, "correct": self.correct}
