"""What an evaluation ends with: figures, tables, plots and files, ready to be printed or written."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from quoth.evaluate.figures import Figure
from quoth.evaluate.paired import RunScores
from quoth.evaluate.plots import Plot

Cell = str | int | float


@dataclass(frozen=True, slots=True)
class Table:
    """Rows under a header; numbers are shown with ``digits`` behind the point. ``name`` is its file name.

    Where ``digits`` is None four that tell something are shown: for a column of many scales. On the page a
    long table is folded away, unless it is ``open``.
    """

    name: str
    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    digits: int | None = 2
    note: str = ""
    open: bool = False


@dataclass(frozen=True)
class Evaluation:
    """The outcome of one evaluation.

    ``metrics`` has everything by name, unrounded; ``figures`` are the headline, with intervals. ``questions``
    are the per-question scores that ``compare`` reads. ``json_files`` (predictions, null odds, n-best) and
    ``run`` (a TREC run) are written beside the report. ``notes`` are what a reader must know.
    """

    kind: str
    title: str
    figures: tuple[Figure, ...]
    metrics: Mapping[str, float | int | str]
    conventions: Mapping[str, str]
    questions: RunScores
    tables: tuple[Table, ...] = ()
    plots: tuple[Plot, ...] = ()
    json_files: Mapping[str, object] = field(default_factory=dict)
    run: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """Return metrics, intervals and conventions as plain data (the command adds the manifest).

        Where two figures have one name (MAP under two conventions), their intervals are ``name/convention``.
        """
        names = [f.name for f in self.figures]
        intervals = {}
        for f in self.figures:
            if f.low is not None:
                key = f.name if names.count(f.name) == 1 else f"{f.name}/{f.convention}"
                intervals[key] = {"value": f.value, "low": f.low, "high": f.high, "level": f.level, "n": f.n}
        return {
            "metrics": dict(self.metrics),
            "intervals": intervals,
            "conventions": dict(self.conventions),
            "notes": list(self.notes),
        }
