"""The list of the paper's statements: what it points to is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINES = [
    cells
    for line in (ROOT / "docs" / "statements.md").read_text().splitlines()
    if len(cells := [cell.strip() for cell in line.strip("|").split("|")]) == 3 and cells[0].isdigit()
]


def test_every_statement_has_a_number_and_a_place():
    assert [int(number) for number, _, _ in LINES] == list(range(1, len(LINES) + 1))
    assert len(LINES) >= 53
    assert all(len(where) >= 8 for _, _, where in LINES)


def test_what_the_list_points_to_is_there():
    tests = "\n".join(path.read_text() for path in sorted((ROOT / "tests").rglob("test_*.py")))
    sources = ROOT / "src" / "sthash" / "reproduction"
    report = "\n".join(path.read_text() for path in [*sources.glob("report/*.py"), *sources.glob("experiments/*.yaml")])
    for _, statement, where in LINES:
        for code in re.findall(r"`([^`]+)`", where):
            if code.startswith("test_"):
                assert f"def {code}(" in tests, statement
            elif code.endswith(".py") and "/" in code:
                bases = (ROOT, ROOT / "src" / "sthash")
                assert any((base / code).is_file() for base in bases), f"{statement} {code}"
            elif code.endswith(".py"):
                assert (ROOT / "benchmarks" / code).is_file(), statement
        if "report:" in where:
            for section in re.findall(r"\*([^*]+)\*", where.partition("report:")[2]):
                titles = (f"## {section}", f"title: {section}", f"*{section[0].upper()}{section[1:]}*", f"  {section}")
                assert any(title in report for title in titles), f"{statement} {section}"
        for page in re.findall(r"\]\(([^)#]+)", where):
            assert (ROOT / "docs" / page).is_file(), statement
