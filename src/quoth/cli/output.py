"""What all commands share: how results, messages, progress and errors reach a person or a program.

Results go to stdout, everything else to stderr. With ``--json`` stdout holds one JSON object
and nothing else. Control characters of documents never reach a terminal.
"""

import json
import math
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Annotated, Any

import typer

from quoth.errors import QuothError

Json = Annotated[
    bool, typer.Option("--json", help="Print one JSON object on stdout, and nothing else there.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No messages and no progress on stderr.")]
IndexOption = Annotated[
    str | None,
    typer.Option(
        "--index",
        metavar="DIR|ADDRESS",
        help="The index: a folder, opensearch://host:port/name, wikipedia:en or mediawiki:URL "
        "(else .quoth/ in this folder or one above).",
    ),
]

Advance = Callable[[int, int, str], None]
"""Called with (done, total, what); total 0 means that it is not known."""


def emit(schema: str, payload: Mapping[str, Any]) -> None:
    """Print *payload* as one JSON object; ``schema`` is NAME/VERSION. Never NaN: null instead."""
    body = {"schema": f"quoth.{schema}", **payload}
    print(json.dumps(_finite(body), ensure_ascii=False, allow_nan=False, default=str))


def _finite(value: Any) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(k): _finite(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(v) for v in value]
    return value


def say(text: str = "") -> None:
    """Print a line of the result on stdout, made safe for a terminal."""
    print(safe(text))


def note(text: str, *, quiet: bool = False) -> None:
    """Print a message on stderr."""
    if not quiet:
        print(safe(text), file=sys.stderr)


def fail(error: QuothError, *, as_json: bool) -> None:
    """Print one line on stderr: what, why, the way out; and the JSON object where it is asked for."""
    if as_json:
        body = {"code": error.code, "message": error.message, "hint": error.hint}
        print(json.dumps({"schema": "quoth.error/1", "error": body}, ensure_ascii=False))
    print(safe(f"quoth: {error}").replace("\n", " "), file=sys.stderr)


def counted(n: int, what: str) -> str:
    """Return ``1 window`` or ``2 windows``."""
    return f"{n:,} {what}{'' if n == 1 else 's'}"


_KEPT = {"\n", "\t"}
_BIDI = {*range(0x202A, 0x202F), *range(0x2066, 0x206A)}


def safe(text: str) -> str:
    """Return *text* with control characters, bidi overrides and lone surrogates made visible."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(c) for c in text)


def _visible(character: str) -> str:
    point = ord(character)
    control = point < 0x20 or 0x7F <= point < 0xA0 or point in _BIDI or 0xD800 <= point < 0xE000
    return f"\\x{point:02x}" if control and character not in _KEPT else character


def table(rows: Sequence[Sequence[object]], header: Sequence[str]) -> None:
    """Print rows as aligned columns; numbers to the right."""
    cells = [[safe(_cell(c)).replace("\n", " ") for c in row] for row in rows]
    widths = [max([len(h), *(len(r[i]) for r in cells)]) for i, h in enumerate(header)]
    numeric = [
        bool(rows) and all(isinstance(r[i], int | float) or r[i] is None for r in rows)
        for i in range(len(header))
    ]
    for line in ([*header], *cells):
        columns = (c.rjust(w) if n else c.ljust(w) for c, w, n in zip(line, widths, numeric, strict=True))
        print("  ".join(columns).rstrip())


def _cell(value: object) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        from quoth.evaluate.tables import shown

        return shown(value)
    return str(value)


@contextmanager
def progress(label: str, *, quiet: bool) -> Iterator[Advance]:
    """Yield a callback that draws a bar on a terminal, and does nothing elsewhere."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total, what: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[what]}", markup=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(label, total=None, what="")
        yield lambda done, total, what: bar.update(
            task, completed=done, total=total or None, what=safe(what)[-60:]
        )
