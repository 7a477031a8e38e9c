"""The OpenAPI document holds: requests made from it get answers that it describes, and never an error of the server."""

import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from sthash.collection import SearchOptions

CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
COMMAND = Path(sys.executable).with_name("schemathesis")


def test_requests_made_from_the_document(path, tmp_path, server_of):
    with server_of(path) as server:
        words = ["run", f"{server.url}/openapi.json", "--checks", CHECKS, "--phases", "examples,coverage,fuzzing"]
        words += ["--max-examples", "8", "--seed", "1", "--generation-database", "none", "--no-color"]
        result = subprocess.run(
            [COMMAND, *words],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "120"},
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        status, errors = server.end()
    assert result.returncode == 0, result.stdout + result.stderr
    assert "Tested: 20" in result.stdout
    assert status == 0
    assert "Traceback" not in errors


def test_requests_have_examples(api):
    for route, methods in api.get("/openapi.json").json()["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], route
            assert {"200", "422", "503"} <= set(operation["responses"]), route
            if "requestBody" in operation:
                reference = operation["requestBody"]["content"]["application/json"]["schema"]["$ref"]
                shape = api.get("/openapi.json").json()["components"]["schemas"][reference.rpartition("/")[2]]
                for example in shape["examples"]:
                    answer = api.request(method, route, json=example)
                    assert answer.status_code != 422, (route, example, answer.text)


def test_the_pages_of_the_framework_are_not_there(still):
    assert still.get("/redoc").status_code == 404
    page = still.get("/docs")
    assert page.status_code == 200
    assert "://" not in page.text  # nothing is loaded from elsewhere
    assert "page/docs.js" in page.text


def test_both_forms_of_a_search_have_the_options_of_python(still):
    described = still.get("/openapi.json").json()
    posted = described["components"]["schemas"]["SearchRequest"]["properties"]
    asked = {one["name"]: one["schema"] for one in described["paths"]["/search"]["get"]["parameters"]}
    assert set(asked) == {*posted, "collection"}
    for field in fields(SearchOptions):
        default = list(field.default) if isinstance(field.default, tuple) else field.default
        assert posted[field.name].get("default") == asked[field.name].get("default") == default
        if field.name != "where":  # which is JSON in an address
            assert posted[field.name] == asked[field.name]
