"""Every format: what its text is, and where each piece of it stood."""

import gzip
import json
from pathlib import Path

import documents_fixtures as make
import pytest

from quoth.documents import SUFFIXES, LoadOptions, load
from quoth.errors import DocumentError
from quoth.types import Document


def one(folder: Path, name: str, data: bytes | str, **options: object) -> Document:
    """Return the one document of a file of those bytes."""
    (found,) = load(make.write(folder, name, data), source=name, options=LoadOptions(**options))
    return found


def test_plain_text_is_verbatim(tmp_path: Path) -> None:
    """CRLF, decomposed letters, double spaces and form feeds stay; one segment covers it all."""
    text = "A  title\r\n\r\nCafe\u0301\tand\u00a0more \x0c end \r\n"
    document = one(tmp_path, "a.txt", text)
    assert document.text == text
    assert [(s.start, s.end, s.line, s.exact) for s in document.segments] == [(0, len(text), 1, True)]
    assert document.title == "A  title"


def test_markdown_sections_have_their_lines_and_headings(tmp_path: Path) -> None:
    """Segments cover the source; each begins at its heading's line; code blocks have no headings."""
    source = "intro\n\n# First *one* #\n\ntext\n```\n# no heading\n```\nSecond\n------\nmore\r\n\r\n### Third\r\nend"
    document = one(tmp_path, "a.md", source)
    assert document.text == source
    assert document.title == "First *one*"
    assert [(s.line, s.label) for s in document.segments] == [
        (1, ""),
        (3, "First *one*"),
        (9, "Second"),
        (13, "Third"),
    ]
    assert "".join(source[s.start : s.end] for s in document.segments) == source
    assert all(s.original == s.start and s.exact for s in document.segments)


def test_markdown_front_matter_gives_metadata(tmp_path: Path) -> None:
    """Title, author and date between dashes at the top are the document's, and stay in the text."""
    source = '---\ntitle: "The Title"\nauthor: Me\ndate: 2024-2-3\n---\n# Other\n'
    document = one(tmp_path, "a.md", source)
    assert (document.title, document.metadata["author"], document.metadata["date"]) == (
        "The Title",
        "Me",
        "2024-02-03",
    )
    assert document.text == source


HTML = """<!doctype html>
<html><head><title>A  &amp; B</title><script>var no = "<p>never</p>"</script>
<meta name="author" content="Someone"><meta property="article:published_time" content="2023-07-08T10:00:00Z">
</head><body>
<style>.never { }</style>
<h1>Heading</h1>
<p>One <b>bold</b>
word, caf&eacute;.</p><div>A block</div>
<ol><li>first<li>second</ol>
<table><tr><th>Item</th><th>Price</th></tr><tr><td>Lamp</td><td>12</td></tr></table>
<pre>
  kept
    as it is</pre>
<p>Last<br>line</p>
</body></html>
"""


def test_html_is_what_a_browser_shows(tmp_path: Path) -> None:
    """Blocks are paragraphs, list items and rows are lines, scripts and styles are gone."""
    document = one(tmp_path, "a.html", HTML)
    assert document.text == (
        "Heading\n\nOne bold word, café.\n\nA block\n\n1. first\n2. second\n\nItem\tPrice\nLamp\t12\n\n"
        "  kept\n    as it is\n\nLast\nline"
    )
    assert document.title == "A & B"
    assert (document.metadata["author"], document.metadata["date"]) == ("Someone", "2023-07-08")
    lines = {document.text[s.start : s.end]: s.line for s in document.segments}
    assert lines["Heading"] == 6
    assert lines["One bold word, café."] == 7
    assert lines["Lamp\t12"] == 10
    assert {s.label for s in document.segments} == {"Heading"}


def test_html_of_both_paths_is_the_same(tmp_path: Path) -> None:
    """A page that is too deep for the fast parser gives the text that it would have given."""
    deep = HTML.replace("<h1>", "<div>" * 1_200 + "<h1>")
    assert one(tmp_path, "a.html", deep).text == one(tmp_path, "b.html", HTML).text


@pytest.mark.parametrize(
    ("declared", "codec"), [("iso-8859-1", "cp1252"), ("windows-1251", "cp1251"), ("shift_jis", "shift_jis")]
)
def test_html_names_its_encoding(tmp_path: Path, declared: str, codec: str) -> None:
    """What a page says of its encoding is believed where it is no UTF-8."""
    words = {"cp1252": "Kündigung “drei”", "cp1251": "три месяца", "shift_jis": "三か月前の通知"}[codec]
    page = f'<html><head><meta charset="{declared}"></head><body><p>{words}</p></body></html>'
    assert one(tmp_path, "a.html", page.encode(codec)).text == words


def test_pdf_has_pages_and_properties(tmp_path: Path) -> None:
    """Pages are parted by a form feed; title, author and date are the file's own."""
    document = one(tmp_path, "a.pdf", make.pdf(["First page.\nIts end.", "Second."], title="The Title"))
    assert document.text == "First page.\r\nIts end.\fSecond."
    assert [(s.page, document.text[s.start : s.end]) for s in document.segments] == [
        (1, "First page.\r\nIts end."),
        (2, "Second."),
    ]
    assert (document.title, document.metadata["author"], document.metadata["date"]) == (
        "The Title",
        "A. Writer",
        "2024-05-01",
    )


def test_pdf_names_the_pages_that_are_silent(tmp_path: Path) -> None:
    """A page without text is named in the notes, the others keep their numbers."""
    document = one(tmp_path, "a.pdf", make.pdf(["One.", "", "", "Four."]))
    assert [s.page for s in document.segments] == [1, 4]
    assert "No text on page 2-3: empty or scanned." in document.notes


def test_docx_keeps_the_order_of_paragraphs_lists_and_tables(tmp_path: Path) -> None:
    """Headings label what follows; list items and table rows are lines."""
    data = make.docx(
        ["# Scope", "Text one.", "- a", "- b", "After."], table=[["Item", "Price"], ["Lamp", "12"]]
    )
    document = one(tmp_path, "a.docx", data)
    assert document.text == "Scope\n\nText one.\n\n- a\n- b\n\nAfter.\n\nItem\tPrice\nLamp\t12"
    assert document.title == "Scope"
    assert {s.label for s in document.segments} == {"Scope"}
    assert document.metadata["author"] == "A. Writer"


def test_docx_holds_what_word_shows(tmp_path: Path) -> None:
    """Tracked insertions, links, content controls and text boxes are read, deletions are not."""
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    body = (
        "<w:p><w:r><w:t>kept </w:t></w:r><w:ins><w:r><w:t>inserted</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>struck</w:delText></w:r></w:del>"
        "<w:hyperlink><w:r><w:t> linked</w:t></w:r></w:hyperlink></w:p>"
        "<w:sdt><w:sdtPr/><w:sdtContent><w:p><w:r><w:t>controlled</w:t></w:r></w:p></w:sdtContent></w:sdt>"
        "<w:p><w:r><w:pict><w:txbxContent><w:p><w:r><w:t>boxed</w:t></w:r></w:p></w:txbxContent></w:pict></w:r></w:p>"
    )
    data = make.replaced_member(
        make.docx(["x"]),
        "word/document.xml",
        f'<?xml version="1.0"?><w:document {space}><w:body>{body}</w:body></w:document>'.encode(),
    )
    assert one(tmp_path, "a.docx", data).text == "kept inserted linked\n\ncontrolled\n\nboxed"


def test_pptx_pages_are_slides(tmp_path: Path) -> None:
    """Slides are numbered and labelled with their titles; the speaker's notes are there."""
    document = one(tmp_path, "a.pptx", make.pptx([("One", ["a", "b"], "Say this."), ("Two", ["c"], "")]))
    assert document.text == "One\n\n- a\n- b\n\nSay this.\n\nTwo\n\nc"
    assert [(s.page, s.label) for s in document.segments] == [(1, "One")] * 3 + [(2, "Two")] * 2
    assert document.title == "One"


def test_xlsx_rows_name_their_columns(tmp_path: Path) -> None:
    """A row is a paragraph with its columns' names; page is the sheet, line the row."""
    from datetime import date

    rows = [["Item", "Price", "Since"], ["Lamp", 12.5, date(2024, 5, 1)], [None], ["Desk", 100, None]]
    document = one(tmp_path, "a.xlsx", make.xlsx({"Prices": rows, "Other": [["alone"]]}))
    assert document.text == "Item: Lamp; Price: 12.5; Since: 2024-05-01\n\nItem: Desk; Price: 100\n\nalone"
    assert [(s.page, s.line, s.label) for s in document.segments] == [
        (1, 2, "Prices"),
        (1, 4, "Prices"),
        (2, 1, "Other"),
    ]
    assert document.paragraphs == tuple((s.start, s.end) for s in document.segments)


@pytest.mark.parametrize(("name", "sign"), [("a.csv", ","), ("b.csv", ";"), ("c.tsv", "\t"), ("d.csv", "|")])
def test_csv_rows_name_their_columns(tmp_path: Path, name: str, sign: str) -> None:
    """The sign between cells is found; rows are paragraphs that know their lines; quoted breaks are spaces."""
    rows = ["Item,Text", 'Lamp,"two\nlines"', "", "Desk,x"]
    document = one(tmp_path, name, "\r\n".join(row.replace(",", sign) for row in rows))
    assert document.text == "Item: Lamp; Text: two lines\n\nItem: Desk; Text: x"
    assert [(s.line, s.label) for s in document.segments] == [(2, "row 1"), (5, "row 2")]
    assert document.paragraphs == ((0, 27), (29, 48))


def test_csv_without_names_keeps_its_first_row(tmp_path: Path) -> None:
    """A first row of numbers is no header."""
    assert one(tmp_path, "a.csv", "1,2\n3,4\n").text == "1\t2\n\n3\t4"


EMAIL = (
    "Subject: =?utf-8?q?Caf=C3=A9?=\r\nFrom: Ann <ann@a.example>\r\nTo: bob@b.example\r\n"
    "Date: Mon, 6 May 2024 23:30:00 +0200\r\nMIME-Version: 1.0\r\n"
    'Content-Type: multipart/mixed; boundary="x"\r\n\r\n--x\r\n'
    'Content-Type: multipart/alternative; boundary="y"\r\n\r\n'
    "--y\r\nContent-Type: text/plain; charset=iso-8859-1\r\nContent-Transfer-Encoding: quoted-printable\r\n\r\n"
    "Gr=FC=DFe.\r\n--y\r\nContent-Type: text/html\r\n\r\n<p>Never this.</p>\r\n--y--\r\n"
    '--x\r\nContent-Type: application/pdf\r\nContent-Disposition: attachment; filename="a.pdf"\r\n\r\nzzz\r\n--x--\r\n'
)


def test_email_has_its_headers_and_its_plain_part(tmp_path: Path) -> None:
    """Headers are decoded and quotable; attachments are named, not read."""
    document = one(tmp_path, "a.eml", EMAIL)
    assert document.text == (
        "Subject: Café\nFrom: Ann <ann@a.example>\nTo: bob@b.example\nDate: Mon, 6 May 2024 23:30:00 +0200\n\nGrüße."
    )
    assert document.title == "Café"
    assert document.metadata["date"] == "2024-05-06"
    assert document.metadata["from"] == "Ann <ann@a.example>"
    assert document.notes == ("Attachments were not read: a.pdf.",)


def test_email_of_html_alone_is_read(tmp_path: Path) -> None:
    """Without a plain part the HTML one is the text."""
    document = one(
        tmp_path, "a.eml", "Subject: S\nContent-Type: text/html\n\n<p>One</p><script>no</script><p>Two</p>"
    )
    assert document.text == "Subject: S\n\nOne\n\nTwo"


def test_epub_follows_the_spine(tmp_path: Path) -> None:
    """Chapters come in the order of the spine, whatever their names; page is the chapter."""
    document = one(tmp_path, "a.epub", make.epub(["<h1>One</h1><p>a &amp; b</p>", "<p>c</p>"], title="Book"))
    assert document.text == "One\n\na & b\n\nc"
    assert [s.page for s in document.segments] == [1, 1, 2]
    assert (document.title, document.metadata["author"], document.metadata["date"]) == (
        "Book",
        "A. Writer",
        "2021-03-04",
    )


def test_json_lines_are_documents(tmp_path: Path) -> None:
    """Ids, titles and scalars are kept; a repeated id and a line without a text are told."""
    lines = [
        '{"id": 7, "text": "one", "title": "T", "year": 2020, "date": "2020-01-02T03:04", "tags": [1], "path": "/x"}',
        "",
        "{broken",
        '{"_id": "7", "contents": "two", "meta": {"team": "a"}}',
        '{"id": "no\\u0000good", "body": "three"}',
    ]
    found = load(make.write(tmp_path, "a.jsonl", "\n".join(lines)), source="d/a.jsonl")
    assert [d.text for d in found] == ["one", "two", "three"]
    assert [s.line for d in found for s in d.segments] == [1, 4, 5]
    assert found[0].id == "7"
    assert len({d.id for d in found}) == 3
    assert (
        found[0].metadata | {"year": "2020", "date": "2020-01-02", "path": "d/a.jsonl"} == found[0].metadata
    )
    assert "tags" not in found[0].metadata
    assert found[1].metadata["team"] == "a"
    assert "line 3" in found[0].notes[0]
    assert "'7' stands twice" in found[1].notes[0]


SQUAD = {
    "data": [
        {
            "title": "Some_Town",
            "paragraphs": [{"context": "One. ", "qas": []}, {"context": "Two.", "qas": []}],
        },
        {"title": "Other", "paragraphs": [{"context": "Three.", "qas": []}]},
    ]
}


@pytest.mark.parametrize("packed", [False, True])
def test_squad_articles_keep_their_paragraphs(tmp_path: Path, packed: bool) -> None:
    """An article is a document whose paragraphs are its contexts, to the last space."""
    data = json.dumps(SQUAD).encode()
    path = make.write(tmp_path, "s.json.gz" if packed else "s.json", gzip.compress(data) if packed else data)
    first, second = load(path, source="s.json")
    assert first.text == "One. \n\nTwo."
    assert [first.text[a:b] for a, b in first.paragraphs] == ["One. ", "Two."]
    assert (first.title, second.title) == ("Some Town", "Other")
    assert first.id != second.id


def test_json_lists_of_records_are_documents(tmp_path: Path) -> None:
    """A list of objects with texts is read like JSON Lines; other JSON is unsupported."""
    path = make.write(tmp_path, "a.json", '[{"text": "one"}, {"title": "none"}, {"text": "two"}]')
    assert [d.text for d in load(path, source="a.json")] == ["one", "two"]
    with pytest.raises(DocumentError) as caught:
        one(tmp_path, "b.json", '{"name": "package"}')
    assert caught.value.code == "unsupported"


def test_every_suffix_has_a_loader() -> None:
    """The table names loaders that exist."""
    from quoth.documents._formats import TABLE

    assert {row.name for row in TABLE} == set(SUFFIXES.values())
    assert all(callable(row.load()) for row in TABLE)


def test_content_decides_over_the_name(tmp_path: Path) -> None:
    """A wrong extension is read as what the file is, and said."""
    for name, data, kind in (
        ("a.txt", make.pdf(["Hello there."]), "pdf"),
        ("b.pdf", make.docx(["Hello there."]), "docx"),
        ("c.pdf", b"<!DOCTYPE html><p>Hello there.", "html"),
        ("d.docx", b"Hello there.", "text"),
        ("e", make.pdf(["Hello there."]), "pdf"),
    ):
        document = one(tmp_path, name, data)
        assert document.text == "Hello there."
        assert document.metadata["type"] == kind
        assert any("content is" in note for note in document.notes) == ("." in name)
