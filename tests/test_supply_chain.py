"""What a release is made of: pinned actions with few permissions, the files of a wheel, and the notices."""

import importlib.metadata
import re
import subprocess

import pytest
import yaml

from support.paths import ROOT
from try_wheel import unexpected

WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
MAY_WRITE = {"attest": {"id-token", "attestations"}, "publish": {"id-token"}}


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_workflows_are_pinned_and_may_do_little(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        writes = {what for what, how in job.get("permissions", {}).items() if how == "write"}
        assert writes == MAY_WRITE.get(name, set())
        for step in job["steps"]:
            if "uses" in step:
                assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step["uses"])
            if "checkout" in step.get("uses", ""):
                assert step["with"]["persist-credentials"] is False
            for tool in re.findall(r"pipx run (?:--spec )?(\S+)", step.get("run", "")):
                assert "==" in tool


def test_the_source_files_are_what_a_wheel_may_have():
    listed = subprocess.run(["git", "ls-files", "src/sthash"], cwd=ROOT, capture_output=True, text=True, check=False)
    if not listed.stdout:
        pytest.skip("this is no checkout")
    info = "sthash-0.2.0.dist-info"
    names = [name.removeprefix("src/") for name in listed.stdout.splitlines()]
    names += [f"{info}/{name}" for name in ("METADATA", "WHEEL", "RECORD", "licenses/LICENSE", "licenses/NOTICES")]
    assert unexpected([*names, "sthash/_core.abi3.so"]) == []
    assert unexpected([*names, "sthash/secrets.env", "tests/x.py"]) == ["sthash/secrets.env", "tests/x.py"]
    assert unexpected([name for name in names if "NOTICES" not in name]) == ["/licenses/NOTICES"]


def test_the_notices_are_those_of_what_is_linked():
    notices = (ROOT / "NOTICES").read_text()
    try:
        files = importlib.metadata.files("nanobind")
    except importlib.metadata.PackageNotFoundError:
        pytest.skip("nanobind is only needed to build")
    (licence,) = [file for file in files if file.name == "LICENSE"]
    assert licence.read_text().strip() in notices
    assert "MIT License" in notices
