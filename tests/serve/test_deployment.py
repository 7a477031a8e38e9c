"""The files for operators: they name what exists, with options that the command has, and limits that fit."""

import configparser
import re
import shlex
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest
import typer
import yaml

from sthash.cli import app
from sthash.serve import Limits, Settings
from support.paths import ROOT

DEPLOY = ROOT / "deploy"


@pytest.fixture(scope="module")
def options():
    """The options that ``sth serve`` has."""
    command = typer.main.get_command(app).get_command(None, "serve")
    return {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}


@pytest.fixture(scope="module")
def unit():
    parsed = configparser.RawConfigParser(strict=True, comment_prefixes=("#",))
    parsed.optionxform = str
    parsed.read_string((DEPLOY / "sthash.service").read_text())
    return parsed


@pytest.fixture(scope="module")
def compose():
    return yaml.safe_load((DEPLOY / "compose.yaml").read_text())


@pytest.fixture(scope="module")
def docker():
    """The instructions of the Dockerfile, with their arguments."""
    text = re.sub(r"\\\n\s*", " ", (DEPLOY / "Dockerfile").read_text())
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.split(maxsplit=1)) for line in lines]


def used(words):
    return {word.partition("=")[0] for word in words if word.startswith("--")}


def most_seconds():
    limits = Limits()
    return limits.body_seconds + limits.seconds + 1


def test_the_unit(unit, options):
    assert unit.sections() == ["Unit", "Service", "Install"]
    service = dict(unit["Service"])
    words = shlex.split(service["ExecStart"])
    assert words[:3] == ["/opt/sthash/bin/sth", "serve", "/var/lib/" + service["StateDirectory"]]
    assert used(words) <= options
    assert "-HUP $MAINPID" in service["ExecReload"]
    assert int(service["TimeoutStopSec"]) > most_seconds()
    assert int(service["LimitNOFILE"]) > Limits().connections
    assert service["User"] not in ("", "root")
    assert {"NoNewPrivileges", "ProtectSystem", "CapabilityBoundingSet"} <= set(service)


def test_the_image(docker, options):
    given = dict(docker)
    assert [rest for name, rest in docker if name == "FROM"][1] == "python:3.13-slim"
    assert given["USER"] != "root"
    start = yaml.safe_load(given["ENTRYPOINT"]) + yaml.safe_load(given["CMD"])
    assert start[:2] == ["sth", "serve"]
    assert used(start) <= options
    port = start[start.index("--port") + 1]
    assert given["EXPOSE"] == port
    assert f":{port}/health" in given["HEALTHCHECK"]
    assert (ROOT / "constraints.txt").is_file()
    known = "FROM RUN COPY ENV USER VOLUME EXPOSE STOPSIGNAL HEALTHCHECK ENTRYPOINT CMD"
    assert set(given) <= set(known.split())


def test_compose_and_nginx(compose, docker):
    service, nginx = compose["services"]["sthash"], compose["services"]["nginx"]
    assert (DEPLOY / service["build"]["context"]).resolve() == ROOT
    assert (ROOT / service["build"]["dockerfile"]).is_file()
    start = yaml.safe_load(dict(docker)["CMD"])
    inside = [volume.split(":")[1] for volume in service["volumes"]]
    assert inside == [start[0], start[start.index("--settings") + 1]]
    assert float(service["stop_grace_period"].rstrip("s")) > most_seconds()
    for volume in (*service["volumes"], *nginx["volumes"]):
        if volume.endswith(":ro") and "certificates" not in volume:
            assert (DEPLOY / volume.split(":")[0]).is_file()
    assert {network for one in (service, nginx) for network in one["networks"]} == set(compose["networks"])
    text = (DEPLOY / "nginx.conf").read_text()
    assert text.count("{") == text.count("}")
    assert f"server sthash:{dict(docker)['EXPOSE']};" in text
    assert f"client_max_body_size {Limits().body_bytes >> 20}m;" in text
    assert float(re.search(r"proxy_read_timeout (\d+)s;", text)[1]) > Limits().seconds
    mounted = next(volume.split(":")[1] for volume in nginx["volumes"] if "certificates" in volume)
    assert all(mounted in line for line in text.splitlines() if "ssl_certificate" in line)


def test_the_settings_file():
    settings = Settings(Path("/data"), "0.0.0.0", file=DEPLOY / "serve.toml").read()
    assert [(key.name, key.may_write) for key in settings.keys] == [("readers", False), ("editors", True)]
    assert set(tomllib.loads((DEPLOY / "serve.toml").read_text())["limits"]) <= {limit.name for limit in fields(Limits)}
