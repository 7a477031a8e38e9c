"""The connection to Milvus: its errors become clear, and a file of Milvus Lite is free after its last user."""

from __future__ import annotations

import logging
import re
import threading
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import grpc
import pymilvus

from sthash.extras import install_command

# The Milvus Lite of a process that was killed notices that, and ends, after a moment.
WAIT_SECONDS = 5.0

_users = Counter[Path]()  # of the files whose Milvus Lite was started here
_lock = threading.Lock()


class MilvusError(RuntimeError):
    """Milvus cannot be reached, refuses a request, or holds something else than what is asked for."""


class MilvusServer:
    """A connection to Milvus; every request has a timeout, and every failure is a MilvusError."""

    def __init__(self, uri: str, token: str, timeout: float) -> None:
        self.uri = uri
        self._timeout = timeout
        self._file = Path(uri).resolve() if uri.endswith(".db") and "://" not in uri else None
        self._client: Any = None
        with self._clear_errors("cannot be reached"):
            if self._file is None:
                self._client = pymilvus.MilvusClient(uri, token=token, timeout=timeout)
            else:
                self._client = _open_lite(self._file, timeout)

    def call(self, request: str, *arguments: Any, **options: Any) -> Any:
        """Send a request, named as the method of MilvusClient."""
        if self._client is None:
            raise MilvusError(f"the connection to {self.uri} is closed. Open it again.")
        with self._clear_errors(f"failed at {request!r}"):
            return getattr(self._client, request)(*arguments, timeout=self._timeout, **options)

    def close(self) -> None:
        """Close the connection; safe to do twice."""
        if self._client is None:
            return
        client, self._client = self._client, None
        client.close()
        if self._file is not None:
            _release(self._file)

    @contextmanager
    def _clear_errors(self, what: str) -> Iterator[None]:
        # pymilvus also logs what it raises, with the whole traceback.
        logger = logging.getLogger("pymilvus")
        level = logger.level
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        except pymilvus.MilvusException as error:
            raise MilvusError(f"Milvus at {self.uri} {what}: {error.message}") from error
        except grpc.RpcError as error:  # no permission, or no answer in time
            raise MilvusError(f"Milvus at {self.uri} {what}: {error.details()}") from error
        finally:
            logger.setLevel(level)


def _open_lite(file: Path, timeout: float) -> Any:
    if not file.parent.is_dir():
        raise MilvusError(f"{file} cannot be made, because there is no folder {file.parent}. Make it first.")
    if len(file.name) > 36 or not re.fullmatch(r"[a-zA-Z0-9._-]+", file.name):
        raise MilvusError(f"{file} is not a valid name in Milvus Lite. Use up to 36 letters, digits, '.', '-' and '_'.")
    servers = _lite().server_manager_instance._servers
    with _lock:
        is_running = str(file) in servers
        ours = not is_running or _users[file] > 0
        if not is_running:
            _wait_for(file)
        # A server hangs up on a client that has only pinged it for minutes; the second attempt is a new connection.
        for attempts_left in (1, 0) if is_running else (0,):
            try:
                client = pymilvus.MilvusClient(str(file), timeout=timeout)
                break
            except pymilvus.MilvusException as error:
                if not attempts_left:
                    remedy = "Pass a file that Milvus Lite has made."
                    raise MilvusError(f"Milvus Lite cannot open {file}. {remedy}") from error
        if ours:
            _users[file] += 1
    return client


def _lite() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # it asks pkg_resources, which is deprecated, for its version
            from milvus_lite import server_manager
    except ImportError as error:
        raise ImportError(
            f"a local file needs Milvus Lite ({error}). Install it: {install_command('milvus')}"
        ) from error
    return server_manager


def _wait_for(file: Path) -> None:
    """Wait until no other process has the file.

    Milvus Lite has a lock for that, but removes it when it is refused. A second attempt would then succeed, and two
    processes would write to one file.
    """
    import fcntl

    end = time.monotonic() + WAIT_SECONDS
    with file.with_name(f".{file.name}.lock").open("a") as lock:
        while True:
            try:
                fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return
            except BlockingIOError as error:
                if time.monotonic() > end:
                    raise MilvusError(f"{file} is in use by another process. Close it there.") from error
                time.sleep(0.05)


def _release(file: Path) -> None:
    """Stop the process that serves a file after its last user."""
    with _lock:
        if _users[file] == 0:
            return
        _users[file] -= 1
        if _users[file] == 0:
            _lite().server_manager_instance.release_server(str(file))
