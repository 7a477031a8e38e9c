"""The settings of a server: which collections, which address, which keys, which limits."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

from sthash.collection import Embedding
from sthash.serve.limits import Limits

MIN_KEY_CHARACTERS = 8


@dataclass(frozen=True)
class Settings:
    """Which collections to serve, where, and to whom.

    Parameters
    ----------
    source : Path
        The file of a collection, or a folder of such files.
    host, port : str, int
        Without a read key, the host must be a loopback address.
    read_key, write_key : str or None
        What a client must send to read, and to write. The write key allows both. Without any key, every program on
        this machine may read and write. With only a read key, nobody may write.
    limits : Limits
    follow_links : bool
        For a folder: serve also what is only linked from it. By default links that leave the folder are ignored.
    embedder : callable or Embedder, optional
        See `Collection.open`. In a folder, collections that do not know it by name are served without it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from sthash.serve.settings import Settings
    >>> Settings(Path("news.sth")).writable
    True
    >>> Settings(Path("news.sth"), host="0.0.0.0")
    Traceback (most recent call last):
    ...
    ValueError: host='0.0.0.0' can be reached from other machines: set read_key (--read-key or STHASH_READ_KEY).
    """

    source: Path
    host: str = "127.0.0.1"
    port: int = 8000
    read_key: str | None = field(default=None, repr=False)
    write_key: str | None = field(default=None, repr=False)
    limits: Limits = field(default_factory=Limits)
    follow_links: bool = False
    embedder: Embedding | None = None

    def __post_init__(self) -> None:
        for name, key in (("read_key", self.read_key), ("write_key", self.write_key)):
            if key is None:
                continue
            if len(key) < MIN_KEY_CHARACTERS or not key.isascii() or not key.isprintable() or " " in key:
                raise ValueError(f"{name} must have at least {MIN_KEY_CHARACTERS} ASCII characters and no spaces.")
        if self.read_key is not None and self.read_key == self.write_key:
            raise ValueError("read_key and write_key must differ: otherwise every reader may write.")
        if self.read_key is None and not self.loopback:
            raise ValueError(
                f"host={self.host!r} can be reached from other machines: set read_key (--read-key or STHASH_READ_KEY)."
            )
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port={self.port} must be from 0 to 65535; 0 takes any free port.")

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def writable(self) -> bool:
        """Whether any client may write."""
        return self.write_key is not None or (self.read_key is None and self.loopback)
