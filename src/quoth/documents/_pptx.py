"""PPTX to text: slide by slide, with tables and speaker notes."""

import io
from collections.abc import Iterator, Sequence
from typing import Any

from quoth.documents._dates import office_date
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.documents._zip import open_checked

_DEEPEST = 50  # groups in groups


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the text of a presentation; ``page`` is the slide, ``label`` its title."""
    open_checked(data, job.limit).close()
    show = _open(data)
    writer = Writer(job.limit)
    first = ""
    for number, slide in enumerate(show.slides, 1):
        title = _title(slide)
        first = first or title
        for text in _slide(slide):
            if writer.length:
                writer.gap("\n\n")
            writer.add(text, page=number, label=title)
    properties = show.core_properties
    metadata = {
        "author": (properties.author or "").strip(),
        "date": office_date(properties),
    }
    title = (properties.title or "").strip()
    return [
        Extracted(
            writer.text(),
            title=first if title in ("", "PowerPoint Presentation") else title,
            metadata={key: value for key, value in metadata.items() if value},
            segments=tuple(writer.segments),
        )
    ]


def _open(data: bytes) -> Any:
    import pptx

    try:
        return pptx.Presentation(io.BytesIO(data))
    except MemoryError:
        raise
    except Exception as problem:  # lxml, zipfile and the library itself, each with its own classes
        raise corrupt(f"It is a damaged PPTX file ({type(problem).__name__}: {problem}).") from problem


def _title(slide: Any) -> str:
    shape = slide.shapes.title
    return " ".join(shape.text_frame.text.split())[:100] if shape is not None else ""


def _slide(slide: Any) -> Iterator[str]:
    for shape in _shapes(slide.shapes, 0):
        text = "\n".join(_shape(shape))
        if text.strip():
            yield text
    if slide.has_notes_slide and slide.notes_slide.notes_text_frame is not None:
        notes = slide.notes_slide.notes_text_frame.text.replace("\v", "\n").strip()
        if notes:
            yield notes


def _shapes(shapes: Any, depth: int) -> Iterator[Any]:
    for shape in shapes:
        if hasattr(shape, "shapes"):
            if depth < _DEEPEST:
                yield from _shapes(shape.shapes, depth + 1)
        else:
            yield shape


def _shape(shape: Any) -> Iterator[str]:
    if getattr(shape, "has_table", False):
        for row in shape.table.rows:
            cells = [" ".join(cell.text_frame.text.split()) for cell in row.cells]
            if any(cells):
                yield "\t".join(cells)
    elif shape.has_text_frame:
        paragraphs = [p.text.replace("\v", "\n").strip() for p in shape.text_frame.paragraphs]
        lines = [p for p in paragraphs if p]
        bullets = len(lines) > 1 and not (
            shape.is_placeholder and "TITLE" in str(shape.placeholder_format.type)
        )
        yield from (f"- {line}" if bullets else line for line in lines)
