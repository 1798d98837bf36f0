"""Names: ids from paths, and paths that can be shown and stored."""

import hashlib
import os
import re
import sys
import unicodedata
from pathlib import Path

_LONGEST_ID = 200
_UNSTORABLE = re.compile("[\0\ud800-\udfff]")


def document_id(source: str, key: str = "") -> str:
    """Return the id of the document at *source* (a path) and *key* (a row): 16 hexadecimal digits.

    It is the head of the SHA-256 of the path's bytes; on macOS, which spells one name in two ways,
    of the composed form.
    """
    path = unicodedata.normalize("NFC", source) if sys.platform == "darwin" else source
    name = path.encode("utf-8", "surrogatepass" if _pairs(path) else "surrogateescape")
    whole = name + b"\0" + key.encode("utf-8", "surrogatepass") if key else name
    return hashlib.sha256(whole).hexdigest()[:16]


def sane_id(given: object) -> str:
    """Return an id that came with the data as it will be kept; empty where it is not fit to be one.

    Fit are numbers, and strings of 1 to 200 printable characters without a space at either end.
    """
    if isinstance(given, bool) or not isinstance(given, str | int):
        return ""
    text = str(given)
    fit = 0 < len(text) <= _LONGEST_ID and text.isprintable() and text == text.strip()
    return text if fit else ""


def display(path: Path | str) -> str:
    r"""Return a path as it can be shown and stored: bytes that are no UTF-8 stand as ``\xff``."""
    return (
        os.fsencode(path).decode("utf-8", "backslashreplace")
        if not _pairs(str(path))
        else storable(str(path))
    )


def storable(text: str) -> str:
    """Return *text* with NUL and lone surrogates as U+FFFD: the same length."""
    if text.isascii():
        return text.replace("\0", "\ufffd") if "\0" in text else text
    return _UNSTORABLE.sub("\ufffd", text)


def _pairs(text: str) -> bool:
    """Say whether *text* holds surrogates that no file name can have given."""
    return not text.isascii() and any("\ud800" <= c < "\udc80" or "\udcff" < c <= "\udfff" for c in text)
