"""Markdown tables, and what is made of Markdown text: one HTML page that needs nothing from outside, LaTeX tables."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from markdown_it.token import Token

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --soft: #59636e; --paper: #ffffff; --line: #d8dee4; --band: #f6f8fa;
  --good: #1a7f37; --bad: #cf222e; --mid: #9a6700; --link: #0969da; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9198a1; --paper: #0d1117; --line: #30363d;
  --band: #161b22; --good: #3fb950; --bad: #f85149; --mid: #d29922; --link: #4493f8; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 2.5rem 1.5rem 5rem; max-width: 72rem; color: var(--ink); background: var(--paper);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; }
h1 { font-size: 2.1rem; line-height: 1.2; letter-spacing: -0.02em; margin: 0 0 0.6rem; }
h2 { font-size: 1.4rem; letter-spacing: -0.01em; margin: 3rem 0 0.8rem; padding-top: 1.2rem;
  border-top: 1px solid var(--line); }
h3 { font-size: 1.08rem; margin: 2rem 0 0.6rem; }
p, li { max-width: 48rem; }
a { color: var(--link); }
code { font: 0.88em ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; background: var(--band);
  padding: 0.1em 0.35em; border-radius: 4px; }
pre { background: var(--band); padding: 1rem; border-radius: 6px; overflow-x: auto; }
pre code { padding: 0; background: none; }
.scroll { overflow-x: auto; margin: 1rem 0 1.6rem; }
table { border-collapse: collapse; font-size: 0.86rem; font-variant-numeric: tabular-nums; min-width: 40%; }
th { text-align: left; font-weight: 600; color: var(--soft); border-bottom: 2px solid var(--line);
  vertical-align: bottom; }
th, td { padding: 0.4rem 0.8rem 0.4rem 0; }
td { border-bottom: 1px solid var(--line); vertical-align: top; }
td[style] { white-space: nowrap; }
td.verdict { font-weight: 600; white-space: nowrap; }
.good { color: var(--good); } .bad { color: var(--bad); } .mid { color: var(--mid); }
figure { margin: 1.4rem 0 2rem; }
figure svg { max-width: 100%; height: auto; display: block; }
figcaption { color: var(--soft); font-size: 0.9rem; margin-top: 0.4rem; }
"""
CLASSES = {
    "holds": "good",
    "met": "good",
    "in part": "mid",
    "does not hold": "bad",
    "not met": "bad",
    "not measured": "mid",
}


def table(headings: Sequence[str], rows: Sequence[Sequence[Any]], *, words: int = 1) -> str:
    """Write a Markdown table. The first ``words`` columns hold words, the others numbers.

    Examples
    --------
    >>> from sthash.reproduction.report.markup import table
    >>> print(table(("method", "F1"), [("STH", "0.5")]))
    | method | F1 |
    | --- | ---: |
    | STH | 0.5 |
    """
    rules = ["---" if place < words else "---:" for place in range(len(headings))]
    lines = [[_cell(heading) for heading in headings], rules, *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: Any) -> str:
    return " ".join(str(value).replace("|", "\\|").split())


# Characters that LaTeX reads otherwise, or that its standard fonts lack.
_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_", "{": r"\{", "}": r"\}", "$": r"\$",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"$<$", ">": r"$>$", "|": r"$|$", "–": "--", "—": "---",
    "±": r"$\pm$", "≥": r"$\ge$", "≤": r"$\le$", "→": r"$\to$", "×": r"$\times$", "λ": r"$\lambda$", "·": r"$\cdot$",
    "µ": r"$\mu$", "μ": r"$\mu$", "−": "$-$", "…": r"\dots{}",
} | {mark: f"$^{plain}$" for mark, plain in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)}  # fmt: skip


def latex_tables(markdown: str) -> str:
    r"""Return all tables of a Markdown text as LaTeX, each under the headings that it stands under.

    Examples
    --------
    >>> from sthash.reproduction.report.markup import latex_tables
    >>> print(latex_tables("## Scores\n\n| method | F1 |\n| --- | ---: |\n| A & B | 0.5 |"))
    % Scores
    \begin{tabular}{lr}
    \hline
    method & F1 \\
    \hline
    A \& B & 0.5 \\
    \hline
    \end{tabular}
    <BLANKLINE>
    """
    headings: dict[int, str] = {}
    found: list[str] = []
    block: list[str] = []
    for line in [*markdown.splitlines(), ""]:
        if line.startswith("|"):
            block.append(line)
            continue
        if block:
            title = _latex(" / ".join(headings[level] for level in sorted(headings)))
            found.append(f"% {title}\n{_tabular(block)}")
            block = []
        level = len(line) - len(line.lstrip("#"))
        if level > 1 or (line.startswith("**") and line.endswith("**")):
            level = level or 9
            headings = {known: text for known, text in headings.items() if known < level}
            headings[level] = line.strip("#* ")
    return "\n".join(found)


def _tabular(block: Sequence[str]) -> str:
    rows = [[cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip()[1:-1])] for line in block]
    columns = "".join("r" if rule.endswith(":") else "l" for rule in rows[1])
    lines = [" & ".join(_latex(cell) for cell in row) + r" \\" for row in (rows[0], *rows[2:])]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            lines[0],
            r"\hline",
            *lines[1:],
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def _latex(cell: str) -> str:
    text = "".join(_LATEX.get(letter, letter) for letter in cell.replace("\\|", "|"))
    text = re.sub(r"`([^`]*)`", r"\\texttt{\1}", text)
    return re.sub(r"\$\^(.)\$", r"\\textsuperscript{\1}", text)


def html_page(markdown: str, figures: Mapping[str, str], title: str) -> str:
    """Render Markdown as a page, with the figures drawn into it."""
    body = _body(markdown, figures)
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{html.escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n{body}</body>\n</html>\n"
    )


def _body(markdown: str, figures: Mapping[str, str]) -> str:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

    parser = MarkdownIt("commonmark", {"html": False}).enable("table")
    tokens: list[Token] = []
    for token in parser.parse(markdown):
        before = tokens[-1] if tokens else None
        if token.type == "inline" and before is not None and before.type == "td_open" and token.content in CLASSES:
            before.attrs = {"class": f"verdict {CLASSES[token.content]}"}
        if token.type == "table_open":
            tokens.append(Token("html_block", "", 0, content='<div class="scroll">'))
        if token.type == "paragraph_close" and before is not None and (image := _only_image(before)):
            # The figure takes the place of the paragraph around its image.
            tokens[-2:] = [Token("html_block", "", 0, content=_figure(image, figures))]
        else:
            tokens.append(token)
        if token.type == "table_close":
            tokens.append(Token("html_block", "", 0, content="</div>\n"))
    rendered: str = parser.renderer.render(tokens, parser.options, {})
    return rendered


def _only_image(inline: Token) -> Token | None:
    """Return the image of a paragraph that holds nothing else."""
    children = inline.children or []
    return children[0] if len(children) == 1 and children[0].type == "image" else None


def _figure(image: Token, figures: Mapping[str, str]) -> str:
    drawing = figures.get(str(image.attrs["src"]).rpartition("/")[2], "")
    return f"<figure>{drawing}<figcaption>{html.escape(image.content, quote=False)}</figcaption></figure>\n"
