"""Who may come in: keys, hosts, and pages of other sites."""

from pathlib import Path

import pytest

from sthash.serve import Settings

READ, WRITE = "read-secret", "write-secret"
SEARCH = {"text": "a kitten"}
NEW = {"documents": [{"key": "new", "text": "a kitten"}]}


def bearer(key):
    return {"authorization": f"Bearer {key}"}


def code(response):
    return response.status_code, response.json().get("error", {}).get("code")


def test_without_keys_this_machine_may_do_everything(api):
    assert api.post("/search", json=SEARCH).status_code == 200
    assert api.post("/documents", json=NEW).status_code == 200
    assert api.get("/collections").json() | {"collections": []} == {
        "collections": [],
        "default": "some",
        "writable": True,
        "needs_read_key": False,
    }


def test_keys_open_what_they_are_for(path, app_of):
    api = app_of(path, read_key=READ, write_key=WRITE)
    for key in (READ, WRITE):
        assert api.post("/search", json=SEARCH, headers=bearer(key)).status_code == 200
        assert api.get("/stats", headers=bearer(key)).status_code == 200
    assert code(api.post("/search", json=SEARCH)) == (401, "key_needed")
    for wrong in ("nothing", READ + "x", READ[:-1], "", "ключ"):
        headers = {"authorization": f"Bearer {wrong}".encode()}
        assert api.post("/search", json=SEARCH, headers=headers).status_code == 401
    assert code(api.get("/stats", headers=bearer("wrong"))) == (401, "key_wrong")
    assert api.get("/stats", headers={"authorization": f"Basic {READ}"}).status_code == 401
    assert api.get("/stats").headers["www-authenticate"] == "Bearer"
    assert code(api.post("/documents", json=NEW)) == (401, "key_needed")
    assert code(api.post("/documents", json=NEW, headers=bearer(READ))) == (403, "key_may_not_write")
    assert api.post("/documents", json=NEW, headers=bearer(WRITE)).status_code == 200


def test_names_of_collections_need_the_key(path, app_of):
    api = app_of(path, read_key=READ)
    assert api.get("/collections").json() == {
        "collections": [],
        "default": None,
        "writable": False,
        "needs_read_key": True,
    }
    assert api.get("/collections", headers=bearer(READ)).json()["default"] == "some"


def test_a_read_key_alone_lets_nobody_write(path, app_of):
    api = app_of(path, read_key=READ)
    for headers in ({}, bearer(READ)):
        assert code(api.post("/documents", json=NEW, headers=headers)) == (403, "read_only")
        assert code(api.delete("/documents/d1", headers=headers)) == (403, "read_only")


def test_a_write_key_alone_leaves_reading_open(path, app_of):
    api = app_of(path, write_key=WRITE)
    assert api.post("/search", json=SEARCH).status_code == 200
    assert api.delete("/documents/d1").status_code == 401
    assert api.delete("/documents/d1", headers=bearer(WRITE)).status_code == 200


def test_every_route_needs_its_key(path, app_of):
    api = app_of(path, read_key=READ, write_key=WRITE)
    open_to_all = {"/health", "/ready", "/collections"}
    routes = [
        (method, route) for route, methods in api.get("/openapi.json").json()["paths"].items() for method in methods
    ]
    assert len(routes) > 15
    for method, route in routes:
        response = api.request(method, route.replace("{key}", "d1"), json={} if method == "post" else None)
        assert (response.status_code == 401) == (route not in open_to_all), route
    writes = {("post", "/documents"), ("post", "/delete"), ("delete", "/documents/{key}")}
    for method, route in routes:
        response = api.request(
            method, route.replace("{key}", "d1"), json={} if method == "post" else None, headers=bearer(READ)
        )
        assert (response.status_code == 403) == ((method, route) in writes), route


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "example.org", ""])
def test_other_machines_need_a_key(host):
    with pytest.raises(ValueError, match="set read_key"):
        Settings(Path("x.sth"), host)
    with pytest.raises(ValueError, match="set read_key"):
        Settings(Path("x.sth"), host, write_key=WRITE)
    assert not Settings(Path("x.sth"), host, read_key=READ).writable
    assert Settings(Path("x.sth"), host, read_key=READ, write_key=WRITE).writable


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "localhost", "::1", "[::1]"])
def test_this_machine_needs_none(host):
    assert Settings(Path("x.sth"), host).writable


@pytest.mark.parametrize("key", ["", "short", "with a space in it", "ünïcödé-key", "line\nbreaks"])
def test_bad_keys(key):
    with pytest.raises(ValueError, match="read_key must have"):
        Settings(Path("x.sth"), read_key=key)
    with pytest.raises(ValueError, match="must differ"):
        Settings(Path("x.sth"), read_key=READ, write_key=READ)


def test_keys_are_not_shown():
    assert READ not in repr(Settings(Path("x.sth"), read_key=READ))


def test_names_that_were_made_to_point_here_are_refused(still):
    for host in ("evil.example", "evil.example:8000", "127.0.0.1.evil.example", "localhost.evil.example", "", "[::1"):
        assert code(still.get("/health", headers={"host": host})) == (421, "wrong_host")
    for host in ("localhost", "127.0.0.1:1234", "[::1]:8000", "LOCALHOST:8000"):
        assert still.get("/health", headers={"host": host}).status_code == 200


def test_a_write_key_alone_does_not_open_reading_to_other_names(path, app_of):
    api = app_of(path, write_key=WRITE)
    for headers in ({}, bearer(WRITE)):
        assert code(api.post("/search", json=SEARCH, headers={"host": "evil.example"} | headers)) == (421, "wrong_host")


@pytest.mark.parametrize("address", ["0.0.0.0", "127.0.0.1"])
def test_with_a_read_key_any_name_will_do_but_nothing_is_read_without_the_key(path, app_of, address):
    api = app_of(path, host=address, read_key=READ)
    name = {"host": "search.example"}
    assert api.get("/health", headers=name).status_code == 200
    assert api.post("/search", json=SEARCH, headers=name | bearer(READ)).status_code == 200
    for headers in (name, name | {"origin": "http://search.example", "sec-fetch-site": "same-origin"}):
        assert code(api.post("/search", json=SEARCH, headers=headers)) == (401, "key_needed")
        assert api.get("/collections", headers=headers).json()["collections"] == []


def test_pages_of_other_sites_cannot_write(api):
    for headers in (
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:9000"},
        {"origin": "http://[", "sec-fetch-site": "none"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "cross-site"},
    ):
        assert code(api.post("/documents", json=NEW, headers=headers)) == (403, "cross_site")
        assert code(api.delete("/documents/d1", headers=headers)) == (403, "cross_site")
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        response = api.post("/documents", content=b'{"documents": []}', headers={"content-type": kind})
        assert code(response) == (415, "not_json")
    own = {"origin": "http://127.0.0.1:8000", "sec-fetch-site": "same-origin"}
    assert api.post("/documents", json=NEW, headers=own).status_code == 200
    assert "d1" in {row["key"] for row in api.get("/documents").json()["documents"]}


def test_pages_of_other_sites_cannot_make_it_work(still):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert code(still.get("/duplicates", headers=headers)) == (403, "cross_site")
    assert code(still.post("/search", json=SEARCH, headers=headers)) == (403, "cross_site")
    assert still.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200


def test_a_browser_that_asks_first_is_told_no(still):
    headers = {
        "origin": "https://evil.example",
        "access-control-request-method": "DELETE",
        "access-control-request-headers": "authorization",
    }
    response = still.options("/documents/d1", headers=headers)
    assert not any(name.startswith("access-control") for name in response.headers)


def test_every_answer_forbids_inline_script(still):
    for response in (still.get("/"), still.get("/nothing"), still.get("/stats"), still.post("/search", content=b"{")):
        policy = response.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"


def test_the_page_is_there_and_asks_nobody_else(still):
    page = still.get("/")
    assert page.headers["content-type"].startswith("text/html")
    assert "http://" not in page.text.replace("http://www.w3.org", "")
    assert "https://" not in page.text
    assert still.get("/", headers={"if-none-match": page.headers["etag"]}).status_code == 304
