"""The keys of a server: what each may do, and with which collections."""

from __future__ import annotations

import hashlib
import hmac
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

MIN_KEY_CHARACTERS = 8
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
_DIGEST = re.compile(r"[0-9a-f]{64}")
_FIELDS = frozenset({"name", "key", "sha256", "may", "collections"})


@dataclass(frozen=True)
class Key:
    """A key, of which only the SHA-256 is kept.

    Parameters
    ----------
    name : str
        What the access log and fair shares call whoever has the key.
    digest : bytes
    may_write : bool
    collections : frozenset of str or None
        Names of the collections that the key opens; None opens all.

    Examples
    --------
    >>> from sthash.serve.keys import Key
    >>> Key.of("blog", "a long random key", collections=["posts"])
    Key(name='blog', may_write=False, collections=frozenset({'posts'}))
    """

    name: str
    digest: bytes = field(repr=False)
    may_write: bool = False
    collections: frozenset[str] | None = None

    @classmethod
    def of(cls, name: str, secret: str, *, may_write: bool = False, collections: Iterable[str] | None = None) -> Key:
        """Return the key with a secret; ``name`` is for messages too."""
        if len(secret) < MIN_KEY_CHARACTERS or not secret.isascii() or not secret.isprintable() or " " in secret:
            raise ValueError(f"{name} must have at least {MIN_KEY_CHARACTERS} ASCII characters and no spaces.")
        return cls(name, digest(secret), may_write, None if collections is None else frozenset(collections))

    @classmethod
    def read(cls, table: Any) -> Key:
        """Return the key that a table of the settings file describes."""
        if not isinstance(table, dict) or not isinstance(name := table.get("name"), str) or not _NAME.fullmatch(name):
            raise ValueError('each [[keys]] needs a name of letters, digits, ".", "_" and "-": name = "blog".')
        if unknown := sorted(set(table) - _FIELDS):
            raise ValueError(f"the key {name!r} has {unknown[0]!r}; it may have {', '.join(sorted(_FIELDS))}.")
        if table.get("may", "read") not in ("read", "write"):
            raise ValueError(f'the key {name!r} has may={table["may"]!r}; write may = "read" or may = "write".')
        collections = table.get("collections")
        if collections is not None and not _is_list_of_names(collections):
            raise ValueError(f'the key {name!r} needs names of collections: collections = ["news"].')
        if ("key" in table) == ("sha256" in table):
            raise ValueError(f"the key {name!r} needs either key or sha256.")
        may_write = table.get("may") == "write"
        if "key" in table:
            return cls.of(name, str(table["key"]), may_write=may_write, collections=collections)
        if not _DIGEST.fullmatch(hashed := str(table["sha256"]).lower()):
            raise ValueError(f"the key {name!r} has a sha256 that is not 64 hexadecimal digits.")
        return cls(name, bytes.fromhex(hashed), may_write, None if collections is None else frozenset(collections))


def digest(secret: str) -> bytes:
    """Return what a key is compared by. All digests have one length, so the time does not tell that of the key."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def matching(keys: Iterable[Key], secret: str) -> Key | None:
    """Return the key with this secret. All keys are compared in every case, so that the time tells nothing."""
    given, found = digest(secret), None
    for key in keys:
        if hmac.compare_digest(given, key.digest):
            found = key
    return found


def check_different(keys: Iterable[Key]) -> None:
    """Raise if two keys have the same secret or the same name."""
    names, digests = set[str](), dict[bytes, str]()
    for key in keys:
        if key.name in names:
            raise ValueError(f"two keys have the name {key.name!r}. Give each its own.")
        names.add(key.name)
        if other := digests.get(key.digest):
            raise ValueError(f"{other} and {key.name} must differ: otherwise it is not clear what the key may do.")
        digests[key.digest] = key.name


def _is_list_of_names(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(name, str) for name in value)
