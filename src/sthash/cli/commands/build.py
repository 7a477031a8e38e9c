"""``sth build``: a new collection."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from sthash.cli import options
from sthash.cli.embedders import ComparisonOptions, EmbedderOptions, VectorSource

if TYPE_CHECKING:
    from sthash.model.learning import When
    from sthash.progress import Progress
    from sthash.sources import Document


def build(
    collection: options.Path,
    source: options.SourceOptions,
    vectors: VectorSource,
    embedder: EmbedderOptions,
    comparison: ComparisonOptions,
    language: options.LanguageOptions,
    learning: options.LearningOptions,
    replace: Annotated[
        bool, typer.Option("--replace", help="If several documents have the same key, keep the last one.")
    ] = False,
    learn: Annotated[
        str,
        typer.Option(
            metavar="WHEN",
            help="When to learn hash functions: now, before there is a file; after, if it takes more than 20 seconds, "
            "while words can be searched already; later, by sth relearn.",
        ),
    ] = "after",
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file if it exists.")] = False,
    threads: options.Threads = None,
) -> None:
    """Build a collection: a file of documents that can be searched.

    For texts, binary codes are learned: 64 bits each, from a graph of 25 neighbors per document. They are learned from
    all documents if that takes at most 300 seconds (--seconds) and a quarter of the machine's memory, at most 4 GiB
    (--memory), and from a random sample otherwise. Codes learned from fewer documents have lower recall. On 244,163
    texts, the 100 nearest codes contain .64 of the true 10 nearest documents if learned from all, .59 from 80,000, and
    .43 from 20,000. Typed queries do not depend on the codes.

    Documents can have vectors, such as embeddings: sth build x.sth docs.parquet --vectors embedding. Or a function
    makes them from the texts: sth build x.sth docs.jsonl --embedder my_module:embed. Vectors are searched without
    codes; codes are learned from them only if one of the options of learning is given, such as --n-bits.

    Where learning takes more than 20 seconds, the file is there before it, and words can be searched from then on. With
    --learn later nothing is learned until sth relearn.
    """
    from sthash.checks import check_choice
    from sthash.cli.output import advice_line, counted, progress_bar
    from sthash.collection import Collection
    from sthash.model.learning import TIMES

    check_choice("learn", learn, TIMES)
    started = time.time()

    with (
        vectors.documents(source, beside=collection, metric=comparison.metric or "cosine") as documents,
        progress_bar() as progress,
        Collection.create(
            collection,
            _some(documents, source.sources),
            learning=learning.learning(cast("When", learn), needed=not (vectors.given or embedder.given)),
            text_options=language.options(),
            vector_options=comparison.options(of_vectors=vectors.given or embedder.given),
            replace=replace,
            overwrite=overwrite,
            threads=threads,
            progress=announced(progress, collection),
            text=source.text_fields,
            **vectors.keywords(),
            **embedder.keywords(),
        ) as built,
    ):
        if [Path(name).is_dir() for name in source.sources] == [True]:
            built.follow(source.sources[0], since=started)
        facts = built.info()
    typer.echo(f"{collection}: {counted(facts['documents'])}", err=True)
    if "advice" in facts and (0 < facts["learned_on"] < facts["documents"] or learn == "later"):
        typer.echo(advice_line(facts), err=True)


def _some(documents: Iterator[Document], sources: list[str]) -> Iterator[Document]:
    """Give the documents; if there is none, that is an error, and a file that was to be replaced stays as it is."""
    first = next(documents, None)
    if first is None:
        raise ValueError(f"there is no document in {' '.join(sources)}, so nothing was built.")
    yield first
    yield from documents


def announced(progress: Progress, path: str) -> Progress:
    """Return progress that also says when words can be searched, because hash functions are learned after that."""
    from sthash.progress import SEARCHABLE

    def report(stage: str, done: int, total: int | None) -> None:
        if stage == SEARCHABLE:
            typer.echo(f"{path}: words can be searched; learning hash functions", err=True)
        else:
            progress(stage, done, total)

    return report
