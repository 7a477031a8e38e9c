"""ARCHITECTURE.md mentions every module: of the package, of the core, and of the tools."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
_, _, REST = PAGE.partition("## The packages, in the order data flows")
PACKAGES, _, CORE = REST.partition("## How the core is built")
SECTIONS = dict(re.findall(r"^### (?:\[(\w+)/\]|Foundations).*?\n(.*?)(?=^###|\Z)", PACKAGES, re.DOTALL | re.MULTILINE))


def words(text):
    """Return the words of the page that are set as code or linked, without folders and endings."""
    spans = re.findall(r"`([^`\n]+)`|\[([^\]]+)\]\(", re.sub(r"```.*?```", "", text, flags=re.DOTALL))
    return {word for span in spans for word in re.findall(r"\w+", "".join(span))}


def sections():
    """Return the words of the section of each package; modules without a package may be mentioned in any heading."""
    found = {package: words(text) for package, text in SECTIONS.items()}
    found[""] |= {*re.findall(r"(\w+)\.py", PACKAGES)}
    return found


def modules():
    source = ROOT / "src" / "sthash"
    paths = (path.relative_to(source) for path in sorted(source.rglob("*.py")))
    return [path for path in paths if not path.stem.startswith("__")]


@pytest.mark.parametrize("package", sorted({path.parts[0] for path in modules() if len(path.parts) > 1} | {""}))
def test_every_module_is_in_the_section_of_its_package(package):
    own = {path.stem for path in modules() if (path.parts[0] if len(path.parts) > 1 else "") == package}
    assert own
    assert own - sections()[package] == set()


def test_every_file_of_the_core_is_mentioned():
    core = ROOT / "src" / "core"
    files = [path for path in core.rglob("*") if path.is_file()]
    bound = {path.stem for path in (core / "bindings").glob("*.cpp")}  # one file per package, which is mentioned
    stems = {path.stem for path in files if path.parent.name != "bindings" or path.stem not in bound}
    folders = {path.name for path in core.iterdir() if path.is_dir()}
    assert folders | stems <= words(CORE)


def test_every_tool_is_mentioned():
    tools = {path.name for path in (ROOT / "tools").iterdir() if path.is_file()}
    assert {name for name in tools if f"tools/{name}" not in PAGE} == set()
