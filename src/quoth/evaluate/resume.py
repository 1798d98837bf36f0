"""Run a long evaluation so that it can be killed at any moment and carried on, with identical figures.

Every question's row goes into a JSONL file, synced to disk batch by batch; the first line names the settings.
All figures are computed from the rows, and a JSON number comes back bit by bit, so an interrupted run
ends as an uninterrupted one does.
"""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, TypeVar

from quoth.errors import InputError
from quoth.evaluate.cases import check_ids

Row = dict[str, Any]
Progress = Callable[[int, int], None]
T = TypeVar("T")

FORMAT = 1
_KEY = "quoth_resume"


@dataclass(frozen=True, slots=True)
class Running:
    """How a run is carried out: where its rows are kept, what they depend on, whom to tell.

    ``settings`` must name everything that the rows depend on (data hash, model hash, options); a file of
    other settings is refused. ``progress`` is called with (done, total). ``batch`` rows are synced at a time.
    """

    resume: Path | None = None
    settings: Mapping[str, str] = field(default_factory=dict)
    progress: Progress | None = None
    batch: int = 32


def run_rows(
    items: Sequence[T], *, id_of: Callable[[T], str], work: Callable[[T], Row], running: Running
) -> list[Row]:
    """Return ``work(item)`` for each item, in order, skipping those that the resume file has.

    Raises ``InputError`` for doubled ids, a resume file of other settings, or one that cannot be written.
    """
    check_ids(id_of(item) for item in items)
    done: dict[str, Row] = {}
    file: IO[bytes] | None = None
    try:
        if running.resume is not None:
            done, file = _open(running.resume, running.settings)
        pending: list[bytes] = []
        for count, item in enumerate(items, start=1):
            id = id_of(item)
            if id not in done:
                row = {"id": id, **work(item)}
                line = json.dumps(row, ensure_ascii=True, allow_nan=False)
                done[id] = json.loads(line)
                pending.append(line.encode("ascii") + b"\n")
            if file is not None and (len(pending) >= running.batch or count == len(items)):
                _append(file, pending)
            if running.progress is not None:
                running.progress(count, len(items))
    finally:
        if file is not None:
            file.close()
    return [done[id_of(item)] for item in items]


def _open(path: Path, settings: Mapping[str, str]) -> tuple[dict[str, Row], IO[bytes]]:
    """Return the rows that are there, and the file, ready for more; a line cut short by a kill is dropped."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = path.open("ab+")
    except OSError as error:
        raise InputError(
            f"{path} cannot be opened for writing: {error.strerror}.", hint="Choose another folder."
        ) from error
    try:
        file.seek(0)
        content = file.read()
        whole = content[: content.rfind(b"\n") + 1]
        if len(whole) < len(content):
            file.truncate(len(whole))
        lines = whole.splitlines()
        if not lines:
            header = {_KEY: FORMAT, "settings": dict(settings)}
            _append(file, [json.dumps(header).encode("ascii") + b"\n"])
            return {}, file
        _check_header(path, lines[0], settings)
        rows: dict[str, Row] = {}
        for number, line in enumerate(lines[1:], start=2):
            row = _row(path, number, line)
            rows[row["id"]] = row
        file.seek(0, os.SEEK_END)
        return rows, file
    except BaseException:
        file.close()
        raise


def _check_header(path: Path, line: bytes, settings: Mapping[str, str]) -> None:
    try:
        header = json.loads(line)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get(_KEY) != FORMAT:
        raise InputError(
            f"{path} is not a resume file of this version.", hint="Remove it, or choose another folder."
        )
    there = header["settings"]
    names = sorted(k for k in {*there, *settings} if there.get(k) != settings.get(k))
    if names:
        first = names[0]
        raise InputError(
            f"{path} was begun with other settings ({', '.join(names)}): "
            f"{first} was {there.get(first)!r}, now {settings.get(first)!r}.",
            hint="Remove the file to start again, or write to another folder.",
        )


def _row(path: Path, number: int, line: bytes) -> Row:
    try:
        row = json.loads(line)
    except ValueError as error:
        raise InputError(
            f"{path}, line {number} is damaged.", hint="Remove the file to start again."
        ) from error
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise InputError(f"{path}, line {number} is no row.", hint="Remove the file to start again.")
    return row


def _append(file: IO[bytes], pending: list[bytes]) -> None:
    if pending:
        try:
            file.write(b"".join(pending))
            file.flush()
            os.fsync(file.fileno())
        except OSError as error:
            raise InputError(
                f"The resume file cannot be written: {error.strerror}.", hint="Free some space."
            ) from error
        pending.clear()
