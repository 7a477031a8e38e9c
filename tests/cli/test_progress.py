"""Progress as a person sees it: every step ends at 100 %."""

import io
import re
import time

import pytest
from rich import console as rich_console

from sthash.cli.output import progress_bar


class Screen(io.StringIO):
    """What a terminal shows, and its clock."""

    seconds: float | None = None

    def time(self):
        return time.monotonic() if self.seconds is None else self.seconds


@pytest.fixture
def terminal(monkeypatch):
    screen = Screen()
    make = rich_console.Console

    def console(**options):
        own = {"file": screen, "force_terminal": True, "width": 100, "legacy_windows": False, "get_time": screen.time}
        return make(**(options | own))

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


def test_the_time_left_is_shown(terminal):
    terminal.seconds = 0.0

    def encode():
        with progress_bar() as report:
            for done in range(0, 101, 10):
                report("encoding", done, 400)
                terminal.seconds += 2
            raise KeyboardInterrupt  # what was shown last stays

    with pytest.raises(KeyboardInterrupt):
        encode()
    shown = re.sub(r"\x1b\[\d*\w", "", last_lines(terminal, "encoding"))
    assert shown.endswith("25% 100/400 0:00:22 0:01:00 left")


def test_nothing_is_shown_on_a_pipe(sth, jsonl):
    assert (
        sth("build", "c.sth", jsonl, "--text", "body", "--n-bits", 8, "--n-neighbors", 5).err
        == "c.sth: 120 documents\n"
    )
    assert sth("add", "c.sth", jsonl, "--text", "body", "--replace").err == "c.sth: 120 documents added\n"
    assert sth("relearn", "c.sth").err == "c.sth: relearned from 120 documents\n"


def test_all_stages_are_shown(terminal, sth, jsonl):
    sth("build", "c.sth", jsonl, "--text", "body", "--n-bits", 8, "--n-neighbors", 5)
    stages = ("reading", "graph", "embedding", "bits", "hash functions", "encoding")
    for stage in stages:
        assert "100%" in last_lines(terminal, stage), stage
    places = [terminal.getvalue().index(stage) for stage in stages]
    assert places == sorted(places)
