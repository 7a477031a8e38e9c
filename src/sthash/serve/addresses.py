"""Whose address a request has: that of the connection, or what a trusted proxy says about it."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from starlette.datastructures import Headers
from starlette.types import Scope

UNIX = "unix"  # a client that connects over the Unix socket
Network = ipaddress.IPv4Network | ipaddress.IPv6Network


class TrustedProxies:
    """The proxies whose ``X-Forwarded-For`` is believed.

    Parameters
    ----------
    names : iterable of str
        Addresses, networks (``10.0.0.0/8``), or ``unix`` for whoever connects over the Unix socket.

    Examples
    --------
    >>> from sthash.serve.addresses import TrustedProxies
    >>> TrustedProxies(["10.0.0.0/8"]).client("10.0.0.1", "203.0.113.9, 10.0.0.7")
    '203.0.113.9'
    >>> TrustedProxies(["10.0.0.0/8"]).client("192.0.2.1", "203.0.113.9")
    '192.0.2.1'
    """

    def __init__(self, names: Iterable[str]) -> None:
        names = list(names)
        self._unix = UNIX in names
        self._networks: list[Network] = []
        for name in names:
            if name == UNIX:
                continue
            try:
                self._networks.append(ipaddress.ip_network(name, strict=False))
            except ValueError as error:
                raise ValueError(
                    f"trusted_proxies: {name!r} is no address. Pass addresses, networks such as 10.0.0.0/8, or {UNIX}."
                ) from error

    def client(self, peer: str | None, forwarded: str) -> str | None:
        """Return the last address on the way to this server that is not one of the proxies."""
        address = peer
        for hop in reversed([hop.strip() for hop in forwarded.split(",") if hop.strip()]):
            if not self._trusts(address):
                break
            address = _bare(hop)
        return address

    def client_of(self, scope: Scope) -> str | None:
        """Return the address that a request comes from; None for the Unix socket."""
        peer = scope["client"][0] if scope.get("client") else None
        if not self._networks and not self._unix:
            return peer
        return self.client(peer or None, ",".join(Headers(scope=scope).getlist("x-forwarded-for")))

    def _trusts(self, address: str | None) -> bool:
        if address is None:
            return self._unix
        try:
            parsed = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(parsed in network for network in self._networks)


def _bare(hop: str) -> str:
    """Return an address without brackets and port; anything that is no address as ``unknown``."""
    host = hop
    if hop.startswith("["):
        host = hop[1:].partition("]")[0]
    elif hop.count(":") == 1:
        host = hop.partition(":")[0]
    try:
        return str(ipaddress.ip_address(host))
    except ValueError:
        return "unknown"
