"""Cut the power at every point of a record of writes and syncs, and look at what the disk may then hold.

Run as: python -m support.power_cuts FOLDER CUTS SEED [broken].

A program that changes a collection, and every other kind of file that sthash writes, in random steps runs once, under
a recorder of everything that it does to files (power_recorder.c). It acknowledges each step that has returned. Then
the power is cut, in simulation, at random places of the record. What was synced is on the disk. Of what was not, all,
nothing, some writes, or some sectors of them may be. The names in the folder are as after the last sync of the folder,
or as after some later change of them; with the file systems that order their metadata, any sync of a file brings all
earlier names along.

After each cut everything must be sound, and as the acknowledged steps made it, or with the step that was under way.

With ``broken`` the program does not wait for the end of the journal, which the simulation must find out.
"""

import json
import random
import struct
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from sthash import Collection, Document
from sthash.collection.file import store
from support.corpus import TOPICS
from support.embedders import embed
from support.factories import create_collection, opened, small_segments, tables_in_use
from support.programs import ENVIRONMENT, command
from support.saved_files import NAMES, SavedFiles

STEPS, SAVES = 55, 25
SECTOR = 512
WORDS = [word for words in TOPICS.values() for word in words]
KINDS = ["add", "add", "add many", "upsert", "delete", "compact", "relearn", "build", "copy"]
Write = tuple[str, int, bytes]
TABLES_SEEN = set[str]()
# What the names of a kind begin with: a file, its journal, and what a writer has begun.
FILES = {name: (name, f".{name}.") for name in NAMES} | {
    "documents": ("c.sth",),
    "dedup": ("dedup.jsonl", "report.jsonl"),
    "sync": ("notes.sth",),
}


def work(folder: Path, seed: str, states_path: Path) -> None:
    """Change files in random steps, and acknowledge each by a file of its own."""
    rng = random.Random(seed)
    path, states = folder / "c.sth", list[dict[str, object]]()
    documents, versions = dict[str, str](), dict[str, int | None].fromkeys(NAMES)
    saved = SavedFiles(states_path.with_name("inputs"))

    def some(keys: list[str]) -> list[Document]:
        made = [Document(key, " ".join(rng.choices(WORDS, k=8))) for key in keys]
        documents.update({document.key: document.text for document in made})
        return made

    kinds = [*rng.choices(KINDS, k=STEPS), *NAMES, *rng.choices(NAMES, k=SAVES)]
    rng.shuffle(kinds)
    for kind in ["build", *kinds]:
        if kind == "build":
            documents.clear()
            new = some([f"b{number}" for number in range(rng.randint(65, 90))])
            embedder = embed if rng.random() < 0.5 else None  # texts, or vectors with codes
            create_collection(path, new, overwrite=True, embedder=embedder).close()
        elif kind in NAMES:
            versions[kind] = 1 - (versions[kind] or 0)
            saved.write(kind, versions[kind], folder)
        elif kind == "copy":
            with opened(path, embed) as collection:
                collection.copy_to(states_path.with_name("copy.sth"), overwrite=True)
                collection.add(some(["lost again"]))
            acknowledge(folder, states, documents, versions)
            del documents["lost again"]
            with Collection.open(states_path.with_name("copy.sth")) as collection:
                collection.copy_to(path, overwrite=True)
        else:
            with opened(path, embed) as collection:
                if kind.startswith("add"):
                    collection.add(some([f"a{rng.randrange(10**9)}" for _ in range(1 if kind == "add" else 200)]))
                elif kind == "upsert":
                    collection.upsert(some(rng.sample(sorted(documents), 5)))
                elif kind == "delete":
                    keys = rng.sample(sorted(documents), min(10, len(documents) - 60))
                    collection.delete(keys)
                    for key in keys:
                        del documents[key]
                elif kind == "compact":
                    collection.compact()
                else:
                    collection.relearn()
        acknowledge(folder, states, documents, versions)
    states_path.write_text(json.dumps(states))


def acknowledge(
    folder: Path, states: list[dict[str, object]], documents: dict[str, str], versions: dict[str, int | None]
) -> None:
    states.append({"documents": dict(documents), **versions})
    mark = folder / f"ACK{len(states)}"
    mark.touch()
    mark.unlink()


@dataclass
class Disk:
    """What is on the disk for certain, and what may be."""

    ordered: bool
    synced: dict[tuple[int, int], bytes] = field(default_factory=dict)
    pending: dict[tuple[int, int], list[Write]] = field(default_factory=dict)
    names: dict[str, tuple[int, int]] = field(default_factory=dict)
    renamings: list[tuple[str, str, object]] = field(default_factory=list)
    uses: Counter[int] = field(default_factory=Counter)
    acknowledged: int = 0

    def take(self, what: str, inode: int, place: int, content: bytes) -> None:
        """Take in the next entry of the record."""
        name, *other = (Path(part).name for part in content.decode().split("\n")) if what in "CURL" else [""]
        if name.startswith("ACK"):
            self.acknowledged = max(self.acknowledged, int(name[3:]))
        elif what == "C":
            self.uses[inode] += 1  # inodes are used again
            self.renamings.append(("C", name, (inode, self.uses[inode])))
        elif what in "WT":
            self.pending.setdefault((inode, self.uses[inode]), []).append((what, place, content))
        elif what == "S":
            key = (inode, self.uses[inode])
            self.synced[key] = applied(self.synced.get(key, b""), self.pending.pop(key, []))
        elif what in "URL":
            self.renamings.append((what, name, other[0] if other else None))
        if what == "D" or (what == "S" and self.ordered):
            self.names = renamed(self.names, self.renamings)
            self.renamings = []

    def cut(self, rng: random.Random) -> dict[str, bytes]:
        """Give the files that may be there when the power is back."""
        count = len(self.renamings)
        names = renamed(self.names, self.renamings[: rng.choice([0, count, rng.randint(0, count)])])
        how = rng.choice(["nothing", "all", "some", "sectors"])
        files = {}
        for name, key in names.items():
            writes = list[Write]()
            for write in self.pending.get(key, []) if how != "nothing" else []:
                if how == "all" or (how == "some" and rng.random() < 0.5):
                    writes.append(write)
                elif how == "sectors" and write[0] == "W":
                    writes.extend(
                        ("W", write[1] + start, write[2][start : start + SECTOR])
                        for start in range(0, len(write[2]), SECTOR)
                        if rng.random() < 0.5
                    )
            files[name] = applied(self.synced.get(key, b""), writes)
        return files


def applied(content: bytes, writes: list[Write]) -> bytes:
    changed = bytearray(content)
    for what, place, part in writes:
        changed.extend(bytes(max(0, place - len(changed))))
        if what == "T":
            del changed[place:]
        else:
            changed[place : place + len(part)] = part
    return bytes(changed)


def renamed(names: dict[str, tuple[int, int]], changes: list[tuple[str, str, object]]) -> dict[str, tuple[int, int]]:
    names = dict(names)
    for what, name, value in changes:
        if what == "C":
            names[name] = value
        elif what == "U":
            names.pop(name, None)
        elif name in names:
            names[value] = names.pop(name) if what == "R" else names[name]
    return names


def entries(record: bytes) -> list[tuple[str, int, int, bytes]]:
    found, at = [], 0
    while at < len(record):
        inode, place, count = struct.unpack("<QQQ", record[at + 1 : at + 25])
        found.append((chr(record[at]), inode, place, record[at + 25 : at + 25 + count]))
        at += 25 + count
    return found


class Examiner:
    """Writes files, and says which state they are in. What it has seen before, it need not open."""

    def __init__(self, folder: Path) -> None:
        self._tried = folder / "tried"
        self._tried.mkdir()
        self._saved = SavedFiles(folder / "inputs")
        self._known: dict[tuple[str, bytes], object] = {}

    def examine(self, files: dict[str, bytes]) -> dict[str, object]:
        """Give the state; raise if one of the files is not sound."""
        for old in self._tried.iterdir():
            old.unlink()
        state: dict[str, object] = {}
        for kind in ("documents", *NAMES):
            own = {name: content for name, content in sorted(files.items()) if name.startswith(FILES[kind])}
            digest = blake2b(repr([(name, blake2b(content).digest()) for name, content in own.items()]).encode())
            seen = (kind, digest.digest())
            if seen not in self._known:
                for name, content in own.items():
                    (self._tried / name).write_bytes(content)
                self._known[seen] = self._state(kind)
            state[kind] = self._known[seen]
        return state

    def _state(self, kind: str) -> object:
        if kind != "documents":
            return self._saved.version(kind, self._tried)
        path = self._tried / "c.sth"
        if not path.exists():
            return {}
        with Collection.open(path) as collection:
            collection.check()
            documents = {document.key: document.text for document in collection}
        TABLES_SEEN.update(tables_in_use(path))
        return documents


def record_work(
    folder: Path, seed: str, *more: str
) -> tuple[list[tuple[str, int, int, bytes]], list[dict[str, object]]]:
    """Run the program under the recorder; give its record and the states after its steps."""
    watched, recorder = folder / "watched", folder / "recorder.so"
    watched.mkdir()
    source = Path(__file__).with_name("power_recorder.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", recorder, source, "-ldl"], check=True)
    shimmed = {"LD_PRELOAD": str(recorder), "POWER_FOLDER": str(watched), "POWER_RECORD": str(folder / "record")}
    arguments = command("power_cuts", watched, "work", seed, folder / "states.json", *more)
    subprocess.run(arguments, env=ENVIRONMENT | shimmed, check=True, timeout=600)
    return entries((folder / "record").read_bytes()), json.loads((folder / "states.json").read_text())


def main() -> None:
    folder, cuts, seed, *more = Path(sys.argv[1]).resolve(), *sys.argv[2:]
    if "broken" in more:
        break_syncs()
    if cuts == "work":
        with small_segments(few=80):
            work(folder, seed, Path(more[0]))
        return
    record, states = record_work(folder, seed, *more)
    rng = random.Random(seed)
    states = [{"documents": {}, **dict.fromkeys(NAMES)}, *states]
    after = [place + 1 for place, entry in enumerate(record) if entry[0] == "C" and b"/ACK" in entry[3]]
    places = [rng.choice(after) if rng.random() < 0.3 else rng.randint(0, len(record)) for _ in range(int(cuts))]
    examiner = Examiner(folder)
    for ordered in (True, False):
        disk, done = Disk(ordered), 0
        for place in sorted([*places[ordered::2], len(record)]):
            for entry in record[done:place]:
                disk.take(*entry)
            done = place
            allowed = states[disk.acknowledged : disk.acknowledged + 2]
            try:
                state = examiner.examine(disk.cut(rng))
                assert state in allowed, "not a state that was acknowledged, or was to be"
            except Exception as error:
                kind = "with ordered names" if ordered else "with names in any order"
                sys.stdout.write(
                    f"LOST at entry {place} of {len(record)}, after step {disk.acknowledged}, {kind}: {error!r}\n"
                )
                sys.exit(3)
    tables = " ".join(sorted(TABLES_SEEN))
    sys.stdout.write(
        f"survived {cuts} power cuts in {len(states) - 1} steps and {len(record)} entries; in tables: {tables}\n"
    )


def break_syncs() -> None:
    whole = store.connect

    def hasty(*arguments):
        connection, identity = whole(*arguments)
        connection.execute("PRAGMA synchronous = FULL")
        return connection, identity

    store.connect = hasty


if __name__ == "__main__":
    main()
