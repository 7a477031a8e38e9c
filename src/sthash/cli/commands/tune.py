"""``sth tune``: the settings that suit a corpus."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from sthash.cli import options

if TYPE_CHECKING:
    from sthash.evaluation.tuning import Trial, Tuning

PICTURE = "tune.svg"
EXPLANATION = """
{queries:,} documents were held out as queries; the codes were learned from {corpus:,} others.
recall: share of the 10 nearest documents by cosine that is found after re-ranking {ball:,} documents.
in 100: share of the 10 nearest documents among the 100 nearest codes.
label: share of these 100 documents that have the label of the query.
µs: microseconds per query, without re-ranking.
Recommended: the shortest code of those within 0.01 of the best.
"""


def tune(
    n_bits: Annotated[
        list[int] | None, typer.Option(help="Code length to try. Can be repeated.  [default: 32, 64, 128]")
    ] = None,
    n_neighbors: Annotated[
        list[int] | None, typer.Option(help="Number of neighbors to try. Can be repeated.  [default: 10, 25]")
    ] = None,
    recipe: Annotated[list[str] | None, typer.Option(help="Recipe to try. Can be repeated.  [default: all]")] = None,
    aim: Annotated[
        str, typer.Option(help="neighbors: find the nearest documents; topics: find documents with the same label.")
    ] = "neighbors",
    sample_size: Annotated[
        int, typer.Option(help="Try the settings on a random sample of this many documents; 0 for all.")
    ] = 20_000,
    random_state: Annotated[
        int, typer.Option(help="Seed of the sample, of the held-out queries and of the learning.")
    ] = 0,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"File of the plot.  [default: {PICTURE}, with matplotlib]")
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Draw no plot.")] = False,
    json: options.Json = False,
    *,
    source: options.SourceOptions,
) -> None:
    """Find the best settings for a corpus.

    Code lengths, numbers of neighbors and recipes are tried on held-out documents of a sample. The sth build command
    with the best settings is printed; it learns from all documents, so its codes find more than those of the trials.
    """
    from sthash.cli.output import progress_bar
    from sthash.evaluation.tuning import N_BITS, N_NEIGHBORS, RECIPES
    from sthash.evaluation.tuning import tune as run

    with source.documents(beside="tune") as documents, progress_bar() as progress:
        tuning = run(
            documents,
            n_bits=n_bits or N_BITS,
            n_neighbors=n_neighbors or N_NEIGHBORS,
            recipe=recipe or RECIPES,
            aim=aim,  # type: ignore[arg-type]  # checked there
            sample_size=sample_size or None,
            random_state=random_state,
            progress=progress,
        )
    show(tuning, build_command(tuning.recommended, source), as_json=json)
    if not no_picture:
        draw(tuning, picture)


def build_command(trial: Trial, source: options.SourceOptions) -> str:
    """Give the command that builds a collection with the settings of a trial from the same sources."""
    words = ["sth", "build", "COLLECTION", *source.sources, "--recipe", trial.recipe]
    words += ["--n-bits", str(trial.n_bits), "--n-neighbors", str(trial.n_neighbors), *source.words()]
    return shlex.join(words)


def show(tuning: Tuning, command: str, *, as_json: bool) -> None:
    """Print the trials and the recommendation."""
    from sthash.cli.output import print_json, print_table

    if as_json:
        for trial in tuning.trials:
            chosen = trial is tuning.recommended
            print_json(asdict(trial) | {"recommended": chosen, "command": command if chosen else None})
        return
    headings = ["recipe", "neighbors", "bits", "bytes", "recall", "in 100", "label", "µs", "fit s", ""]
    rows = [
        (
            trial.recipe,
            trial.n_neighbors,
            trial.n_bits,
            trial.bytes,
            f"{trial.recall:.3f}",
            f"{trial.share_in_100:.3f}",
            "" if trial.precision_at_100 is None else f"{trial.precision_at_100:.3f}",
            f"{trial.microseconds:.0f}",
            f"{trial.fit_seconds:.1f}",
            "recommended" if trial is tuning.recommended else "",
        )
        for trial in tuning.trials
    ]
    print_table(headings, rows, numbers=headings[1:-1])
    typer.echo(EXPLANATION.format(queries=tuning.n_queries, corpus=tuning.n_corpus, ball=tuning.ball))
    typer.echo(command)


def draw(tuning: Tuning, picture: str | None) -> None:
    """Draw a plot; without matplotlib that is an error only if the user named a file."""
    from sthash.evaluation.tuning_plot import draw_tuning

    try:
        draw_tuning(tuning, picture or PICTURE)
    except ImportError as error:
        if picture is not None:
            raise
        typer.echo(f"no picture: {error}", err=True)
        return
    typer.echo(f"picture: {picture or PICTURE}", err=True)
