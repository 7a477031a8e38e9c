"""The tables of measurements in README.md and on the site have the figures of benchmarks/results, and nothing else."""

import doctest
import json
from dataclasses import replace

import pytest

import pages
import readme_table


def result(**more):
    """Make a result with one row."""
    row = {
        "id": "total",
        "ours": 1.44,
        "theirs": 17.4,
        "ratio": 12.083,
        "setting": {"bits": 64},
        "details": {"MiB": 3.0},
    }
    machine = {"cpu": "AMD EPYC", "cores": 2, "simd": "avx512"}
    content = {"script": "benchmarks/fit.py", "date": "2026-01-02", "quick": False, "machine": machine, "rows": [row]}
    return content | {"load_average": {"before": 0.5, "after": 2.0}} | more


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A page with marks, one result, and one line that shows it."""
    line = readme_table.Line("fit", "{total.setting[bits]} bits: {total.ours:.1f} s", "peer", "**{total.ratio:short}**")
    monkeypatch.setattr(readme_table, "LINES", (replace(line, headline=True), replace(line, what="not in the README")))
    monkeypatch.setattr(readme_table, "PAPER_LINES", ())
    page = tmp_path / "README.md"
    for path in (page, tmp_path / "site.md"):
        path.write_text(f"before\n{readme_table.BEGIN}\nold\n{readme_table.END}\nafter\n", encoding="utf-8")
    (tmp_path / "fit.json").write_text(json.dumps(result()), encoding="utf-8")
    return page


def run(page, *arguments):
    site = page.with_name("site.md")
    return readme_table.main([*arguments, "--readme", str(page), "--site", str(site), "--results", str(page.parent)])


def test_the_readme_has_the_figures_of_the_results():
    assert readme_table.main(["--check"]) == 0, "run: python tools/readme_table.py"


def test_a_page_is_written_once_and_then_agrees(small):
    assert run(small, "--check") == 1
    assert run(small) == 0
    page = small.read_text(encoding="utf-8")
    assert "| 64 bits: 1.4 s | peer | **12** | `benchmarks/fit.py` |" in page
    assert "not in the README" not in page
    assert "not in the README" in small.with_name("site.md").read_text(encoding="utf-8")
    assert page.startswith("before\n")
    assert page.endswith("\nafter\n")
    assert run(small, "--check") == 0


def test_a_figure_changed_by_hand_is_found(small):
    run(small)
    small.write_text(small.read_text(encoding="utf-8").replace("1.4 s", "1.3 s"), encoding="utf-8")
    assert run(small, "--check") == 1


def test_other_results_are_found(small):
    run(small)
    (small.parent / "fit.json").write_text(json.dumps(result(date="2026-01-03")), encoding="utf-8")
    assert run(small, "--check") == 1


def test_a_busy_machine_is_named():
    quiet, busy = result(), result(load_average={"before": 17.3, "after": 9.0})
    assert "busy" not in readme_table.machines([quiet])
    assert "load average up to 17 on 2 cores" in readme_table.machines([quiet, busy])


def test_results_of_quick_runs_are_refused(small):
    (small.parent / "fit.json").write_text(json.dumps(result(quick=True)), encoding="utf-8")
    with pytest.raises(ValueError, match="Run these without --quick"):
        run(small)


def test_what_was_not_measured_is_not_shown(small, capsys, monkeypatch):
    missing = readme_table.Line("hamming-nearest", "{nothing.ours}", headline=True)
    monkeypatch.setattr(readme_table, "LINES", (*readme_table.LINES, missing))
    assert run(small) == 0
    assert "64 bits: 1.4 s" in small.read_text(encoding="utf-8")
    assert "python benchmarks/hamming.py nearest" in capsys.readouterr().err


def test_a_row_that_is_missing_is_named_with_its_script(small, monkeypatch):
    line = readme_table.Line("fit", "{total.ours} s", "{static-16.theirs:short}", "{static-16.details[MiB]}")
    monkeypatch.setattr(readme_table, "LINES", (replace(line, headline=True),))
    with pytest.raises(ValueError, match=r"^fit\.json has no row static-16\. Run: python benchmarks/fit\.py$"):
        run(small)


def test_no_results_at_all_are_an_error(small):
    (small.parent / "fit.json").unlink()
    with pytest.raises(FileNotFoundError, match="make bench"):
        run(small)


def test_a_page_without_marks_is_refused():
    with pytest.raises(ValueError, match="Put both marks"):
        pages.with_block("no marks", "<b>", "<e>", "content")


@pytest.mark.parametrize("module", [pages, readme_table])
def test_examples_hold(module):
    assert doctest.testmod(module).failed == 0
