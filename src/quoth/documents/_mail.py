"""E-mail to text: who, when and what about, then the body."""

from collections.abc import Iterator, Sequence
from email import message_from_bytes
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime

from quoth.documents._dates import iso_date
from quoth.documents._decode import decode
from quoth.documents._extract import Extracted, Job, Writer, corrupt
from quoth.documents._html import decode_html, read_html
from quoth.errors import DocumentError

_HEADERS = ("Subject", "From", "To", "Cc", "Date")
_LONGEST_HEADER = 2_000
_MOST_PARTS = 1_000


def extract(data: bytes, job: Job) -> Sequence[Extracted]:
    """Return a message: its headers a line each, then its plain text, else its HTML as text.

    Attachments are named in the notes and the metadata, and not read.
    """
    message = message_from_bytes(data)
    headers = {name: value for name in _HEADERS if (value := _header(message, name))}
    if not headers and not message.is_multipart():
        raise corrupt("It has none of an e-mail's headers.", hint="If it is a text, name it .txt.")
    writer = Writer(job.limit)
    head = "\n".join(f"{name}: {value}" for name, value in headers.items())
    writer.add(head, line=1, label="headers")
    bodies, attachments = _parts(message)
    notes: list[str] = []
    for part in _chosen(bodies):
        notes += _write(writer, part, job)
    if attachments:
        notes.append(f"Attachments were not read: {', '.join(attachments)[:500]}.")
    metadata = {
        "author": headers.get("From", ""),
        "from": headers.get("From", ""),
        "to": headers.get("To", ""),
        "subject": headers.get("Subject", ""),
        "date": _date(headers.get("Date", "")),
        "attachments": ", ".join(attachments)[:500],
    }
    return [
        Extracted(
            writer.text(),
            title=headers.get("Subject", ""),
            metadata={key: value for key, value in metadata.items() if value},
            segments=tuple(writer.segments),
            notes=tuple(notes),
        )
    ]


def _header(message: Message, name: str) -> str:
    raw = message.get(name)
    if raw is None:
        return ""
    short = str(raw)[:_LONGEST_HEADER]
    try:
        text = str(make_header(decode_header(short)))
    except (LookupError, ValueError, UnicodeError):  # an encoding that does not exist, bad base64
        text = short
    return " ".join(text.split())


def _date(value: str) -> str:
    try:
        return iso_date(parsedate_to_datetime(value)) if value else ""
    except (ValueError, TypeError, IndexError, OverflowError):
        return ""


def _parts(message: Message) -> tuple[list[Message], list[str]]:
    """Return the parts that are the message itself, and the names of those attached to it."""
    bodies, attachments = [], []
    for number, part in enumerate(_walk(message)):
        if number >= _MOST_PARTS:
            break
        kind = part.get_content_type()
        name = part.get_filename()
        if name or part.get_content_disposition() == "attachment" or not kind.startswith("text/"):
            if not (kind.startswith("image/") and part.get("Content-ID")):
                attachments.append(" ".join(str(name or kind).split())[:100])
        elif kind in ("text/plain", "text/html"):
            bodies.append(part)
    return bodies, attachments


def _walk(message: Message) -> Iterator[Message]:
    """Yield the leaves of a message, in order; a message attached to it is a leaf."""
    stack: list[Message] = [message]
    while stack:
        part = stack.pop()
        payload = part.get_payload()
        if part.get_content_maintype() == "multipart" and isinstance(payload, list):
            stack += [p for p in reversed(payload) if isinstance(p, Message)]
        else:
            yield part


def _chosen(bodies: Sequence[Message]) -> list[Message]:
    plain = [part for part in bodies if part.get_content_type() == "text/plain" and _bytes(part).strip()]
    return plain or [part for part in bodies if part.get_content_type() == "text/html"]


def _bytes(part: Message) -> bytes:
    payload = part.get_payload(decode=True)
    return payload if isinstance(payload, bytes) else b""


def _write(writer: Writer, part: Message, job: Job) -> tuple[str, ...]:
    data = _bytes(part)
    if part.get_content_type() == "text/html":
        if writer.length:
            writer.gap("\n\n")
        decoded = decode_html(data, job.encoding or _charset(part, data))
        read_html(decoded.text, writer, lines=False)
        return decoded.notes
    decoded = decode(data, job.encoding or _charset(part, data))
    body = decoded.text.strip("\r\n")
    if body:
        if writer.length:
            writer.gap("\n\n")
        writer.add(body, label="body")
    return decoded.notes


def _charset(part: Message, data: bytes) -> str | None:
    """Return the encoding that a part names, where it exists and can be true."""
    name = part.get_content_charset()
    if name is None or name in ("us-ascii", "ascii", "utf-8", "utf8"):
        return None
    try:
        decode(data[:100], name)
    except DocumentError:
        return None
    return name
