"""The child process that opens untrusted files: ``python -P -m quoth.documents._worker MEMORY``.

It reads requests from its standard input and writes replies to what was its standard output, each a
length (8 bytes, big-endian) and JSON; a request is followed by the file's bytes. It holds
itself to limits of memory and processor time, writes no files, and ends when its input does, or after
thirty idle seconds.
"""

import json
import os
import select
import signal
import struct
import sys
import time
from typing import Any, BinaryIO

from quoth.documents._extract import Job, to_json
from quoth.documents._formats import BY_NAME
from quoth.errors import DocumentError

IDLE_SECONDS = 30.0
LENGTH = struct.Struct(">Q")


def main(memory: int) -> None:
    """Serve until the input ends."""
    replies = os.fdopen(os.dup(1), "wb")
    requests = os.fdopen(os.dup(0), "rb", buffering=0)
    silence = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # a library that prints must not end up between the replies
        os.dup2(silence, stream)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to answer
    sys.dont_write_bytecode = True
    sys.modules["numpy"] = None  # type: ignore[assignment]  # openpyxl would load it, and its threads' memory
    _limit(memory)
    while _waiting(requests):
        header = _read(requests, LENGTH.size)
        if len(header) < LENGTH.size:
            return
        request = json.loads(_read(requests, LENGTH.unpack(header)[0]))
        data = _read(requests, request["size"])
        _limit_time(request["seconds"])
        reply = _reply(request, data)
        del data
        replies.write(LENGTH.pack(len(reply)))
        replies.write(reply)
        replies.flush()


def _reply(request: dict[str, Any], data: bytes) -> bytes:
    job = Job(
        name=request["name"],
        encoding=request["encoding"],
        passwords=tuple(request["passwords"]),
        limit=request["limit"],
        seconds=request["seconds"],
    )
    try:
        found = BY_NAME[request["format"]].load()(data, job)
        reply = json.dumps({"documents": to_json(found)}, ensure_ascii=False)
        return reply.encode("utf-8", "replace")
    except DocumentError as problem:
        error = {"message": problem.message, "hint": problem.hint, "code": problem.code}
    except (MemoryError, RecursionError) as problem:
        what = "memory" if isinstance(problem, MemoryError) else "nesting"
        error = {"message": f"It takes too much {what} to read.", "hint": "", "code": "extractor_limit"}
    except Exception as problem:  # a parser met what it was not made for: that file is damaged
        what = f"{type(problem).__name__}: {problem}"[:300]
        error = {"message": f"It is damaged ({what}).", "hint": "", "code": "corrupt"}
    return json.dumps({"error": error}).encode("ascii")


def _read(stream: BinaryIO, size: int) -> bytes:
    """Return *size* bytes, or fewer where the stream ends."""
    parts = []
    while size > 0:
        piece = stream.read(min(size, 1 << 20))
        if not piece:
            break
        parts.append(piece)
        size -= len(piece)
    return b"".join(parts)


def _waiting(stream: BinaryIO) -> bool:
    """Wait for a request; say whether there is one, or the end of the input."""
    if sys.platform == "win32":  # pipes cannot be selected there
        return True
    return bool(select.select([stream], [], [], IDLE_SECONDS)[0])


def _limit(memory: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limits; the time limit holds there too
        return
    for kind, value in (
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        try:
            resource.setrlimit(kind, (value, value))
        except (ValueError, OSError):  # macOS refuses some
            continue


def _limit_time(seconds: float) -> None:
    try:
        import resource
    except ImportError:
        return
    limit = int(time.process_time() + seconds) + 1
    try:
        resource.setrlimit(resource.RLIMIT_CPU, (limit, resource.getrlimit(resource.RLIMIT_CPU)[1]))
    except (ValueError, OSError):
        return


if __name__ == "__main__":
    main(int(sys.argv[1]))
