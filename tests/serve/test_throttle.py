"""Wrong keys are held back, and the right one is not."""

import asyncio

from sthash.serve import throttle

READ, WRITE = "the-read-key", "the-write-key"


def code(response):
    return response.status_code, response.json()["error"]["code"]


def test_wrong_keys_are_held_back_longer_and_longer():
    now = [0.0]
    brake = throttle.Throttle(10, lambda: now[0])
    assert [brake.count("1.2.3.4") for _ in range(10)] == [0, 0, 0, 0.25, 0.5, 1, 2, 4, 8, 10]
    assert brake.count("1.2.3.5") == 0
    assert [brake.count(f"2001:db8::{number}") for number in range(5)][-1] > 0  # one client has the whole network
    now[0] += throttle.MEMORY_SECONDS + 1
    assert brake.count("1.2.3.4") == 0


def test_many_addresses_take_little_memory_and_are_held_back_together():
    brake = throttle.Throttle(10)
    for number in range(10_000):
        held = brake.count(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}")
    assert held == 10
    assert len(brake._by_address) <= throttle.MAX_ADDRESSES


def test_the_right_key_does_not_wait(path, app_of, monkeypatch):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    api = app_of(path, read_key=READ, write_key=WRITE)
    right, wrong = ({"authorization": f"Bearer {key}"} for key in (READ, "a-wrong-key"))
    for _ in range(4):
        assert code(api.get("/stats", headers=wrong)) == (401, "key_wrong")
        assert code(api.get("/collections", headers=wrong)) == (401, "key_wrong")
        assert api.get("/stats", headers=right).status_code == 200
        assert code(api.get("/stats")) == (401, "key_needed")
        assert code(api.delete("/documents/d1", headers=right)) == (403, "key_may_not_write")
    assert waits == [0.25, 0.5, 1, 2, 4]
