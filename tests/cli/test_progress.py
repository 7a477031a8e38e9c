"""Progress as a person sees it: every step ends at 100 %."""

import io

import pytest
from rich import console as rich_console

from sthash.cli.output import counted, progress_bar


@pytest.fixture
def terminal(monkeypatch):
    screen = io.StringIO()
    make = rich_console.Console

    def console(**options):
        return make(**{**options, "file": screen, "force_terminal": True, "width": 100, "legacy_windows": False})

    monkeypatch.setattr(rich_console, "Console", console)
    return screen


def last_lines(screen, step):
    return [line for line in screen.getvalue().splitlines() if step in line][-1]


def test_every_step_ends_at_100_percent(terminal):
    with progress_bar() as report:
        report("reading", 700, None)
        report("learning", 0, None)
        report("encoding", 350, 700)
        report("encoding", 700, 700)
        report("writing", 3, 9)
    for step, count in {"reading": "700/700", "learning": "1/1", "encoding": "700/700", "writing": "9/9"}.items():
        assert "100%" in last_lines(terminal, step)
        assert count in last_lines(terminal, step)


def test_an_error_is_not_100_percent(terminal):
    def read():
        with progress_bar() as report:
            report("reading", 3, 9)
            raise ValueError("x")

    with pytest.raises(ValueError, match="x"):
        read()
    assert "100%" not in last_lines(terminal, "reading")


def test_items_are_counted():
    seen = []
    items = list(counted(range(600), lambda *report: seen.append(report), "adding"))
    assert items == list(range(600))
    assert seen == [("adding", 256, None), ("adding", 512, None), ("adding", 600, None)]
    assert list(counted([], lambda *report: seen.append(report), "none")) == []
