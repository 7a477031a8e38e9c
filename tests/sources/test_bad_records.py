"""Records that cannot be read: skipped and told, none lost, none invented; and sources that are too large."""

import bz2
import gzip
import importlib
import io
import json
import lzma
import re
import sys

import pytest

from sthash.extras import install_command
from sthash.sources import Document, SourceFields, compression, formats, read_documents, records
from sthash.sources.kinds import reading
from sthash.sources.reader import SkippedFilesWarning

CASES = {
    "a.jsonl": (
        b'{"text": "one"}\n{"text": \n[1]\n\n{"body": "x"}\n{"text": "\xe4"}\n{"text": {"a": 1}}\n{"text": "two"}\n',
        ["line 2", "line 3", "line 5", "line 6", "line 7"],
    ),
    "a.lines": (b"one\n\xe4\xe4\ntwo\n", ["line 2"]),
    "a.csv": (
        b'text,b\none,1\nx\n"\xe4\n\xe4",2\n"a"x,3\nx,4,5\ntwo,6\n',
        ["line 3", "line 5", "line 6", "line 7"],
    ),
    "b.csv": (b'text,b\none,1\ntwo,2\n"never closed,3\nx,4\n', ["line 5"]),
    "a.json": (b'[{"text": "one"}, 5, {"body": 1}, {"text": "two"}]', ["item 2", "item 3"]),
    "b.json": (b'[{"text": "one"}, {"text": "two"}, {"text" "x"}, {"text": "lost"}]', ["item 3 and the rest of it"]),
    "c.json": (b'[{"text": "one"}, {"text": "two"}', ["item 2 and the rest"]),
    "d.json": (b'{"text": "one"}\n{\n"text": "two"}\n\n[5]', ["item 3"]),
    "f.json": (b'[{"text": "one"}]\n[{"text": "two"}] , garbage', ["item 3 and the rest of it"]),
    "e.json": (b'[{"text": "one"}, {"text": "two"}, ', ["e.json"]),
}


@pytest.mark.parametrize("name", CASES)
def test_bad_records_are_skipped_and_told(tmp_path, name):
    content, places = CASES[name]
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=name):
        list(read_documents(path))
    skipped = []
    texts = [document.text for document in read_documents(path, on_bad=skipped.append)]
    assert texts == (["one", "two"] if name != "c.json" else ["one"])
    assert len(skipped) == len(places)
    for bad, place in zip(skipped, places, strict=True):
        assert bad.place.startswith(str(path))
        assert place in bad.place
        assert name in bad.reason


def test_what_was_skipped_can_be_read(tmp_path):
    (tmp_path / "a.jsonl").write_bytes(b'{"body": "x", "n": 1}\nnot JSON\n\xe4\n')
    skipped = []
    assert list(read_documents(tmp_path / "a.jsonl", on_bad=skipped.append)) == []
    assert [bad.content for bad in skipped] == ["{'body': 'x', 'n': 1}", "not JSON", "ä"]


def test_columns_that_half_of_the_records_have(tmp_path):
    path = tmp_path / "a.jsonl"
    rows = [{"body" if n % 2 else "title": f"text {n}", "id": n} for n in range(10)]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.raises(ValueError, match=r"line 1 has no field 'body'\. Set text \(--text\) .* has: 'title', 'id'"):
        list(read_documents(path, SourceFields(text="body")))
    skipped = []
    found = list(read_documents(path, SourceFields(text="body"), on_bad=skipped.append))
    assert (len(found), len(skipped)) == (5, 5)


def test_a_missing_source_is_never_skipped(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(read_documents(tmp_path / "missing.jsonl", on_bad=[].append))


def test_an_array_is_read_item_by_item(tmp_path, monkeypatch):
    rows = [{"text": "x" * (n % 50), "n": [n, {"a": "]},{"}]} for n in range(300)]
    for indent in (None, 3):
        (tmp_path / "a.json").write_text(json.dumps(rows, indent=indent))
        for chunk in (7, 1 << 20):
            monkeypatch.setattr(formats, "_CHUNK", chunk)
            found = list(read_documents(tmp_path / "a.json"))
            assert [document.metadata["n"] for document in found] == [row["n"] for row in rows]
    (tmp_path / "a.json").write_text(" [] ")
    assert list(read_documents(tmp_path / "a.json")) == []
    (tmp_path / "a.json").write_text("")
    assert list(read_documents(tmp_path / "a.json")) == []


def test_markdown_and_other_endings(tmp_path):
    for name in ("a.md", "b.markdown"):
        (tmp_path / name).write_text("# Title\n\ntext")
        assert list(read_documents(tmp_path / name)) == [
            Document(str(tmp_path / name), "# Title\n\ntext", None, {"title": "Title"})
        ]
    (tmp_path / "c.ndjson").write_text('{"text": "a"}\n')
    assert list(read_documents(tmp_path / "c.ndjson")) == [Document(None, "a")]


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"])
def test_every_end_of_a_line_in_tables(tmp_path, end):
    (tmp_path / "a.csv").write_bytes(f'text,b{end}one,"x{end}y"{end}two,3{end}'.encode())
    found = [(document.text, document.metadata["b"]) for document in read_documents(tmp_path / "a.csv")]
    assert found == [("one", f"x{end}y"), ("two", "3")]


def test_a_table_with_a_name_twice(tmp_path):
    (tmp_path / "a.csv").write_text("text,b,b\none,2,3\n")
    with pytest.raises(ValueError, match="line 1 has the field 'b' twice"):
        list(read_documents(tmp_path / "a.csv"))


@pytest.mark.parametrize(
    ("include", "exclude", "wanted"),
    [
        (["*.md"], [], ["a.md", "drafts/b.md", "guide/deep/d.md"]),
        (["*.md"], ["drafts"], ["a.md", "guide/deep/d.md"]),
        ([], ["*.md", "guide/"], ["c.txt"]),
        (["guide/*.md", "c.*"], [], ["c.txt", "guide/deep/d.md"]),
        (["guide"], ["guide/deep"], ["guide/e.txt"]),
        ([], [], ["a.md", "c.txt", "drafts/b.md", "guide/deep/d.md", "guide/e.txt"]),
    ],
)
def test_patterns(tmp_path, include, exclude, wanted):
    for name in ("a.md", "c.txt", "drafts/b.md", "guide/deep/d.md", "guide/e.txt", ".git/config"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
    found = read_documents(tmp_path, include=include, exclude=exclude)
    assert [document.key for document in found] == wanted


def test_a_pattern_that_nothing_matches(tmp_path):
    (tmp_path / "a.md").write_text("a")
    with pytest.raises(ValueError, match=r"no file in .* matches \*\.text or \*\.html\. Change include"):
        list(read_documents(tmp_path, include=["*.text", "*.html"]))


# Size


BOMBS = {".gz": gzip.compress, ".xz": lzma.compress, ".bz2": bz2.compress}


@pytest.mark.parametrize("suffix", BOMBS)
@pytest.mark.parametrize("name", ["a.lines", "a.jsonl", "a.csv", "a.json", "a.txt", "folder/a.txt"])
def test_a_compressed_file_expands_only_so_far(tmp_path, monkeypatch, name, suffix):
    monkeypatch.setattr(compression, "FREE_BYTES", 1 << 17)
    monkeypatch.setattr(compression, "MOST_EXPANSION", 10)
    path = tmp_path / f"{name}{suffix}"
    path.parent.mkdir(exist_ok=True)
    item = {"a.jsonl": b'{"text": "x"}\n', "a.json": b'{"text": "x"} ', "a.csv": b"text\n"}.get(name, b"x\n")
    path.write_bytes(BOMBS[suffix](item * (1_000_000 // len(item))))
    source = path.parent if "/" in name else path
    with pytest.raises(
        (ValueError, SkippedFilesWarning),
        match=r"expands to more than [\d,]+ bytes, and 10 times its own size\. If you trust",
    ):
        sum(1 for _ in read_documents(source))
    skipped = []
    sum(1 for _ in read_documents(source, on_bad=skipped.append))
    assert "expands to more" in skipped[-1].reason


@pytest.mark.parametrize("name", ["a.lines", "a.jsonl", "a.csv", "b.csv", "a.json", "a.md", "folder/a.txt"])
def test_a_record_has_a_size(tmp_path, monkeypatch, name):
    for module in (formats, records, reading):
        monkeypatch.setattr(module, "LARGEST_RECORD", 1000)
    content = {
        "a.jsonl": json.dumps({"text": "x" * 2000}) + '\n{"text": "after"}\n',
        "a.csv": "text,n\n" + "x" * 2000 + ",1\nafter,2\n",
        "b.csv": 'text,n\n"' + "x\n" * 2000 + '",1\nafter,2\n',
        "a.json": json.dumps([{"text": "x" * 4_000_000}, {"text": "after"}]),
    }.get(name, "x" * 2000 + "\nafter\n")
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    source = path.parent if "/" in name else path
    with pytest.raises((ValueError, SkippedFilesWarning), match=r"larger than (0 MiB|field limit)"):
        list(read_documents(source))
    skipped = []
    texts = [document.text for document in read_documents(source, on_bad=skipped.append)]
    assert len(skipped) >= 1
    assert texts == (["after"] if name in ("a.lines", "a.jsonl", "a.csv") else [])


# Zstandard


def zstandard(content):
    return pytest.importorskip("zstandard", reason="zstandard is not installed").ZstdCompressor().compress(content)


def test_zstandard(tmp_path):
    content = b"".join(b'{"text": "%d"}\n' % number**5 for number in range(20_000))
    half = content.index(b"\n", len(content) // 2) + 1
    frames = zstandard(content[:half]) + zstandard(content[half:])
    path = tmp_path / "a.jsonl.zst"
    path.write_bytes(frames)
    assert [document.text for document in read_documents(path)] == [str(number**5) for number in range(20_000)]
    for broken in (frames[:-20], frames + b"no frame", b"not compressed at all", frames[: len(frames) // 3]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="damaged or cut short"):
            list(read_documents(path))


def test_a_bomb_of_zstandard(tmp_path, monkeypatch):
    monkeypatch.setattr(compression, "FREE_BYTES", 1 << 17)
    (tmp_path / "a.txt.zst").write_bytes(zstandard(b"x\n" * 500_000))
    with pytest.raises(ValueError, match="expands to more"):
        sum(1 for _ in read_documents(tmp_path / "a.txt.zst"))


def test_without_zstandard(tmp_path, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    (tmp_path / "a.txt.zst").write_bytes(b"")
    with pytest.raises(
        ImportError, match=rf"a\.txt\.zst: \.zst needs zstandard\. Install it: {re.escape(install_command('zstd'))}"
    ):
        list(read_documents(tmp_path / "a.txt.zst"))


def test_a_pipe_that_gives_little_at_a_time(monkeypatch):
    class Slow(io.RawIOBase):
        content = b'{"text": "one"}\n{"text": "two"}\n'

        def readable(self):
            return True

        def readinto(self, buffer):
            given, self.content = self.content[:3], self.content[3:]
            buffer[: len(given)] = given
            return len(given)

    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BufferedReader(Slow())))
    assert [document.text for document in read_documents("-")] == ["one", "two"]


def test_arrays_one_after_the_other_are_all_read(tmp_path):
    path = tmp_path / "all.json"
    path.write_text('[{"text": "one"}]\n[]\n[{"text": "two"}, {"text": "three"}]\n')
    assert [document.text for document in read_documents(path)] == ["one", "two", "three"]


@pytest.mark.parametrize("number", ["123456", "1.5", "1e+5", "-12"])
@pytest.mark.parametrize("before", [1, 2, 3])
def test_a_number_that_two_reads_share_takes_nothing_with_it(tmp_path, monkeypatch, number, before):
    monkeypatch.setattr(formats, "_CHUNK", 64)
    path = tmp_path / "a.json"
    path.write_text("[" + " " * (63 - before) + number + ',{"text": "good"}]')
    skipped = []
    assert [document.text for document in read_documents(path, on_bad=skipped.append)] == ["good"]
    assert [bad.content for bad in skipped] == [str(json.loads(number))]


def test_a_parquet_file_that_expands_too_far_is_refused(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    monkeypatch.setattr(compression, "FREE_BYTES", 1 << 20)
    values = {"text": ["x" * 300_000] * 20}
    nested = {"text": ["a"] * 20, "parts": [[{"part": "x" * 300_000}]] * 20}
    mapped = {"text": ["a"] * 20, "m": pyarrow.array([[("k", "x" * 300_000)]] * 20, pyarrow.map_("string", "string"))}
    for columns in (values, nested, mapped):
        path = tmp_path / "wide.parquet"
        parquet.write_table(pyarrow.table(columns), path, compression="zstd")
        with pytest.raises(ValueError, match="expands to more than"):
            list(read_documents(path))


def test_a_damaged_parquet_file_is_named_and_skipped(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "a.parquet"
    parquet.write_table(pyarrow.table({"text": ["a", "b"]}), path)
    content = bytearray(path.read_bytes())
    content[20:40] = b"\xff" * 20
    path.write_bytes(content)
    skipped = []
    assert list(read_documents(path, on_bad=skipped.append)) == []
    assert [str(path) in bad.reason for bad in skipped] == [True]


def test_many_columns_and_many_spaces(tmp_path):
    """If each column were compared with all others, or spaces were read one by one, this would take minutes."""
    names = [f"c{number}" for number in range(150_000)]
    (tmp_path / "wide.csv").write_text("text," + ",".join(names) + "\nhello" + ",1" * len(names) + "\n")
    (document,) = read_documents(tmp_path / "wide.csv")
    assert (document.text, len(document.metadata)) == ("hello", len(names))
    (tmp_path / "spaces.json.gz").write_bytes(gzip.compress(b"[" + b" " * 60_000_000 + b'{"text":"a"}]', 1))
    assert [document.text for document in read_documents(tmp_path / "spaces.json.gz")] == ["a"]
