"""Plain connections to a server, for what no HTTP client would send."""

import json
import socket
from typing import Any


def connect(server: Any) -> socket.socket:
    """Open a connection that sends every part at once."""
    connection = socket.create_connection(server.address, timeout=20)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def answer(connection: socket.socket) -> tuple[int | None, str | None]:
    """Read all that a server sends until it closes; give the status and the code of the error."""
    received = b""
    try:
        while part := connection.recv(1 << 16):
            received += part
    except ConnectionResetError:
        pass
    if not received:
        return None, None
    start, _, body = received.partition(b"\r\n\r\n")
    return int(start.split()[1]), json.loads(body)["error"]["code"]
