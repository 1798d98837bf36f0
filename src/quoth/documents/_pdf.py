"""PDF to text: page by page, with a map from every character back to its page's raw text."""

import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from time import monotonic

from quoth.documents._dates import iso_date
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.errors import DocumentError

PAGE_BREAK = "\f"
_HYPHENS = "\ufffe\x02"  # what PDFium puts for a hyphen at the end of a line, the line end taken out
_LIGATURES = {
    "\ufb00": "ff",
    "\ufb01": "fi",
    "\ufb02": "fl",
    "\ufb03": "ffi",
    "\ufb04": "ffl",
    "\ufb05": "st",
    "\ufb06": "st",
}
_CHANGED = re.compile(r"[\ufffe\x02\ufb00-\ufb06]|(?<=[^\W\d_])-\r?\n(?=[^\W\d_])")
_BAD = re.compile("[\ufffd\ue000-\uf8ff\0-\x08\x0b\x0e-\x1f\x7f-\x9f]")
_LETTERS = re.compile(r"[A-Za-z\u00c0-\u024f]")
_JUNK_TITLE = re.compile(
    r"(?i)^(?:untitled.*|microsoft (?:word|powerpoint|excel) - .*|.*\.(?:docx?|pptx?|xlsx?|pdf|tex|dvi|indd|rtf|odt)"
    r"|powerpoint presentation|document\d*|\W*)$"
)
_BAD_SHARE = 0.25
_RUN_TOGETHER = 0.02  # spaces per letter in a page of run-together words


@dataclass(frozen=True, slots=True)
class Pages:
    """The raw text of every page, as an engine gives it; None for a page that it could not read."""

    raw: Sequence[str | None]
    labels: Sequence[str]
    metadata: dict[str, str] = field(default_factory=dict)
    engine: str = "pdfium"


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return the text of a PDF.

    PDFium reads it; where that fails, or finds no text, pypdf has a try. Raise ``DocumentError``:
    ``encrypted``, ``corrupt``, ``no_text_layer``, ``low_text_quality``.
    """
    until = monotonic() + 0.8 * job.seconds
    pages = _first_opinion(data, job, until)
    if not any(raw and raw.strip() for raw in pages.raw):
        pages = _second_opinion(data, job, until) or pages
    silent = [n for n, raw in enumerate(pages.raw, 1) if raw is not None and not raw.strip()]
    broken = [n for n, raw in enumerate(pages.raw, 1) if raw is None]
    if len(silent) == len(pages.raw) or not any(pages.raw):
        raise no_text_layer(len(pages.raw))
    garbled = [n for n, raw in enumerate(pages.raw, 1) if raw and is_garbled(raw)]
    if 2 * len(garbled) > len(pages.raw) - len(silent) - len(broken):
        raise DocumentError(
            f"The text layer is garbled (page {_ranges(garbled)}).",
            hint="Its fonts do not say which letters they draw; ocrmypdf --force-ocr makes a new text layer.",
            code="low_text_quality",
        )
    writer = Writer(job.limit)
    for number, raw in enumerate(pages.raw, 1):
        if raw and raw.strip():
            if writer.length:
                writer.gap(PAGE_BREAK)
            label = pages.labels[number - 1]
            write_page(writer, raw, page=number, label=label if label != str(number) else "")
    return [
        Extracted(
            writer.text(),
            title=pages.metadata.pop("title", ""),
            metadata=pages.metadata,
            segments=tuple(writer.segments),
            notes=tuple(_notes(pages, silent, broken, garbled)),
        )
    ]


def no_text_layer(pages: int, extra: str = "") -> DocumentError:
    """Return the error for a PDF of pictures."""
    return DocumentError(
        f"It has {pages:,} page{'s' if pages != 1 else ''} and no text layer: probably a scan. {extra}".strip(),
        hint="`quoth index --ocr` reads it where ocrmypdf or tesseract is installed.",
        code="no_text_layer",
    )


def write_page(writer: Writer, raw: str, *, page: int, label: str = "") -> None:
    """Append a page: hyphens at line ends go, ligatures become letters, all else stays.

    Every exact segment is linear: ``raw[original + i] == text[start + i]``.
    """
    end = len(raw.rstrip("\r\n"))
    at = 0
    for change in _CHANGED.finditer(raw, 0, end):
        writer.add(raw[at : change.start()], page=page, original=at, label=label, exact=True)
        writer.add(_replacement(raw, change), page=page, original=change.start(), label=label)
        at = change.end()
    writer.add(raw[at:end], page=page, original=at, label=label, exact=True)


def _replacement(raw: str, change: re.Match[str]) -> str:
    """Return what stands for a ligature or a hyphen at a line end.

    The hyphen stays where the word has one already (state-of-the-art), and before a capital or a digit.
    """
    letters = _LIGATURES.get(change[0])
    if letters is not None:
        return letters
    word = raw[max(0, change.start() - 40) : change.start()].split()[-1:]
    following = raw[change.end() : change.end() + 1]
    compound = bool(word) and "-" in word[0].strip("-")
    return "-" if compound or (following and not following.islower()) else ""


def is_garbled(raw: str) -> bool:
    """Say whether a page's text is mostly signs without meaning, or words without spaces."""
    visible = sum(map(len, raw.split()))
    if visible and len(_BAD.findall(raw.translate(_NO_HYPHENS))) > _BAD_SHARE * visible:
        return True
    letters = len(_LETTERS.findall(raw))
    return letters > 400 and letters > 0.6 * visible and len(raw.split()) < _RUN_TOGETHER * letters


_NO_HYPHENS = {ord(c): None for c in _HYPHENS}


def _first_opinion(data: bytes, job: Job, until: float) -> Pages:
    import pypdfium2
    from pypdfium2.raw import FPDF_ERR_PASSWORD, FPDF_GetLastError

    document = None
    for password in (None, *job.passwords):
        try:
            document = pypdfium2.PdfDocument(data, password=password)
            break
        except pypdfium2.PdfiumError:
            if FPDF_GetLastError() == FPDF_ERR_PASSWORD:
                continue
            return _only_opinion(data, job, until)
    if document is None:
        raise encrypted(bool(job.passwords))
    try:
        count = len(document)
        if count == 0:
            return _only_opinion(data, job, until)
        raw, labels = [], []
        for index in range(count):
            raw.append(_page_text(document, index))
            labels.append(document.get_page_label(index))
        return Pages(raw, labels, _metadata(document.get_metadata_dict()))
    finally:
        document.close()


def _page_text(document: object, index: int) -> str | None:
    import pypdfium2

    try:
        page = document[index]  # type: ignore[index]
        text = page.get_textpage()
        found: str = text.get_text_range(errors="replace")
        text.close()
        page.close()
    except pypdfium2.PdfiumError:
        return None
    return found


def encrypted(tried: bool) -> DocumentError:
    """Return the error for a PDF behind a password."""
    what = "None of the passwords opens it." if tried else "It is behind a password."
    return DocumentError(
        what, hint="--password-file names a file of passwords, one a line.", code="encrypted"
    )


def _only_opinion(data: bytes, job: Job, until: float) -> Pages:
    """Return what pypdf reads where PDFium cannot. Raise ``corrupt`` where it cannot either."""
    pages = _second_opinion(data, job, until)
    if pages is None or not any(raw is not None for raw in pages.raw):
        raise corrupt("It is a damaged PDF: neither of two readers can make sense of it.")
    return pages


def _second_opinion(data: bytes, job: Job, until: float) -> Pages | None:
    """Return the pages as pypdf reads them, or None where it cannot; pages after *until* are left unread."""
    import logging

    from pypdf import PdfReader

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(data), strict=False)
        if reader.is_encrypted and not any(reader.decrypt(p) for p in ("", *job.passwords)):
            raise encrypted(bool(job.passwords))
        count = len(reader.pages)
        labels = [str(n) for n in range(1, count + 1)]
        information = {str(k).lstrip("/"): str(v) for k, v in (reader.metadata or {}).items()}
    except DocumentError:
        raise
    except MemoryError:
        raise
    except Exception:  # pypdf raises what comes up in damaged files, of any class
        return None
    raw: list[str | None] = []
    for index in range(count):
        try:
            raw.append(reader.pages[index].extract_text() if monotonic() < until else None)
        except MemoryError:
            raise
        except Exception:  # as above: this page is damaged, the next may not be
            raw.append(None)
    return Pages(raw, labels, _metadata(information), engine="pypdf") if count else None


def _metadata(information: dict[str, str]) -> dict[str, str]:
    title = information.get("Title", "").strip()
    found = {
        "title": "" if _JUNK_TITLE.match(title) else title[:300],
        "author": information.get("Author", "").strip()[:300],
        "date": iso_date(information.get("ModDate")) or iso_date(information.get("CreationDate")),
    }
    return {key: value for key, value in found.items() if value}


def _notes(pages: Pages, silent: list[int], broken: list[int], garbled: list[int]) -> Iterator[str]:
    if broken:
        yield f"Partial: page {_ranges(broken)} could not be read."
    if silent:
        yield f"No text on page {_ranges(silent)}: empty or scanned."
    if garbled:
        yield f"The text of page {_ranges(garbled)} is garbled (low_text_quality)."
    if pages.engine == "pypdf":
        yield "Read by pypdf: the file is damaged, or its text is hidden from PDFium."


def _ranges(numbers: Sequence[int]) -> str:
    """Return ``1, 3-5, 9`` for those numbers."""
    spans: list[list[int]] = []
    for number in numbers:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    parts = [str(a) if a == b else f"{a}-{b}" for a, b in spans]
    return ", ".join(parts[:20]) + (" ..." if len(parts) > 20 else "")
