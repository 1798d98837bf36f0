"""The parent's side of the child processes that open untrusted files."""

import contextlib
import json
import os
import signal
import struct
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from typing import IO, Any

from quoth.documents._extract import Extracted, Job, corrupt, from_json
from quoth.errors import DocumentError

_LENGTH = struct.Struct(">Q")
_MOST_JOBS = 500  # then a child is replaced: native libraries leak
_GRACE = 2.0  # seconds of wall clock beyond the limit of processor time: a child has to start


class _Died(Exception):
    """A child ended without a reply."""

    def __init__(self, status: int | None, timed_out: bool) -> None:
        super().__init__(status)
        self.status = status
        self.timed_out = timed_out


class _Child:
    def __init__(self, memory: int) -> None:
        self.jobs = 0
        self._memory = memory
        package = str(Path(__file__).resolve().parents[2])
        paths = [package, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(paths), "OMP_NUM_THREADS": "1"}
        # -P: the current folder may hold anybody's files, among them a json.py
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "quoth.documents._worker", str(memory)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment,
        )

    def ask(self, request: dict[str, Any], data: bytes, seconds: float) -> Any:
        """Return the reply as plain values. Raise ``_Died`` where there is none."""
        self.jobs += 1
        late = threading.Event()

        def kill() -> None:
            late.set()
            self.process.kill()

        timer = threading.Timer(seconds, kill)
        timer.daemon = True
        timer.start()
        try:
            return json.loads(self._exchange(json.dumps(request).encode("ascii"), data))
        except (OSError, EOFError, ValueError) as problem:
            self.close()
            raise _Died(self.process.returncode, late.is_set()) from problem
        finally:
            timer.cancel()

    def _exchange(self, header: bytes, data: bytes) -> bytes:
        requests, replies = self.process.stdin, self.process.stdout
        if requests is None or replies is None:
            raise EOFError
        requests.write(_LENGTH.pack(len(header)) + header)
        requests.write(data)
        requests.flush()
        (size,) = _LENGTH.unpack(_exactly(replies, _LENGTH.size))
        if size > self._memory:  # no child can hold that
            raise EOFError
        return _exactly(replies, size)

    def alive(self) -> bool:
        return self.process.poll() is None

    def close(self) -> None:
        """End the child and wait for it."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        self.process.wait()


class Pool:
    """Child processes, kept between files; as many as there are callers at once. Safe to share."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._idle: dict[int, list[_Child]] = {}
        self._owner = os.getpid()
        weakref.finalize(self, _close_all, self._idle, self._owner)

    def extract(self, format_name: str, data: bytes, job: Job, *, memory: int) -> list[Extracted]:
        """Have a child run a format's loader. Raise ``DocumentError``, its own or ``extractor_limit``.

        A child that served other files and dies at this one gets a fresh successor, which decides.
        """
        request = {
            "format": format_name,
            "size": len(data),
            "name": job.name,
            "encoding": job.encoding,
            "passwords": job.passwords,
            "limit": job.limit,
            "seconds": job.seconds,
        }
        child = self._borrow(memory)
        while True:
            fresh = child.jobs == 0
            try:
                reply = child.ask(request, data, job.seconds + _GRACE)
            except _Died as death:
                if fresh or death.timed_out:
                    raise _killed(death, job, memory) from death
                child = _Child(memory)
                continue
            except BaseException:  # Ctrl-C between request and reply: the next file must not get this reply
                child.close()
                raise
            error = reply.get("error")
            if error and error["code"] == "extractor_limit" and not fresh:
                child.close()
                child = _Child(memory)
                continue
            self._give_back(child, memory, keep=not error or error["code"] != "extractor_limit")
            if error:
                raise DocumentError(error["message"], hint=error["hint"], code=error["code"])
            try:
                return from_json(reply["documents"])
            except (KeyError, TypeError, ValueError, AttributeError) as problem:
                raise corrupt("It made its reader reply with nonsense.") from problem

    def close(self) -> None:
        """End the children that are idle."""
        with self._lock:
            _close_all(self._idle, self._owner)

    def _borrow(self, memory: int) -> _Child:
        with self._lock:
            if self._owner != os.getpid():  # a fork: the children belong to the parent
                self._idle.clear()
                self._owner = os.getpid()
            idle = self._idle.get(memory, [])
            while idle:
                child = idle.pop()
                if child.alive():
                    return child
                child.close()
        return _Child(memory)

    def _give_back(self, child: _Child, memory: int, *, keep: bool) -> None:
        if not keep or child.jobs >= _MOST_JOBS:
            child.close()
            return
        with self._lock:
            self._idle.setdefault(memory, []).append(child)


def _exactly(stream: IO[bytes], size: int) -> bytes:
    data = stream.read(size)
    if len(data) < size:
        raise EOFError
    return data


def _killed(death: _Died, job: Job, memory: int) -> DocumentError:
    status = death.status or 0
    late = death.timed_out or (status < 0 and -status == getattr(signal, "SIGXCPU", 0))
    if late:
        why = f"Reading it took more than {job.seconds:g} s, and was ended."
    else:
        why = f"Reading it took more than {memory >> 20:,} MB, or broke its reader (status {status})."
    hint = "It may be damaged, or made to do this; nothing else was affected."
    return DocumentError(why, hint=hint, code="extractor_limit")


def _close_all(idle: dict[int, list[_Child]], owner: int) -> None:
    if owner != os.getpid():
        return
    for children in idle.values():
        for child in children:
            child.close()
    idle.clear()
