"""What a reproduction is: inputs, published figures, measured figures, and how the data differ."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from quoth.errors import InputError
from quoth.settings import Chosen

DATA_VARIABLE = "QUOTH_DATA"

Progress = Callable[[int, int, str], None]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a reproduction's table.

    ``published`` is the figure as its source prints it (empty: none was published); ``measured`` is
    ours, on the same scale; ``how`` says convention, n, model and index, so that it can be made again.
    """

    name: str
    published: str
    measured: float | None
    how: str
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True, slots=True)
class Curve:
    """Points for a plot: one named series of (x, y)."""

    name: str
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """Series that share their axes, both of them logarithmic where ``log`` says so."""

    title: str
    x: str
    y: str
    curves: tuple[Curve, ...]
    log: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a recipe found. ``differences`` says how the data or parts differ from the published; always shown."""

    rows: tuple[Row, ...]
    differences: tuple[str, ...]
    charts: tuple[Chart, ...] = ()
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Inputs:
    """What a recipe may use: the folder of data sets, settings, and how much of it to run.

    ``limit`` bounds the number of questions (0: all that the published experiment used);
    ``work`` is a folder for indexes and caches that a second run finds again.
    """

    data: Path
    work: Path
    settings: Mapping[str, Chosen]
    limit: int = 0
    seed: int = 0
    progress: Progress = field(default=lambda done, total, what: None)

    def file(self, name: str) -> Path:
        """Return a file of the data folder. Raise ``InputError`` that says what is missing."""
        path = self.data / name
        if not path.exists():
            raise InputError(
                f"The data file {name} is not in {self.data}.",
                hint=f"Name the folder with --data or {DATA_VARIABLE}; `quoth data describe` says where it comes from.",
                code="missing_data",
            )
        return path


@dataclass(frozen=True, slots=True)
class Recipe:
    """A published experiment that can be run here."""

    name: str
    title: str
    source: str
    run: Callable[[Inputs], Outcome]


def data_folder(given: Path | None) -> Path:
    """Return the folder of data sets: as given, or as the environment names it."""
    named = given or (Path(os.environ[DATA_VARIABLE]) if os.environ.get(DATA_VARIABLE) else None)
    if named is None or not named.is_dir():
        raise InputError(
            "No folder with data sets was named." if named is None else f"{named} is not a folder.",
            hint=f"Name it with --data or {DATA_VARIABLE}.",
            code="missing_data",
        )
    return named
