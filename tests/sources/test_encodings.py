"""Text in any encoding: told by its mark or its zeros, tried in turn, or named in an error that says where."""

import codecs
import json

import pytest

from sthash.sources import BadRecord, Document, read_documents
from sthash.sources.encodings import likely_encoding
from sthash.sources.reader import SkippedFilesWarning

TEXT = "Stürme über 猫 \U0001f431"
WIDE = {
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
    "utf-8": codecs.BOM_UTF8,
}
CONTENTS = {
    "a.lines": f"{TEXT}\n{TEXT}\n",
    "a.jsonl": f"{json.dumps({'text': TEXT}, ensure_ascii=False)}\r\n" * 2,
    "a.json": json.dumps([{"text": TEXT}] * 2, ensure_ascii=False, indent=2),
    "a.csv": f"text\n{TEXT}\n{TEXT}\n",
    "a.tsv": f"text\r\n{TEXT}\r\n{TEXT}\r\n",
}


@pytest.mark.parametrize("encoding", WIDE)
@pytest.mark.parametrize("name", CONTENTS)
def test_a_byte_order_mark_tells_the_encoding(tmp_path, name, encoding):
    (tmp_path / name).write_bytes(WIDE[encoding] + CONTENTS[name].encode(encoding))
    assert list(read_documents(tmp_path / name)) == [Document(None, TEXT)] * 2
    assert list(read_documents(tmp_path / name, encoding="latin-1")) == [Document(None, TEXT)] * 2


@pytest.mark.parametrize("encoding", WIDE)
def test_utf_16_and_32_are_told_without_a_mark(tmp_path, encoding):
    content = "plain words in English\n" * 500
    (tmp_path / "a.lines").write_bytes(content.encode(encoding))
    texts = [document.text for document in read_documents(tmp_path / "a.lines")]
    assert texts == ["plain words in English"] * 500
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "b.md").write_bytes(content.encode(encoding))
    assert next(read_documents(tmp_path / "folder")).text == content


def test_text_that_looks_like_none_of_them_is_utf_8(tmp_path):
    for content in ("", "a", "ab", "abc\0", "\0\0\0\0", "a\0b\0c", "x" * 9000):
        (tmp_path / "a.md").write_text(content)
        if "\0" not in content:
            assert next(read_documents(tmp_path / "a.md", encoding="utf-8")).text == content
            continue
        for encoding in (None, "utf-8", "latin-1"):
            with pytest.raises(ValueError, match=r"a\.md is binary, not text|a\.md is not UTF-(16|32)"):
                list(read_documents(tmp_path / "a.md", encoding=encoding))


GUESSED = {
    "latin-1": "Über den Flüssen hört man die Schäfer",
    "cp1252": "“Smart quotes” – and a café",
    "cp1251": "Привет, как дела? Всё хорошо",
    "koi8_r": "Привет, как дела? Всё хорошо",
    "shift_jis": "これは日本語の文章です。猫が好きです。",
    "euc_jp": "これは日本語の文章です。猫が好きです。",
    "euc_kr": "한국어 문장입니다. 고양이를 좋아합니다.",
    "gb18030": "这是一个中文句子，我们喜欢猫。他不在这里。",
    "big5": "這是一個中文句子，我們喜歡貓。他不在這裡。",
}


@pytest.mark.parametrize("encoding", GUESSED)
def test_other_encodings_are_named_in_the_error(tmp_path, encoding):
    content = GUESSED[encoding].encode(encoding)
    assert likely_encoding(content) == encoding
    path = tmp_path / "a.lines"
    path.write_bytes(b"plain\n" + content)
    with pytest.raises(ValueError, match=f"a.lines, line 2 is not UTF-8: .* at offset .*--encoding {encoding}"):
        list(read_documents(path))
    assert [document.text for document in read_documents(path, encoding=encoding)] == ["plain", GUESSED[encoding]]


def test_the_offset_is_that_of_the_byte(tmp_path):
    path = tmp_path / "a.json"
    content = json.dumps([{"text": "x" * 3_000_000}, {"text": "ABC"}]).encode().replace(b"ABC", b"\xe4BC")
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"a.json is not UTF-8: the byte 0xE4 at offset {content.index(0xE4):,} "):
        list(read_documents(path))
    path = tmp_path / "b.txt"
    path.write_bytes(codecs.BOM_UTF16_LE + ("x" * 100_000).encode("utf-16-le") + b"\x00\xd8x\x00")
    with pytest.raises(ValueError, match=r"b\.txt is not UTF-16-LE: the byte 0x00 at offset 200,002 "):
        list(read_documents(path))


def test_several_encodings_are_tried_in_turn(tmp_path):
    for name, encoding in {"a.txt": "utf-8", "b.txt": "latin-1", "c.txt": "utf-16"}.items():
        (tmp_path / name).write_text("Schäfer", encoding=encoding)
    with pytest.warns(
        SkippedFilesWarning, match=r"skipped 1 file of .*b\.txt is not UTF-8: .*--encoding utf-8,latin-1"
    ):
        list(read_documents(tmp_path))
    assert [document.text for document in read_documents(tmp_path, encoding="utf-8, latin-1")] == ["Schäfer"] * 3
    skipped = []
    assert [document.key for document in read_documents(tmp_path, on_bad=skipped.append)] == ["a.txt", "c.txt"]
    (bad,) = skipped
    assert isinstance(bad, BadRecord)
    assert bad.place == str(tmp_path / "b.txt")
    with pytest.raises(ValueError, match="encoding='nope' is not known"):
        read_documents(tmp_path, encoding="utf-8,nope")
