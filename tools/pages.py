"""Generated parts of Markdown pages: a block between two marks, and tables."""

from __future__ import annotations

from collections.abc import Iterable


def with_block(page: str, begin: str, end: str, content: str) -> str:
    r"""Put content between two marks of a page, instead of what is there.

    Examples
    --------
    >>> with_block("a <b> old <e> z", "<b>", "<e>", "new")
    'a <b>\nnew\n<e> z'
    """
    before, opened, rest = page.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"The page has no block from {begin!r} to {end!r}. Put both marks where the block belongs.")
    return f"{before}{begin}\n{content}\n{end}{after}"


def table(rows: Iterable[Iterable[str]]) -> str:
    """Give rows as a Markdown table; the first one is the head.

    Examples
    --------
    >>> print(table([["what", "figure"], ["codes", "8"]]))
    | what | figure |
    | --- | --- |
    | codes | 8 |
    """
    head, *body = (list(row) for row in rows)
    return "\n".join("| " + " | ".join(row) + " |" for row in [head, ["---"] * len(head), *body])
