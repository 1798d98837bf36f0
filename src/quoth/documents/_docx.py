"""DOCX to text: paragraphs, lists, tables and notes, in the order of the body."""

from collections.abc import Iterator, Sequence
from typing import Any

from quoth.documents._dates import office_date
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.documents._zip import open_checked

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_SKIPPED = frozenset(  # what was struck out, and second versions of the same content
    (f"{_W}del", f"{_W}moveFrom", f"{_W}rPr", f"{_W}pPr", f"{_W}sdtPr", f"{_W}instrText")
) | {"{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"}
_SIGNS = {
    f"{_W}tab": "\t",
    f"{_W}br": "\n",
    f"{_W}cr": "\n",
    f"{_W}noBreakHyphen": "\u2011",
    f"{_W}softHyphen": "\u00ad",
}


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the text of a DOCX file.

    Text inserted with changes tracked is there, text struck out is not; content controls, text
    boxes, footnotes and endnotes are there. Cells of a table row are parted by tabs.
    """
    open_checked(data, job.limit).close()
    document = _open(data)
    body = _Body(Writer(job.limit), _style_names(document))
    body.walk(document.element.body)
    for part in document.part.package.iter_parts():
        if str(part.partname) in ("/word/footnotes.xml", "/word/endnotes.xml"):
            body.notes(_parse(part.blob))
    properties = document.core_properties
    metadata = {
        "author": (properties.author or "").strip(),
        "date": office_date(properties),
    }
    if metadata["author"] == "python-docx":  # the library's own mark, nobody's name
        metadata["author"] = ""
    return [
        Extracted(
            body.writer.text(),
            title=(properties.title or "").strip() or body.title or body.heading,
            metadata={key: value for key, value in metadata.items() if value},
            segments=tuple(body.writer.segments),
        )
    ]


def _open(data: bytes) -> Any:
    import io

    import docx

    try:
        return docx.Document(io.BytesIO(data))
    except MemoryError:
        raise
    except Exception as problem:  # lxml, zipfile and the library itself, each with its own classes
        raise corrupt(f"It is a damaged DOCX file ({type(problem).__name__}: {problem}).") from problem


def _parse(blob: bytes) -> Any:
    from docx.oxml import parse_xml  # resolves no entities

    try:
        return parse_xml(blob)
    except ValueError as problem:
        raise corrupt(f"A part of this DOCX file is damaged: {problem}.") from problem
    except SyntaxError as problem:  # lxml's XMLSyntaxError is one
        raise corrupt(f"A part of this DOCX file is damaged: {problem}.") from problem


def _style_names(document: Any) -> dict[str, str]:
    """Return the names of paragraph styles by id: the ids are translated, the names are not."""
    names = {}
    for style in document.styles.element.iter(f"{_W}style"):
        name = style.find(f"{_W}name")
        if name is not None:
            names[style.get(f"{_W}styleId", "")] = (name.get(f"{_W}val") or "").lower()
    return names


class _Body:
    def __init__(self, writer: Writer, styles: dict[str, str]) -> None:
        self.writer = writer
        self.title = ""
        self.heading = ""
        self._label = ""
        self._styles = styles
        self._list = False

    def walk(self, element: Any) -> None:
        """Write the paragraphs and tables below *element*, without recursion over its depth."""
        stack = [iter(element)]
        while stack:
            child = next(stack[-1], None)
            if child is None:
                stack.pop()
            elif child.tag == f"{_W}p":
                self._paragraph(child)
            elif child.tag == f"{_W}tbl":
                self._table(child)
            elif child.tag not in _SKIPPED:
                stack.append(iter(child))

    def notes(self, root: Any) -> None:
        for note in root:
            if note.get(f"{_W}type") in (None, "normal"):
                text = " ".join(filter(None, (_text(p).strip() for p in note.iter(f"{_W}p"))))
                self._write(text, label="footnote")

    def _paragraph(self, paragraph: Any) -> None:
        text = _text(paragraph)
        style, listed = self._style(paragraph)
        if style == "title" or style.startswith("heading"):
            self._label = text.strip()[:100]
            self.title = self.title or (self._label if style == "title" else "")
            self.heading = self.heading or self._label
        mark = "- " if listed and not style.startswith("heading") else ""
        self._write(text, label=self._label, mark=mark)
        for box in _boxes(paragraph):
            self.walk(box)

    def _style(self, paragraph: Any) -> tuple[str, bool]:
        properties = paragraph.find(f"{_W}pPr")
        if properties is None:
            return "", False
        named = properties.find(f"{_W}pStyle")
        style = self._styles.get(named.get(f"{_W}val", ""), "") if named is not None else ""
        level = properties.find(f"{_W}outlineLvl")
        if level is not None and level.get(f"{_W}val", "9") < "9" and not style.startswith("heading"):
            style = style if style == "title" else f"heading {style}"
        return style, properties.find(f"{_W}numPr") is not None or style.startswith("list ")

    def _table(self, table: Any) -> None:
        rows = 0
        for row in table.iter(f"{_W}tr"):
            cells = [" ".join(_cell(cell).split()) for cell in row.iter(f"{_W}tc")]
            if any(cells):
                self._write("\t".join(cells), label=self._label, first="\n" if rows else "\n\n")
                rows += 1

    def _write(self, text: str, *, label: str, mark: str = "", first: str = "") -> None:
        text = text.strip("\n")
        if not text.strip():
            return
        if self.writer.length:
            self.writer.gap(first or ("\n" if mark and self._list else "\n\n"))
        self.writer.add(mark + text, label=label)
        self._list = bool(mark)


def _cell(cell: Any) -> str:
    """Return the text of a cell; a table inside it speaks for itself, in rows of its own."""
    return " ".join(_text(p) for p in cell if p.tag == f"{_W}p") or (
        " ".join(_text(p) for p in cell.iter(f"{_W}p")) if cell.find(f"{_W}tbl") is None else ""
    )


def _text(paragraph: Any) -> str:
    return "".join(_pieces(paragraph))


def _pieces(paragraph: Any) -> Iterator[str]:
    """Yield the text of a paragraph: all runs, also those in links, fields and insertions."""
    stack = [iter(paragraph)]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        elif child.tag == f"{_W}t":
            yield child.text or ""
        elif child.tag in _SIGNS:
            yield _SIGNS[child.tag]
        elif child.tag not in _SKIPPED and child.tag != f"{_W}txbxContent":
            stack.append(iter(child))


def _boxes(paragraph: Any) -> Iterator[Any]:
    """Yield the text boxes that are anchored in a paragraph, each once, outermost only."""
    stack = [iter(paragraph)]
    while stack:
        child = next(stack[-1], None)
        if child is None:
            stack.pop()
        elif child.tag == f"{_W}txbxContent":
            yield child
        elif child.tag not in _SKIPPED:
            stack.append(iter(child))
