"""Loaders: the published counts where the data are, and clear words where they are not or are damaged."""

from __future__ import annotations

import io
import math
import tarfile

import numpy as np
import pytest
import scipy.io
from scipy import sparse

from sthash.reproduction import datasets
from sthash.reproduction.datasets import DatasetError

LOADERS = {
    "20news-bydate.tar.xz": datasets.load_20newsgroups,
    "reuters21578.tar.xz": datasets.load_reuters21578,
    "reuters21578_counts.mat": datasets.load_reuters21578_counts,
    "tdt2.npz": datasets.load_tdt2,
}


def write_archive(path, files):
    with tarfile.open(path, f"w:{path.suffix[1:]}") as archive:
        for name, content in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))


def test_20newsgroups(needs):
    needs("20news-bydate.tar.xz")
    data = datasets.load_20newsgroups()
    assert (len(data.train_texts), len(data.test_texts), len(data.label_names)) == (11314, 7532, 20)
    assert data.label_names[0] == "alt.atheism"
    assert [int(np.sum(labels == 0)) for labels in (data.train_labels, data.test_labels)] == [480, 319]
    assert all("\n\n" in text for text in data.train_texts[:50])  # headers, a blank line, the body
    assert any("\xe9" in text for text in data.train_texts)  # Latin-1, not mangled UTF-8


def test_reuters_from_sgml_matches_the_authors_counts(needs):
    needs("reuters21578.tar.xz", "reuters21578_counts.mat")
    data, counts = datasets.load_reuters21578(), datasets.load_reuters21578_counts()
    assert (len(data.train_texts), len(data.test_texts)) == (5228, 2057)
    assert counts.train.shape == (5228, 18933)
    assert counts.test.shape == (2057, 18933)
    assert data.label_names[:3] == ("earn", "acq", "crude")
    np.testing.assert_array_equal(np.bincount(data.train_labels), np.bincount(counts.train_labels))
    np.testing.assert_array_equal(np.bincount(data.test_labels), np.bincount(counts.test_labels))
    assert not any("&lt;" in text or "\x03" in text or not text.strip() for text in data.train_texts)


def test_tdt2_and_its_splits(needs):
    needs("tdt2.npz")
    collection = datasets.load_tdt2()
    assert collection.counts.shape == (9394, 36771)
    sizes = np.bincount(collection.labels)
    assert (len(sizes), sizes.max(), sizes.min()) == (30, 1844, 52)
    one, same, other = (datasets.split_tdt2(collection, seed) for seed in (0, 0, 1))
    assert (one.train.shape[0], one.test.shape[0]) == (5597, 3797)
    assert (one.train != same.train).nnz == 0
    assert (one.train != other.train).nnz > 0
    assert one.train.sum() + one.test.sum() == collection.counts.sum()
    np.testing.assert_array_equal(np.bincount(one.train_labels) + np.bincount(one.test_labels), sizes)


def test_tdt2_as_its_page_has_it(needs, monkeypatch, tmp_path):
    needs("tdt2.npz")
    found = datasets.load_tdt2()
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    fea = sparse.csc_matrix(found.counts)
    scipy.io.savemat(tmp_path / "TDT2.mat", {"fea": fea, "gnd": found.labels[:, None] + 1.0})
    assert datasets.content_digest(datasets.load_tdt2()) == datasets.content_digest(found)


def test_other_collections_are_not_split_as_tdt2():
    few = datasets.UnsplitCounts("few", sparse.csr_array(np.eye(3)), np.arange(3))
    with pytest.raises(DatasetError, match="has 3 documents, TDT2 has 9394"):
        datasets.split_tdt2(few, 0)


@pytest.mark.parametrize("name", LOADERS)
def test_a_missing_file_is_named_with_its_source(monkeypatch, tmp_path, name):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    with pytest.raises(DatasetError, match=rf"{name}.* is missing in .*http"):
        LOADERS[name]()


@pytest.mark.parametrize("name", LOADERS)
@pytest.mark.parametrize("content", [b"", b"rubbish" * 99, b"\xfd7zXZ\x00" + b"x" * 99, b"PK\x03\x04" + b"x" * 99])
def test_rubbish_is_refused(monkeypatch, tmp_path, name, content):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DatasetError, match=r"cannot be read|has 0"):
        LOADERS[name]()


@pytest.mark.parametrize("name", ["20news-bydate.tar.xz", "reuters21578.tar.xz", "tdt2.npz"])
def test_truncated_files_are_refused(monkeypatch, tmp_path, needs, name):
    needs(name)
    whole = (datasets.data_dir() / name).read_bytes()
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    (tmp_path / name).write_bytes(whole[: len(whole) // 3])
    with pytest.raises(DatasetError, match="cannot be read"):
        LOADERS[name]()


def test_archives_are_not_unpacked(monkeypatch, tmp_path):
    directory = tmp_path / "data"
    directory.mkdir()
    monkeypatch.setenv("STHASH_DATA", str(directory))
    monkeypatch.chdir(directory)
    files = {"../evil/1": b"x", "20news-bydate-train/a.b/1": b"\xe9", "20news-bydate-test/a.b/2": b"y"}
    write_archive(directory / "20news-bydate.tar.xz", files)
    with pytest.raises(DatasetError, match="has 1 train messages, expected 11314"):
        datasets.load_20newsgroups()
    assert [path.name for path in tmp_path.rglob("*")] == ["data", "20news-bydate.tar.xz"]


def test_another_version_of_reuters_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    story = b'<REUTERS TOPICS="YES" LEWISSPLIT="TRAIN"><TOPICS><D>earn</D></TOPICS><BODY>b</BODY></REUTERS>'
    write_archive(tmp_path / "reuters21578.tar.xz", {"r/reut2-000.sgm": story})
    with pytest.raises(DatasetError, match="has 1 documents, expected 21578"):
        datasets.load_reuters21578()


@pytest.mark.parametrize(
    ("attributes", "topics", "body", "kept"),
    [
        ('TOPICS="YES" LEWISSPLIT="TEST"', "<D>acq</D>", "<BODY>A &lt;B> &amp; C&#3;</BODY>", True),
        ('TOPICS="YES" LEWISSPLIT="TRAIN"', "<D>acq</D><D>earn</D>", "<BODY>x</BODY>", False),
        ('TOPICS="YES" LEWISSPLIT="TRAIN"', "", "<BODY>x</BODY>", False),
        ('TOPICS="NO" LEWISSPLIT="TRAIN"', "<D>acq</D>", "<BODY>x</BODY>", False),
        ('TOPICS="YES" LEWISSPLIT="NOT-USED"', "<D>acq</D>", "<BODY>x</BODY>", False),
        ('TOPICS="YES" LEWISSPLIT="TRAIN"', "<D>acq</D>", "", False),
        ('TOPICS="YES" LEWISSPLIT="TRAIN"', "<D>acq</D>", "<BODY> &#3;</BODY>", False),
    ],
)
def test_selection_of_stories(attributes, topics, body, kept):
    markup = f"<TOPICS>{topics}</TOPICS><PLACES><D>usa</D></PLACES><TITLE>T</TITLE>{body}"
    story = datasets._story(attributes, markup)
    assert story == (("TEST", "acq", "T\nA <B> & C") if kept else None)


def test_counts_that_do_not_fit_are_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    parts = {
        "fea": sparse.csc_matrix(np.eye(4)),
        "gnd": np.ones((4, 1)),
        "trainIdx": [[1], [2]],
        "testIdx": [[9]],
    }
    scipy.io.savemat(tmp_path / "reuters21578_counts.mat", parts)
    with pytest.raises(DatasetError, match="cannot be read"):  # an index beyond the matrix
        datasets.load_reuters21578_counts()
    scipy.io.savemat(tmp_path / "reuters21578_counts.mat", parts | {"testIdx": [[3]]})
    with pytest.raises(DatasetError, match="has 4 documents, expected 8293"):
        datasets.load_reuters21578_counts()
    good = {"data": [1], "indices": [0], "indptr": [0, 1], "shape": [1, 2], "gnd": [1]}
    for bad, message in (
        ({}, "has 1 documents, expected 9394"),
        ({"indices": [5]}, "cannot be read"),
        ({"gnd": np.array([{}])}, "cannot be read"),  # an object would need pickle
    ):
        np.savez(tmp_path / "tdt2.npz", **{name: np.asarray(value) for name, value in (good | bad).items()})
        with pytest.raises(DatasetError, match=message):
            datasets.load_tdt2()


def test_the_directory_comes_from_the_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    assert datasets.data_dir() == tmp_path
    monkeypatch.setenv("STHASH_DATA", str(tmp_path / "none"))
    with pytest.raises(DatasetError, match="is not a directory"):
        datasets.data_dir()


def test_an_installed_package_looks_beside_the_working_directory(monkeypatch, tmp_path):
    monkeypatch.delenv("STHASH_DATA", raising=False)
    monkeypatch.setattr(datasets, "__file__", str(tmp_path / "lib" / "a" / "b" / "c" / "datasets.py"))
    (tmp_path / "project").mkdir()
    monkeypatch.chdir(tmp_path / "project")
    with pytest.raises(DatasetError, match=r"shared.*Set STHASH_DATA"):
        datasets.data_dir()
    (tmp_path / "shared" / "datasets").mkdir(parents=True)
    assert datasets.data_dir() == tmp_path / "shared" / "datasets"


def test_weights_equal_plain_loops():
    rng = np.random.default_rng(0)
    train, test = (rng.poisson(0.4, size=(rows, 30)) * rng.integers(1, 9, size=30) for rows in (20, 12))
    train[:, 3], test[:, 3] = 0, 2  # unknown
    train[:, 4] = 1  # in every document: weight 0
    test[5] = 0
    known = [t for t in range(30) if any(row[t] for row in train)]
    weighed = datasets.tfidf_counts(sparse.csr_array(train), sparse.csr_array(test))
    for counts, weights in zip((train, test), weighed, strict=True):
        assert weights.dtype == np.float32
        assert weights.shape == (len(counts), len(known))
        for row, got in zip(counts, weights.toarray(), strict=True):
            df = {t: sum(1 for other in train if other[t]) for t in known}
            plain = [(1 + math.log(row[t])) * math.log(20 / df[t]) if row[t] else 0.0 for t in known]
            norm = math.sqrt(sum(value**2 for value in plain)) or 1.0
            np.testing.assert_allclose(got, [value / norm for value in plain], atol=1e-7)


def test_weights_leave_their_input_alone_and_name_bad_counts():
    train = sparse.csr_array((np.array([1.0, 0.0]), np.array([0, 1]), np.array([0, 2])), shape=(1, 2))
    datasets.tfidf_counts(train, train)
    assert train.nnz == 2
    with pytest.raises(ValueError, match="train has 2 terms, test has 3"):
        datasets.tfidf_counts(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match="must not be negative"):
        datasets.tfidf_counts(-np.eye(2), np.eye(2))


def test_the_gzipped_original_works_too(monkeypatch, tmp_path):
    monkeypatch.setenv("STHASH_DATA", str(tmp_path))
    write_archive(tmp_path / "20news-bydate.tar.gz", {"20news-bydate-train/a.b/1": b"x"})
    with pytest.raises(DatasetError, match=r"tar\.gz has 1 train messages"):
        datasets.load_20newsgroups()
