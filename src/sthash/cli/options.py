"""Arguments and options that several commands share, alone or in groups.

A group is a dataclass; a command takes it as one parameter, and `sthash.cli.option_groups` shows its fields to typer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli.conditions import parse_conditions

if TYPE_CHECKING:
    from sthash.sources import Document

UTF8 = "utf-8"

Path = Annotated[str, typer.Argument(metavar="COLLECTION", help="The file of the collection.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Count = Annotated[int, typer.Option("-k", help="How many documents.")]
Radius = Annotated[
    int | None, typer.Option(help="Look only at codes that differ from the query's code in at most this many bits.")
]
Threads = Annotated[int | None, typer.Option(help="Number of threads.  [default: one per available core]")]
Text = Annotated[
    str, typer.Argument(metavar="TEXT", help="A text; - reads it from standard input.", show_default=False)
]


def text_of(argument: str) -> str:
    """Give the text that an argument stands for: itself, or standard input."""
    return sys.stdin.read() if argument == "-" else argument


@dataclass(frozen=True)
class SourceOptions:
    """Where documents are read from, and how."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Folders of text files; .txt (one document per line), .jsonl, .csv, .tsv or .parquet files, also "
            "compressed as .gz, .xz or .bz2; - for standard input.",
            show_default=False,
        ),
    ]
    key: Annotated[str | None, typer.Option(help="Field that holds the key.  [default: key or id]")] = None
    text: Annotated[str | None, typer.Option(help="Field that holds the text.  [default: text]")] = None
    label: Annotated[str | None, typer.Option(help="Field that holds the label.  [default: label]")] = None
    encoding: Annotated[str, typer.Option(help="Encoding of the sources.")] = UTF8
    format: Annotated[
        str | None,
        typer.Option(help="Format of sources whose names do not tell it: txt, jsonl, csv, tsv or parquet."),
    ] = None

    def documents(self) -> Iterator[Document]:
        """Read the documents, as they are asked for."""
        from sthash.sources import SourceFields, read_documents

        fields = SourceFields(self.key, self.text, self.label)
        return read_documents(self.sources, fields, encoding=self.encoding, format=self.format)

    def words(self) -> list[str]:
        """Give the options as a command line has them, without the sources."""
        given = {name: value for name, value in asdict(self).items() if name != "sources" and value is not None}
        if self.encoding == UTF8:
            del given["encoding"]
        return [word for name, value in given.items() for word in (f"--{name}", value)]


@dataclass(frozen=True)
class LearningOptions:
    """How codes are learned; None leaves a setting to the library."""

    bits: Annotated[int | None, typer.Option(help="Bits per code.")] = None
    neighbors: Annotated[int | None, typer.Option(help="Neighbors per document in the graph.")] = None
    recipe: Annotated[
        str | None, typer.Option(help="How codes are learned: paper, topics or neighbors; sth tune finds the best.")
    ] = None
    sample_size: Annotated[
        int | None, typer.Option(help="Learn from a random sample of this many documents; 0 for all.")
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
            "scatter": self.scatter,
            "random_state": self.seed,
        }
        given = {name: value for name, value in settings.items() if value is not None}
        return given if self.sample_size is None else given | {"sample_size": self.sample_size or None}


@dataclass(frozen=True)
class SearchArguments:
    """Which hits to show, and how."""

    k: Count = 10
    radius: Radius = None
    where: Annotated[
        list[str] | None,
        typer.Option(
            metavar="CONDITION",
            help="Only documents that meet it: label=sport, 'year>=2020', 'lang in en,de', 'author exists', '!draft'. "
            "May be given several times.",
        ),
    ] = None
    codes_only: Annotated[
        bool, typer.Option("--codes-only", help="Rank by the distances of the codes, without cosines.")
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
