"""How to install what is missing, by the way sthash itself was installed."""

from __future__ import annotations

import sys
from pathlib import Path


def install_command(extra: str) -> str:
    """Return the command that installs an extra.

    Examples
    --------
    >>> from sthash.extras import install_command
    >>> "[files]" in install_command("files")
    True
    """
    source, editable, installer = _origin()
    wanted = f"{'-e ' if editable else ''}'{source}[{extra}]'"
    prefix = Path(sys.prefix)
    if (prefix / "pipx_metadata.json").exists():
        return f"pipx install --force {wanted}"
    if (prefix / "uv-receipt.toml").exists():
        return f"uv tool install {wanted}"
    if prefix.parent.name.startswith(("archive-v", "environments-v")):  # in the cache of uv
        return f"uvx --from {wanted} sth"
    return f"uv pip install {wanted}" if installer == "uv" else f"pip install {wanted}"


def _origin() -> tuple[str, bool, str]:
    """Return what was installed (a name, a folder or a file), whether it can be edited there, and by which program."""
    # Here, because they take longer to import than most commands to run.
    import json
    from importlib.metadata import PackageNotFoundError, distribution
    from urllib.parse import urlsplit
    from urllib.request import url2pathname

    try:
        installed = distribution("sthash")
    except PackageNotFoundError:
        return "sthash", False, ""
    installer = (installed.read_text("INSTALLER") or "").strip()
    try:
        origin = json.loads(installed.read_text("direct_url.json") or "{}")
        url, editable = urlsplit(origin.get("url", "")), origin.get("dir_info", {}).get("editable", False)
    except (ValueError, AttributeError, TypeError):
        return "sthash", False, installer
    path = url2pathname(url.path) if url.scheme == "file" else ""
    return (path, bool(editable), installer) if Path(path or "?").exists() else ("sthash", False, installer)
