"""``sth dedup --passages``: what it removes, marks and reports, and what it leaves as it came."""

import csv
import io
import json

import pytest

SHARED = "Once upon a time there was a text that many people copied into their own. It had two sentences."
TEXTS = [f"First of all. {SHARED} The end.", "Nothing shared here.", f"Another start. {SHARED} Über and out."]
CLEAN = [*TEXTS[:2], "Another start. Über and out."]
ASKED = ("dedup", "--passages", "--min-words", "10")


def lines(text):
    return [json.loads(line) for line in text.splitlines()]


def test_json_lines_keep_all_but_the_text(sth, tmp_path):
    first, second, third, old = map(json.dumps, (*TEXTS, "old"))
    records = [
        f'{{"id": 1,  "n": 1.50, "text": {first}}}',
        f'{{"text": {second}, "id": "2", "x": null }}',
        f'{{"y":1e400, "text" : {old} , "text":{third},  "id": 3, "z": 2020.10}}',
    ]
    (tmp_path / "in.jsonl").write_text("\n".join(records))
    ran = sth(*ASKED, "in.jsonl", "--report", "found.jsonl")
    assert ran.out == "\n".join(records).replace(json.dumps(TEXTS[2]), json.dumps(CLEAN[2]))
    assert "3 documents, 1 repeated passages (0 of templates) in 1 of them: 19 words" in ran.err
    (row,) = lines((tmp_path / "found.jsonl").read_text())
    assert (row["key"], row["of"], row["text"], row["template"]) == ("3", "1", SHARED + " ", False)
    assert TEXTS[2][row["start"] : row["end"]] == row["text"]
    marked = lines(sth(*ASKED, "in.jsonl", "--mark").out)
    assert [record["text"] for record in marked] == TEXTS
    assert marked[2]["repeated"] == [
        {"start": row["start"], "end": row["end"], "of": "1", "of_record": 0, "template": False}
    ]


def test_a_dry_run_only_reports(sth, tmp_path):
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    ran = sth(*ASKED, "in.txt", "--lines", "-o", "out.txt", "--report", "found.jsonl", "--dry-run")
    assert "would be removed" in ran.err
    assert "Once upon a time" in ran.out
    assert not (tmp_path / "out.txt").exists()
    assert lines((tmp_path / "found.jsonl").read_text())[0]["of_record"] == 0


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
def test_tables_and_lines_in_their_encoding(sth, tmp_path, encoding):
    def table(texts):
        file = io.StringIO(newline="")
        csv.writer(file, delimiter=";").writerows([["id", "body"], *enumerate(texts)])
        return file.getvalue().encode(encoding)

    (tmp_path / "in.csv").write_bytes(table(TEXTS))
    sth(*ASKED, "in.csv", "--text", "body", "--encoding", encoding, "-o", "out.csv")
    assert (tmp_path / "out.csv").read_bytes() == table(CLEAN)
    (tmp_path / "in.txt").write_bytes("\r\n".join(TEXTS).encode(encoding))
    sth(*ASKED, "in.txt", "--lines", "--encoding", encoding, "-o", "out.txt")
    assert (tmp_path / "out.txt").read_bytes() == "\r\n".join(CLEAN).encode(encoding)


def test_parquet(sth, tmp_path):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"n": [1, None, 3], "text": pa.array(TEXTS, pa.large_string()), "x": [[1], [], None]})
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=2)
    sth(*ASKED, "in.parquet", "-o", "out.parquet")
    written = pq.read_table(tmp_path / "out.parquet")
    assert written.schema == table.schema
    assert written.equals(table.set_column(1, "text", pa.array(CLEAN, pa.large_string())))
    assert [row["text"] for row in lines(sth(*ASKED, "in.parquet").out)] == CLEAN


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--threshold", "0.5"), "--threshold is about whole documents"),
        (("--measure", "jaccard"), "--measure is about whole documents"),
        (("--index", "seen.idx"), "--index is about whole documents"),
        (("--min-words", "1"), "--min-words"),
        (("--text", "id", "--text", "text"), "several fields"),
        (("--memory", "1k"), "--memory 1k is too little"),
    ],
)
def test_bad_options(sth, tmp_path, options, message):
    (tmp_path / "in.jsonl").write_text(
        "".join(json.dumps({"id": str(n), "text": t}) + "\n" for n, t in enumerate(TEXTS))
    )
    (tmp_path / "out.jsonl").write_text("before")
    status = 2 if "about whole" in message else 1
    assert message in sth(*ASKED, "in.jsonl", "-o", "out.jsonl", *options, status=status).err
    assert (tmp_path / "out.jsonl").read_text() == "before"


def test_marks_need_json(sth, tmp_path):
    (tmp_path / "in.txt").write_text("\n".join(TEXTS))
    assert "-o FILE.jsonl" in sth(*ASKED, "in.txt", "--lines", "--mark", "-o", "out.txt", status=1).err
    assert not (tmp_path / "out.txt").exists()
    sth(*ASKED, "in.txt", "--lines", "--mark", "-o", "out.jsonl")
    assert len(lines((tmp_path / "out.jsonl").read_text())) == 3
    assert "--mark goes with --passages" in sth("dedup", "in.txt", "--mark", status=2).err
