"""The command that runs the paper's experiments."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    dataset: Annotated[
        str | None,
        typer.Option(
            help="Corpora, with commas between them; also a .jsonl or .csv file.  [default: the paper's three]"
        ),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Methods, with commas between them; also package.module:Class.  [default: all]"),
    ] = None,
    output: Annotated[str, typer.Option(metavar="DIR", help="Folder for results and report.")] = "reproduction",
    relearn: Annotated[bool, typer.Option("--relearn", help="Learn every code length anew, not as a prefix.")] = False,
    experiments: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of conditions (YAML).  [default: the paper's]")
    ] = None,
) -> None:
    """Run the paper's experiments, and show what holds in an HTML page and a Markdown file.

    Results are kept one by one: a run that was stopped goes on where it was.
    """
    from sthash.cli.showing import progress_bar
    from sthash.reproduction.conditions import load_conditions
    from sthash.reproduction.report import check_tools, write_report
    from sthash.reproduction.results import Results
    from sthash.reproduction.runner import carry_out, choose

    check_tools()
    # A script has its own folder on the path; one's own method lies where one stands.
    sys.path.insert(0, str(Path.cwd()))
    run = choose(load_conditions(experiments), _names(dataset), _names(method), relearn=relearn)
    folder = Path(output)
    results = Results(folder / "measured")
    try:
        with progress_bar() as report:
            outcome = carry_out(run, results, report)
    except KeyboardInterrupt:
        typer.echo(f"stopped; everything measured so far is in {folder / 'measured'}: run again to go on", err=True)
        raise
    written = write_report(run, outcome, folder)
    for line in written.verdicts:
        typer.echo(line)
    typer.echo(f"{written.html} and {written.markdown}")
    if written.problems:
        raise ValueError("; ".join(written.problems))


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]
