"""``sth reproduce``: the experiments of the paper."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer


def reproduce(
    dataset: Annotated[
        str | None,
        typer.Option(help="Corpora, separated by commas; also a .jsonl or .csv file.  [default: the paper's three]"),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(help="Methods, separated by commas; also package.module:Class.  [default: all]"),
    ] = None,
    output: Annotated[str, typer.Option(metavar="DIR", help="Folder for the results and the report.")] = "reproduction",
    relearn: Annotated[
        bool, typer.Option("--relearn", help="Learn each code length separately, not as a prefix of the longest.")
    ] = False,
    experiments: Annotated[
        str | None, typer.Option(metavar="DIR", help="Folder of conditions (YAML).  [default: the paper's]")
    ] = None,
) -> None:
    """Run the experiments of the paper.

    A report in HTML and Markdown says which claims of the paper hold. Each result is saved as soon as it is known, so
    a run that was interrupted continues when it is started again.
    """
    from sthash.cli.output import progress_bar
    from sthash.reproduction.conditions import load_conditions
    from sthash.reproduction.report import check_tools, write_report
    from sthash.reproduction.results import Results
    from sthash.reproduction.runner import carry_out, choose

    check_tools()
    # A method of the user's own is imported from the current folder.
    sys.path.insert(0, str(Path.cwd()))
    run = choose(load_conditions(experiments), _names(dataset), _names(method), relearn=relearn)
    folder = Path(output)
    results = Results(folder / "measured")
    try:
        with progress_bar() as report:
            outcome = carry_out(run, results, report)
    except KeyboardInterrupt:
        typer.echo(f"stopped; the results so far are in {folder / 'measured'}: run again to go on", err=True)
        raise
    written = write_report(run, outcome, folder)
    for line in written.verdicts:
        typer.echo(line)
    typer.echo(f"{written.html} and {written.markdown}")
    if written.problems:
        raise ValueError("; ".join(written.problems))


def _names(given: str | None) -> list[str]:
    return [name.strip() for name in (given or "").split(",") if name.strip()]
