"""Model files that are cut, altered, foreign or too new; disks that are full; processes that are interrupted."""

import json
import os
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import save_file

import sthash
from sthash import ModelFileError, SelfTaughtHashing, model_file

X = np.random.default_rng(0).normal(size=(60, 5))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model"
    SelfTaughtHashing(8, 5).fit(X).save(path)
    return path.read_bytes()


def load_bytes(content, tmp_path):
    path = tmp_path / "copy"
    path.write_bytes(content)
    return sthash.load(path)


def test_every_truncation_is_refused(saved, tmp_path):
    for size in range(len(saved)):
        with pytest.raises(ModelFileError, match=r"copy (is|has|holds)"):
            load_bytes(saved[:size], tmp_path)


def test_every_altered_byte_is_noticed(saved, tmp_path):
    chance = random.Random(0)
    expected = load_bytes(saved, tmp_path).transform(X)
    for _ in range(2000):
        at = chance.randrange(len(saved))
        changed = bytearray(saved)
        changed[at] ^= chance.randrange(1, 256)
        try:
            model = load_bytes(bytes(changed), tmp_path)
        except ModelFileError:
            continue
        # White space in the header may change without harm; anything else must not.
        assert (model.transform(X) == expected).all()


@pytest.mark.parametrize("content", [b"", b"{}", b"PK\x03\x04", b"\x80\x04K\x01.", os.urandom(500), b"\xff" * 64])
def test_files_that_are_no_models(content, tmp_path):
    with pytest.raises(ModelFileError, match="not an sthash model"):
        load_bytes(content, tmp_path)


def test_a_safetensors_file_of_somebody_else(tmp_path):
    save_file({"a": np.zeros(3)}, tmp_path / "other")
    with pytest.raises(ModelFileError, match="not an sthash model"):
        sthash.load(tmp_path / "other")


def test_a_newer_version_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(model_file, "FORMAT", 9)
    SelfTaughtHashing(8, 5).fit(X).save(tmp_path / "new")
    monkeypatch.undo()
    with pytest.raises(ModelFileError, match=r"format 9, newer than the format 1.*Upgrade"):
        sthash.load(tmp_path / "new")


@pytest.mark.parametrize(
    "change",
    [
        {"kind": "os.system"},
        {"kind": ["list"]},
        {"config": {}},
        {"config": {"settings": {"n_bits": 9}, "svm": {}}},
        {"config": {"settings": {"n_bits": 8, "evil": 1}, "svm": {}}},
    ],
)
def test_a_well_formed_file_with_nonsense_in_it(saved, tmp_path, change):
    header, arrays = model_file._read(_written(saved, tmp_path))
    text = json.dumps(header | change)
    save_file(arrays, tmp_path / "evil", {"sthash": model_file._signed(text, arrays)})
    with pytest.raises(ModelFileError):
        sthash.load(tmp_path / "evil")


def test_arrays_of_another_shape(saved, tmp_path):
    header, arrays = model_file._read(_written(saved, tmp_path))
    arrays["function.weights"] = arrays["function.weights"][:, :5].copy()
    model_file.write(tmp_path / "evil", header["kind"], header["config"], arrays)
    with pytest.raises(ModelFileError, match="weights has dtype float32 and shape"):
        sthash.load(tmp_path / "evil")


def _written(content, tmp_path):
    path = tmp_path / "plain"
    path.write_bytes(content)
    return path


def test_missing_files_and_folders(tmp_path):
    with pytest.raises(FileNotFoundError):
        sthash.load(tmp_path / "none")
    with pytest.raises(IsADirectoryError):
        sthash.load(tmp_path)


def test_a_failed_write_keeps_the_old_file(saved, tmp_path, monkeypatch):
    path = tmp_path / "model"
    path.write_bytes(saved)

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        SelfTaughtHashing(8, 5).fit(X).save(path)
    assert path.read_bytes() == saved
    assert [file.name for file in tmp_path.iterdir()] == ["model"]


def test_a_full_disk(tmp_path):
    """A real one: a file size limit makes the write fail in the middle."""
    source = f"""
import numpy as np, resource, signal, sthash
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
hasher = sthash.SelfTaughtHashing(8, 5).fit(np.random.default_rng(0).normal(size=(2000, 50)))
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    hasher.save({str(tmp_path / "model")!r})
except OSError as error:
    print("refused:", error)
"""
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=True)
    assert result.stdout.startswith("refused:")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("stage", ["graph", "text", "svm", "dense"])
def test_ctrl_c_stops_within_a_second(stage):
    sources = {
        "text": "v = sthash.TextVectorizer(); run = lambda: v.fit(('word%d ' % i) * 200_000 for i in range(100_000))",
        "graph": "X = sp.random_array((60_000, 2000), density=0.05, rng=rng, dtype=np.float32, format='csr'); "
        "run = lambda: sthash.hashing.knn_graph(X, 25)",
        "dense": "X = rng.normal(size=(60_000, 512)).astype(np.float32); run = lambda: sthash.hashing.knn_graph(X, 25)",
        "svm": "X = rng.normal(size=(20_000, 100)); b = rng.random((20_000, 64)) < 0.5; "
        "run = lambda: sthash.hashing.LinearSVMBank(tol=1e-9, C=100.0).fit(X, b)",
    }
    source = f"""
import numpy as np, scipy.sparse as sp, sthash.hashing
rng = np.random.default_rng(0)
{sources[stage]}
print("started", flush=True)
try:
    run()
except KeyboardInterrupt:
    print("stopped", flush=True)
"""
    with subprocess.Popen([sys.executable, "-c", source], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        sent = time.monotonic()
        assert process.stdout.readline() == "stopped\n"
        # The promise is one second on a quiet machine; a test must not fail on a busy one.
        assert time.monotonic() - sent < 10
