"""Systems side by side: one table of all their figures, paired differences, and one question at a time."""

from collections.abc import Mapping, Sequence

import numpy as np

from quoth.errors import InputError
from quoth.evaluate.cases import Case
from quoth.evaluate.evaluation import Cell, Evaluation, Table
from quoth.evaluate.figures import Figure
from quoth.evaluate.paired import PairedDifference, RunScores, compare
from quoth.evaluate.plots import Plot, Series
from quoth.evaluate.resume import Row
from quoth.evaluate.significance import bootstrap
from quoth.evaluate.spans import GoldSpans, score_spans

SIDE_BY_SIDE = ("exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "median_ms")
LISTED = 100


def comparison(
    runs: Sequence[RunScores],
    *,
    metrics: Sequence[str] = (),
    resamples: int = 9999,
    seed: int = 0,
) -> Evaluation:
    """Compare two or more runs over the same questions; differences are in the metrics' own unit, 0..1.

    Raises ``InputError`` as ``compare`` does.
    """
    pairs = compare(runs, metrics=metrics, resamples=resamples, seed=seed)
    wanted = list(dict.fromkeys(pair.metric for pair in pairs))
    figures = tuple(
        Figure(
            f"{pair.metric}: {pair.b} \u2212 {pair.a}",
            pair.interval.value,
            pair.interval.n,
            pair.interval.low,
            pair.interval.high,
            convention=f"paired, p = {pair.adjusted:.4f}" + (" (Holm)" if len(runs) > 2 else ""),
        )
        for pair in pairs
    )
    columns = {f"{r.name}/{m}": _aligned(r, m, runs[0].ids) for r in runs for m in wanted}
    clusters = "over documents" if runs[0].groups else "over questions"
    return Evaluation(
        kind="compare",
        title=(" against " if len(runs) == 2 else ", ").join(run.name for run in runs),
        figures=figures,
        metrics={f"{pair.metric}: {pair.b} - {pair.a}": pair.interval.value for pair in pairs},
        conventions={
            "difference": "second less first, paired by question id",
            "intervals": f"95%, percentile bootstrap {clusters}",
            "p": f"two-sided paired sign-flip permutation test {clusters}, {resamples:,} resamples",
            "correction": f"Holm over {len(pairs) // len(wanted)} comparisons of each metric",
        },
        questions=RunScores("scores", runs[0].ids, columns, runs[0].groups),
        tables=(_pairs_table(pairs), *_changed_tables(pairs)),
        plots=(_means_plot(runs, wanted, seed),),
    )


def side_by_side(
    systems: Mapping[str, Mapping[str, float | int | str]], *, columns: Sequence[str] = SIDE_BY_SIDE
) -> Table:
    """Return one row of figures for each system; a figure that a system lacks is left blank."""
    shown = [name for name in columns if any(name in metrics for metrics in systems.values())]
    if not shown:
        raise InputError(f"None of the systems has any of {', '.join(columns)}.")
    rows = tuple((name, *(metrics.get(column, "") for column in shown)) for name, metrics in systems.items())
    return Table("systems", "Systems side by side", ("system", *shown), rows)


def one_question(case: Case, rows: Mapping[str, Row]) -> Table:
    """Return what each system says to one question, with its EM and F1, null odds and time."""
    body: list[tuple[Cell, ...]] = []
    for name, row in rows.items():
        said = str(row.get("text", ""))
        scores = score_spans([GoldSpans(case.id, case.answers)], {case.id: said})
        odds, ms = row.get("null_odds", ""), row.get("ms", "")
        body.append((name, said, float(scores.exact[0]), float(scores.f1[0]), odds, ms))
    gold = " | ".join(dict.fromkeys(case.answers)) or "(no answer)"
    header = ("system", "best span", "EM", "F1", "null odds", "ms")
    return Table("question", case.question, header, tuple(body), 2, f"Gold: {gold}")


def _aligned(
    run: RunScores, metric: str, ids: Sequence[str]
) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    place = {id: i for i, id in enumerate(run.ids)}
    return np.array([run.columns[metric][place[id]] for id in ids], dtype=np.float64)


def _pairs_table(pairs: Sequence[PairedDifference]) -> Table:
    header = (
        "metric", "1st", "2nd", "mean 1st", "mean 2nd", "difference", "low", "high",
        "p", "p (Holm)", "better", "worse",
    )  # fmt: skip
    rows = tuple(
        (
            p.metric, p.a, p.b, p.mean_a, p.mean_b, p.interval.value, p.interval.low, p.interval.high,
            p.test.p_value, p.adjusted, p.better, p.worse,
        )
        for p in pairs
    )  # fmt: skip
    return Table("pairs", "Paired differences", header, rows, 4)


def _changed_tables(pairs: Sequence[PairedDifference]) -> list[Table]:
    out = []
    for number, pair in enumerate(pairs, start=1):
        rows = tuple((change.id, change.a, change.b) for change in pair.changes[:LISTED])
        if rows:
            note = f"{len(rows)} of {len(pair.changes):,} questions that changed, the largest changes first."
            title = f"What changed in {pair.metric} from {pair.a} to {pair.b}"
            out.append(Table(f"changed-{number}", title, ("question", pair.a, pair.b), rows, 3, note))
    return out


def _means_plot(runs: Sequence[RunScores], metrics: Sequence[str], seed: int) -> Plot:
    groups = list(runs[0].groups) or None
    series = []
    for metric in metrics:
        found = [
            bootstrap(_aligned(run, metric, runs[0].ids), groups=groups, resamples=1000, seed=seed)
            for run in runs
        ]
        series.append(
            Series(
                metric,
                (),
                tuple(i.value for i in found),
                tuple(i.low for i in found),
                tuple(i.high for i in found),
                tuple(i.n for i in found),
            )
        )
    note = "Intervals of each system alone; whether two differ is told by the paired differences."
    names = tuple(run.name for run in runs)
    return Plot("means", "Means", "bar", "mean over questions", "system", tuple(series), names, note=note)
