"""The recipe for conda needs what the package needs, and both have the same commands."""

import re
import tomllib
from pathlib import Path

import yaml

import sthash

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
RECIPE = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text())


def plain(requirement):
    return re.sub(r"[\s_]", "", requirement.lower())


def test_the_recipe_follows_the_package():
    project = PROJECT["project"]
    assert RECIPE["context"]["version"] == sthash.__version__
    python, *needed = map(plain, RECIPE["requirements"]["run"])
    assert python == f"python{project['requires-python']}"
    assert needed == [plain(requirement) for requirement in project["dependencies"]]
    host = {plain(requirement) for requirement in RECIPE["requirements"]["host"]}
    assert {plain(requirement) for requirement in PROJECT["build-system"]["requires"]} <= host
    commands = [f"{name} = {target}" for name, target in project["scripts"].items()]
    assert RECIPE["build"]["python"]["entry_points"] == commands
    assert RECIPE["about"]["license"] == project["license"]


def test_uvx_finds_a_command_of_the_name_of_the_package():
    assert PROJECT["project"]["scripts"]["sthash"] == PROJECT["project"]["scripts"]["sth"]
