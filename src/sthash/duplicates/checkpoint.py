"""What a run has compared so far, in a file: a run that was killed goes on from there.

The file begins with a line of JSON, which says what is compared. Each part that has been compared is a block with a
checksum; a block that is not whole was being written when the run was killed, and is compared again.
"""

from __future__ import annotations

import itertools
import json
import os
import secrets
import struct
import zlib
from collections.abc import Iterator
from os import PathLike
from pathlib import Path
from typing import IO, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from sthash.arrays import Positions
from sthash.duplicates.spool import naming_full_disk
from sthash.files import locked

FORMAT = 1
MOST_HEADER = 1 << 12
# Checksum, pairs, documents whose nearest one is closer than was known.
_BLOCK = struct.Struct("<IQQ")
_TYPES = ("<i8", "<i8", "<f8", "<i8", "<f8")


class CheckpointError(ValueError):
    """A file is no checkpoint, or one of another run."""


class Compared(NamedTuple):
    """Pairs that were found, and documents with the similarity to their nearest one."""

    left: Positions
    right: Positions
    scores: npt.NDArray[np.float64]
    documents: Positions
    nearest: npt.NDArray[np.float64]


NOTHING = Compared(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))


class Checkpoint:
    """The parts of a run that have been compared; `close` it, or use it in a ``with`` block.

    Parameters
    ----------
    path : path
        A file that does not exist yet is an empty checkpoint.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np
    >>> from sthash.duplicates.checkpoint import Checkpoint, Compared
    >>> first, second = np.array([0]), np.array([2])
    >>> score = np.array([0.9])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with Checkpoint(f"{folder}/run") as checkpoint:
    ...         checkpoint.start({"documents": 3})
    ...         checkpoint.append(Compared(first, second, score, second, score))
    ...     with Checkpoint(f"{folder}/run") as checkpoint:
    ...         checkpoint.start({"documents": 3})
    ...         checkpoint.n_parts, next(checkpoint.parts()).right.tolist()
    (1, [2])
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = Path(path)
        self.key = 0
        self.n_parts = 0
        self._start = 0
        self._lock = locked(self.path, "another run continues it")
        self._file: IO[bytes] = self._lock.__enter__()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let another run continue."""
        self._lock.__exit__(None, None, None)

    def remove(self) -> None:
        """Remove the file: the run is done."""
        self.path.unlink(missing_ok=True)

    def start(self, about: dict[str, Any]) -> None:
        """Read what was compared, and refuse what is of another run."""
        file = self._file
        file.seek(0)
        line = file.readline(MOST_HEADER)
        known = None
        if line.endswith(b"\n"):
            try:
                known = json.loads(line)
            except ValueError:
                raise self._foreign() from None
        elif line and not line.startswith(b'{"sthash": "dedup"'[: len(line)]):
            raise self._foreign()
        if known is None:  # new, or killed while the line was written
            self.key = secrets.randbits(63)
            file.seek(0)
            file.truncate()
            file.write(json.dumps({"sthash": "dedup", "format": FORMAT, "key": self.key, **about}).encode() + b"\n")
            file.flush()
            self._start = file.tell()
            return
        if not isinstance(known, dict) or known.get("sthash") != "dedup":
            raise self._foreign()
        self.key = known.pop("key", None)
        if known != {"sthash": "dedup", "format": FORMAT, **about} or not isinstance(self.key, int):
            raise CheckpointError(
                f"{self.path} is of another run: other documents, settings, or another version. Remove it, or name "
                "another file."
            )
        self._start = file.tell()
        for _ in self.parts():
            self.n_parts += 1
        file.truncate()

    def _foreign(self) -> CheckpointError:
        return CheckpointError(f"{self.path} is not a checkpoint of sth dedup. Name another file; a new one is made.")

    def parts(self) -> Iterator[Compared]:
        """Give what has been compared, part by part; what was not written to the end is left out."""
        file = self._file
        file.seek(self._start)
        while True:
            start = file.tell()
            head = file.read(_BLOCK.size)
            found = self._block(head) if len(head) == _BLOCK.size else None
            if found is None:
                file.seek(start)
                return
            yield found

    def _block(self, head: bytes) -> Compared | None:
        checksum, n_pairs, n_documents = _BLOCK.unpack(head)
        counts = (n_pairs, n_pairs, n_pairs, n_documents, n_documents)
        if 8 * sum(counts) > os.fstat(self._file.fileno()).st_size:
            return None
        content = self._file.read(8 * sum(counts))
        if len(content) != 8 * sum(counts) or zlib.crc32(content) != checksum:
            return None
        ends = np.cumsum((0, *counts)) * 8
        return Compared(
            *(
                np.frombuffer(content[a:b], kind)
                for kind, (a, b) in zip(_TYPES, itertools.pairwise(ends.tolist()), strict=True)
            )
        )

    def append(self, compared: Compared) -> None:
        """Add a part that has been compared."""
        content = b"".join(array.astype(kind).tobytes() for array, kind in zip(compared, _TYPES, strict=True))
        with naming_full_disk(str(self.path), "name a file on a larger disk"):
            self._file.write(_BLOCK.pack(zlib.crc32(content), len(compared.left), len(compared.documents)) + content)
            self._file.flush()
            os.fsync(self._file.fileno())
