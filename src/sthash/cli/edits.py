"""Changes of a record that leave everything else of it as it came: another text, or marks of what is repeated."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]  # not in its types
from typing import Any

_DECODER = json.JSONDecoder(strict=False)
_SPACE = " \t\r\n"


@dataclass(frozen=True)
class Edit:
    r"""Another text for a field, or marks in a field of their own.

    Attributes
    ----------
    field : str
        The field that has the text; ``body.en`` may be the field ``en`` of the field ``body``.
    text : str
        Its new text.
    marks : dict, optional
        Fields to add instead.

    Examples
    --------
    >>> from sthash.cli.edits import Edit
    >>> Edit("body.en", "new").of_json('{"x": 1.50,  "body": {"en": "old", "de": "alt"}}')
    '{"x": 1.50,  "body": {"en": "new", "de": "alt"}}'
    >>> Edit("body", "old", {"repeated": [[0, 3]]}).of_json('{"body": "old" }\n')
    '{"body": "old" , "repeated": [[0, 3]]}\n'
    >>> Edit("text", "new").of_row('7;"old; stuff"\r\n', (";", "id", "text"))
    '7;new\r\n'
    """

    field: str
    text: str
    marks: dict[str, Any] | None = None

    def of_json(self, line: str) -> str:
        """Change an object of JSON lines."""
        if self.marks is not None:
            end = line.rindex("}")
            added = json.dumps(self.marks, ensure_ascii=line.isascii())
            return f"{line[:end]}, {added[1:-1]}{line[end:]}"
        span = _span_of(line, 0, [self.field]) or _span_of(line, 0, self.field.split("."))
        if span is None:
            raise ValueError(f"a record has no single field {self.field!r} to change. Name one field with --text.")
        new = json.dumps(self.text, ensure_ascii=line.isascii() or not _is_encodable(self.text))
        return line[: span[0]] + new + line[span[1] :]

    def of_line(self, line: str) -> str:
        """Change a line that is a document."""
        self._refuse_marks()
        return self.text + line[len(line.rstrip("\r\n")) :]

    def of_row(self, line: str, dialect: Sequence[str]) -> str:
        """Change a record of CSV, given the delimiter and the names of the columns."""
        self._refuse_marks()
        delimiter, *names = dialect
        if self.field not in names:
            raise ValueError(f"a table has no single column {self.field!r} to change. Name one column with --text.")
        (row,) = csv.reader(io.StringIO(line, newline=""), delimiter=delimiter)
        row[names.index(self.field)] = self.text
        changed = io.StringIO(newline="")
        csv.writer(changed, delimiter=delimiter, lineterminator="").writerow(row)
        return changed.getvalue() + line[len(line.rstrip("\r\n")) :]

    def _refuse_marks(self) -> None:
        if self.marks is not None:
            raise ValueError("marks need a field of their own. Write JSON lines: -o FILE.jsonl.")


def edited_column(table: Any, edits: dict[int, Edit]) -> Any:
    """Return an Arrow table with other texts in some rows."""
    if not edits:
        return table
    from pyarrow import array, chunked_array

    edit = next(iter(edits.values()))
    edit._refuse_marks()
    if edit.field not in table.column_names:
        raise ValueError(f"a table has no single column {edit.field!r} to change. Name one column with --text.")
    place = table.column_names.index(edit.field)
    values = table.column(place).to_pylist()
    for row, own in edits.items():
        values[row] = own.text
    kind = table.schema.field(place)
    return table.set_column(place, kind, chunked_array([array(values, type=kind.type)]))


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # lone surrogates
        return False
    return True


def _span_of(line: str, start: int, path: Sequence[str]) -> tuple[int, int] | None:
    """Return where the value of a field is written in an object; of several with this name the last, as it counts."""
    place = _after_space(line, start)
    if line[place : place + 1] != "{":
        return None
    found: int | None = None
    end = found_end = 0
    place = _after_space(line, place + 1)
    while line[place : place + 1] == '"':
        name, place = scanstring(line, place + 1, False)
        value = _after_space(line, _after_space(line, place) + 1)
        _, end = _DECODER.raw_decode(line, value)
        if name == path[0]:
            found, found_end = value, end
        place = _after_space(line, end)
        if line[place : place + 1] == ",":
            place = _after_space(line, place + 1)
    if found is None:
        return None
    return (found, found_end) if len(path) == 1 else _span_of(line, found, path[1:])


def _after_space(line: str, place: int) -> int:
    while place < len(line) and line[place] in _SPACE:
        place += 1
    return place
