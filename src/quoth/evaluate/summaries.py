"""Rows of the harness to evaluations: readers and the whole system. Ranking rooms are in ``rankings``."""

from collections.abc import Mapping, Sequence
from statistics import median

import numpy as np

from quoth.errors import InputError
from quoth.evaluate.breakdown import breakdown
from quoth.evaluate.calibration import score_calibration
from quoth.evaluate.cases import Case
from quoth.evaluate.curves import precision_coverage, threshold_curve
from quoth.evaluate.evaluation import Evaluation, Table
from quoth.evaluate.figures import Figure
from quoth.evaluate.paired import RunScores
from quoth.evaluate.plots import Mark, Plot, Series
from quoth.evaluate.resume import Row
from quoth.evaluate.retrieval import Array, QueryTimes, query_times
from quoth.evaluate.significance import bootstrap
from quoth.evaluate.spans import GoldSpans, SpanScores, score_spans

KS = tuple(range(1, 11))


def reader_evaluation(
    rows: Sequence[Row],
    cases: Sequence[Case],
    *,
    title: str,
    null_threshold: float = 0.0,
    split: str = "",
    seed: int = 0,
) -> Evaluation:
    """Judge what a reader said: EM, F1, thresholds, any of the top k, bins, time.

    ``rows`` are ``run_reader``'s, of these cases and in their order. Raises ``InputError`` where they are not.
    """
    spans, odds = _spans(rows, cases, null_threshold)
    lists = [_answers(row, null_threshold) for row in rows]
    top = _top_k(lists, cases)
    figures = span_figures(spans, cases, split=split, seed=seed)
    times = query_times([row["ms"] for row in rows if "ms" in row] or [0.0])
    plots = [*span_plots(spans, odds, null_threshold), _top_plot(top, "answers")]
    tables, bin_plots = breakdown(_columns(spans), cases, seed=seed, scale=100.0)
    return Evaluation(
        kind="reader",
        title=title,
        figures=figures,
        metrics={**spans.metrics, **_top_metrics(top), **_time_metrics(times, rows)},
        conventions=dict(spans.conventions) | _interval_convention(figures),
        questions=_questions(title, spans, cases),
        tables=(_top_table(top), *tables),
        plots=(*plots, *bin_plots),
        json_files=_files(rows, lists, odds),
        notes=_notes(rows),
    )


def system_evaluation(
    rows: Sequence[Row],
    cases: Sequence[Case],
    *,
    title: str,
    reader_rows: Sequence[Row] = (),
    split: str = "",
    seed: int = 0,
) -> Evaluation:
    """Judge the whole pipeline: the best answer, any of the top k, what was read, time by stage.

    Where *reader_rows* hold the same questions read from their gold passage, the reader alone stands beside it.
    """
    threshold = next((row["threshold"] for row in rows if "threshold" in row), 0.0)
    spans, odds = _spans(rows, cases, threshold)
    lists = [_answers(row, threshold) for row in rows]
    top = _top_k(lists, cases)
    figures = list(span_figures(spans, cases, split=split, seed=seed))
    metrics: dict[str, float | int | str] = {**spans.metrics, **_top_metrics(top)}
    found = _read_figure(rows, cases, split=split, seed=seed)
    figures += found
    metrics |= {figure.name: figure.value for figure in found}
    series = [("full system", top)]
    if reader_rows:
        alone, _ = _spans(reader_rows, cases, threshold)
        alone_top = _top_k([_answers(row, threshold) for row in reader_rows], cases)
        metrics |= {"reader_alone_exact": alone.metrics["exact"], "reader_alone_f1": alone.metrics["f1"]}
        series.append(("reader alone, gold passage", alone_top))
    times = query_times([row["ms"] for row in rows if "ms" in row] or [0.0])
    tables, bin_plots = breakdown(_columns(spans), cases, seed=seed, scale=100.0)
    stages, stage_plots = _stages(rows)
    plots = [
        *span_plots(spans, odds, threshold),
        _system_plot(series),
        *stage_plots,
        *_reliability(rows, spans),
    ]
    return Evaluation(
        kind="system",
        title=title,
        figures=tuple(figures),
        metrics=metrics | _time_metrics(times, rows) | _calibration_metrics(rows, spans),
        conventions=dict(spans.conventions) | _interval_convention(figures),
        questions=_questions(title, spans, cases),
        tables=(_top_table(top), *stages, *tables),
        plots=(*plots, *bin_plots),
        json_files=_files(rows, lists, odds),
        run={row["id"]: dict(row["retrieved"]) for row in rows if row.get("retrieved")},
        notes=_notes(rows),
    )


def top_k_by_system(
    systems: Mapping[str, Sequence[Row]], cases: Sequence[Case], *, null_threshold: float = 0.0
) -> tuple[Table, Plot]:
    """Return EM and F1 of any of the top k answers, k = 1..10, of several systems in one table and one plot.

    Systems are named rows over the same cases: ways of reading (joint, concatenate, each), or numbers of
    passages. Rows of ``run_system`` use their own threshold, those of ``run_reader`` *null_threshold*.
    """
    found: list[tuple[str, dict[int, tuple[float, float]]]] = []
    for name, rows in systems.items():
        if [row["id"] for row in rows] != [case.id for case in cases]:
            raise InputError(f"The rows of {name!r} are not of these questions, in this order.")
        lists = [_answers(row, row.get("threshold", null_threshold)) for row in rows]
        found.append((name, _top_k(lists, cases)))
    header = ("k", *(f"{metric}, {name}" for name, _ in found for metric in ("EM", "F1")))
    body = tuple((k, *(value for _, top in found for value in top[k])) for k in KS)
    note = "No answer counts as one of the answers, where its score ranks it; k = 1 is what the system says."
    return Table("top-k", "Any of the top k answers", header, body, 2, note), _system_plot(found)


def span_figures(
    spans: SpanScores, cases: Sequence[Case], *, split: str = "", seed: int = 0
) -> tuple[Figure, ...]:
    """Return EM and F1 with intervals over documents, whole and by answerability, in per cent."""
    group = {case.id: case.group or case.id for case in cases}
    groups = [group.get(id, id) for id in spans.ids]
    missing = f"missing = {spans.convention}"
    out = []
    parts = [("", np.ones(len(spans.ids), dtype=np.bool_))]
    if spans.has_answer.any() and not spans.has_answer.all():
        parts += [("HasAns_", spans.has_answer), ("NoAns_", ~spans.has_answer)]
    for prefix, part in parts:
        at = np.flatnonzero(part)
        chosen = [groups[i] for i in at]
        names = ("exact", "f1") if prefix != "NoAns_" else ("exact",)
        for name in names:
            column = spans.exact if name == "exact" else spans.f1
            interval = bootstrap(column[at], groups=chosen, seed=seed)
            out.append(
                Figure(
                    f"{prefix}{name}",
                    100 * interval.value,
                    interval.n,
                    100 * interval.low,
                    100 * interval.high,
                    convention=missing,
                    split=split,
                    digits=2,
                )
            )
    return tuple(out)


def span_plots(spans: SpanScores, odds: Mapping[str, float], threshold: float) -> list[Plot]:
    """Return EM/F1 by threshold and precision by coverage, where there are odds that differ."""
    if len(set(odds.values())) < 2:
        return []
    curve = threshold_curve(spans, odds)
    inside = np.isfinite(curve.threshold) & (np.abs(curve.threshold) < 1e8)
    x = tuple(curve.threshold[inside].tolist())
    lines = [("EM", curve.exact), ("F1", curve.f1)]
    if spans.has_answer.any() and not spans.has_answer.all():
        lines += [("HasAns F1", curve.has_answer_f1), ("NoAns EM", curve.no_answer_exact)]
    plots = [
        Plot(
            "threshold",
            "EM and F1 by null threshold",
            "line",
            "null threshold (no answer where the null odds exceed it)",
            "per cent",
            tuple(Series(label, x, tuple(y[inside].tolist())) for label, y in lines),
            marks=(Mark(threshold, f"in use: {threshold:.2f}"),),
            note="The best point on this curve is an oracle: the threshold in use was chosen elsewhere.",
        )
    ]
    if spans.predicted.any():
        precise = precision_coverage(spans, odds)
        cover = tuple(precise.coverage.tolist())
        plots.append(
            Plot(
                "coverage",
                "Precision of what is answered",
                "line",
                "share of questions answered, surest first, per cent",
                "per cent right",
                (
                    Series("EM", cover, tuple(precise.exact.tolist())),
                    Series("F1", cover, tuple(precise.f1.tolist())),
                ),
                note="An answer to an unanswerable question is wrong.",
            )
        )
    return plots


def _read_figure(rows: Sequence[Row], cases: Sequence[Case], *, split: str, seed: int) -> list[Figure]:
    """Return how often what was read holds an answer: the most that any reader could get right."""
    answerable = [i for i, case in enumerate(cases) if case.answers]
    if not answerable:
        return []
    hits = [float(any(rows[i].get("flags", {}).get("any-answer", []))) for i in answerable]
    found = bootstrap(hits, groups=[cases[i].group or cases[i].id for i in answerable], seed=seed)
    return [
        Figure(
            "answer in what was read",
            100 * found.value,
            found.n,
            100 * found.low,
            100 * found.high,
            convention="answerable questions, any gold answer",
            split=split,
            digits=2,
        )
    ]


def _spans(
    rows: Sequence[Row], cases: Sequence[Case], threshold: float
) -> tuple[SpanScores, dict[str, float]]:
    if [row["id"] for row in rows] != [case.id for case in cases]:
        raise InputError("The rows are not of these questions, in this order.")
    gold = [GoldSpans(case.id, case.answers) for case in cases]
    said = {row["id"]: row["text"] for row in rows if "text" in row}
    odds = {row["id"]: row["null_odds"] for row in rows if "text" in row}
    return score_spans(gold, said, null_odds=odds, null_threshold=threshold), odds


def _answers(row: Row, threshold: float) -> list[str]:
    """Return the n-best texts with "" (no answer) where its score, less the threshold, ranks it."""
    texts, placed = [], False
    for answer in row.get("nbest", []):
        if not placed and row["null_odds"] + row["nbest"][0]["score"] - answer["score"] > threshold:
            texts.append("")
            placed = True
        texts.append(answer["text"])
    return texts if placed or "text" not in row else [*texts, ""]


def _top_k(lists: Sequence[Sequence[str]], cases: Sequence[Case]) -> dict[int, tuple[float, float]]:
    """Return, for each k, EM and F1 of the best of each question's first k answers, in per cent."""
    best = np.zeros((2, len(cases), len(KS)))
    gold = [GoldSpans(case.id, case.answers) for case in cases]
    for j in range(len(KS)):
        said = {case.id: texts[j] for case, texts in zip(cases, lists, strict=True) if j < len(texts)}
        scores = score_spans(gold, said)
        best[0, :, j], best[1, :, j] = scores.raw_exact, scores.raw_f1
    best = np.maximum.accumulate(best, axis=2)
    return {
        k: (100 * float(best[0, :, j].mean()), 100 * float(best[1, :, j].mean())) for j, k in enumerate(KS)
    }


def _top_metrics(top: Mapping[int, tuple[float, float]]) -> dict[str, float]:
    return {f"any_of_top_{k}_{m}": top[k][i] for k in top for i, m in enumerate(("exact", "f1"))}


def _top_table(top: Mapping[int, tuple[float, float]]) -> Table:
    rows = tuple((k, *values) for k, values in top.items())
    note = "No answer counts as one of the answers, where its score ranks it; k = 1 is what the system says."
    return Table("top-k", "Any of the top k answers", ("k", "EM", "F1"), rows, 2, note)


def _top_plot(top: Mapping[int, tuple[float, float]], what: str) -> Plot:
    ks = tuple(float(k) for k in top)
    series = tuple(Series(m, ks, tuple(v[i] for v in top.values())) for i, m in enumerate(("EM", "F1")))
    note = "How often a right answer is among the first k: what choosing better could gain."
    return Plot("top-k", f"Any of the top k {what}", "line", "k", "per cent", series, x_ticks=ks, note=note)


def _system_plot(series: Sequence[tuple[str, Mapping[int, tuple[float, float]]]]) -> Plot:
    lines = []
    for label, top in series:
        ks = tuple(float(k) for k in top)
        for i, metric in enumerate(("EM", "F1")):
            lines.append(Series(f"{metric}, {label}", ks, tuple(v[i] for v in top.values())))
    ks = tuple(float(k) for k in KS)
    return Plot("top-k", "Any of the top k answers", "line", "k", "per cent", tuple(lines), x_ticks=ks)


def _stages(rows: Sequence[Row]) -> tuple[list[Table], list[Plot]]:
    stages: dict[str, list[float]] = {}
    for row in rows:
        for stage, ms in row.get("timings", {}).items():
            stages.setdefault(stage, []).append(ms)
    if not stages:
        return [], []
    times = {stage: query_times(values) for stage, values in stages.items()}
    header = ("stage", "n", "median ms", "p95 ms", "mean ms")
    body = tuple((s, t.n, t.median_ms, t.p95_ms, t.mean_ms) for s, t in times.items())
    median_line = Series("median", (), tuple(t.median_ms for t in times.values()))
    tail = Series("95th percentile", (), tuple(t.p95_ms for t in times.values()))
    plot = Plot(
        "stages",
        "Time by stage",
        "bar",
        "milliseconds a question",
        "stage",
        (median_line, tail),
        tuple(times),
    )
    return [Table("stages", "Time by stage", header, body)], [plot]


def _confident(rows: Sequence[Row], spans: SpanScores) -> tuple[list[float], list[float]]:
    pairs = [
        (row["confidence"], float(right if has else 0.0))
        for row, right, has in zip(rows, spans.raw_exact, spans.has_answer, strict=True)
        if row.get("confidence") is not None
    ]
    return [p for p, _ in pairs], [y for _, y in pairs]


def _calibration_metrics(rows: Sequence[Row], spans: SpanScores) -> dict[str, float]:
    p, y = _confident(rows, spans)
    if not p:
        return {}
    return {f"confidence_{name}": value for name, value in score_calibration(p, y).metrics.items()}


def _reliability(rows: Sequence[Row], spans: SpanScores) -> list[Plot]:
    p, y = _confident(rows, spans)
    if not p:
        return []
    bins = score_calibration(p, y).width_bins
    series = Series(
        "confidence",
        tuple(b.confidence for b in bins),
        tuple(b.accuracy for b in bins),
        n=tuple(b.n for b in bins),
    )
    note = "Right means EM = 1 of the best span, end to end; ten bins of equal width."
    return [
        Plot("reliability", "Reliability", "reliability", "confidence", "share right", (series,), note=note)
    ]


def _columns(spans: SpanScores) -> dict[str, Array]:
    return {"EM": spans.exact, "F1": spans.f1}


def _questions(title: str, spans: SpanScores, cases: Sequence[Case]) -> RunScores:
    groups = tuple(case.group or case.id for case in cases)
    return RunScores(title, spans.ids, {"exact": spans.exact, "f1": spans.f1}, groups)


def _time_metrics(times: QueryTimes, rows: Sequence[Row]) -> dict[str, float]:
    tokens = [row["tokens"] for row in rows if "tokens" in row]
    read = [row["read"] for row in rows if "read" in row]
    peaks = [row["peak_mb"] for row in rows if row.get("peak_mb")]
    return {
        "median_ms": times.median_ms,
        "p95_ms": times.p95_ms,
        "mean_ms": times.mean_ms,
        "median_tokens": float(median(tokens)) if tokens else 0.0,
        "median_passages": float(median(read)) if read else 0.0,
        **({"peak_memory_mb": max(peaks)} if peaks else {}),
    }


def _files(
    rows: Sequence[Row], lists: Sequence[Sequence[str]], odds: Mapping[str, float]
) -> dict[str, object]:
    said = {row["id"]: texts[0] for row, texts in zip(rows, lists, strict=True) if texts}
    return {
        "predictions.json": said,
        "best-spans.json": {row["id"]: row["text"] for row in rows if "text" in row},
        "null-odds.json": dict(odds),
        "nbest.json": {row["id"]: row["nbest"] for row in rows if "nbest" in row},
    }


def _interval_convention(figures: Sequence[Figure]) -> dict[str, str]:
    if not figures:
        return {}
    return {"intervals": f"{figures[0].level:.0%}, percentile bootstrap over documents"}


def _notes(rows: Sequence[Row]) -> tuple[str, ...]:
    failed = [row for row in rows if "error" in row]
    if not failed:
        return ()
    return (
        f"{len(failed)} questions were refused and count 0, {failed[0]['id']!r} first: {failed[0]['error']}",
    )
