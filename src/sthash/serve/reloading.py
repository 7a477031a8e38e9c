"""An application whose settings can be read again while it runs: the next requests get a new one."""

from __future__ import annotations

import asyncio
import logging
import signal
import sys
from pathlib import Path

from fastapi import FastAPI
from starlette.types import Receive, Scope, Send

from sthash.serve.app import create_app
from sthash.serve.limits import Limits
from sthash.serve.metrics import Metrics
from sthash.serve.settings import Settings

log = logging.getLogger("sthash.serve")


class ReloadingApp:
    """The application of some settings, made anew at SIGHUP. Requests that have begun are finished by the old one.

    Parameters
    ----------
    settings : Settings
        Whose file is read again.
    shared : Path, optional
        A folder that all processes of the server share.
    """

    def __init__(self, settings: Settings, shared: Path | None = None) -> None:
        self._settings = settings
        self._shared = shared
        self._metrics = Metrics()
        self._app = self._created()
        self._in_use: dict[FastAPI, int] = {self._app: 0}
        self._reloading: asyncio.Task[None] | None = None

    @property
    def limits(self) -> Limits:
        """The limits as they are now."""
        limits: Limits = self._app.state.settings.limits
        return limits

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request by the application of the moment."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app = self._app
        self._in_use[app] += 1
        try:
            await app(scope, receive, send)
        finally:
            self._in_use[app] -= 1
            await self._close_if_unused(app)

    def reload(self) -> None:
        """Read the settings again. If they are not valid, the log says why, and the old ones stay."""
        if self._reloading is None or self._reloading.done():
            self._reloading = asyncio.create_task(self._reload())

    async def _reload(self) -> None:
        try:
            new = await asyncio.get_running_loop().run_in_executor(None, self._created)
        except (OSError, ValueError) as error:
            log.error("the settings stay as they are: %s", error, extra={"error": "invalid_settings"})
            return
        old, self._app = self._app, new
        self._in_use[new] = 0
        await self._close_if_unused(old)
        log.warning("the settings have been read again")

    def _created(self) -> FastAPI:
        settings = self._settings.read()
        return create_app(settings.shared_by_workers(), self._metrics, self._shared)

    async def _close_if_unused(self, app: FastAPI) -> None:
        if app is not self._app and self._in_use.get(app) == 0:
            del self._in_use[app]
            await asyncio.get_running_loop().run_in_executor(None, app.state.catalog.close)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        if sys.platform != "win32":
            asyncio.get_running_loop().add_signal_handler(signal.SIGHUP, self.reload)
        await send({"type": "lifespan.startup.complete"})
        await receive()
        for app in self._in_use:
            await asyncio.get_running_loop().run_in_executor(None, app.state.catalog.close)
        await send({"type": "lifespan.shutdown.complete"})
