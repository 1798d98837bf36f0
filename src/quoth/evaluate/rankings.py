"""Rows of the harness to evaluations: retrieval, sentence selection and triggering."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from quoth.errors import InputError
from quoth.evaluate.breakdown import breakdown
from quoth.evaluate.cases import Case, RankCase, TriggerCase
from quoth.evaluate.evaluation import Evaluation, Table
from quoth.evaluate.figures import TUNED_HERE, Figure
from quoth.evaluate.paired import RunScores
from quoth.evaluate.plots import Mark, Plot, Series
from quoth.evaluate.ranking import Convention, GoldRanking, RankingScores, Run, score_ranking
from quoth.evaluate.resume import Row
from quoth.evaluate.retrieval import CONVENTIONS, KS, RetrievalScores, query_times, score_flags
from quoth.evaluate.significance import bootstrap
from quoth.evaluate.triggering import Level, score_triggering

RULES = {"answer": "first answer", "any-answer": "any answer", "passage": "gold passage"}


def retriever_evaluation(
    rows: Sequence[Row],
    cases: Sequence[Case],
    *,
    title: str,
    ks: Sequence[int] = KS,
    split: str = "",
    seed: int = 0,
) -> Evaluation:
    """Judge what a retriever brought: recall@k and mAP by answer and by gold passage, nDCG@k, query time.

    ``rows`` are ``run_retriever``'s, of these cases and in their order; a refused question retrieved nothing.
    """
    _check([row["id"] for row in rows], [case.id for case in cases])
    flags = [(c.id, row.get("flags") or _nothing(c)) for row, c in zip(rows, cases, strict=True)]
    scores = score_flags(flags, ks=ks)
    group = {case.id: case.group or case.id for case in cases}
    k = 3 if 3 in ks else max(ks)
    figures = []
    for rule, found in scores.items():
        for name in (f"recall@{k}", f"mAP@{k}"):
            interval = bootstrap(found.columns[name], groups=[group[id] for id in found.ids], seed=seed)
            figures.append(
                Figure(
                    f"{name}/{rule}",
                    interval.value,
                    interval.n,
                    interval.low,
                    interval.high,
                    convention=RULES[rule],
                    split=split,
                )
            )
    times = query_times([row["ms"] for row in rows if "ms" in row] or [0.0])
    metrics: dict[str, float | int | str] = {"n": len(rows)}
    for found in scores.values():
        metrics |= found.metrics
    metrics |= {"median_ms": times.median_ms, "p95_ms": times.p95_ms, "mean_ms": times.mean_ms}
    metrics["retrieved_nothing"] = max(found.empty for found in scores.values())
    main = next(iter(scores.values()))
    place = {id: i for i, id in enumerate(case.id for case in cases)}
    taken = [cases[place[id]] for id in main.ids]
    tables, plots = breakdown({f"recall@{k}": main.columns[f"recall@{k}"]}, taken, seed=seed)
    shared = {
        f"{name}/{rule}": found.columns[name]
        for rule, found in scores.items()
        for name in (f"recall@{k}", f"mAP@{k}")
        if found.ids == main.ids
    }
    return Evaluation(
        kind="retriever",
        title=title,
        figures=tuple(figures),
        metrics=metrics,
        conventions=CONVENTIONS | {"intervals": "95%, percentile bootstrap over documents"},
        questions=RunScores(title, main.ids, shared, tuple(group[id] for id in main.ids)),
        tables=(_k_table(scores, ks), *tables),
        plots=(*_k_plots(scores, ks, group, seed), *plots),
        run={row["id"]: dict(row["retrieved"]) for row in rows if row.get("retrieved")},
    )


def sentences_evaluation(
    rows: Sequence[Row],
    cases: Sequence[RankCase],
    *,
    title: str,
    floors: Mapping[str, Run] | None = None,
    split: str = "",
    seed: int = 0,
) -> Evaluation:
    """Judge a ranker's sentences: MAP, MRR, P@1, hit@k under has-positive and clean, side by side.

    *floors* are runs of the lexical rankers over the same questions; they stand beside every figure, and
    each by word overlap too.
    """
    _check([row["id"] for row in rows], [case.gold.id for case in cases])
    gold = [case.gold for case in cases]
    run = ranking_run(rows, cases)
    runs = {title: run, **(floors or {})}
    group = {case.gold.id: case.group or case.gold.id for case in cases}
    conventions: list[Convention] = ["has-positive"]
    if any(any(q.labels) and not all(q.labels) for q in gold):
        conventions.append("clean")
    every: list[Convention] = [*conventions, "all"]
    scored = {str(name): score_ranking(gold, run, convention=name) for name in every}
    main = scored["has-positive"]
    figures = []
    for convention in conventions:
        found = scored[convention]
        for name, label in (("AP", "MAP"), ("RR", "MRR"), ("P@1", "P@1")):
            interval = bootstrap(found.columns[name], groups=[group[id] for id in found.ids], seed=seed)
            figures.append(
                Figure(
                    label,
                    interval.value,
                    interval.n,
                    interval.low,
                    interval.high,
                    convention=convention,
                    split=split,
                )
            )
    place = {case.gold.id: case for case in cases}
    taken = [place[id] for id in main.ids]
    beside = {name: score_ranking(gold, r, convention="has-positive") for name, r in runs.items()}
    tables, plots = breakdown(
        {name: s.columns["AP"] for name, s in beside.items()}, taken, label="MAP", seed=seed
    )
    times = query_times([row["ms"] for row in rows if "ms" in row] or [0.0])
    return Evaluation(
        kind="sentences",
        title=title,
        figures=tuple(figures),
        metrics=_ranking_metrics(scored) | {"median_ms": times.median_ms, "p95_ms": times.p95_ms},
        conventions=main.conventions | {"intervals": "95%, percentile bootstrap over documents"},
        questions=RunScores(title, main.ids, dict(main.columns), tuple(group[id] for id in main.ids)),
        tables=(_systems_table(gold_runs=runs, scored=beside), _convention_table(scored), *tables),
        plots=(_hit_plot(beside), *plots),
        run=run,
    )


def triggering_evaluation(
    rows: Sequence[Row],
    cases: Sequence[RankCase | TriggerCase],
    *,
    title: str,
    level: Level,
    threshold: float,
    tuned_on: str = "",
    scored_on: str = "",
) -> Evaluation:
    """Judge decisions at a threshold that was given, or tuned elsewhere: precision, recall, F1."""
    _check([row["id"] for row in rows], [case.gold.id for case in cases])
    run = ranking_run(rows, cases)
    gold = [case.gold for case in cases]
    scores = score_triggering(
        gold, run, level=level, threshold=threshold, tuned_on=tuned_on, scored_on=scored_on
    )
    group = {case.gold.id: case.group or case.gold.id for case in cases}
    groups = [group[id] for id in scores.ids]
    ratios = {
        "precision": (scores.correct, scores.triggered),
        "recall": (scores.correct, scores.answerable),
        "f1": (2 * scores.correct, scores.triggered + scores.answerable),
    }
    figures = []
    for name, (top, below) in ratios.items():
        n = len(scores.ids)
        if below.sum():
            interval = bootstrap(top, weights=below, groups=groups)
            figure = Figure(name, interval.value, n, interval.low, interval.high, convention=f"{level} level")
        else:
            figure = Figure(name, 0.0, n, convention=f"{level} level")
        figures.append(replace(figure, split=scored_on, tuned_on=scores.tuned_on))
    notes = (f"The threshold was {TUNED_HERE}: an oracle's figure.",) if scores.tuned_on == TUNED_HERE else ()
    ids = [f"{id}#{i}" for i, id in enumerate(scores.ids)] if level == "section" else list(scores.ids)
    right = np.where(scores.triggered > 0, scores.correct, 1.0 - scores.answerable)
    return Evaluation(
        kind="triggering",
        title=title,
        figures=tuple(figures),
        metrics=scores.metrics,
        conventions=scores.conventions | {"intervals": "95%, percentile bootstrap over documents"},
        questions=RunScores(title, tuple(ids), {"right decision": right}, tuple(groups)),
        plots=(_trigger_plot(gold, run, level, threshold),),
        run=run,
        notes=notes,
    )


def ranking_run(rows: Sequence[Row], cases: Sequence[RankCase | TriggerCase]) -> dict[str, dict[str, float]]:
    """Return the run of ``run_ranker``'s or ``run_sections``' rows: question -> candidate -> score."""
    return {
        row["id"]: {
            candidate: score
            for candidate, score in zip(case.gold.candidates, row["scores"], strict=True)
            if score is not None
        }
        for row, case in zip(rows, cases, strict=True)
    }


def _check(ids: Sequence[str], expected: Sequence[str]) -> None:
    if ids != expected:
        raise InputError("The rows are not of these questions, in this order.")


def _nothing(case: Case) -> dict[str, list[bool]]:
    flags: dict[str, list[bool]] = {"answer": [], "any-answer": []} if any(case.answers) else {}
    return flags | ({"passage": []} if case.gold is not None else {})


def _k_table(scores: Mapping[str, RetrievalScores], ks: Sequence[int]) -> Table:
    rows = [
        (metric, RULES[rule], *(float(s.columns[f"{metric}@{k}"].mean()) for k in ks))
        for rule, s in scores.items()
        for metric in ("recall", "mAP", "MRR", "P", "nDCG")
        if f"{metric}@{ks[0]}" in s.columns
    ]
    header = ("metric", "relevant is", *(f"@{k}" for k in ks))
    return Table("by-k", "By number of passages", header, tuple(rows), 4)


def _k_plots(
    scores: Mapping[str, RetrievalScores], ks: Sequence[int], group: Mapping[str, str], seed: int
) -> list[Plot]:
    plots = []
    for metric, name, word in (("recall", "recall-by-k", "Recall"), ("mAP", "map-by-k", "mAP")):
        series = []
        for rule, s in scores.items():
            groups = [group[id] for id in s.ids]
            found = [
                bootstrap(s.columns[f"{metric}@{k}"], groups=groups, resamples=1000, seed=seed) for k in ks
            ]
            series.append(
                Series(
                    RULES[rule],
                    tuple(float(k) for k in ks),
                    tuple(i.value for i in found),
                    tuple(i.low for i in found),
                    tuple(i.high for i in found),
                    tuple(i.n for i in found),
                )
            )
        plots.append(
            Plot(
                name,
                f"{word} by number of passages",
                "line",
                "passages retrieved (k)",
                f"{metric}@k",
                tuple(series),
                x_ticks=tuple(float(k) for k in ks),
                note="Bands: 95% intervals over documents.",
            )
        )
    return plots


def _ranking_metrics(scored: Mapping[str, RankingScores]) -> dict[str, float | int | str]:
    out: dict[str, float | int | str] = {}
    for convention, scores in scored.items():
        out |= {f"{name}/{convention}": value for name, value in scores.metrics.items()}
        out |= {f"{name}/{convention}": value for name, value in scores.ties.items() if name != "questions"}
        out[f"n/{convention}"] = scores.n
    main = scored["has-positive"]
    out["questions_with_ties"] = main.tied
    out["missing_questions"] = len(main.missing_questions)
    out["missing_candidates"] = main.missing_candidates
    return out


def _systems_table(*, gold_runs: Mapping[str, Run], scored: Mapping[str, RankingScores]) -> Table:
    header = ("system", "n", "MAP", "MRR", "P@1", "hit@5", "expected MAP")
    rows = tuple(
        (
            name,
            scored[name].n,
            *(scored[name].metrics[m] for m in ("MAP", "MRR", "P@1", "hit@5")),
            scored[name].ties["expected_MAP"],
        )
        for name in gold_runs
    )
    note = "has-positive questions; expected MAP is the mean over random orders of tied candidates."
    return Table("systems", "Beside the lexical floors", header, rows, 4, note)


def _convention_table(scored: Mapping[str, RankingScores]) -> Table:
    header = ("convention", "n", "MAP", "MRR", "P@1", "expected MAP", "lowest MAP", "highest MAP")
    rows = tuple(
        (
            name,
            s.n,
            *(s.metrics[m] for m in ("MAP", "MRR", "P@1")),
            *(s.ties[m] for m in ("expected_MAP", "lowest_MAP", "highest_MAP")),
        )
        for name, s in scored.items()
    )
    note = "Ties in document order; expected, lowest and highest over the orders that ties allow."
    return Table("conventions", "One run, three conventions", header, rows, 4, note)


def _hit_plot(scored: Mapping[str, RankingScores]) -> Plot:
    ks = [name for name in next(iter(scored.values())).columns if name.startswith(("P@", "hit@"))]
    x = tuple(float(name.split("@")[1]) for name in ks)
    series = tuple(
        Series(name, x, tuple(float(s.columns[k].mean()) for k in ks)) for name, s in scored.items()
    )
    return Plot(
        "hit-by-k", "An answer among the first k", "line", "k", "share of questions", series, x_ticks=x
    )


def _trigger_plot(gold: Sequence[GoldRanking], run: Run, level: Level, threshold: float) -> Plot:
    seen = sorted({score for scores in run.values() for score in scores.values()})
    at = sorted({seen[int(i)] for i in np.linspace(0, len(seen) - 1, 101)}) if seen else [threshold]
    found = [score_triggering(gold, run, level=level, threshold=t) for t in at]
    x = tuple(at)
    series = (
        Series("precision", x, tuple(s.precision for s in found)),
        Series("recall", x, tuple(s.recall for s in found)),
        Series("F1", x, tuple(s.f1 for s in found)),
    )
    return Plot(
        "threshold",
        "Triggering by threshold",
        "line",
        "threshold on the score",
        "precision, recall, F1",
        series,
        marks=(Mark(threshold, f"in use: {threshold:.3g}"),),
        note="The best point on this curve is an oracle.",
    )
