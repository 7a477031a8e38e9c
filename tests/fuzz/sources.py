"""Documents in files of all formats, changed: each is read, or refused by an error that names the file."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
from pathlib import Path
from random import Random

from fuzz import mutations
from sthash.sources import read_documents

DOCUMENTED = (ValueError, OSError)
ROWS = [
    {"key": "a", "text": "the first text, with a comma", "label": "x", "year": 2001, "tags": ["one", "two"]},
    {"key": "b", "text": 'quotes " and\nline breaks', "label": None, "year": -3, "tags": []},
    {"key": "ü", "text": "ünïcödé 漢字 \U0001f600", "label": "y", "year": 1.5, "tags": ["three"]},
    {"text": "no key"},
]
PACKED = {".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}


def prepare(folder: Path) -> None:
    """Write the same documents in every format, plain and compressed."""
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in ROWS)
    table = io.StringIO()
    writer = csv.DictWriter(table, ["key", "text", "label", "year"], extrasaction="ignore")
    writer.writeheader()
    writer.writerows(ROWS)
    plain = {
        "lines.jsonl": lines,
        "array.json": json.dumps(ROWS),
        "table.csv": table.getvalue(),
        "table.tsv": table.getvalue().replace(",", "\t"),
        "text.txt": "one text\n\nanother text\n",
        "page.md": "---\ntitle: A page\n---\n# Heading\n\nText of the [page](x).\n\n## Another\n\nMore.\n",
        "page.html": "<html><head><title>T</title></head><body><p>Some <b>text</b><script>x</script></p></body></html>",
        "mail.eml": "From: a@b.example\nSubject: hello\nContent-Type: text/plain\n\nThe body.\n",
    }
    for name, text in plain.items():
        content = text.encode("utf-16" if name == "array.json" else "utf-8")
        (folder / name).write_bytes(content)
        if name in ("lines.jsonl", "table.csv"):
            for ending, pack in PACKED.items():
                (folder / f"{name}{ending}").write_bytes(pack(content))
    try:
        import pyarrow as pa
        import pyarrow.parquet as pq
    except ImportError:
        return
    rows = [{name: row.get(name) for name in ("key", "text", "label")} for row in ROWS]
    pq.write_table(pa.Table.from_pylist(rows), folder / "table.parquet")


def case(random: Random, folder: Path, scratch: Path) -> str:
    """Change a file, and read it whole, or without its bad documents."""
    original = random.choice(mutations.seeds(folder))
    path = scratch / original.name
    content = original.read_bytes()
    packed = PACKED.get(path.suffix)
    if packed is not None and random.random() < 0.7:  # what is inside is changed, so that it can be unpacked
        content = packed(mutations.content(random, (folder / path.stem).read_bytes()))
    else:
        for _ in range(random.choice((1, 1, 2, 5))):
            content = mutations.content(random, content)
    path.write_bytes(content)
    bad = []
    try:
        documents = list(read_documents(path, on_bad=bad.append if random.random() < 0.5 else None))
    except DOCUMENTED as error:
        if path.name not in str(error):
            raise AssertionError("the file is not named") from error
        return "refused"
    finally:
        path.unlink()
    for document in documents:
        assert isinstance(document.text, str)
        assert document.key is None or isinstance(document.key, str)
    return "read with bad ones" if bad else "read"
