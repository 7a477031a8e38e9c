"""Kill a push again and again, and go on with it.

Run as: python -m support.milvus_kill_harness FOLDER KILLS SEED [broken].

A child process pushes a collection's file to a file of Milvus Lite, and acknowledges each batch that has arrived. It is
killed (SIGKILL) a random moment after a random number of documents, or while it starts; every other time together with
its Milvus Lite. In the end, one that is let alone must leave just the documents of the file, each once; and no document
that was acknowledged may have been sent again.

With ``broken`` each child gives the documents other primary keys: a harness worth having finds the duplicates.
"""

import os
import random
import signal
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from sthash import Collection, Learning
from sthash.milvus import MilvusCollection, entities, milvus_server, sync
from support.corpus import make_documents

DOCUMENTS, BATCH, LONGEST_START = 2000, 25, 1.5
entities.BATCH_ENTITIES = BATCH
milvus_server.WAIT_SECONDS = TIMEOUT = 60.0  # a busy machine must not make it fail


@dataclass
class Kill:
    """When to kill: so many seconds after so many documents; and whether together with Milvus Lite."""

    after: int
    delay: float
    group: bool


def some_kill(rng: random.Random, number: int, kills: int) -> Kill:
    if number % 4 == 3:
        return Kill(0, rng.uniform(0, LONGEST_START), group=rng.random() < 0.5)
    return Kill(rng.randint(1, DOCUMENTS // kills), rng.uniform(0, 0.05), group=number % 2 == 1)


def push(path: Path, uri: str, acknowledge: int) -> None:
    whole = milvus_server.MilvusServer.call

    def acknowledging(self, request, *arguments, **options):
        result = whole(self, request, *arguments, **options)
        if request == "upsert":
            os.write(acknowledge, b"." * len(options["data"]))
        return result

    milvus_server.MilvusServer.call = acknowledging
    with Collection.open(path) as collection:
        MilvusCollection.push(collection, uri, "some", timeout=TIMEOUT).close()


def run(path: Path, uri: str, kill: Kill | None) -> int:
    """Push, until killed; give how many documents were acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        os.setsid()
        status = 1
        try:
            push(path, uri, writing)
            status = 0
        finally:
            os._exit(status)
    os.close(writing)
    acknowledged = 0
    while (kill is None or acknowledged < kill.after) and (part := os.read(reading, BATCH)):
        acknowledged += len(part)
    if kill is not None:
        time.sleep(kill.delay)
        (os.killpg if kill.group else os.kill)(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    while part := os.read(reading, 65_536):
        acknowledged += len(part)
    os.close(reading)
    if status != 0 and (kill is None or not os.WIFSIGNALED(status)):
        raise SystemExit(f"the push failed with status {status}")
    return acknowledged


def break_keys() -> None:
    plain = entities.as_primary_key
    entities.as_primary_key = sync.as_primary_key = lambda key: plain(f"{key} {os.getpid()}")


def examine(path: Path, uri: str) -> None:
    """Raise if Milvus does not hold the file's documents, each once."""
    with Collection.open(path) as collection, MilvusCollection.open(uri, "some", collection) as there:
        found = there._table.call("query", filter="id >= 0", output_fields=["*"], limit=16_384)
        with collection.snapshot() as now:
            wanted = [
                (number, code.tobytes()) for number, code in zip(now.ids.tolist(), now.codes.table.codes, strict=True)
            ]
        assert sorted((row["id"], row["code"][0]) for row in found) == wanted, f"{len(found)} of {len(wanted)} rows"
        assert len(there) == len(wanted)
        documents = {document.key: document for document in collection}
        assert {document.key: document for document in map(entities.read_document, found)} == documents, (
            "other documents"
        )


def main() -> None:
    folder, kills, rng = Path(sys.argv[1]), int(sys.argv[2]), random.Random(sys.argv[3])
    path, uri = folder / "some.sth", str(folder / "milvus.db")
    Collection.create(
        path, make_documents(DOCUMENTS), learning=Learning(n_bits=16, n_neighbors=5, sample_size=200)
    ).close()
    if "broken" in sys.argv[4:]:
        break_keys()
    sent = [run(path, uri, some_kill(rng, number, kills)) for number in range(kills)]
    sent.append(run(path, uri, None))
    try:
        examine(path, uri)
        assert sum(sent) <= DOCUMENTS, f"{sum(sent)} were sent"
    except Exception as error:
        sys.stdout.write(f"LOST: {type(error).__name__}: {error}; sent {sent}\n")
        sys.exit(3)
    sys.stdout.write(f"survived {kills} kills; each push sent {sent}\n")


if __name__ == "__main__":
    main()
