"""Notebooks of Jupyter: their texts and code, without what the code has printed and drawn."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import IO, Any

from sthash.sources.encodings import Encoding
from sthash.sources.kinds.markdown import first_heading
from sthash.sources.kinds.reading import decoded, record, whole


def read_notebook(stream: IO[bytes], name: str, encoding: Encoding) -> Iterator[dict[str, Any]]:
    """Read the cells of a notebook; its title is the first heading."""
    text = decoded(whole(stream, name), name, encoding)
    try:
        notebook = json.loads(text)
        sheets = notebook.get("worksheets", [notebook])  # which notebooks had before version 4
        cells = [(cell["cell_type"], _source(cell)) for sheet in sheets for cell in sheet["cells"]]
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{name} cannot be read as a notebook ({error}). Open and save it again.") from error
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{name} is JSON, but not that of a notebook. Rename it to .json.") from error
    title = next((found for kind, source in cells if kind == "markdown" and (found := first_heading(source))), None)
    yield record("\n\n".join(source for _, source in cells if source), title=title)


def _source(cell: dict[str, Any]) -> str:
    source = cell["source"] if "source" in cell else cell["input"]
    return source if isinstance(source, str) else "".join(source)
