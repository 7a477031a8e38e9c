"""What a server is told: which file or folder, which keys, and what it bears."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field
from pathlib import Path

# What one request may ask for. These stand in the OpenAPI document too.
MOST_CHARACTERS = 1_000_000
MOST_HITS = 1000
MOST_QUERIES = 1000
MOST_HITS_OF_ALL = 20_000
MOST_DOCUMENTS = 10_000
MOST_COLUMNS = 65_536
MOST_BITS = 4096
MOST_KEY = 1024

SHORTEST_SECRET = 8


@dataclass(frozen=True)
class Limits:
    """What the server bears.

    Attributes
    ----------
    body_bytes : int
        Of one request.
    all_bodies_bytes : int
        Of all requests that are being received or answered.
    in_flight : int
        Requests that are being answered; beyond it the answer is 503.
    connections : int
        Open connections; beyond it a new one is told 503 and closed.
    seconds : float
        For the answer to one request.
    header_seconds, body_seconds, send_seconds : float
        For a client to send the head and the body of a request, and to take some of its answer.
    idle_seconds : float
        Between two requests on one connection.
    """

    body_bytes: int = 32 * 2**20
    all_bodies_bytes: int = 256 * 2**20
    in_flight: int = 80
    connections: int = 1024
    seconds: float = 30.0
    header_seconds: float = 10.0
    body_seconds: float = 30.0
    send_seconds: float = 30.0
    idle_seconds: float = 30.0


@dataclass(frozen=True)
class Settings:
    """Which collections to serve, where, and to whom.

    Parameters
    ----------
    source : Path
        A collection's file, or a folder of them.
    host, port : str, int
        Without a read key, the host must be this machine's own (loopback).
    read_key, write_key : str or None
        What a client must show to read, and to write; the write key opens both. Without any key everybody on this
        machine may do both; with a read key alone nobody may write.
    limits : Limits

    Examples
    --------
    >>> from pathlib import Path
    >>> from sthash.serve.settings import Settings
    >>> Settings(Path("news.sth")).writable
    True
    >>> Settings(Path("news.sth"), host="0.0.0.0")
    Traceback (most recent call last):
    ...
    ValueError: host='0.0.0.0' can be reached from other machines: set a read key (--read-key or STHASH_READ_KEY).
    """

    source: Path
    host: str = "127.0.0.1"
    port: int = 8000
    read_key: str | None = field(default=None, repr=False)
    write_key: str | None = field(default=None, repr=False)
    limits: Limits = Limits()

    def __post_init__(self) -> None:
        for name, key in (("read_key", self.read_key), ("write_key", self.write_key)):
            if key is None:
                continue
            if len(key) < SHORTEST_SECRET or not key.isascii() or not key.isprintable() or " " in key:
                raise ValueError(f"{name} must have at least {SHORTEST_SECRET} ASCII characters and no spaces.")
        if self.read_key is not None and self.read_key == self.write_key:
            raise ValueError("read_key and write_key must differ: whoever may read could write.")
        if self.read_key is None and not self.loopback:
            raise ValueError(
                f"host={self.host!r} can be reached from other machines: set a read key "
                "(--read-key or STHASH_READ_KEY)."
            )
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port={self.port} must be from 0 to 65535; 0 takes any that is free.")

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
        """Whether anybody may write."""
        return self.write_key is not None or (self.read_key is None and self.loopback)
