"""Arguments and options that several commands share, alone or in groups.

A group is a dataclass; a command takes it as one parameter, and `sthash.cli.option_groups` shows its fields to typer.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from sthash.cli.conditions import parse_conditions

if TYPE_CHECKING:
    from sthash.model import Learning
    from sthash.model.learning import When
    from sthash.sources import Document, Origin
    from sthash.sources.fields import TextFields
    from sthash.text.options import TextOptions

Path = Annotated[str, typer.Argument(metavar="COLLECTION", help="The file of the collection.", show_default=False)]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object per line.")]
Count = Annotated[int, typer.Option("-k", help="Number of hits.")]
Radius = Annotated[
    int | None, typer.Option(help="Only documents whose codes differ from the query's code in at most this many bits.")
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
        help="Only documents that meet this condition: label=sport, 'year>=2020', 'lang in en,de', "
        "'tags contains cup', 'author.name exists', '!draft'. Can be repeated.",
    ),
]

SourceEncoding = Annotated[
    str | None,
    typer.Option(
        help="Encoding of the sources, or several, separated by commas, to try in turn.  "
        "[default: UTF-8, or UTF-16 or UTF-32 if detected]"
    ),
]
Include = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="In folders, read only files that match, such as '*.md'. Can be repeated."),
]
Exclude = Annotated[
    list[str] | None,
    typer.Option(metavar="PATTERN", help="In folders, skip files that match, such as 'drafts'. Can be repeated."),
]


def text_of(words: list[str]) -> str:
    """Return the text that arguments stand for: their words, or standard input."""
    return sys.stdin.read() if words == ["-"] else " ".join(words)


@dataclass(frozen=True)
class SourceOptions:
    """Where documents are read from, and how."""

    sources: Annotated[
        list[str],
        typer.Argument(
            metavar="SOURCE",
            help="Folders, of which each file is a document; files of documents (.jsonl, .json, .csv, .tsv, .parquet, "
            ".mbox); files that are one document (text, .md, .html, .ipynb, .eml, .srt, .docx, .odt, .pptx, .xlsx, "
            ".epub, .pdf); also compressed as .gz, .xz, .bz2 or .zst; - for standard input.",
            show_default=False,
        ),
    ]
    key: Annotated[str | None, typer.Option(help="Field that holds the key.  [default: key or id]")] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            help="Field that holds the text; body.en for one within another. Can be repeated: --text title "
            "--text body. title^3 has the weight 3; by default, the last field weighs 1 and the others 2.  "
            "[default: text]"
        ),
    ] = None
    label: Annotated[str | None, typer.Option(help="Field that holds the label.  [default: label]")] = None
    encoding: SourceEncoding = None
    format: Annotated[
        str | None,
        typer.Option(help="Format of the sources, whatever their names: lines, jsonl, json, csv, tsv, parquet, txt, …"),
    ] = None
    lines: Annotated[
        bool, typer.Option("--lines", help="One document per line of text files; the same as --format lines.")
    ] = False
    include: Include = None
    exclude: Exclude = None
    skip_bad: Annotated[
        bool,
        typer.Option("--skip-bad", help="Skip records that cannot be read, and list them in a .skipped.jsonl file."),
    ] = False

    @property
    def text_fields(self) -> TextFields | None:
        """The fields that hold the text; one alone may have a comma in its name."""
        return self.text[0] if self.text and len(self.text) == 1 else self.text or None

    @property
    def stated_format(self) -> str | None:
        """The format of the sources, whatever their names; None if their names tell it."""
        return "lines" if self.lines else self.format

    @contextmanager
    def documents(
        self,
        beside: str,
        *,
        vectors: str | None = None,
        width: int | None = None,
        metric: str = "cosine",
        origin: Origin | None = None,
        default_text: tuple[str, ...] = (),
    ) -> Iterator[Iterator[Document]]:
        """Read the documents, as they are asked for; a file of what is skipped goes beside another one.

        ``vectors`` is the field, or the ``.npy`` file, that has their vectors, of ``width`` values and this metric.
        ``origin`` tells how the document that was given last is written.
        """
        from sthash.cli.skipped import skipping
        from sthash.sources import SourceFields, read_documents
        from sthash.sources.vectors import is_vector_file

        file = vectors if is_vector_file(vectors) else None
        field = None if file is not None else vectors
        fields = SourceFields(self.key, self.text_fields, self.label, default_text=default_text, vector=field)
        with skipping(beside) as skipped:
            yield read_documents(
                self.sources,
                fields,
                encoding=self.encoding,
                format=self.stated_format,
                include=self.include or (),
                exclude=self.exclude or (),
                on_bad=skipped if self.skip_bad else None,
                on_skip=skipped.file,
                vector_file=file,
                width=width,
                metric=metric,  # type: ignore[arg-type]  # checked where the collection is built
                origin=origin,
            )

    def words(self) -> list[str]:
        """Return the options as words of a command line, without the sources."""
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
    """How hash functions are learned: the fields of `sthash.Learning`, None where the user gave nothing."""

    n_bits: Annotated[int | None, typer.Option(help="Bits of a code.")] = None
    n_neighbors: Annotated[int | None, typer.Option(help="Neighbors per document in the graph.")] = None
    recipe: Annotated[
        str | None,
        typer.Option(
            help="How codes are learned: paper, topics, neighbors (for texts) or embeddings (for vectors). "
            "sth tune finds the best one."
        ),
    ] = None
    sample_size: Annotated[
        int | None,
        typer.Option(help="Learn from a random sample of at most this many documents; 0 for all."),
    ] = None
    seconds: Annotated[
        float | None, typer.Option(help="Time budget for learning, in seconds on two cores (estimated).")
    ] = None
    memory: Annotated[
        str | None,
        typer.Option(metavar="SIZE", help="Memory budget for learning, such as 500MB or 4GiB (estimated)."),
    ] = None
    scatter: Annotated[
        float | None, typer.Option(help="Weight of random hyperplanes; 4 with --n-bits 512 improves recall by cosine.")
    ] = None
    random_state: Annotated[int | None, typer.Option(help="Seed of the sample and of the learning.")] = None

    def changes(self) -> dict[str, Any]:
        """Return what the user gave, as `Collection.relearn` takes it."""
        given = {name: value for name, value in asdict(self).items() if value is not None}
        if self.sample_size == 0:
            given["sample_size"] = None
        return given

    def learning(self, when: When = "now", *, needed: bool = False) -> Learning | None:
        """Return what the user gave, as `Collection.create` takes it; None if nothing, unless it is ``needed``."""
        from sthash.model import Learning

        given = self.changes()
        return Learning(**given, when=when) if given or needed else None


@dataclass(frozen=True)
class LanguageOptions:
    """What the texts are written in."""

    language: Annotated[
        str,
        typer.Option(
            help="Language of the texts, which picks stop words and stems: german, japanese, ...; none for neither."
        ),
    ] = "english"
    fold_accents: Annotated[bool, typer.Option("--fold-accents", help="Ignore accents: cafe finds café.")] = False

    def options(self) -> TextOptions:
        """Return them as `Collection.create` takes them."""
        from sthash.text.options import TextOptions

        return TextOptions(language=self.language, fold_accents=self.fold_accents)


@dataclass(frozen=True)
class SearchArguments:
    """Which hits to show, and how."""

    k: Count = 10
    radius: Radius = None
    where: Where = None
    no_rerank: Annotated[
        bool, typer.Option("--no-rerank", help="Rank by the distances of the codes, not by vectors.")
    ] = False
    offset: Annotated[int, typer.Option(help="Number of hits to leave out, the best ones.")] = 0
    snippet: Annotated[int, typer.Option(help="Number of characters to show around the matches; 0 for none.")] = 200
    explain: Annotated[
        bool, typer.Option("--explain", help="Print how the hits were found: words that match, and bits that differ.")
    ] = False
    sort: Annotated[
        str | None,
        typer.Option(metavar="FIELD", help="Sort all documents that match by a field; -FIELD in descending order."),
    ] = None
    facets: Annotated[
        list[str] | None,
        typer.Option(metavar="FIELD", help="Count the values of a field over all matches. Can be repeated."),
    ] = None
    collapse: Annotated[bool, typer.Option("--collapse", help="Show one hit per group of near-duplicates.")] = False
    recall: Annotated[
        float, typer.Option(help="Share of the true nearest vectors to find; for collections of vectors.")
    ] = 0.95
    exact: Annotated[bool, typer.Option("--exact", help="Compare with all vectors; for collections of vectors.")] = (
        False
    )
    json: Json = False

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `Collection.search`."""
        return {
            "k": self.k,
            "radius": self.radius,
            "where": parse_conditions(self.where),
            "rerank": not self.no_rerank,
            "explain": True,
            "offset": self.offset,
            "snippet": self.snippet,
            "sort": self.sort,
            "facets": self.facets or (),
            "collapse": self.collapse,
            "recall": self.recall,
            "exact": self.exact,
        }


@dataclass(frozen=True)
class QueryArguments(SearchArguments):
    """Which hits of a typed query to show, and how."""

    ranking: Annotated[
        str,
        typer.Option(
            help="Ranking method: bm25; graph (BM25, re-ranked by neighbors); cosine (ip in "
            "collections with that metric); hybrid (graph fused with vectors); auto (graph or hybrid for "
            "a typed query, cosine or ip for a whole document)."
        ),
    ] = "auto"
    correct: Annotated[
        bool | None,
        typer.Option(
            "--correct/--no-correct",
            help="Replace unknown words with the closest known ones, or none of them. Default: if little is found.",
        ),
    ] = None
    syntax: Annotated[
        str, typer.Option(help="How to read the text: plain (words), strict (with operators), or auto (as it looks).")
    ] = "auto"
    plain: Annotated[bool, typer.Option("--plain", help="The same as --syntax plain.")] = False

    def keywords(self) -> dict[str, Any]:
        """Return the arguments of `Collection.search`."""
        return super().keywords() | {
            "ranking": self.ranking,
            "correct": self.correct,
            "syntax": "plain" if self.plain else self.syntax,
        }
