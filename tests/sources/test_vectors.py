"""Vectors that documents bring with them: every kind of array, fields of records, files; and what is refused."""

import json
from pathlib import Path

import numpy as np
import pytest

from sthash.sources import Document, SourceFields, paired, read_documents
from sthash.sources.vectors import VectorCheck, open_vectors
from support.tensors import CudaArray, Exchanged, Tensor

ROWS = np.array([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.5]])


KINDS = {
    "float64": lambda rows: rows,
    "float16": lambda rows: rows.astype(np.float16),
    "int": lambda rows: rows.astype(np.int64),
    "lists": lambda rows: rows.tolist(),
    "rows": list,
    "generator": iter,
    "Fortran order": np.asfortranarray,
    "tensor": Tensor,
    "tensor on a GPU": lambda rows: Tensor(rows, device="cuda", numpy=False),
    "array on a GPU": CudaArray,
    "tensors": lambda rows: [Tensor(row) for row in rows],
    "DLPack": Exchanged,
    "DLPack rows": lambda rows: [Exchanged(row) for row in rows],
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_array(kind):
    found = [vector for _, vector in paired(["a", "b", "c"], KINDS[kind](ROWS))]
    expected = ROWS.astype(int) if kind == "int" else ROWS
    np.testing.assert_array_equal(found, expected.astype(np.float32))
    assert all(vector.dtype == np.float32 for vector in found)


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="ml_dtypes is not installed")
    found = [vector for _, vector in paired(None, ROWS.astype(ml_dtypes.bfloat16))]
    np.testing.assert_array_equal(found, ROWS.astype(np.float32))


BAD = {
    "NaN": ([1.0, float("nan"), 0.0], "finite, got NaN"),
    "infinity": ([1.0, float("inf"), 0.0], "infinity"),
    "too large": ([1.0, 1e300, 0.0], "float32 cannot hold"),
    "zeros": ([0.0, 0.0, 0.0], "must not be zero"),
    "another dimension": ([1.0, 2.0], "must have 3 values, got 2"),
    "text": ("oops", "real numbers, got a str"),
    "nothing": (None, "real numbers, got a NoneType"),
    "words": (["a", "b", "c"], "real numbers, got text"),
    "a gap": ([1.0, None, 2.0], "real numbers, got Python objects"),
    "ragged": ([[1.0], [1.0, 2.0]], "equally many values"),
    "empty": ([], "at least one value"),
    "a number": (1.5, "shape"),
    "a matrix": ([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]], "one row of numbers, got 2 rows"),
    "complex": ([1j, 2j, 3j], "real numbers, got complex numbers"),
}


@pytest.mark.parametrize("kind", BAD)
def test_what_is_refused_names_the_record(kind, tmp_path):
    vector, reason = BAD[kind]
    rows = [{"key": "good", "v": [1.0, 2.0, 3.0]}, {"key": "bad one", "v": vector}]
    for documents, vectors in ((rows, "v"), (rows, [row["v"] for row in rows])):
        with pytest.raises(ValueError, match=f"document 1 .key 'bad one'.*{reason}"):
            list(paired(documents, vectors))
    if kind != "complex":
        path = tmp_path / "docs.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in [*rows, rows[0]]))
        with pytest.raises(ValueError, match=f"docs.jsonl, line 2 .key 'bad one'.*{reason}"):
            list(read_documents(path, SourceFields(vector="v")))
        skipped = []
        kept = list(read_documents(path, SourceFields(vector="v"), on_bad=skipped.append))
        assert [document.key for document in kept] == ["good", "good"]
        assert [bad.place for bad in skipped] == [f"{path}, line 2"]


def test_width_that_is_given():
    with pytest.raises(ValueError, match="the vector of document 0 must have 4 values, got 3"):
        list(paired(["a"], ROWS[:1], width=4))


def test_a_field_of_records(tmp_path):
    rows = [{"key": str(i), "text": f"text {i}", "year": i, "v": row} for i, row in enumerate(ROWS.tolist())]
    expected = [Document(str(i), f"text {i}", None, {"year": i}) for i in range(3)]
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    carried = [Document(row["key"], row["text"], None, {"year": row["year"]}, row["v"]) for row in rows]
    inside = [Document(row["key"], row["text"], None, {"year": row["year"], "v": row["v"]}) for row in rows]
    for documents in (rows, path, [path], carried, inside):
        found = list(paired(documents, "v"))
        assert [document for document, _ in found] == expected
        np.testing.assert_array_equal([vector for _, vector in found], ROWS.astype(np.float32))
    assert "v" in inside[0].metadata  # what the user has passed stays as it is
    assert next(paired([{"v": [1.0]}], "v"))[0] == Document(None)  # a text is not needed
    with pytest.raises(ValueError, match=r"document 0 has no field 'w'.*'v'"):
        list(paired(rows, "w"))
    with pytest.raises(TypeError, match="document 0 is a str"):
        list(paired(["a"], "v"))
    with pytest.raises(TypeError, match="no documents"):
        list(paired(None, "v"))


def column(kind, rows):
    import pyarrow as pa

    lists = {
        "fixed": pa.list_(pa.float32(), 3),
        "list": pa.list_(pa.float64()),
        "large": pa.large_list(pa.float32()),
        "half": pa.list_(pa.float16()),
        "int": pa.list_(pa.int32()),
    }
    values = rows.astype({"half": np.float16, "int": np.int32}.get(kind, np.float64))
    return pa.array(list(values) if kind == "half" else values.tolist(), type=lists[kind])


@pytest.mark.parametrize("kind", ["fixed", "list", "large", "half", "int"])
def test_columns_of_tables(kind, tmp_path):
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from pyarrow import parquet

    table = pa.table({"text": ["a", "b", "c"], "v": column(kind, ROWS), "tags": [[1], [], [2]]})
    parquet.write_table(table, tmp_path / "docs.parquet")
    expected = ROWS.astype(int) if kind == "int" else ROWS
    sliced = pa.concat_tables([table, table]).combine_chunks().slice(3)  # the values do not begin where the column does
    for source in (table, sliced, tmp_path / "docs.parquet", table.select(["v"])):
        found = list(paired(source, "v"))
        np.testing.assert_array_equal([vector for _, vector in found], expected.astype(np.float32))
    assert next(paired(table, "v"))[0] == Document(None, "a", None, {"tags": [1]})


def test_missing_values_of_columns():
    pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(ValueError, match="row 1 of the table must be real numbers, got a NoneType"):
        list(paired(pa.table({"v": [[1.0], None]}), "v"))
    with pytest.raises(ValueError, match="row 0 of the table must be finite, got NaN"):
        list(paired(pa.table({"v": [[1.0, None]]}), "v"))


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_columns_of_frames(library):
    frames = pytest.importorskip(library, reason=f"{library} is not installed")
    for cells in (ROWS.tolist(), list(ROWS), list(ROWS.astype(np.float32))):
        frame = frames.DataFrame({"text": ["a", "b", "c"], "v": cells, "year": [1, 2, 3]})
        found = list(paired(frame, "v"))
        np.testing.assert_array_equal([vector for _, vector in found], ROWS.astype(np.float32))
        assert found[0][0] == Document(None, "a", None, {"year": 1})


def test_files_beside_documents(tmp_path):
    path = tmp_path / "v.npy"
    np.save(path, ROWS.astype(np.float16))
    assert isinstance(open_vectors(path), np.memmap)
    for vectors in (path, str(path), Path(path)):
        found = [vector for _, vector in paired(["a", "b", "c"], vectors)]
        np.testing.assert_array_equal(found, ROWS.astype(np.float32))
    for count in (2, 5):
        with pytest.raises(ValueError, match=f"{count} documents, 3 vectors"):
            list(paired(["a"] * count, path))
    for name, content in {"flat.npy": ROWS[0], "words.npy": np.array([["a"]]), "deep.npy": np.ones((2, 2, 2))}.items():
        np.save(tmp_path / name, content)
        with pytest.raises(ValueError, match=f"{name} has the shape"):
            open_vectors(tmp_path / name)
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "junk.npy").write_bytes(b"junk" * 100)
    np.savez(tmp_path / "several.npz", a=ROWS)
    for name in ("objects.npy", "empty.npy", "junk.npy"):
        with pytest.raises(ValueError, match=r"numpy.save"):
            open_vectors(tmp_path / name)
    with pytest.raises(ValueError, match="several arrays"):
        open_vectors(tmp_path / "several.npz")
    with pytest.raises(FileNotFoundError):
        open_vectors("missing.npy")
    with pytest.raises(ValueError, match="one row per document"):
        open_vectors(ROWS[0])


def test_rows_of_a_file_stay_with_their_records_when_some_are_skipped(tmp_path):
    """A bad line, a bad record and a bad vector are left out, each with the other half of it."""
    lines = [json.dumps({"key": f"k{i}", "text": f"t{i}"}) for i in range(6)]
    lines[1], lines[3] = "{", json.dumps({"key": ["list"], "text": ""})
    (tmp_path / "a.jsonl").write_text("\n".join(lines[:4]) + "\n\n")
    (tmp_path / "b.jsonl").write_text("\n".join(lines[4:]) + "\n")
    rows = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
    rows[4, 1] = np.nan
    np.save(tmp_path / "v.npy", rows)
    sources, skipped = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"], []
    found = list(read_documents(sources, on_bad=skipped.append, vector_file=tmp_path / "v.npy"))
    assert [document.key for document in found] == ["k0", "k2", "k5"]
    np.testing.assert_array_equal([document.vector for document in found], rows[[0, 2, 5]])
    assert len(skipped) == 3
    np.save(tmp_path / "v.npy", rows[:5])
    with pytest.raises(ValueError, match=r"6 documents, 5 vectors in .*v.npy"):
        list(read_documents(sources, on_bad=skipped.append, vector_file=tmp_path / "v.npy"))
    np.save(tmp_path / "v.npy", np.ones((9, 2)))
    with pytest.raises(ValueError, match=r"6 documents, 9 vectors in .*v.npy"):
        list(read_documents(sources, on_bad=skipped.append, vector_file=tmp_path / "v.npy"))


def test_files_beside_folders(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / "docs").mkdir(exist_ok=True)
        (tmp_path / "docs" / name).write_text(name)
    np.save(tmp_path / "v.npy", np.eye(2))
    found = list(read_documents(tmp_path / "docs", vector_file=tmp_path / "v.npy"))
    assert [(document.key, document.vector.tolist()) for document in found] == [("a.txt", [1, 0]), ("b.txt", [0, 1])]


def test_arrays_of_anything():
    check = VectorCheck()
    assert check([[1.0, 2.0]], "one row").shape == (2,)
