"""The command that chooses settings for a corpus."""

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
{queries:,} documents were held out as queries, {corpus:,} learnt from. recall: share of the 10 nearest documents by
cosine that is found after re-ranking {ball:,} documents; in 100: share of them among the 100 nearest codes; label:
share of these 100 with the query's label; µs: a query, without re-ranking. Recommended: the shortest code of those
within 0.01 of the best.
"""


def tune(
    sources: options.Sources,
    bits: Annotated[list[int] | None, typer.Option(help="Code lengths to try.  [default: 32, 64, 128]")] = None,
    neighbors: Annotated[list[int] | None, typer.Option(help="Neighbours to try.  [default: 10, 25]")] = None,
    recipe: Annotated[list[str] | None, typer.Option(help="Recipes to try.  [default: all]")] = None,
    aim: Annotated[
        str, typer.Option(help="neighbors: find the nearest documents; topics: those of the same label.")
    ] = "neighbors",
    sample: Annotated[int, typer.Option(help="Look at a random sample of so many documents; 0 for all.")] = 20_000,
    seed: Annotated[int, typer.Option(help="Of the sample and the split.")] = 0,
    picture: Annotated[
        str | None, typer.Option(metavar="FILE", help=f"Where to draw.  [default: {PICTURE}, if matplotlib is there]")
    ] = None,
    no_picture: Annotated[bool, typer.Option("--no-picture", help="Do not draw.")] = False,
    key: options.KeyField = None,
    text: options.TextField = None,
    label: options.LabelField = None,
    encoding: options.Encoding = "utf-8",
    format: options.Format = None,  # noqa: A002
    json: options.Json = False,
) -> None:
    """Try code lengths, neighbours and recipes on held-out documents, and say how to build."""
    from sthash.cli.showing import progress_bar
    from sthash.evaluation.tuning import N_BITS, N_NEIGHBORS, RECIPES
    from sthash.evaluation.tuning import tune as run
    from sthash.sources import SourceFields, read_documents

    documents = read_documents(sources, SourceFields(key, text, label), encoding=encoding, format=format)
    with progress_bar() as progress:
        tuning = run(
            documents,
            n_bits=bits or N_BITS,
            n_neighbors=neighbors or N_NEIGHBORS,
            recipes=recipe or RECIPES,
            aim=aim,  # type: ignore[arg-type]  # checked there
            sample=sample or None,
            random_state=seed,
            progress=progress,
        )
    given = {"--key": key, "--text": text, "--label": label, "--format": format}
    given |= {"--encoding": None if encoding == "utf-8" else encoding}
    command = build_command(tuning.recommended, sources, given)
    show(tuning, command, as_json=json)
    if not no_picture:
        draw(tuning, picture)


def build_command(trial: Trial, sources: list[str], given: dict[str, str | None]) -> str:
    """Give the command that builds a collection with a trial's settings from the same sources."""
    words = ["sth", "build", "COLLECTION", *sources, "--recipe", trial.recipe]
    words += ["--bits", str(trial.n_bits), "--neighbors", str(trial.n_neighbors)]
    words += [word for name, value in given.items() if value is not None for word in (name, value)]
    return shlex.join(words)


def show(tuning: Tuning, command: str, *, as_json: bool) -> None:
    """Print the trials and the recommendation."""
    from sthash.cli.showing import print_json, print_table

    if as_json:
        for trial in tuning.trials:
            chosen = trial is tuning.recommended
            print_json(asdict(trial) | {"recommended": chosen, "command": command if chosen else None})
        return
    headings = ["recipe", "k", "bits", "bytes", "recall", "in 100", "label", "µs", "fit s", ""]
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
    """Draw; without matplotlib that is an error only if a picture was asked for."""
    from sthash.evaluation.tuning_plot import draw_tuning

    try:
        draw_tuning(tuning, picture or PICTURE)
    except ImportError as error:
        if picture is not None:
            raise
        typer.echo(f"no picture: {error}", err=True)
        return
    typer.echo(f"picture: {picture or PICTURE}", err=True)
