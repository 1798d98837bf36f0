"""Bad, hostile and odd files: each fails alone, with its reason, or is read with a note."""

import gzip
import os
import stat
import time
from pathlib import Path

import documents_fixtures as make
import pytest

from quoth.documents import LoadOptions, digest, load
from quoth.documents._reading import read_stable
from quoth.errors import DocumentError

REAL_PDF = Path("/usr/share/doc/libtasn1-doc/libtasn1.pdf")


def code(folder: Path, name: str, data: bytes | str, **options: object) -> str:
    """Return the code of the error that reading those bytes gives, or ``read`` and the text."""
    path = make.write(folder, name, data)
    try:
        found = load(path, source=f"sub/{name}", options=LoadOptions(**options))
    except DocumentError as problem:
        named = problem.message.startswith(f"sub/{name}: ") or str(path) in problem.message
        return problem.code if named else f"a message without the file: {problem.message}"
    return "read: " + found[0].text


def test_zip_bombs_are_not_unpacked(tmp_path: Path) -> None:
    """A member that grows more than 200 times, too many members, and too large a sum are refused at once."""
    began = time.monotonic()
    assert code(tmp_path, "a.docx", make.zip_bomb(100 << 20)) == "too_large_expanded"
    assert code(
        tmp_path, "b.xlsx", make.replaced_member(make.xlsx({"a": [["x"]]}), "x", b"0" * (30 << 20))
    ) == ("too_large_expanded")
    many = {f"m/{n}": b"" for n in range(10_001)}
    assert code(tmp_path, "c.epub", make.epub(["<p>x</p>"], extra=many)) == "too_large_expanded"
    assert code(tmp_path, "d.docx", make.docx(["x"]), max_bytes=40_000) == "too_large_expanded"
    assert time.monotonic() - began < 100


def test_a_zip_whose_directory_lies_is_damaged(tmp_path: Path) -> None:
    """A bomb that claims to be small never unpacks to more than it claimed."""
    assert code(tmp_path, "a.docx", make.lying_zip(20 << 20)) == "corrupt"


def test_gzip_bombs_are_not_unpacked(tmp_path: Path) -> None:
    """What comes out of gzip is counted as it comes."""
    packed = gzip.compress(b'[{"text": "' + b"a" * (60 << 20) + b'"}]')
    assert code(tmp_path, "a.json.gz", packed) == "too_large_expanded"
    whole = gzip.compress(os.urandom(100_000).hex().encode())
    assert code(tmp_path, "b.json.gz", whole[: len(whole) // 2]) == "corrupt"


def test_a_flate_bomb_stays_in_its_process(tmp_path: Path) -> None:
    """A PDF that unpacks to 600 MB ends its own child process, and costs this one no memory."""
    import resource

    bomb = make.flate_bomb(600 << 20)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert code(tmp_path, "a.pdf", bomb) == "extractor_limit"
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50 * 1024
    assert code(tmp_path, "b.pdf", make.pdf(["Still works."])) == "read: Still works."


def test_encrypted_files_say_so(tmp_path: Path) -> None:
    """A user password is needed and tried; an owner's alone does not stand in the way."""
    good = make.pdf(["Behind a password."])
    locked = make.encrypted_pdf(good, user="sesame", owner="other")
    assert code(tmp_path, "a.pdf", locked) == "encrypted"
    assert code(tmp_path, "b.pdf", locked, passwords=("wrong",)) == "encrypted"
    assert code(tmp_path, "c.pdf", locked, passwords=("wrong", "sesame")) == "read: Behind a password."
    assert code(tmp_path, "d.pdf", make.encrypted_pdf(good, user="", owner="o")) == "read: Behind a password."
    ole = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(500)
    assert code(tmp_path, "e.docx", ole + "EncryptedPackage".encode("utf-16-le")) == "encrypted"
    assert code(tmp_path, "f.doc", ole) == "unsupported"


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("cut.docx", make.docx(["x"])[:3_000]),
        ("cut.xlsx", make.xlsx({"a": [["x"]]})[:2_000]),
        ("cut.epub", make.epub(["<p>x</p>"])[:300]),
        ("head.pdf", make.pdf(["x"])[:60]),
        ("noise.pdf", b"%PDF-1.4\n" + bytes(range(256)) * 20),
        ("named.pdf", b"\x00\x01\x02 neither text nor PDF"),
        ("part.docx", make.replaced_member(make.docx(["x"]), "word/document.xml", b"<w:document")),
        ("book.epub", make.epub([])),
        ("deep.json", "[" * 100_000),
        ("half.jsonl", '{"text": "x"\n{"tex'),
        ("bare.eml", "no header at all"),
    ],
)
def test_damaged_files_are_corrupt(tmp_path: Path, name: str, data: bytes | str) -> None:
    """Truncated and garbled files are named as damaged."""
    assert code(tmp_path, name, data) == "corrupt"


@pytest.mark.skipif(not REAL_PDF.exists(), reason="libtasn1-doc is not installed")
def test_a_truncated_pdf_is_corrupt_or_partial(tmp_path: Path) -> None:
    """What is left of a PDF is read only with a note that says so."""
    data = REAL_PDF.read_bytes()
    for share in (0.3, 0.6, 0.9, 0.99):
        result = code(tmp_path, "a.pdf", data[: int(len(data) * share)])
        if result.startswith("read: "):
            assert load(tmp_path / "a.pdf", source="a.pdf")[0].notes
        else:
            assert result in ("corrupt", "no_text_layer")


def test_scans_are_not_indexed_silently(tmp_path: Path) -> None:
    """Without a text layer there is an error, which names what would make one."""
    path = make.write(tmp_path, "a.pdf", make.pdf(["", ""]))
    with pytest.raises(DocumentError, match="ocrmypdf") as caught:
        load(path, source="a.pdf", options=LoadOptions(ocr=False))
    assert caught.value.code == "no_text_layer"


def test_garbled_text_layers_are_named() -> None:
    """Private-use signs and words without spaces are no text that can be quoted; prose and CJK are."""
    from quoth.documents._pdf import is_garbled

    assert is_garbled("\ue000\ue012\ue0ff\ue033 " * 50)
    assert is_garbled("thetenantmustgivenoticeofthreemonths" * 20)
    assert not is_garbled("The tenant must give notice of three months. " * 20)
    assert not is_garbled("租户必须提前三个月通知。" * 60)
    assert not is_garbled("12 3,4 5.6 " * 100)


def test_entities_in_office_files_are_not_resolved(tmp_path: Path) -> None:
    """A DOCX or an EPUB that names a file as an entity does not get it, and a billion laughs are none."""
    secret = make.write(tmp_path, "secret.txt", "TOP-SECRET")
    space = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
    for inside in (f'<!ENTITY x SYSTEM "file://{secret}">', laughs()):
        head = f'<?xml version="1.0"?><!DOCTYPE d [{inside}]>'
        part = f"{head}<w:document {space}><w:body><w:p><w:r><w:t>a &x; b</w:t></w:r></w:p></w:body></w:document>"
        result = code(
            tmp_path, "a.docx", make.replaced_member(make.docx(["x"]), "word/document.xml", part.encode())
        )
        assert "SECRET" not in result
        assert len(result) < 1_000
        container = f"{head}<container>&x;</container>".encode()
        book = make.replaced_member(make.epub(["<p>x</p>"]), "META-INF/container.xml", container)
        assert code(tmp_path, "a.epub", book) == "corrupt"


def laughs() -> str:
    """Return entities that multiply by ten, nine times."""
    rows = ['<!ENTITY a0 "lol">'] + [f'<!ENTITY a{n} "{f"&a{n - 1};" * 10}">' for n in range(1, 10)]
    return "".join(rows) + '<!ENTITY x "&a9;">'


@pytest.mark.parametrize(
    "page",
    [
        "<div>" * 1_000_000 + "deep",
        "<p " + " ".join(f"a{n}=1" for n in range(300_000)) + ">deep",
        "<a<" * 300_000,
        "<!--" * 300_000,
        "<script>" * 300_000,
        "<div/" * 300_000,
        "<b>" * 900 + "<p>x</p>" * 5_000,
        "&" * 1_000_000,
    ],
    ids=["divs", "attributes", "open", "comments", "scripts", "slashes", "formatting", "entities"],
)
def test_hostile_html_takes_no_long_time(tmp_path: Path, page: str) -> None:
    """Pages that take a tree builder minutes are read in seconds."""
    began = time.process_time()
    result = code(tmp_path, "a.html", page, seconds=30)
    assert result.startswith("read: ")
    assert time.process_time() - began < 10


def test_odd_encodings_are_read_or_owned_up_to(tmp_path: Path) -> None:
    """Marks and UTF-8 are certain; a guess, and every replaced byte, is in the notes."""
    words = "Die Kündigungsfrist beträgt drei Monate – höchstens."
    for codec in ("utf-8", "utf-8-sig", "utf-16", "utf-32", "utf-16-le", "utf-16-be"):
        document = load(make.write(tmp_path, "a.txt", words.encode(codec)), source="a.txt")[0]
        assert (document.text, document.notes) == (words, ())
    guessed = load(make.write(tmp_path, "a.txt", words.encode("cp1252")), source="a.txt")[0]
    assert guessed.text == words
    assert "cp1252" in guessed.notes[0]
    assert "--encoding" in guessed.notes[0]
    russian = "Срок уведомления составляет три месяца. Арендатор обязан платить вовремя."
    document = load(make.write(tmp_path, "a.txt", russian.encode("cp1251")), source="a.txt")[0]
    assert document.text == russian


def test_replaced_bytes_are_counted(tmp_path: Path) -> None:
    """Damage in UTF-8 is U+FFFD, and the note says how many bytes it was."""
    data = "größer ".encode() * 5 + b"\xff\xfe\xe2\x82 end"
    document = load(make.write(tmp_path, "a.txt", data), source="a.txt")[0]
    assert document.text == "größer " * 5 + "\ufffd\ufffd\ufffd end"
    assert document.notes[0].startswith("4 bytes were not UTF-8")


def test_the_named_encoding_wins(tmp_path: Path) -> None:
    """``encoding`` overrides what the bytes look like; one that does not exist is refused."""
    data = "ä".encode()
    assert code(tmp_path, "a.txt", data, encoding="latin-1") == "read: Ã¤"
    assert code(tmp_path, "a.txt", data, encoding="latin-99") == "bad_encoding"
    assert code(tmp_path, "a.txt", data, encoding="base64") == "bad_encoding"
    bad = load(make.write(tmp_path, "a.txt", b"\xff"), source="a", options=LoadOptions(encoding="utf-8"))[0]
    assert bad.text == "\ufffd"
    assert "1 place" in bad.notes[0]


def test_what_cannot_be_stored_is_replaced(tmp_path: Path) -> None:
    """NUL and lone surrogates become U+FFFD in place; other control characters stay."""
    assert code(tmp_path, "a.txt", b"a\0b\x07c\x1b[0m") == "read: a\ufffdb\x07c\x1b[0m"
    lines = r'{"text": "a\ud800b\u0000c", "title": "t\udfff", "k\ud801": "v\ud802"}'
    document = load(make.write(tmp_path, "a.jsonl", lines), source="a.jsonl")[0]
    assert (document.text, document.title) == ("a\ufffdb\ufffdc", "t\ufffd")
    assert document.metadata["k\ufffd"] == "v\ufffd"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.pdf", "a.docx", "a.csv", "a.json"])
def test_an_empty_file_is_an_empty_document(tmp_path: Path, name: str) -> None:
    """Nothing in, an empty text out: the caller says what that means."""
    assert code(tmp_path, name, b"") == "read: "


def test_pictures_and_programs_are_unsupported(tmp_path: Path) -> None:
    """What is no document says what it is, whatever its name."""
    for data in (
        b"\x89PNG\r\n\x1a\n" + bytes(99),
        b"\x7fELF" + bytes(99),
        bytes(range(256)) * 9,
        b"{\\rtf1 x}",
    ):
        assert code(tmp_path, "a.txt", data) == "unsupported"


def test_files_over_the_limit_are_too_large(tmp_path: Path) -> None:
    """The limit is on the file, and the message carries both numbers."""
    path = make.write(tmp_path, "a.txt", b"x" * 1_001)
    with pytest.raises(DocumentError, match=r"1,001 bytes; files over 1,000 bytes") as caught:
        load(path, source="a.txt", options=LoadOptions(max_bytes=1_000))
    assert caught.value.code == "too_large"


def test_one_line_of_fifty_megabytes(tmp_path: Path) -> None:
    """A line without an end and without spaces takes seconds, in every text format."""
    began = time.process_time()
    line = b"x" * 50_000_000
    for name, data in (
        ("a.txt", line),
        ("a.md", b"# " + b" " * 50_000_000),
        ("a.jsonl", b'{"text":"%b"}' % line),
    ):
        assert load(make.write(tmp_path, name, data), source=name)[0].segments
    assert time.process_time() - began < 20


def test_only_regular_files_are_read(tmp_path: Path) -> None:
    """A pipe, a device, a folder and a link are refused without waiting."""
    pipe, link = tmp_path / "pipe.txt", tmp_path / "link.txt"
    os.mkfifo(pipe)
    link.symlink_to(make.write(tmp_path, "real.txt", "x"))
    for path in (pipe, link, tmp_path, Path("/dev/zero"), tmp_path / "none.txt"):
        with pytest.raises(DocumentError) as caught:
            load(path, source="x")
        assert caught.value.code == "unreadable"
        with pytest.raises(DocumentError):
            digest(path)


def test_an_unreadable_file_says_why(tmp_path: Path) -> None:
    """Permissions are a reason, not a crash."""
    path = make.write(tmp_path, "a.txt", "x")
    path.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may read everything: be somebody else for the moment
        os.seteuid(65534)
    try:
        with pytest.raises(DocumentError, match="Permission denied") as caught:
            load(path, source="a.txt")
    finally:
        os.seteuid(user)
    assert caught.value.code == "unreadable"


@pytest.mark.skipif(not Path("/proc/self/mem").exists(), reason="there is no /proc")
def test_a_disk_error_is_a_reason() -> None:
    """A file that opens and cannot be read says what the system said."""
    for read in (lambda p: load(p, source="x"), digest):
        with pytest.raises(
            DocumentError, match="/proc/self/mem cannot be read: Input/output error"
        ) as caught:
            read(Path("/proc/self/mem"))
        assert caught.value.code == "unreadable"


def test_a_file_that_changes_is_read_again(tmp_path: Path) -> None:
    """A change while a file is read is noticed by its hash: one more try, then an error."""
    path = make.write(tmp_path, "a.txt", "0")
    times = os.stat(path)
    tries = []

    def once() -> None:
        if not tries:
            path.write_text("1", encoding="utf-8")
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))
        tries.append(1)

    data, sha256, mtime_ns = read_stable(path, limit=100, between=once)
    assert (data, len(tries)) == (b"1", 2)
    assert (sha256, 1, mtime_ns) == digest(path)
    with pytest.raises(DocumentError) as caught:
        read_stable(path, limit=100, between=lambda: path.write_bytes(path.read_bytes() + b"x") and None)
    assert caught.value.code == "changed_during_read"
    assert stat.S_ISREG(path.stat().st_mode)
