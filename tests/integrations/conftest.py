"""Coroutines among the tests of other packages run without a plugin."""

import asyncio
import inspect
from concurrent.futures import ThreadPoolExecutor

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    # In a thread of its own: where a browser was tested before, this one has a running loop.
    with ThreadPoolExecutor(1) as thread:
        thread.submit(asyncio.run, pyfuncitem.obj(**given)).result()
    return True
