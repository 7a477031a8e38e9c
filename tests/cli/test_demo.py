"""The command as a user runs it: a process of its own, nothing but plain text on a pipe."""

import subprocess
import sys
import time
from pathlib import Path

import sthash
from sthash import _core
from sthash.cli.standard_library import doc_strings

STH = Path(sys.executable).parent / "sth"


def sth(*arguments):
    return subprocess.run([STH, *arguments], capture_output=True, text=True, timeout=300, check=False)


def test_version():
    result = sth("version")
    assert result.stdout.strip() == f"sthash {sthash.__version__} ({_core.simd_path()})"


def test_help_names_the_commands():
    result = sth("--help")
    assert result.returncode == 0
    assert {"demo", "version"} <= set(result.stdout.split())


def test_an_unknown_command_fails_on_standard_error():
    result = sth("dmeo")
    assert result.returncode == 2
    assert "dmeo" in result.stderr
    assert result.stdout == ""


def test_demo_finds_the_right_modules():
    result = sth("demo")
    assert result.returncode == 0, result.stderr
    assert "\x1b" not in result.stdout  # a pipe gets no colors and no progress
    for module in ("gzip", "smtplib", "tarfile"):
        assert f" {module}" in result.stdout
    assert "Try next" in result.stdout


def test_the_documents_are_thousands_and_named():
    documents = list(doc_strings())
    assert len(documents) > 2000
    assert len({document.name for document in documents}) > 0.95 * len(documents)
    assert any(document.name == "gzip.compress" and document.module == "gzip" for document in documents)


def test_ctrl_c_ends_quietly():
    with subprocess.Popen([STH, "demo"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        time.sleep(1.0)
        process.send_signal(2)
        output, errors = process.communicate(timeout=30)
    assert process.returncode in (130, 1, -2)
    assert "Traceback" not in output + errors
