"""What a release is made of: pinned actions with few permissions, the files of a wheel, and the notices."""

import importlib.metadata
import re
import subprocess
import tomllib

import pytest
import yaml

from pin_build import TARGET, TOOLS, is_pinned, pinned
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


def test_releases_are_built_with_tools_whose_files_are_known():
    text = TARGET.read_text()
    assert is_pinned(text)
    assert not is_pinned(text.replace("sha256:", "sha1:", 1))
    assert not is_pinned(text + "setuptools>=80\n")
    versions = dict(re.findall(r"^([\w-]+)==(\S+)", text, re.MULTILINE))
    assert {name.replace("-", "_"): version for name, version in versions.items()} == pinned()
    assert set(pinned()) == set(TOOLS)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    wheels = project["tool"]["cibuildwheel"]
    assert wheels["build-frontend"]["args"] == ["--no-isolation"]
    assert "--require-hashes" in wheels["before-build"]
    for requirement in project["build-system"]["requires"]:
        assert re.split("[>=<]", requirement)[0] in versions
    (workflow,) = (yaml.safe_load(path.read_text()) for path in WORKFLOWS if path.name == "wheels.yml")
    steps = [step.get("run", "") for step in workflow["jobs"]["sdist"]["steps"]]
    assert any("--require-hashes" in step for step in steps)
    assert not any("-m build" in step and "--no-isolation" not in step for step in steps)


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
