"""One table of settings: name, default, help. Values come from, the first that has one:

command line > environment (``QUOTH_...``) > project (``quoth.toml`` beside ``.quoth/``) > user
(``~/.config/quoth/config.toml``) > the default. Every value remembers where it came from.
"""

import os
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from quoth.errors import InputError

Value = str | int | float | bool
PREFIX = "QUOTH_"


@dataclass(frozen=True, slots=True)
class Setting:
    """A row of the table. ``choices`` (where given) are all that is allowed."""

    name: str
    default: Value
    help: str
    choices: tuple[str, ...] = ()
    minimum: float | None = None
    maximum: float | None = None


@dataclass(frozen=True, slots=True)
class Chosen:
    """A value and where it came from."""

    value: Value
    origin: str


Settings = Mapping[str, Chosen]

TABLE: tuple[Setting, ...] = (
    Setting("retriever", "auto", "How passages are found: auto, lexical, dense, hybrid, or one plugged in."),
    Setting("k", 50, "Passages taken from the retriever.", minimum=1, maximum=10_000),
    Setting(
        "profile", "balanced", "How many tokens are read for a question.", ("fast", "balanced", "thorough")
    ),
    Setting(
        "budget_ms",
        0,
        "Read for this many milliseconds instead (0: the profile's tokens).",
        minimum=0,
        maximum=600_000,
    ),
    Setting("read", "joint", "How passages are combined by the reader.", ("joint", "concatenate", "each")),
    Setting("reader", "auto", "A shipped reader (small, large), a folder, or a Hugging Face name."),
    Setting("engine", "auto", "What runs the network.", ("auto", "onnxruntime", "openvino")),
    Setting("threads", 0, "Threads for the network (0: the number of processors).", minimum=0, maximum=256),
    Setting("n_best", 20, "Answers kept for a question.", minimum=1, maximum=1000),
    Setting("max_answer_tokens", 30, "The longest answer, in tokens.", minimum=1, maximum=512),
    Setting("null_threshold", "auto", "No answer when the null odds exceed this (auto: the reader's own)."),
    Setting("answer", "auto", "What is quoted.", ("auto", "span", "sentence")),
    Setting(
        "ranker", "none", "Ranks the retrieved passages before they are read (none: the retriever's order)."
    ),
    Setting("expand", "none", "Expanders applied to each question, separated by commas."),
    Setting("analyzer", "english", "How text is cut into search terms (english, standard, or a language)."),
    Setting("split", "passage", "What is indexed.", ("passage", "document")),
    Setting("vectors", "auto", "The encoder for dense vectors (auto: an installed one; none)."),
    Setting("max_file_mb", 200, "Larger files are reported, not read.", minimum=1, maximum=100_000),
)

BY_NAME: Mapping[str, Setting] = {row.name: row for row in TABLE}


def parse(name: str, raw: object, origin: str) -> Value:
    """Return *raw* as the setting's type. Raise ``InputError`` for an unknown name or a bad value."""
    row = BY_NAME.get(name)
    if row is None:
        meant = close(name, BY_NAME)
        raise InputError(
            f"{origin}: there is no setting {name!r}.",
            hint=f"Did you mean {meant}? " * bool(meant) + "`quoth config show` lists them.",
        )
    value = _as_type(row, raw, origin)
    if row.choices and value not in row.choices:
        raise InputError(f"{origin}: {name} is {raw!r}; it must be one of {', '.join(row.choices)}.")
    if isinstance(value, int | float) and not isinstance(value, bool):
        low, high = row.minimum, row.maximum
        if (low is not None and value < low) or (high is not None and value > high):
            raise InputError(f"{origin}: {name} is {raw}; it must be from {low:g} to {high:g}.")
    return value


def _as_type(row: Setting, raw: object, origin: str) -> Value:
    try:
        if isinstance(row.default, bool):
            return {"true": True, "false": False, "1": True, "0": False}[str(raw).lower()]
        if isinstance(row.default, int):
            return int(str(raw))
        if isinstance(row.default, float):
            return float(str(raw))
    except (ValueError, KeyError):
        kind = type(row.default).__name__
        raise InputError(f"{origin}: {row.name} is {raw!r}; it must be of type {kind}.") from None
    return str(raw)


def load(
    *,
    options: Mapping[str, object] | None = None,
    environment: Mapping[str, str] | None = None,
    project: Path | None = None,
    user: Path | None = None,
) -> dict[str, Chosen]:
    """Return every setting's value with its origin. Options that are None were not given.

    *project* and *user* are TOML files; one that does not exist is passed over. A file with
    an unknown key, or a value of a wrong kind, is an ``InputError`` that names it, and so is a
    variable ``QUOTH_...`` whose name is nearly a setting's (others are somebody else's).
    """
    chosen = {row.name: Chosen(row.default, "default") for row in TABLE}
    for path in (user if user is not None else user_file(), project):
        if path is not None and path.is_file():
            chosen |= {n: Chosen(parse(n, v, str(path)), str(path)) for n, v in _toml(path).items()}
    variables = os.environ if environment is None else environment
    for variable in sorted(v for v in variables if v.startswith(PREFIX)):
        name = variable.removeprefix(PREFIX).lower()
        if name in BY_NAME:
            chosen[name] = Chosen(parse(name, variables[variable], variable), variable)
        elif meant := close(name, BY_NAME):
            raise InputError(f"{variable} is no setting.", hint=f"Did you mean {PREFIX}{meant.upper()}?")
    for name, value in (options or {}).items():
        if value is not None:
            flag = f"--{name.replace('_', '-')}"
            chosen[name] = Chosen(parse(name, value, flag), flag)
    return chosen


def close(name: str, known: Iterable[str]) -> str:
    """Return the one of *known* that *name* is most likely misspelt for; empty where none is close."""
    from difflib import get_close_matches

    return next(iter(get_close_matches(name, known, n=1, cutoff=0.8)), "")


def user_file() -> Path:
    """Return where the user's own settings are read from."""
    base = os.environ.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "quoth" / "config.toml"


def _toml(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, OSError) as problem:
        raise InputError(f"{path} cannot be read as TOML: {problem}.") from problem


def text_of(settings: Settings, name: str) -> str:
    """Return a setting's value as text."""
    return str(settings[name].value)


def number_of(settings: Settings, name: str) -> int:
    """Return a whole number."""
    return int(settings[name].value)


def decimal_of(name: str, value: str) -> float:
    """Return *value* as a number. Raise ``InputError`` for what is neither a number nor ``auto``."""
    try:
        return float(value)
    except ValueError:
        raise InputError(f"{name} is {value!r}; it must be a number or auto.") from None
