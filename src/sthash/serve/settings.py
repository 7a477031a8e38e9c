"""The settings of a server: which collections, which address, which keys, which limits."""

from __future__ import annotations

import ipaddress
import re
import tomllib
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Self

from sthash.collection import Embedding
from sthash.serve.addresses import TrustedProxies
from sthash.serve.keys import Key, check_different
from sthash.serve.limits import MAX_WORKERS, Limits

_PREFIX = re.compile(r"(/[A-Za-z0-9._~-]+)*")
_FILE_FIELDS = frozenset({"keys", "limits", "trusted_proxies"})


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
    keys : tuple of Key
        More keys: several that are valid at the same time, or keys for some collections only.
    file : Path, optional
        A settings file (TOML) with ``[[keys]]``, ``[limits]`` and ``trusted_proxies``, which is read again at SIGHUP.
    socket : Path, optional
        Listen on this Unix socket instead of an address.
    prefix : str
        Path below which a proxy offers the server, such as ``/search``.
    trusted_proxies : tuple of str
        Proxies whose ``X-Forwarded-For`` is believed: addresses, networks, or ``unix`` for the Unix socket.
    workers : int
        Number of processes that serve. They share the limits.

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
    keys: tuple[Key, ...] = ()
    file: Path | None = None
    socket: Path | None = None
    prefix: str = ""
    trusted_proxies: tuple[str, ...] = ()
    workers: int = 1

    def __post_init__(self) -> None:
        check_different(self.all_keys)
        TrustedProxies(self.trusted_proxies)
        if self.file is None and not self.needs_key and not self.loopback:
            raise ValueError(
                f"host={self.host!r} can be reached from other machines: set read_key (--read-key or STHASH_READ_KEY)."
            )
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port={self.port} must be from 0 to 65535; 0 takes any free port.")
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError(f"prefix={self.prefix!r} must look like /search: it begins with a slash and ends without.")
        if not 1 <= self.workers <= MAX_WORKERS:
            raise ValueError(f"workers={self.workers} must be from 1 to {MAX_WORKERS}.")

    def read(self) -> Self:
        """Return the settings with those of the file, which are valid as a whole or a ValueError."""
        if self.file is None:
            return self
        try:
            found = tomllib.loads(self.file.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise ValueError(f"{self.file} is not valid TOML ({error}).") from error
        try:
            return replace(self, file=None, **self._from_file(found))
        except (TypeError, ValueError) as error:
            raise ValueError(f"{self.file}: {error}") from error

    def _from_file(self, found: dict[str, Any]) -> dict[str, Any]:
        _refuse_unknown(found, _FILE_FIELDS, "the file")
        given: dict[str, Any] = {}
        if "keys" in found:
            if not isinstance(found["keys"], list):
                raise ValueError("keys are written as [[keys]], one table per key.")
            given["keys"] = self.keys + tuple(map(Key.read, found["keys"]))
        if "limits" in found:
            kinds = {limit.name: type(getattr(Limits, limit.name)) for limit in fields(Limits)}
            _refuse_unknown(found["limits"], frozenset(kinds), "[limits]")
            for name, value in found["limits"].items():
                if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 2**62:
                    raise ValueError(f"{name}={value!r} must be a positive number.")
            numbers = {name: kinds[name](value) for name, value in found["limits"].items()}
            given["limits"] = replace(self.limits, **numbers)
        if "trusted_proxies" in found:
            names = found["trusted_proxies"]
            if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
                raise ValueError('trusted_proxies are a list: trusted_proxies = ["10.0.0.0/8"].')
            given["trusted_proxies"] = tuple(names)
        return given

    def shared_by_workers(self) -> Self:
        """Return the settings of one of the processes: its part of the limits."""
        return replace(self, limits=self.limits.share(self.workers))

    @property
    def all_keys(self) -> tuple[Key, ...]:
        """The keys that the server knows."""
        own = (("read_key", self.read_key, False), ("write_key", self.write_key, True))
        return tuple(Key.of(name, key, may_write=write) for name, key, write in own if key is not None) + self.keys

    @property
    def needs_key(self) -> bool:
        """Whether a client needs a key to read."""
        return any(not key.may_write for key in self.all_keys)

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.socket is not None or self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host.strip("[]")).is_loopback
        except ValueError:
            return False

    @property
    def writable(self) -> bool:
        """Whether any client may write."""
        return any(key.may_write for key in self.all_keys) or (not self.needs_key and self.loopback)


def _refuse_unknown(found: dict[str, Any], known: frozenset[str], where: str) -> None:
    if not isinstance(found, dict):
        raise ValueError(f"{where} must be a table.")
    if unknown := sorted(set(found) - known):
        raise ValueError(f"{where} has {unknown[0]!r}; it may have {', '.join(sorted(known))}.")
