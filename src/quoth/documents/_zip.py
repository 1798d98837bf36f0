"""Zip archives that are checked before anything is unpacked."""

import io
import zipfile

from quoth.documents._extract import MEGABYTE, corrupt, too_large_expanded
from quoth.errors import DocumentError

MOST_MEMBERS = 10_000
MOST_RATIO = 200
_SMALL = MEGABYTE  # a ratio says nothing about less
_ENCRYPTED = 1
_STEP = 1 << 18


def open_checked(data: bytes, limit: int) -> zipfile.ZipFile:
    """Open an archive whose directory promises no more than *limit* bytes, 10,000 members and 200:1.

    ``zipfile`` never unpacks more of a member than its directory says, so that a directory that
    lies gives a damaged member and no flood. Raise ``DocumentError``: ``too_large_expanded``,
    ``encrypted``, ``corrupt``.
    """
    try:
        archive = zipfile.ZipFile(io.BytesIO(data))
    except (zipfile.BadZipFile, ValueError, OverflowError, NotImplementedError, EOFError) as problem:
        raise corrupt(f"The zip archive inside it is damaged: {problem}.") from problem
    members = archive.infolist()
    if len(members) > MOST_MEMBERS:
        raise too_large_expanded(
            f"it holds {len(members):,} parts (at most {MOST_MEMBERS:,} are read)", limit
        )
    total = 0
    for member in members:
        if member.flag_bits & _ENCRYPTED:
            raise DocumentError("It is encrypted.", hint="Save it without a password.", code="encrypted")
        total += member.file_size
        if member.file_size > _SMALL and member.file_size > MOST_RATIO * max(1, member.compress_size):
            ratio = member.file_size // max(1, member.compress_size)
            raise too_large_expanded(f"a part grows {ratio:,} times (at most {MOST_RATIO})", limit)
    if total > limit:
        raise too_large_expanded(f"{total:,} bytes", limit)
    return archive


def read_member(archive: zipfile.ZipFile, name: str, limit: int) -> bytes:
    """Return a member's bytes, counted while they are unpacked. Raise ``DocumentError`` as above."""
    try:
        parts, size = [], 0
        with archive.open(name) as file:
            while piece := file.read(_STEP):
                size += len(piece)
                if size > limit:
                    raise too_large_expanded(f"{name} has more than {limit:,} bytes", limit)
                parts.append(piece)
    except KeyError:
        raise corrupt(f"It has no part {name!r}.") from None
    except (zipfile.BadZipFile, EOFError, NotImplementedError, OSError, RuntimeError, ValueError) as problem:
        raise corrupt(f"Its part {name!r} is damaged: {problem}.") from problem
    return b"".join(parts)
