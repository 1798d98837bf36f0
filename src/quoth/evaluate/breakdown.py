"""Tables and plots of per-question scores by every way of grouping that the cases bring."""

from collections.abc import Mapping, Sequence

from quoth.evaluate.bins import (
    OVERLAP_CONVENTION,
    OVERLAP_LABELS,
    QUESTION_TYPE_ORDER,
    length_labels,
    score_bins,
)
from quoth.evaluate.cases import CANDIDATE_EDGES, LENGTH_EDGES, Case, RankCase
from quoth.evaluate.evaluation import Cell, Table
from quoth.evaluate.plots import Plot, Series
from quoth.evaluate.retrieval import Array

ORDERS: dict[str, tuple[str, ...]] = {
    "question type": QUESTION_TYPE_ORDER,
    "word overlap": OVERLAP_LABELS,
    "context length, words": length_labels(LENGTH_EDGES),
    "candidates": length_labels(CANDIDATE_EDGES),
}
NOTES = {"word overlap": OVERLAP_CONVENTION}


def breakdown(
    columns: Mapping[str, Array],
    cases: Sequence[Case | RankCase],
    *,
    label: str = "",
    seed: int = 0,
    scale: float = 1.0,
) -> tuple[list[Table], list[Plot]]:
    """Return a table and a plot of *columns* (0..1, one row a case) for each way of grouping the cases have.

    Values are multiplied by *scale* (100: per cent). *label* names what the columns measure, where they are
    systems rather than metrics. A way that puts all questions into one bin is left out.
    """
    bins = [case.bins for case in cases]
    groups = [case.group or str(i) for i, case in enumerate(cases)]
    ways = list(dict.fromkeys(name for b in bins for name in b))
    tables, plots = [], []
    digits, unit = (2, "per cent") if scale == 100.0 else (4, "")
    for way in ways:
        at = [i for i, b in enumerate(bins) if way in b]
        keys = [bins[i][way] for i in at]
        part = {name: column[at] for name, column in columns.items()}
        found = score_bins(part, keys, order=ORDERS.get(way, ()), groups=[groups[i] for i in at], seed=seed)
        if len(found) < 2:
            continue
        name = "by-" + "-".join(way.replace(",", "").split())
        meaning = NOTES.get(way, "")
        header = (way, "n", *(f"{m}{s}" for m in part for s in ("", " low", " high")))
        rows: tuple[tuple[Cell, ...], ...] = tuple(
            (b.key, b.n, *(scale * v for f in b.figures.values() for v in (f.value, f.low, f.high)))
            for b in found
        )
        tables.append(
            Table(
                name,
                f"{label or 'Results'} by {way}",
                header,
                rows,
                digits,
                f"95% intervals over documents. {meaning}".strip(),
            )
        )
        plots.append(
            Plot(
                name,
                f"{label or ' and '.join(part)} by {way}",
                "bar",
                label or unit or " / ".join(part),
                f"{way} (n)",
                tuple(
                    Series(
                        m,
                        (),
                        tuple(scale * b.figures[m].value for b in found),
                        tuple(scale * b.figures[m].low for b in found),
                        tuple(scale * b.figures[m].high for b in found),
                        tuple(b.n for b in found),
                    )
                    for m in part
                ),
                categories=tuple(f"{b.key} ({b.n:,})" for b in found),
                note=meaning,
            )
        )
    return tables, plots
