"""Model files that a stranger has made up, with right checksums: little memory, and no error but `ModelFileError`."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pytest
import scipy.sparse as sp
from safetensors.numpy import save_file

import sthash
from sthash import ModelFileError, SelfTaughtHashing, TextVectorizer, model_file
from sthash.baselines import ForgivingHashing
from sthash.hashing import GaussianSVM, NystromExtension

X = np.abs(np.random.default_rng(0).normal(size=(80, 12))).astype(np.float32)
TEXTS = [f"word{i % 7} word{i % 11} other{i % 13} more{i % 5}" for i in range(60)]


def forged(model, path, change, arrays=None):
    """Save a model with other settings, or other arrays."""
    model.save(path)
    header, held = model_file._read(path)
    config = header["config"] | change
    held = held | (arrays or {})
    text = json.dumps(header | {"config": config}, sort_keys=True)
    save_file(held, path, {"sthash": model_file._signed(text, held)})
    return path


@pytest.mark.parametrize("number", [float("inf"), float("nan"), 0, -1, 2.5, "12", None, [12], True, 2**31, 10**30])
@pytest.mark.parametrize(
    "model", [SelfTaughtHashing(8, 5), ForgivingHashing(8)], ids=lambda model: type(model).__name__
)
def test_numbers_of_features_that_are_none(model, number, tmp_path):
    with pytest.raises(ModelFileError):
        sthash.load(forged(model.fit(X), tmp_path / "model", {"n_features": number}))


def test_a_small_file_takes_little_memory(tmp_path):
    """2**31 - 1 features made a file of a few kilobytes allocate gigabytes."""
    ForgivingHashing(8).fit(X).save(tmp_path / "small")
    path = forged(ForgivingHashing(8).fit(X), tmp_path / "model", {"n_features": 2**31 - 1})
    source = f"""
import resource, sthash
sthash.load({str(tmp_path / "small")!r})  # imports what it needs
resource.setrlimit(resource.RLIMIT_AS, (sum(int(line.split()[1]) for line in open("/proc/self/status")
    if line.startswith("VmSize")) * 1024 + (256 << 20),) * 2)
print(sthash.load({str(path)!r}).n_features_in_)
"""
    result = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, check=False)
    assert result.stdout.strip() == str(2**31 - 1), result.stderr


def test_a_corpus_whose_bounds_wrap(tmp_path):
    """The difference of two 32-bit numbers can be positive though the second is smaller."""
    model = SelfTaughtHashing(8, 5, hash_function=GaussianSVM()).fit(sp.csr_array(X))
    bounds = np.arange(81, dtype=np.int32) * 12
    bounds[3:5] = 2**31 - 1, -(2**31)
    empty = {"function.corpus.data": np.zeros(0, np.float32), "function.corpus.indices": np.zeros(0, np.int32)}
    last = np.zeros(81, dtype=np.int32)
    last[3:5] = 2**31 - 1, -(2**31)
    for arrays in ({"function.corpus.indptr": bounds}, empty | {"function.corpus.indptr": last}):
        with pytest.raises(ModelFileError):
            sthash.load(forged(model, tmp_path / "model", {}, arrays))


def test_stop_words_terms_and_columns_that_are_none(tmp_path):
    vectorizer = TextVectorizer().fit(TEXTS)
    twice = json.dumps(["a"] * len(vectorizer.vocabulary_)).encode()
    numbers = json.dumps(list(range(len(vectorizer.vocabulary_)))).encode()
    for content in (twice, numbers, b"{}", b"[", b"\xff"):
        arrays = {"terms": np.frombuffer(content, dtype=np.uint8)}
        with pytest.raises(ModelFileError):
            sthash.load(forged(vectorizer, tmp_path / "model", {}, arrays))
    for change in ({"stop_words": 5}, {"stop_words": [[]]}, {"settings": {"weighting": []}}):
        with pytest.raises(ModelFileError):
            sthash.load(forged(vectorizer, tmp_path / "model", change))
    hasher = ForgivingHashing(8).fit(X)
    for feature in (-1, 12, 2**40):
        with pytest.raises(ModelFileError, match="does not exist"):
            sthash.load(forged(hasher, tmp_path / "model", {}, {"features_": np.full(8, feature)}))


def test_a_corpus_that_points_outside(tmp_path):
    import scipy.sparse as sp

    hasher = SelfTaughtHashing(8, 5, hash_function=NystromExtension(5)).fit(sp.csr_array(X))
    for array in (np.full(X.size, 12, np.int32), np.full(X.size, -1, np.int32)):
        with pytest.raises(ModelFileError):
            sthash.load(forged(hasher, tmp_path / "model", {}, {"function.corpus.indices": array}))


def raw(path, header, content=b"", length=None):
    """Write a safetensors file byte by byte."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    path.write_bytes((len(text) if length is None else length).to_bytes(8, "little") + text + content)
    return path


def signed(parts, content=b""):
    """Give the header of a file whose checksum is right for these arrays, each of uint8."""
    text = json.dumps({"format": 1, "kind": "VectorModel", "config": {}})
    digest = hashlib.sha256(text.encode())
    return {"__metadata__": {"sthash": f"{digest.hexdigest()}\n{text}"}, **parts}


@pytest.mark.parametrize(
    "part",
    [
        {"dtype": "U8", "shape": [2**62], "data_offsets": [0, 4]},
        {"dtype": "U8", "shape": [-4], "data_offsets": [0, 4]},
        {"dtype": "U8", "shape": [4.0], "data_offsets": [0, 4]},
        {"dtype": "U8", "shape": [True] * 4, "data_offsets": [0, 4]},
        {"dtype": "U8", "shape": "4", "data_offsets": [0, 4]},
        {"dtype": "U8", "shape": [4], "data_offsets": [0, 2**60]},
        {"dtype": "U8", "shape": [4], "data_offsets": [4, 0]},
        {"dtype": "U8", "shape": [4], "data_offsets": [-4, 0]},
        {"dtype": "U8", "shape": [4], "data_offsets": [0]},
        {"dtype": "U8", "shape": [2**40, 0, 2**40], "data_offsets": [0, 0]},
        {"dtype": "U8", "shape": [1] * 70, "data_offsets": [0, 1]},
        {"dtype": "BOOL", "shape": [4], "data_offsets": [0, 4]},
        {"dtype": "object", "shape": [4], "data_offsets": [0, 4]},
        {"dtype": "F64", "shape": [4], "data_offsets": [0, 4]},
        [],
        "U8",
    ],
)
def test_arrays_that_do_not_fit_the_file(part, tmp_path):
    with pytest.raises(ModelFileError, match="damaged"):
        sthash.load(raw(tmp_path / "model", signed({"weights": part}), b"\2\2\2\2"))


def test_overlapping_arrays_are_refused(tmp_path):
    """Thousands of names for the same bytes would take hours to add up."""
    part = {"dtype": "U8", "shape": [4], "data_offsets": [0, 4]}
    with pytest.raises(ModelFileError, match="does not lie where it should"):
        sthash.load(raw(tmp_path / "model", signed({f"part{i}": part for i in range(9)}), b"\0\0\0\0"))


@pytest.mark.parametrize(
    ("header", "length"),
    [
        (b"{}", 2**64 - 1),
        (b"{}", 2**63),
        (b"{}", model_file.MOST_HEADER + 1),
        (b"{}", 3),
        (b"[" * 100_000, None),
        (b"[]", None),
        (b"null", None),
        (b'{"__metadata__": 5}', None),
        (b'{"__metadata__": {"sthash": 5}}', None),
        (b'{"__metadata__": {"sthash": "' + b"\xff" + b'"}}', None),
        (b'{"a": ' + b"9" * 9999 + b"}", None),
    ],
)
def test_headers_that_are_none(header, length, tmp_path):
    with pytest.raises(ModelFileError):
        sthash.load(raw(tmp_path / "model", header, length=length))


def test_things_that_are_no_files():
    with pytest.raises(ModelFileError, match="not a regular file"):
        sthash.load("/dev/zero")


def test_a_file_that_shrinks_while_it_is_read_ends_in_an_error(tmp_path, monkeypatch):
    SelfTaughtHashing(8, 5).fit(X).save(tmp_path / "model")
    contents = model_file._contents

    def shrink(file):
        found = contents(file)
        (tmp_path / "model").write_bytes((tmp_path / "model").read_bytes()[:-64])
        return found

    monkeypatch.setattr(model_file, "_contents", shrink)
    with pytest.raises(ModelFileError, match="damaged"):
        sthash.load(tmp_path / "model")
