"""The command ``sth serve``."""

import json
import os
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

from sthash.cli import main

STH = Path(sys.executable).with_name("sth")


def start(*words, **environment):
    return subprocess.Popen(
        [STH, "serve", *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | environment,
    )


@pytest.mark.parametrize("missing", ["starlette", "fastapi", "uvicorn", "httptools", "prometheus_client"])
def test_without_the_extra_it_says_how_to_install_it(path, missing):
    code = f"import sys; sys.modules[{missing!r}] = None; from sthash.cli import main; main()"
    words = [sys.executable, "-c", code, "serve", str(path)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "[serve]" in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_it_serves_logs_and_ends(path):
    with start(path, "--port", 0, STHASH_READ_KEY="from-the-environment") as process:
        try:
            line = process.stderr.readline()
            url = next(word for word in line.split() if word.startswith("http://"))
            key = {"authorization": "Bearer from-the-environment"}
            assert httpx2.get(f"{url}/random").status_code == 401
            assert httpx2.get(f"{url}/random", headers=key).status_code == 200
        finally:
            process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=30)
    assert process.returncode == 0
    assert errors == ""
    assert [(row["route"], row["status"]) for row in map(json.loads, out.splitlines())] == [
        ("none", 401),
        ("/random", 200),
    ]
    assert "from-the-environment" not in out + line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["some.sth", "--host", "0.0.0.0"], "set --read-key"),
        (["some.sth", "--host", "0.0.0.0", "--write-key", "write-secret"], "set --read-key"),
        (["some.sth", "--read-key", "short"], "read_key must have at least 8"),
        (["some.sth", "--port", "70000"], "must be from 0 to 65535"),
        (["nothing.sth"], "there is no file"),
        (["."], "no collection"),
        (["text.sth"], "is not a collection"),
        (["some.sth", "--host", "no.such.host.invalid", "--read-key", "read-secret"], "cannot listen on"),
    ],
)
def test_what_it_refuses(words, message, path, tmp_path, monkeypatch, capsys):
    if words[0] == ".":
        path.unlink()
    if words[0] == "text.sth":
        (tmp_path / "text.sth").write_text("hello")
    monkeypatch.chdir(tmp_path)
    assert message in refused(words, monkeypatch, capsys)


def test_a_port_that_is_taken(path, monkeypatch, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        errors = refused([path, "--port", port], monkeypatch, capsys)
    assert f"cannot listen on 127.0.0.1 port {port}" in errors
    assert "Pass another --port" in errors


def refused(words, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["sth", "serve", *map(str, words)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    errors = capsys.readouterr().err
    assert errors.startswith("sth: ")
    assert errors.count("\n") == 1
    return errors
