"""Remembers which reader to take by default, in the user's settings file."""

import os
import re
from pathlib import Path

from quoth.errors import InputError
from quoth.models.places import folder
from quoth.settings import load, user_file

_LINE = re.compile(r"(?m)^[ \t]*reader[ \t]*=.*$")


def use(name: str, *, path: Path | None = None) -> Path:
    """Make *name* the default reader and return the settings file that says so; all else in it stays.

    A local folder is kept as an absolute path. Raises ``ModelError`` where there is no such model, and
    ``InputError`` for a settings file that cannot be read or written: it is not changed then.
    """
    found = folder(name)
    kept = str(found.resolve()) if Path(name).expanduser().is_dir() else name
    target = path or user_file()
    load(environment={}, user=target)
    text = target.read_text(encoding="utf-8") if target.is_file() else ""
    line = f"reader = {_quoted(kept)}"
    text = _LINE.sub(lambda match: line, text, count=1) if _LINE.search(text) else f"{line}\n{text}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        fresh = target.with_name(f"{target.name}.{os.getpid()}")
        fresh.write_text(text, encoding="utf-8")
        fresh.replace(target)
    except OSError as problem:
        raise InputError(
            f"{target} cannot be written: {problem.strerror}.", hint="XDG_CONFIG_HOME names another place."
        ) from problem
    return target


def _quoted(text: str) -> str:
    """Return a TOML basic string."""
    escaped = "".join(f"\\u{ord(c):04x}" if ord(c) < 32 or c in '"\\\x7f' else c for c in text)
    return f'"{escaped}"'
