"""What must hold for every text, every page and every name."""

import gzip
import os
import tempfile
from pathlib import Path

import documents_fixtures as make
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quoth.documents import LoadOptions, digest, display, document_id, from_texts, load
from quoth.documents._extract import Writer
from quoth.documents._names import storable
from quoth.documents._pdf import write_page
from quoth.errors import InputError
from quoth.text.places import locate

SAMPLES = Path(__file__).resolve().parents[2] / "samples"
REAL = [Path("/usr/share/doc") / p for p in ("libtasn1-doc/libtasn1.pdf", "bzip2/manual.pdf.gz")]

ANY = st.text(st.characters(codec="utf-8"), max_size=200)
MARKDOWN = st.text(st.sampled_from("#-=~`x \r\n\t*é"), max_size=120)
RAW = st.text(st.sampled_from("ab AZ1-\r\n\ufffe\x02\ufb00\ufb01\ufb03\ufb06é\0"), max_size=80)


def loaded(name: str, data: bytes) -> list[object]:
    """Load bytes through a file of that name."""
    with tempfile.TemporaryDirectory() as folder:
        return list(load(make.write(Path(folder), name, data), source=name))


@given(ANY | MARKDOWN, st.sampled_from(["a.txt", "a.md"]))
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_text_files_are_stored_as_they_are(text: str, name: str) -> None:
    """The text is the decoded bytes (NUL aside); segments are contiguous, cover it, and tell true lines."""
    if text.startswith("\ufeff") or text.lstrip()[:5].lower() in ("<html", "<!doc") or "\0" in text:
        return
    head = text[:8192]
    if sum(c < " " and c not in "\t\n\r\f\x0b\x1b" for c in head) > 0.2 * len(head):
        return  # taken for no text at all
    (document,) = loaded(name, text.encode("utf-8"))
    assert document.text == text
    assert "".join(text[s.start : s.end] for s in document.segments) == text
    assert all(a.end == b.start for a, b in zip(document.segments, document.segments[1:], strict=False))
    for offset in range(0, len(text), 7):
        place = locate(document, offset)
        if text[offset - 1 : offset + 1] == "\r\n":
            continue  # in the middle of a break
        before = text[:offset]
        breaks = before.count("\n") + before.count("\r") - before.count("\r\n")
        assert (place.character, place.line) == (offset, 1 + breaks)


@given(RAW)
def test_pdf_pages_map_back_to_their_raw_text(raw: str) -> None:
    """Exact segments are linear; only hyphens at line ends, ligatures, and the page's last breaks change."""
    writer = Writer(10_000)
    write_page(writer, raw, page=3)
    text = writer.text()
    assert "".join(text[s.start : s.end] for s in writer.segments) == text
    for s in writer.segments:
        if s.exact:
            assert raw[s.original : s.original + s.end - s.start] == text[s.start : s.end]
        else:
            assert raw[s.original] in "\ufffe\x02-\ufb00\ufb01\ufb03\ufb06"
    assert not set(text) & set("\ufffe\x02\ufb00\ufb01\ufb03\ufb06")
    if not set(raw) & set("\ufffe\x02\ufb00\ufb01\ufb03\ufb06-"):
        assert text == raw.rstrip("\r\n")


def test_hyphens_at_line_ends_are_joined() -> None:
    """Words come together; compounds, capitals and numbers keep their hyphen; ligatures are letters."""
    for raw, text in (
        ("manip\ufffeulation.", "manipulation."),
        ("exam\x02ple", "example"),
        ("state-of-the\ufffeart", "state-of-the-art"),
        ("Anglo\ufffeSaxon", "Anglo-Saxon"),
        ("1914\ufffe18", "1914-18"),
        ("exam-\r\nple", "example"),
        ("a dash - \r\nhere", "a dash - \r\nhere"),
        ("ﬁnd the oﬃce", "find the office"),
    ):
        writer = Writer(100)
        write_page(writer, raw, page=1)
        assert writer.text() == text


@pytest.mark.parametrize("path", REAL, ids=lambda p: p.name)
def test_real_pdfs_map_back_to_their_pages(path: Path, tmp_path: Path) -> None:
    """Every exact segment of a real PDF is a slice of what PDFium says of its page."""
    if not path.exists():
        pytest.skip(f"{path} is not installed")
    import pypdfium2

    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    (document,) = load(make.write(tmp_path, "real.pdf", data), source="real.pdf")
    pdf = pypdfium2.PdfDocument(data)
    raw = {n + 1: pdf[n].get_textpage().get_text_range() for n in range(len(pdf))}
    pdf.close()
    assert len({s.page for s in document.segments}) > 20
    for s in document.segments:
        if s.exact:
            assert raw[s.page][s.original : s.original + s.end - s.start] == document.text[s.start : s.end]
    assert "\ufffe" not in document.text
    assert len(document.text) > 0.98 * sum(map(len, raw.values())) - 2 * len(raw)


@given(st.text(max_size=60))
def test_storing_keeps_the_length(text: str) -> None:
    """NUL and lone surrogates are replaced one by one, and the result can be encoded."""
    stored = storable(text)
    assert len(stored) == len(text)
    stored.encode("utf-8")
    for before, after in zip(text, stored, strict=True):
        assert before == after or (after == "\ufffd" and (before == "\0" or "\ud800" <= before <= "\udfff"))


@given(st.text(max_size=30), st.text(max_size=5))
def test_ids_are_sixteen_digits_for_every_name(source: str, key: str) -> None:
    """Every path and key has an id, the same each time; path and key do not run together."""
    found = document_id(source, key)
    assert found == document_id(source, key)
    assert len(found) == 16
    assert set(found) <= set("0123456789abcdef")
    assert document_id(source + "a", key) != found


@given(st.binary(max_size=30))
def test_every_file_name_can_be_shown(raw: bytes) -> None:
    """A name of any bytes has a form that is UTF-8."""
    display(os.fsdecode(raw)).encode("utf-8")


def test_ids_are_hashes_of_paths() -> None:
    """The id is the head of the path's SHA-256, as documented."""
    from hashlib import sha256

    assert document_id("a/b.txt") == sha256(b"a/b.txt").hexdigest()[:16]
    assert document_id("a", "1") == sha256(b"a\x001").hexdigest()[:16]


def test_texts_in_memory_are_documents() -> None:
    """Ids are those of the mapping, or count from one; the hash is of the text; mistakes are told."""
    from hashlib import sha256

    first, second = from_texts(["one\0", ""])
    assert (first.id, first.text, second.id, second.text) == ("text-1", "one\ufffd", "text-2", "")
    assert first.sha256 == sha256("one\ufffd".encode()).hexdigest()
    (named,) = from_texts({"a b": "x"})
    assert named.id == "a b"
    for wrong in ("one string", {"": "x"}, {"a\n": "x"}, [b"bytes"]):
        with pytest.raises(InputError):
            from_texts(wrong)


def test_metadata_says_where_a_file_is(tmp_path: Path) -> None:
    """Path, folder, name, type, date and title are there; what the caller adds wins."""
    path = make.write(tmp_path, "a.b.txt", "Some text.")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    options = LoadOptions(metadata={"client": "acme", "type": "contract"})
    (document,) = load(path, source="x/y/a.b.txt", options=options)
    assert document.metadata == {
        "path": "x/y/a.b.txt",
        "folder": "x/y",
        "name": "a.b.txt",
        "type": "contract",
        "date": "2023-11-14",
        "title": "a.b",
        "client": "acme",
    }
    assert (document.id, document.source) == (document_id("x/y/a.b.txt"), "x/y/a.b.txt")
    assert (document.sha256, 10, 1_700_000_000 * 10**9) == digest(path)


def questions() -> list[tuple[str, str, str]]:
    """Return the rows of the table in the samples' README: question, answer, file."""
    lines = (SAMPLES / "README.md").read_text(encoding="utf-8").splitlines()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("|")]
    return [(row[0], row[1], row[2]) for row in rows[2:]]


def test_there_are_ten_questions() -> None:
    """The samples come with ten questions, and with two that have no answer."""
    assert len(questions()) == 10
    assert (SAMPLES / "README.md").read_text(encoding="utf-8").count("\n* ") == 2


@pytest.mark.parametrize(("question", "answer", "name"), questions())
def test_samples_hold_their_answers(question: str, answer: str, name: str) -> None:
    """Each answer stands in the document that is named."""
    (document,) = load(SAMPLES / name, source=name)
    flat = " ".join(document.text.split())
    assert question.endswith("?")
    assert answer in flat


def test_samples_are_what_the_script_makes() -> None:
    """The Word, Excel and PDF samples can be made again."""
    import make_samples

    with tempfile.TemporaryDirectory() as folder:
        make_samples.main(Path(folder))
        for path in sorted(Path(folder).iterdir()):
            (ours,), (theirs,) = load(path, source="x"), load(SAMPLES / path.name, source="x")
            assert (ours.text, ours.title) == (theirs.text, theirs.title)


def test_samples_are_walked_without_their_questions() -> None:
    """The page of questions is ignored, every other file is read, and all are small."""
    from quoth.documents import walk

    found = list(walk([SAMPLES]))
    assert not [f for f in found if f.skipped]
    assert "README.md" not in {f.path.name for f in found}
    assert 8 <= len(found) <= 12
    assert sum(f.path.stat().st_size for f in found) < 300_000
