"""Makes the good and the bad files that the tests read: nothing of it lies in the repository."""

import io
import struct
import zipfile
import zlib
from collections.abc import Sequence
from pathlib import Path


def pdf(
    pages: Sequence[str],
    *,
    title: str = "",
    author: str = "A. Writer",
    date: str = "D:20240501120000Z",
    compress: bool = False,
) -> bytes:
    """Return a PDF with a page for each text (Latin-1), in Helvetica; a line is a line."""
    objects: list[bytes] = [b"<< /Type /Catalog /Pages 2 0 R >>", b""]
    objects.append(b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
    kids = []
    for text in pages:
        lines = [
            line.replace("\\", "\\\\").replace("(", "\\(").replace(")", "\\)") for line in text.split("\n")
        ]
        body = "BT /F1 11 Tf 14 TL 72 760 Td " + " ".join(f"({line}) Tj T*" for line in lines) + " ET"
        stream = body.encode("cp1252")
        objects.append(stream_object(stream, compress=compress))
        kids.append(len(objects) + 1)
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Resources << /Font << /F1 3 0 R >> >> "
            b"/Contents %d 0 R >>" % len(objects)
        )
    objects[1] = b"<< /Type /Pages /Count %d /Kids [%s] >>" % (
        len(kids),
        b" ".join(b"%d 0 R" % kid for kid in kids),
    )
    if title:
        facts = title.encode(), author.encode(), date.encode()
        objects.append(b"<< /Title (%s) /Author (%s) /ModDate (%s) >>" % facts)
    return assemble(objects, info=len(objects) if title else 0)


def stream_object(stream: bytes, *, compress: bool) -> bytes:
    """Return a stream object."""
    if compress:
        stream = zlib.compress(stream, 9)
    kind = b" /Filter /FlateDecode" if compress else b""
    return b"<< /Length %d%s >>\nstream\n%s\nendstream" % (len(stream), kind, stream)


def assemble(objects: Sequence[bytes], *, info: int = 0) -> bytes:
    """Return the file of those objects, the first of them its catalog."""
    out = bytearray(b"%PDF-1.4\n%\xe2\xe3\xcf\xd3\n")
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(out))
        out += b"%d 0 obj\n%s\nendobj\n" % (number, body)
    start = len(out)
    out += b"xref\n0 %d\n0000000000 65535 f \n" % (len(objects) + 1)
    out += b"".join(b"%010d 00000 n \n" % place for place in places)
    more = b" /Info %d 0 R" % info if info else b""
    out += b"trailer\n<< /Size %d /Root 1 0 R%s >>\nstartxref\n%d\n%%%%EOF\n" % (
        len(objects) + 1,
        more,
        start,
    )
    return bytes(out)


def flate_bomb(size: int) -> bytes:
    """Return a PDF whose one content stream unpacks to *size* spaces."""
    packer = zlib.compressobj(9)
    packed = b"".join(packer.compress(b" " * (1 << 20)) for _ in range(size >> 20)) + packer.flush()
    return assemble(
        [
            b"<< /Type /Catalog /Pages 2 0 R >>",
            b"<< /Type /Pages /Count 1 /Kids [3 0 R] >>",
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R >>",
            b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(packed), packed),
        ]
    )


def encrypted_pdf(data: bytes, *, user: str, owner: str) -> bytes:
    """Return a PDF behind a user password (may be empty) and an owner password."""
    from pypdf import PdfReader, PdfWriter

    writer = PdfWriter(clone_from=PdfReader(io.BytesIO(data)))
    writer.encrypt(user_password=user, owner_password=owner, algorithm="RC4-128")
    out = io.BytesIO()
    writer.write(out)
    return out.getvalue()


def docx(paragraphs: Sequence[str], *, title: str = "", table: Sequence[Sequence[str]] = ()) -> bytes:
    """Return a DOCX file; a paragraph that begins with ``# `` is a heading."""
    import docx as library

    document = library.Document()
    document.core_properties.title = title
    document.core_properties.author = "A. Writer"
    for text in paragraphs:
        if text.startswith("# "):
            document.add_heading(text[2:], level=1)
        elif text.startswith("- "):
            document.add_paragraph(text[2:], style="List Bullet")
        else:
            document.add_paragraph(text)
    if table:
        grid = document.add_table(rows=len(table), cols=len(table[0]))
        for row, cells in zip(grid.rows, table, strict=True):
            for cell, text in zip(row.cells, cells, strict=True):
                cell.text = text
    out = io.BytesIO()
    document.save(out)
    return out.getvalue()


def replaced_member(data: bytes, name: str, content: bytes) -> bytes:
    """Return a zip archive with one member's content changed (or added)."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as new:
        for member in old.infolist():
            if member.filename != name:
                new.writestr(member, old.read(member))
        new.writestr(name, content)
    return out.getvalue()


def zip_bomb(size: int) -> bytes:
    """Return a DOCX whose document part unpacks to *size* bytes of one letter."""
    good = docx(["Hello."])
    with zipfile.ZipFile(io.BytesIO(good)) as archive:
        part = archive.read("word/document.xml")
    head, tail = part.split(b"Hello.")
    return replaced_member(good, "word/document.xml", head + b"a" * size + tail)


def lying_zip(size: int) -> bytes:
    """Return a zip bomb whose directory claims that its largest part has 100 bytes."""
    data = bytearray(zip_bomb(size))
    with zipfile.ZipFile(io.BytesIO(bytes(data))) as archive:
        member = archive.getinfo("word/document.xml")
        real = struct.pack("<I", member.file_size)
    at = 0
    while (at := data.find(real, at)) >= 0:
        data[at : at + 4] = struct.pack("<I", 100)
        at += 4
    return bytes(data)


def xlsx(sheets: dict[str, Sequence[Sequence[object]]]) -> bytes:
    """Return a workbook."""
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def pptx(slides: Sequence[tuple[str, Sequence[str], str]]) -> bytes:
    """Return a presentation of (title, points, speaker notes)."""
    import pptx as library

    show = library.Presentation()
    for title, points, notes in slides:
        slide = show.slides.add_slide(show.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = "\n".join(points)
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    out = io.BytesIO()
    show.save(out)
    return out.getvalue()


def epub(chapters: Sequence[str], *, title: str = "A Book", extra: dict[str, bytes] | None = None) -> bytes:
    """Return a book; every chapter is the body of an XHTML file, and the spine runs against their names."""
    count = len(chapters)
    names = [f"c{count - n}.xhtml" for n in range(count)]
    items = "".join(
        f'<item id="i{n}" href="{x}" media-type="application/xhtml+xml"/>' for n, x in enumerate(names)
    )
    spine = "".join(f'<itemref idref="i{n}"/>' for n in range(count))
    package = (
        '<?xml version="1.0"?><package xmlns="http://www.idpf.org/2007/opf" version="3.0">'
        f'<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
        "<dc:creator>A. Writer</dc:creator><dc:date>2021-03-04</dc:date></metadata>"
        f"<manifest>{items}</manifest><spine>{spine}</spine></package>"
    )
    container = (
        '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
        '<rootfiles><rootfile full-path="OPS/book.opf" media-type="application/oebps-package+xml"/></rootfiles>'
        "</container>"
    )
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        archive.writestr("META-INF/container.xml", container)
        archive.writestr("OPS/book.opf", package)
        for name, body in zip(names, chapters, strict=True):
            page = f'<html xmlns="http://www.w3.org/1999/xhtml"><head><title>x</title></head><body>{body}</body></html>'
            archive.writestr(f"OPS/{name}", page)
        for name, content in (extra or {}).items():
            archive.writestr(name, content)
    return out.getvalue()


def write(folder: Path, name: str, data: bytes | str) -> Path:
    """Write a file and return its path."""
    path = folder / name
    path.write_bytes(data.encode("utf-8") if isinstance(data, str) else data)
    return path
