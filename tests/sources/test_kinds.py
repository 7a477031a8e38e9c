"""Files of all kinds: a sentence from the middle is in the text, and what is no text is named."""

import io
import json
import mailbox
import os
import sys
import zipfile

import pytest

from sthash import Collection
from sthash.extras import install_command
from sthash.sources import SourceFields, read_documents
from sthash.sources.kinds import archives, reading
from sthash.sources.reader import SkippedFilesWarning
from support.components import require

SENTENCE = "The lighthouse keeper counted ninety ships & two whales."
ESCAPED = SENTENCE.replace("&", "&amp;")


def zipped(**parts):
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return content.getvalue()


CORE = {"docProps/core.xml": '<c xmlns:dc="d"><dc:creator>Ann</dc:creator><dc:title>A title</dc:title></c>'}
W = '<w:document xmlns:w="w"><w:p><w:r><w:t>First</w:t><w:tab/><w:t>line</w:t></w:r></w:p><w:p><w:r><w:t>{}</w:t></w:r>'
W += "<w:instrText>HIDDEN</w:instrText></w:p></w:document>"
OPF = """<package xmlns:dc="d"><metadata><dc:title>A title</dc:title></metadata><manifest>
<item id="b" href="two%20b.xhtml" media-type="application/xhtml+xml"/><item id="c" href="c.css" media-type="text/css"/>
<item id="a" href="one.xhtml" media-type="application/xhtml+xml"/></manifest>
<spine><itemref idref="a"/><itemref idref="b"/></spine></package>"""
HTML = f"""<!doctype html><html><head><title>A title</title><style>p {{ HIDDEN }}</style></head>
<body><script>HIDDEN < 3</script><h1>First</h1><p>{ESCAPED.replace(" ", "  ", 1)}</p>
<ul><li>one<li>two</ul></body></html>"""
MAIL = f"""From: Ann <ann@example.org>
To: bo@example.org
Subject: =?utf-8?q?A_title?=
Date: Mon, 1 Jan 2024 10:00:00 +0000
MIME-Version: 1.0
Content-Type: multipart/mixed; boundary=XX

--XX
Content-Type: text/html; charset=utf-8

<p>First</p><p>{ESCAPED}</p>
--XX
Content-Type: image/png; name="HIDDEN.png"
Content-Transfer-Encoding: base64
Content-Disposition: attachment; filename="photo.png"

SElEREVOSElEREVOSElEREVO
--XX--
"""
FILES = {
    "a.txt": f"First line\n{SENTENCE}\n".encode(),
    "a.py": f'"""{SENTENCE}"""\nx = 1\n'.encode(),
    "a.log": f"\x1b[31m2024-01-01\x1b[0m {SENTENCE}\n".encode(),
    "README": SENTENCE.encode(),
    "a.md": f"---\ntitle: A title\ntags: [sea, 7]\nHIDDEN: 1\n---\n# First\n\n{SENTENCE}\n".encode(),
    "b.md": f"# A title #\n\n{SENTENCE}".encode(),
    "a.html": HTML.encode(),
    "b.htm": HTML.replace("<head>", '<head><meta charset="latin-1">').replace("First", "Größe").encode("latin-1"),
    "a.ipynb": json.dumps(
        {
            "cells": [
                {"cell_type": "markdown", "metadata": {}, "source": ["# A title\n", "Text"]},
                {"cell_type": "code", "source": [f'"""{SENTENCE}"""'], "outputs": [{"data": {"image/png": "HIDDEN"}}]},
                {"cell_type": "code", "source": "", "outputs": []},
            ],
            "nbformat": 4,
        }
    ).encode(),
    "old.ipynb": json.dumps({"worksheets": [{"cells": [{"cell_type": "code", "input": [SENTENCE]}]}]}).encode(),
    "a.eml": MAIL.encode(),
    "a.srt": f"1\n00:00:01,000 --> 00:00:02,000\n<i>A</i>\n\n2\n00:00:03,000 --> 00:00:04,000\n{SENTENCE}\n".encode(),
    "a.vtt": f"WEBVTT HIDDEN\n\nNOTE\nHIDDEN\n\n00:01.000 --> 00:02.000\n{SENTENCE}\n".encode(),
    "a.docx": zipped(**{"word/document.xml": W.format(ESCAPED)}, **CORE),
    "a.odt": zipped(
        **{"content.xml": f'<o xmlns:t="t"><t:h>First</t:h><t:p>The <t:span>{ESCAPED[4:]}</t:span></t:p></o>'},
        **{"meta.xml": '<m xmlns:dc="d"><dc:title>A title</dc:title></m>'},
    ),
    "a.pptx": zipped(
        **{"ppt/slides/slide10.xml": f'<s xmlns:a="a"><a:p><a:r><a:t>{ESCAPED}</a:t></a:r></a:p></s>'},
        **{"ppt/slides/slide2.xml": '<s xmlns:a="a"><a:p><a:t>First</a:t></a:p></s>'},
        **CORE,
    ),
    "a.xlsx": zipped(
        **{"xl/sharedStrings.xml": f"<sst><si><t>First</t></si><si><r><t>{ESCAPED}</t></r></si></sst>"},
        **{
            "xl/worksheets/sheet1.xml": '<w><row><c t="s"><v>0</v></c><c><v>7.5</v></c></row><row><c t="s"><v>1</v></c>'
            '<c t="inlineStr"><is><t>inline</t></is></c></row></w>'
        },
        **CORE,
    ),
    "a.epub": zipped(
        **{"META-INF/container.xml": '<c><rootfiles><rootfile full-path="OPS/p.opf"/></rootfiles></c>'},
        **{"OPS/p.opf": OPF, "OPS/one.xhtml": "<html><p>First</p></html>", "OPS/c.css": "HIDDEN"},
        **{"OPS/two b.xhtml": f"<html><head><title>HIDDEN</title></head><p>{ESCAPED}</p></html>"},
    ),
}
TITLED = {"a.ipynb", "a.md", "b.md", "a.html", "b.htm", "a.eml", "a.docx", "a.odt", "a.pptx", "a.xlsx", "a.epub"}


@pytest.mark.parametrize("name", FILES)
def test_every_kind(tmp_path, name):
    (tmp_path / name).write_bytes(FILES[name])
    (document,) = read_documents(tmp_path)
    assert SENTENCE in document.text
    assert "HIDDEN" not in document.text
    assert document.key == name
    assert document.metadata.get("title") == ("A title" if name in TITLED else None)
    (alone,) = read_documents(tmp_path / name)
    assert (alone.text, alone.metadata) == (document.text, document.metadata)


STATED = {
    "a.xml": ('<?xml version="1.0" encoding="shift_jis"?><a>こんにちは</a>', "shift_jis"),
    "a.py": ("#!/usr/bin/python\n# -*- coding: koi8-r -*-\nx = 'привет'\n", "koi8-r"),
    "a.vim": ('" vim: set fileencoding=cp1250 : č\n', "cp1250"),
    "wrong.py": ("# -*- coding: latin-1 -*-\nx = 'größer'\n", "utf-8"),
    "a.html": ('<meta charset="cp1253"><p>καλημέρα</p>', "cp1253"),
}


@pytest.mark.parametrize("name", STATED)
def test_files_are_read_in_the_encoding_that_they_state(tmp_path, name):
    text, encoding = STATED[name]
    (tmp_path / name).write_bytes(text.encode(encoding))
    (document,) = read_documents(tmp_path)
    assert document.text in text
    assert document.text


@pytest.mark.parametrize("stated", ["base64", "rot13", "zlib", "undefined", "idna", "utf-16", "no-such-encoding"])
@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.html", b"<meta charset=%s><p>gr\xf6\xdfer"),
        ("a.py", b"# coding: %s\n'gr\xf6\xdfer'"),
        ("a.xml", b"<?xml version='1.0' encoding='%s'?><a>gr\xf6\xdfer</a>"),
    ],
)
def test_a_stated_encoding_that_is_none_of_texts_skips_the_file_at_most(tmp_path, name, content, stated):
    (tmp_path / name).write_bytes(content % stated.encode())
    (tmp_path / "b.txt").write_text("good")
    skipped = []
    assert "b.txt" in [document.key for document in read_documents(tmp_path, on_skip=skipped.append)]
    assert all("is not UTF-8" in bad.reason for bad in skipped)


def test_order_and_metadata(tmp_path):
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    found = {document.key: document for document in read_documents(tmp_path)}
    assert set(found) == set(FILES)
    assert found["a.docx"].text == f"First line\n{SENTENCE}"
    assert found["a.xlsx"].text == f"First\t7.5\n{SENTENCE}\tinline"
    assert found["a.pptx"].text == f"First\n{SENTENCE}"
    assert found["a.epub"].text == f"First\n\n{SENTENCE}"
    assert found["a.html"].text == f"First\n\n{SENTENCE}\n\none\ntwo"
    assert "Größe" in found["b.htm"].text
    assert found["a.md"].metadata["tags"] == ["sea", 7]
    assert found["a.eml"].metadata["from"] == "Ann <ann@example.org>"
    assert found["a.eml"].metadata["attachments"] == ["photo.png"]


def test_a_folder_of_all_kinds_is_built_and_found(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    for name, content in (FILES | {name: content for name, (content, _) in BROKEN.items()}).items():
        (folder / name).write_bytes(content)
    skipped = []
    with Collection.create(tmp_path / "c.sth", read_documents(folder, on_skip=skipped.append)) as collection:
        hits = collection.search('"keeper counted ninety ships"', k=100)
        assert {hit.key for hit in hits} == set(FILES)
        assert {bad.place for bad in skipped} == {str(folder / name) for name in BROKEN}
        assert collection.search("keeper", k=1, where={"title": "A title"}, snippet=40)[0].snippet.text


def test_a_table_in_a_folder_is_named(tmp_path):
    (tmp_path / "a.parquet").write_bytes(b"PAR1")
    skipped = []
    assert not list(read_documents(tmp_path, on_skip=skipped.append))
    assert skipped[0].reason.endswith("a.parquet is a table, not one document. Name it as a source of its own.")
    with pytest.raises(FileNotFoundError, match="nowhere does not exist"):
        list(read_documents(tmp_path / "nowhere"))


def test_mailboxes(tmp_path):
    box = mailbox.mbox(tmp_path / "a.mbox")
    for number in range(3):
        box.add(f"From: a@b\nSubject: s{number}\n\nFrom here on\nmessage {number}\n")
    box.close()
    (tmp_path / "a.mbox").rename(tmp_path / "all.mbox")
    found = list(read_documents(tmp_path))
    assert [(document.key, document.metadata["title"]) for document in found] == [
        (f"all.mbox#{number + 1}", f"s{number}") for number in range(3)
    ]
    assert found[1].text == "From here on\nmessage 1\n\n"


def pdf(password=None, text=SENTENCE):
    require("pypdf")
    import pypdf
    from pypdf.generic import DecodedStreamObject, DictionaryObject, NameObject

    writer = pypdf.PdfWriter()
    page = writer.add_blank_page(300, 300)
    font = DictionaryObject({NameObject("/Type"): NameObject("/Font"), NameObject("/Subtype"): NameObject("/Type1")})
    font[NameObject("/BaseFont")] = NameObject("/Helvetica")
    fonts = DictionaryObject({NameObject("/F1"): writer._add_object(font)})
    page[NameObject("/Resources")] = DictionaryObject({NameObject("/Font"): fonts})
    drawn = DecodedStreamObject()
    drawn.set_data(f"BT /F1 8 Tf 10 100 Td ({text}) Tj ET".encode())
    page[NameObject("/Contents")] = writer._add_object(drawn)
    writer.add_metadata({"/Title": "A title"})
    if password:
        writer.encrypt(password, algorithm="RC4-128")
    content = io.BytesIO()
    writer.write(content)
    return content.getvalue()


def test_pdf(tmp_path):
    (tmp_path / "a.pdf").write_bytes(pdf())
    (document,) = read_documents(tmp_path)
    assert (document.text, document.metadata) == (SENTENCE, {"title": "A title"})


def test_pdf_without_the_extra(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pypdf", None)
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4")
    (tmp_path / "b.txt").write_text("text")
    skipped = []
    assert [document.key for document in read_documents(tmp_path, on_skip=skipped.append)] == ["b.txt"]
    assert skipped[0].reason.endswith(f"a.pdf: PDF needs pypdf. Install it: {install_command('files')}.")


LAUGHS = (
    '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]><w:p xmlns:w="w"><w:t>&b;</w:t></w:p>'
)
BROKEN = {
    "image.png": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "is binary"),
    "code.pyc": (b"\xcb\r\r\n\0\0\0\0abc", "is binary"),
    "noise.txt": (bytes(range(1, 256)), "is binary"),
    "old.doc": (b"\xd0\xcf\x11\xe0", r"\.doc files are not read. Save it as \.docx"),
    "notes.rtf": (b"{\\rtf1 text}", r"\.rtf files are not read"),
    "latin.txt": ("Schäfer".encode("latin-1"), "is not UTF-8"),
    "cut.docx": (FILES["a.docx"][:200], r"cannot be read as \.docx"),
    "empty.docx": (b"", r"cannot be read as \.docx"),
    "other.docx": (zipped(**{"a.txt": "x"}), r"cannot be read as \.docx"),
    "laughs.docx": (zipped(**{"word/document.xml": LAUGHS}), "declares entities"),
    "bad.xlsx": (zipped(**{"xl/worksheets/sheet1.xml": "<w><row>"}), r"cannot be read as \.xlsx"),
    "bad.epub": (zipped(**{"META-INF/container.xml": "<c/>"}), r"cannot be read as \.epub"),
    "text.eml": (b"just a text", "cannot be read as e-mail"),
    "other.sth": (b"SQLite format 3\0" + bytes(100), "is a collection, not a source"),
    "cut.ipynb": (b'{"cells": [{"cell_type": "code"', "cannot be read as a notebook"),
    "other.ipynb": (b'{"cells": [1]}', "is JSON, but not that of a notebook"),
    "list.ipynb": (b"[1]", "is JSON, but not that of a notebook"),
    "cut.gz": (b"\x1f\x8b", "damaged or cut short"),
}


def test_what_cannot_be_read_is_named_and_the_rest_is_read(tmp_path):
    for name, (content, _) in BROKEN.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "good.txt").write_text(SENTENCE)
    (tmp_path / "loop").symlink_to(tmp_path)
    (tmp_path / "dangling.txt").symlink_to(tmp_path / "nowhere")
    (tmp_path / "circle").symlink_to("circle")
    os.mkfifo(tmp_path / "pipe")
    skipped = []
    (document,) = read_documents(tmp_path, on_skip=skipped.append)
    assert document.text == SENTENCE
    reasons = {os.path.basename(bad.place): bad.reason for bad in skipped}  # noqa: PTH119
    links = {"loop": "is a link to a folder", "circle": "is a link that leads to no file", "pipe": "is no file"}
    links["dangling.txt"] = links["circle"]
    assert set(reasons) == set(BROKEN) | set(links)
    assert all(text in reasons[name] for name, text in links.items())
    for name, (_, message) in BROKEN.items():
        with pytest.raises(ValueError, match=message):
            list(read_documents(tmp_path / name))
        assert name in reasons[name]
    with pytest.warns(SkippedFilesWarning, match=f"skipped {len(BROKEN) + 4} files of "):
        list(read_documents(tmp_path))


def test_broken_pdfs(tmp_path):
    skipped = []
    (tmp_path / "cut.pdf").write_bytes(pdf()[:300])
    (tmp_path / "locked.pdf").write_bytes(pdf("secret"))
    (tmp_path / "scan.pdf").write_bytes(pdf(text=""))
    assert list(read_documents(tmp_path, on_skip=skipped.append)) == []
    assert [bad.reason.partition("pdf ")[2].partition(" (")[0] for bad in skipped] == [
        "cannot be read as PDF",
        "has a password. Save it without one.",
        "has no text, only pictures. Run it through a program for text recognition",
    ]


def test_bombs(tmp_path, monkeypatch):
    monkeypatch.setattr(archives, "most_bytes", lambda size: 100_000)
    (tmp_path / "a.docx").write_bytes(zipped(**{"word/document.xml": W.format("x" * 1_000_000)}))
    with pytest.raises(ValueError, match="expands to more than 100,000 bytes"):
        list(read_documents(tmp_path / "a.docx"))
    monkeypatch.setattr(reading, "LARGEST_RECORD", 1000)
    cells = '<c t="s"><v>0</v></c>' * 100
    shared = {"xl/sharedStrings.xml": f"<sst><si><t>{'y' * 100}</t></si></sst>"}
    (tmp_path / "a.xlsx").write_bytes(zipped(**shared, **{"xl/worksheets/sheet1.xml": f"<w><row>{cells}</row></w>"}))
    with pytest.raises(ValueError, match=r"a\.xlsx cannot be read as \.xlsx \(it has more than 1,000 characters"):
        list(read_documents(tmp_path / "a.xlsx"))
    cell = f'<w><row><c t="inlineStr"><is><t>{"y" * 600}</t></is></c></row></w>'
    sheets = {f"xl/worksheets/sheet{number}.xml": cell for number in (1, 2)}
    (tmp_path / "a.xlsx").write_bytes(zipped(**sheets))
    with pytest.raises(ValueError, match="more than 1,000 characters"):
        list(read_documents(tmp_path / "a.xlsx"))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_dialects_of_csv(tmp_path, delimiter):
    rows = [("id", "text", "year"), ("a", '"one, two; three"', "2010")]
    (tmp_path / "a.csv").write_text("".join(delimiter.join(row) + "\n" for row in rows))
    (document,) = read_documents(tmp_path / "a.csv")
    assert (document.key, document.text, document.metadata) == ("a", "one, two; three", {"year": "2010"})


def test_a_csv_file_that_states_its_delimiter(tmp_path):
    (tmp_path / "a.csv").write_bytes("sep=;\r\nid;text\r\na;one, two, three\r\nb;four\r\n".encode("utf-16"))
    found = list(read_documents(tmp_path / "a.csv"))
    assert [(document.key, document.text) for document in found] == [("a", "one, two, three"), ("b", "four")]


def test_nested_and_several_fields():
    record = {"title": "A", "body": {"en": "B", "de": None}, "tags": ["x"]}
    for text, wanted in {"body.en": "B", "title,body.en": "A\n\nB", "body.de": "", "title, body.de": "A"}.items():
        assert SourceFields(text=text).document(record, "record").text == wanted
    assert SourceFields(text="body.en").document(record, "record").metadata["body"] == {"en": "B", "de": None}
    for text in ("body.fr", "title,other", "body.en.x"):
        with pytest.raises(ValueError, match="has no field"):
            SourceFields(text=text).document(record, "record")
    with pytest.raises(ValueError, match="is a list"):
        SourceFields(text="title,tags").document(record, "record")


def test_a_file_that_goes_while_the_folder_is_read(tmp_path):
    for name in ("a.txt", "b.txt"):
        (tmp_path / name).write_text(name)
    skipped = []
    documents = read_documents(tmp_path, on_skip=skipped.append)
    assert next(documents).key == "a.txt"
    (tmp_path / "b.txt").unlink()
    assert list(documents) == []
    assert [bad.reason for bad in skipped] == [f"{tmp_path / 'b.txt'} cannot be read (No such file or directory)."]


def test_folders_that_cannot_be_opened(tmp_path):
    if os.geteuid() == 0:
        pytest.skip("root may open everything")
    (tmp_path / "closed").mkdir(mode=0)
    (tmp_path / "a.txt").write_text("a")
    skipped = []
    assert [document.key for document in read_documents(tmp_path, on_skip=skipped.append)] == ["a.txt"]
    assert "closed cannot be opened" in skipped[0].reason
