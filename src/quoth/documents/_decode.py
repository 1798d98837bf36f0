"""Bytes to text: the encoding that was named, a byte order mark, UTF-8, or a guess that is owned up to."""

import codecs
import re
from dataclasses import dataclass

from quoth.errors import DocumentError

_MARKS = (  # UTF-32 first: its little-endian mark begins with that of UTF-16
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_CANDIDATES = (
    "cp1252 cp1250 cp1251 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 koi8_r cp932 euc_jp gb18030 big5 cp949 "
    "cp874 cp437 cp850 mac_roman iso8859_2 iso8859_5 iso8859_7"
)
_SAMPLE = 1 << 16
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile("[\0-\x08\x0e-\x1a\x1c-\x1f\ufffd]")
_REPLACED = "\ufffd"
_NAME_IT = "--encoding names the right one."


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text, the encoding it was read with, and what a reader of it should know."""

    text: str
    encoding: str
    notes: tuple[str, ...] = ()


def decode(data: bytes, encoding: str | None = None) -> Decoded:
    """Return *data* as text. What cannot be decoded becomes U+FFFD, counted in the notes.

    The encoding is *encoding*, or what a byte order mark says (the mark itself is no text), or UTF-8
    where *data* is that, or UTF-8 with some damage, or a guess with its confidence in the notes.
    Raise ``DocumentError`` (``bad_encoding``) for an encoding that does not exist, and
    (``unsupported``) for bytes that are no text.
    """
    if encoding is not None:
        return _named(data, encoding)
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _with_marks(data, name)
    wide = _wide(data)
    if wide:
        return _with_marks(data, wide)
    try:
        decoded = Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError:
        decoded = _damaged(data) or _guessed(data)
    _refuse_binary(decoded.text)
    return decoded


def _named(data: bytes, encoding: str) -> Decoded:
    try:
        return Decoded(data.decode(encoding), encoding)
    except UnicodeError:
        return _with_marks(data, encoding)
    except LookupError:
        hint = "Names are those of Python's codecs: utf-8, cp1252, shift_jis ..."
        raise DocumentError(f"There is no encoding {encoding!r}.", hint=hint, code="bad_encoding") from None


def _with_marks(data: bytes, encoding: str) -> Decoded:
    """Decode; what cannot be decoded is marked and counted."""
    try:
        text = data.decode(encoding, "replace")
    except (UnicodeError, ValueError) as problem:
        hint = "Another --encoding, or none, may read it."
        raise DocumentError(f"It is not {encoding}: {problem}.", hint=hint, code="bad_encoding") from problem
    count = text.count(_REPLACED) - _genuine(data, encoding)
    if count <= 0:
        return Decoded(text, encoding)
    return Decoded(text, encoding, (f"{_places(count)} not {encoding} and stand as U+FFFD.",))


def _genuine(data: bytes, encoding: str) -> int:
    """Return how many U+FFFD the original itself holds."""
    try:
        own = _REPLACED.encode(encoding.replace("-sig", "").replace("utf-16", "utf-16-le"))
    except (UnicodeError, LookupError):
        return 0
    return data.count(own) if encoding.replace("_", "-").startswith("utf-8") else 0


def _places(count: int) -> str:
    return "1 place was" if count == 1 else f"{count:,} places were"


def _wide(data: bytes) -> str:
    """Return the UTF-16 that *data* is written in without a mark: every other byte is mostly NUL."""
    head = data[:4096]
    half = len(head) // 2
    if half < 4 or b"\0" not in head:
        return ""
    even, odd = head[0::2].count(0) / half, head[1::2].count(0) / half
    if odd > 0.4 and even < 0.05:
        return "utf-16-le"
    return "utf-16-be" if even > 0.4 and odd < 0.05 else ""


def _damaged(data: bytes) -> Decoded | None:
    """Return *data* as UTF-8 with some bytes damaged, or None where it was hardly meant as UTF-8."""
    text = data.decode("utf-8", "replace")
    replaced = text.count(_REPLACED) - data.count(b"\xef\xbf\xbd")
    whole = len(_NOT_ASCII.findall(text)) - text.count(_REPLACED)
    if whole <= replaced:
        return None
    return Decoded(text, "utf-8", (_damage(data, text, replaced),))


_NOT_ASCII = re.compile("[^\0-\x7f]")


def _damage(data: bytes, text: str, replaced: int) -> str:
    bad = len(data) - (len(text.encode("utf-8")) - 3 * replaced)
    return f"{bad:,} byte{' was' if bad == 1 else 's were'} not UTF-8 and stand as U+FFFD; {_NAME_IT}"


def _guessed(data: bytes) -> Decoded:
    name, confidence = _guess(_sample(data))
    if name:
        text = data.decode(name, "replace")
        count = text.count(_REPLACED)
        if count <= len(text) // 100 + 1:
            guess = f"a guess (confidence {confidence:.0%})" if confidence > 0.3 else "an uncertain guess"
            note = f"Read as {name}, {guess}; {_NAME_IT}"
            extra = (f"{_places(count)} not {name} and stand as U+FFFD.",) if count else ()
            return Decoded(text, name, (note, *extra))
    text = data.decode("utf-8", "replace")
    replaced = text.count(_REPLACED) - data.count(b"\xef\xbf\xbd")
    return Decoded(text, "utf-8", (_damage(data, text, replaced),))


def _sample(data: bytes) -> bytes:
    """Return up to 64 KiB around the first byte that is no ASCII, cut at line or word ends."""
    first = _HIGH.search(data)
    at = first.start() if first else 0
    start = max(data.rfind(b"\n", max(0, at - 4096), at) + 1, at - 4096, 0)
    piece = data[start : start + _SAMPLE]
    if start + _SAMPLE < len(data):
        end = max(piece.rfind(b"\n"), piece.rfind(b" "))
        piece = piece[:end] if end > _SAMPLE // 2 else piece
    return piece


def _guess(sample: bytes) -> tuple[str, float]:
    """Return the likeliest encoding and how well its text fits a language, 0 to 1; "" for none.

    Western Europe's cp1252 wins what the detector holds for a draw, unless the letters would be mostly
    accented ones.
    """
    from charset_normalizer import from_bytes

    found = list(from_bytes(sample, cp_isolation=_CANDIDATES.split()))
    if not found:
        return "", 0.0
    best = found[0]
    drawn = [m for m in found if (m.chaos, m.coherence) == (best.chaos, best.coherence)]
    names = [name for m in drawn for name in (m.encoding, *m.could_be_from_charset)]
    accented = len(_HIGH.findall(sample)) * 2 > sum(1 for c in sample if chr(c).isalpha())
    wish = "cp1251" if accented else "cp1252"
    return (wish if wish in names else best.encoding), best.coherence


def _refuse_binary(text: str) -> None:
    head = text[:8192]
    if len(head) >= 16 and len(_CONTROL.findall(head)) > 0.3 * len(head):
        raise DocumentError("Its bytes are no text.", hint="Its type is not known.", code="unsupported")
