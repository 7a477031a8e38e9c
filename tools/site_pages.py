"""What the documentation site shows and no page holds: an extension of Sphinx, used by docs/conf.py.

A mark in a page, ``<!-- site: NAME ARGUMENT -->``, is replaced by what `MARKS[NAME]` makes of the argument.
"""

from __future__ import annotations

import importlib
import inspect
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from pages import table

if TYPE_CHECKING:
    from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARK = re.compile(r"^<!-- site: (\w+)(?: (.+?))? -->$", re.MULTILINE)
FOLDER_LINK = re.compile(r"(?<!!)\[([^\]]+)\]\(([^)#:\s]+)\)")


def names(module_name: str) -> str:
    """Document all public names of a module that the package ``sthash`` itself does not offer."""
    module = importlib.import_module(module_name)
    ours = set(importlib.import_module("sthash").__all__)
    lines, elsewhere = [], []
    for name in public_names(module):
        if module_name != "sthash" and name in ours and module_name not in ("sthash.spark",):
            elsewhere.append(f"{{py:obj}}`sthash.{name}`")
            continue
        lines += _documented(module, name)
    also = f"The package `sthash` offers these names of it: {', '.join(elsewhere)}.\n\n" if elsewhere else ""
    body = "\n".join([f".. py:module:: {module_name}", "", *lines])
    about = (inspect.getdoc(module) or "").partition("\n\n")[0]
    return f"{about}\n\n{also}```{{eval-rst}}\n{body}\n```"


def public_names(module: ModuleType) -> list[str]:
    """Names that a module lists, or, if it lists none, the functions and classes that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return sorted(set(listed) - {"__version__"}, key=lambda name: (not name[0].isupper(), name))
    found = vars(module).items()
    return [
        name
        for name, value in found
        if not name.startswith("_") and getattr(value, "__module__", None) == module.__name__ and callable(value)
    ]


def _documented(module: ModuleType, name: str) -> Iterator[str]:
    """Lines that tell autodoc to document one name."""
    value = getattr(module, name)
    if inspect.isclass(value):
        yield f".. auto{'exception' if issubclass(value, BaseException) else 'class'}:: {module.__name__}.{name}"
        yield from ("   :members:", "   :inherited-members:", "")
    elif inspect.isroutine(value):
        yield from (f".. autofunction:: {module.__name__}.{name}", "")
    else:
        yield from (f".. py:data:: {name}", f"   :value: {_short(value)}", "")


def _short(value: object) -> str:
    """Give a constant or a type in one line."""
    return re.sub(r"\s+", " ", re.sub(r"\b(?:\w+\.)+(?=\w)", "", repr(value)))[:120]


def commands(_: str) -> str:
    """Give the help of every command of ``sth``."""
    import typer

    from sthash import cli
    from sthash.cli.commands import GROUPS

    group: Any = typer.main.get_command(cli.app)
    parts = []
    for title, names in GROUPS.items():
        parts.append(f"## {title}")
        for name in names:
            command = group.get_command(None, name)
            context = command.make_context(f"sth {name}", [], resilient_parsing=True)
            parts.append(f"### sth {name}\n\n```text\n{command.get_help(context)}\n```")
    return "\n\n".join(parts)


def benchmarks(_: str) -> str:
    """Give a table per file of results."""
    found = [(path.stem, json.loads(path.read_text(encoding="utf-8"))) for path in sorted(RESULTS.glob("*.json"))]
    return "\n\n".join(_measured(name, result) for name, result in found)


def _measured(name: str, result: dict[str, Any]) -> str:
    machine, load = result["machine"], result["load_average"]
    busy = max(load.values()) > machine["cores"]
    about = (
        f"`{result['script']}`, {result['date']}, {machine['cores']} cores of an {machine['cpu']} ({machine['simd']}), "
        f"load average {load['before']:g} before and {load['after']:g} after{': **busy**' if busy else ''}."
    )
    rows = [["what", "setting", "sthash", "peer", "its figure", "ratio"]]
    for row in result["rows"]:
        setting = ", ".join(f"{key} {figure(value)}" for key, value in row["setting"].items())
        ours = f"{figure(row['ours'])} {row['unit']}".strip()
        peer = "" if row["theirs"] is None else row["peer"]
        theirs = "" if row["theirs"] is None else f"{figure(row['theirs'])} {row['unit']}".strip()
        rows.append([row["what"].strip(), setting, ours, peer, theirs, figure(row["ratio"])])
    kept = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    rows = [[row[column].replace("|", "/") for column in kept] for row in rows]
    title = name.replace("_", " ").replace("-", ": ").capitalize()
    return f"## {title}\n\n{about}\n\n{table(rows)}"


def figure(value: object) -> str:
    """Write a figure with three digits, and nothing for None.

    Examples
    --------
    >>> [figure(x) for x in (None, 244163, 0.032871, 17.07, 1234.5, "auto")]
    ['', '244,163', '0.0329', '17.1', '1,234', 'auto']
    """
    if value is None:
        return ""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3g}"


MARKS: dict[str, Callable[[str], str]] = {
    "names": names,
    "commands": commands,
    "benchmarks": benchmarks,
}


def expanded(text: str) -> str:
    """Replace the marks of a page."""
    return MARK.sub(lambda mark: MARKS[mark[1]](mark[2] or ""), text)


def without_folders(text: str, here: Path) -> str:
    """Let a link to a folder lead to its README, or, if it has none, be plain text: a site has no folders."""

    def replaced(link: re.Match[str]) -> str:
        target = here / link[2]
        if not target.is_dir():
            return link[0]
        return f"[{link[1]}]({link[2].rstrip('/')}/README.md)" if (target / "README.md").is_file() else link[1]

    return FOLDER_LINK.sub(replaced, text)


def _read(app: Sphinx, docname: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(docname))
    source[0] = without_folders(expanded(source[0]), path.parent)


def _leave_out(_app: Sphinx, _kind: str, _name: str, member: Any, _skip: bool, _options: Any) -> bool | None:
    """Leave out what a class has from others, such as scikit-learn."""
    function = inspect.unwrap(getattr(member, "fget", None) or getattr(member, "__func__", None) or member)
    module = getattr(function, "__module__", None)
    return True if module is None or not module.startswith("sthash") else None


def _unlink_types(_app: Sphinx, doctree: Any) -> None:
    """Types such as "array of shape (n, n_bits)" are prose: only class names in them are links."""
    from sphinx.addnodes import pending_xref

    for node in list(doctree.findall(pending_xref)):
        if node.get("refspecific") and not node["reftarget"][:1].isupper():
            node.replace_self(node.children)


# What docstrings call a name, such as `Hits` or `Collection.search` -> its whole name.
FULL_NAMES: dict[str, str] = {}


def _learn_names(_app: Sphinx, env: Any) -> None:
    """Collect the ends of all names that the reference has; of equal ends, the shortest name wins."""
    FULL_NAMES.clear()
    for name in sorted(env.get_domain("py").objects, key=lambda name: (-name.count("."), name)):
        parts = name.split(".")
        FULL_NAMES.update((".".join(parts[start:]), name) for start in range(1, len(parts)))


def _find_by_end(app: Sphinx, env: Any, node: Any, content: Any) -> Any:
    """Resolve a name as docstrings write it, from any module."""
    from sphinx.util.nodes import make_refnode

    name = FULL_NAMES.get(node.get("reftarget", ""))
    if node.get("refdomain") != "py" or name is None:
        return None
    place = env.get_domain("py").objects[name]
    return make_refnode(app.builder, node["refdoc"], place.docname, place.node_id, content, name)


def _mathml(translator: Any, node: Any, display: str) -> None:
    """Formulas as MathML, which browsers draw without help."""
    from docutils.nodes import SkipNode
    from latex2mathml.converter import convert

    translator.body.append(convert(node.astext(), display=display))
    raise SkipNode


def _send_on(app: Sphinx, exception: Exception | None) -> None:
    """Let the root of the site lead to its first page."""
    if exception is None and app.builder.format == "html":
        page = '<!doctype html><meta charset="utf-8"><title>sthash</title>'
        page += '<meta http-equiv="refresh" content="0; url=docs/index.html"><a href="docs/index.html">sthash</a>\n'
        Path(app.outdir, "index.html").write_text(page, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect all of this to Sphinx."""
    app.connect("source-read", _read)
    app.connect("autodoc-skip-member", _leave_out)
    app.connect("doctree-read", _unlink_types)
    app.connect("env-check-consistency", _learn_names)
    app.connect("missing-reference", _find_by_end)
    app.connect("build-finished", _send_on)
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda self, node: _mathml(self, node, "inline"), None),
        block_renderers=(lambda self, node: _mathml(self, node, "block"), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
