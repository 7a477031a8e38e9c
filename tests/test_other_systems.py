"""What is ready for Windows and macOS, as far as that shows on the system that the tests run on.

The programs here run in processes of their own, in which everything is missing that Python lacks on Windows: modules,
functions of `os`, folders that can be opened, and files that can be renamed while they are open.
"""

import pkgutil

import pytest

import sthash

AS_ON_WINDOWS = """
import os, sys
from pathlib import Path

POSIX_MODULES = "crypt fcntl grp nis posix_ipc pty pwd readline resource spwd syslog termios tty uvloop".split()

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name in POSIX_MODULES:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

for name in POSIX_MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Missing())
POSIX_FUNCTIONS = "pread pwrite register_at_fork sched_getaffinity sysconf fork getuid geteuid statvfs posix_fadvise"
for name in POSIX_FUNCTIONS.split():
    delattr(os, name)

plain_open, plain_rename, plain_replace, plain_unlink, plain_fsync = os.open, os.rename, os.replace, os.unlink, os.fsync

def opened(path, flags, mode=0o777, **options):
    if os.path.isdir(path):
        raise PermissionError(13, "Permission denied", path)
    return plain_open(path, flags, mode, **options)

def in_use(path):
    real, own = os.path.realpath(path), Path("/proc/self/fd")
    return any(os.path.realpath(handle) == real for handle in own.iterdir()) if own.is_dir() else False

def while_closed(function):
    def checked(*paths, **options):
        for path in paths:
            if in_use(path):
                raise PermissionError(13, "The process cannot access the file", path)
        return function(*paths, **options)
    return checked

def synced(handle):
    own = Path(f"/proc/self/fdinfo/{handle}")
    if own.exists() and not int(own.read_text().split()[3], 8) & 3:
        raise OSError(9, "Bad file descriptor")
    plain_fsync(handle)

import tempfile
tempfile.TemporaryFile = tempfile.NamedTemporaryFile  # as Python has it there
os.open, os.fsync = opened, synced
os.rename, os.replace, os.unlink = while_closed(plain_rename), while_closed(plain_replace), while_closed(plain_unlink)
"""
# What stands on the packages of others, which do not run on Windows or take long to import; theirs is not asked here.
ENGINES = ("sthash.spark", "sthash.milvus", "sthash.integrations")


def modules():
    found = pkgutil.walk_packages(sthash.__path__, "sthash.", onerror=lambda name: None)
    return [module.name for module in found if not module.name.startswith(ENGINES) and "__main__" not in module.name]


def test_no_module_needs_what_only_posix_has(run_python):
    program = f"""{AS_ON_WINDOWS}
import importlib
for name in {modules()!r}:
    importlib.import_module(name)
print("all", *(name for name in POSIX_MODULES if name in sys.modules))
"""
    assert run_python(program).splitlines()[-1] == "all"


@pytest.mark.parametrize("given", ["texts", "vectors"])
def test_files_are_written_replaced_and_read(run_python, tmp_path, given):
    program = f"""{AS_ON_WINDOWS}
import numpy as np
import sthash

folder = Path({str(tmp_path)!r})
texts = [f"word{{i % 7}} other{{i % 5}} third{{i}}" for i in range(60)]
if {given!r} == "texts":
    for overwrite in (False, True):
        learning = sthash.Learning(n_bits=8)
        sthash.Collection.create(folder / "c.sth", texts, learning=learning, overwrite=overwrite).close()
    (folder / "c.sth").write_bytes(b"no database" * 1000)
    sthash.Collection.create(folder / "c.sth", texts, learning=sthash.Learning(n_bits=8), overwrite=True).close()
    with sthash.Collection.open(folder / "c.sth") as collection:
        collection.add(["word3 fourth"])
        collection.copy_to(folder / "d.sth")
        collection.relearn()
        collection.compact()
    with sthash.Collection.open(folder / "d.sth") as collection:
        print(collection.search("fourth")[0].text)
    from sthash.duplicates import deduplicate
    with deduplicate(sthash.Document(str(i), text) for i, text in enumerate(["a b c", "d e f", "a b c"])) as found:
        print([document.key for document in found.kept()])
else:
    codes = np.arange(64, dtype=np.uint8)[:, None]
    index = sthash.HammingIndex(n_bits=8)
    index.add(codes)
    for _ in range(2):
        index.save(folder / "codes.index")
    index = sthash.HammingIndex.open(folder / "codes.index")
    print(index.search(codes[5:6], k=1)[0].tolist())
    model = sthash.SelfTaughtHashing(n_bits=8).fit(np.random.default_rng(0).normal(size=(90, 6)).astype(np.float32))
    for _ in range(2):
        model.save(folder / "model")
    print(type(sthash.load(folder / "model")).__name__)
"""
    printed = run_python(program).split("\n")
    assert printed[:2] == {"texts": ["word3 fourth", "['0', '1']"], "vectors": ["[[5]]", "SelfTaughtHashing"]}[given]
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
