"""The blog's post on metrics: official figures, thresholds, and its two worked examples."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from quoth.datasets import load_squad
from quoth.evaluate import Case, GoldSpans, score_spans, span_cases, threshold_curve
from quoth.evaluate.harness import run_reader
from quoth.evaluate.runs import read_predictions
from quoth.evaluate.spans import exact_match, f1
from quoth.evaluate.summaries import span_figures
from quoth.protocols import Reader
from quoth.reading import probabilities
from quoth.reproduce.corpus import DEV
from quoth.reproduce.measuring import (
    file_facts,
    judge_in_halves,
    judged_rows,
    keeping,
    reader_facts,
    readers_named,
    sampled,
)
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row

PREDICTIONS = "squad/predictions-distilbert/predictions_.json"
MODEL = "DistilBERT (twmkn9/distilbert-base-uncased-squad2)"

PUBLISHED = {
    "exact": "66.25958056093658",
    "f1": "69.66994428499025",
    "total": "11873",
    "HasAns_exact": "68.91025641025641",
    "HasAns_f1": "75.74076391627662",
    "HasAns_total": "5928",
    "NoAns_exact": "63.61648444070648",
    "NoAns_f1": "63.61648444070648",
    "NoAns_total": "5945",
}
BEST = {
    "best_exact": "68.37",
    "best_exact_thresh": "-4.19",
    "best_f1": "71.11",
    "best_f1_thresh": "-3.77",
}
AT_BEST = {
    "exact": "68.31",
    "f1": "71.11",
    "HasAns_exact": "61.54",
    "HasAns_f1": "67.14",
    "NoAns_exact": "75.07",
}
"""With the threshold of the best F1, -3.77."""

WATER = "Where on Earth is free oxygen found?"
TRICK = "What happened 3.7-2 billion years ago?"
BLOG_THRESHOLD = 1.0


def run(inputs: Inputs) -> Outcome:
    """Score the published predictions, read the same questions with our readers, work the two examples."""
    path = inputs.file(DEV)
    cases = span_cases(load_squad(path))
    rows = _official(inputs, cases)
    water, text = _water(cases)
    rows += water
    examples = [text]
    chosen = sampled(cases, inputs)
    charts = []
    for name, (settings, reader) in readers_named(inputs.settings).items():
        facts = {**file_facts(path), **reader_facts(settings), "what": "gold passage, whole"}
        found = run_reader(reader, chosen, running=keeping(inputs, f"reader-{name}", facts))
        measured, threshold, chart = _thresholds(name, found, chosen)
        tricked, example = _trick(name, reader, cases, threshold)
        rows += [*measured, *tricked]
        charts.append(chart)
        examples.append(example)
    return Outcome(
        tuple(rows),
        (
            "the official figures are of the published prediction file; its null odds were not published, so what "
            f"thresholds buy is shown with our own readers beside the blog's {MODEL}",
            "SQuAD 2.0 dev is put together from public pieces: all questions, contexts, answers and offsets are there",
            "a best threshold is found on the questions that it is reported on (an oracle), there and here; the rows "
            "'other half' are what a threshold gives on articles that it was not tuned on",
        ),
        tuple(charts),
        tuple(examples),
    )


def _official(inputs: Inputs, cases: Sequence[Case]) -> list[Row]:
    gold = [GoldSpans(case.id, case.answers) for case in cases]
    scored = score_spans(gold, read_predictions(inputs.file(PREDICTIONS)))
    intervals = {figure.name: figure for figure in span_figures(scored, cases)}
    how = f"n={scored.metrics['total']:,}, the published predictions, missing = {len(scored.missing)}"
    out = []
    for name, published in PUBLISHED.items():
        value = scored.metrics.get(name)
        near = intervals.get(name)
        out.append(
            Row(
                name,
                published,
                None if value is None else float(value),
                how,
                near.low if near else None,
                near.high if near else None,
            )
        )
    return out


def _thresholds(
    name: str, found: Sequence[Mapping[str, Any]], cases: Sequence[Case]
) -> tuple[list[Row], float, Chart]:
    """Return the rows of one reader, its best threshold for F1, and EM and F1 by threshold."""
    gold = [GoldSpans(case.id, case.answers) for case in cases]
    texts = {row["id"]: row["text"] for row in found if "text" in row}
    odds = {row["id"]: row["null_odds"] for row in found if "text" in row}
    plain = score_spans(gold, texts, null_odds=odds, null_threshold=0.0)
    how = f"n={len(cases):,}; {name}, gold passage"
    out = _metric_rows(f"{name}, threshold 0", plain.metrics, dict.fromkeys(AT_BEST, ""), how)
    out += [
        Row(f"{name}: {key}", f"{value} (DistilBERT)", _number(plain.metrics, key), f"{how}, oracle")
        for key, value in BEST.items()
    ]
    best = _number(plain.metrics, "best_f1_thresh") or 0.0
    at_best = score_spans(gold, texts, null_odds=odds, null_threshold=best)
    published = {key: f"{value} (DistilBERT at -3.77)" for key, value in AT_BEST.items()}
    out += _metric_rows(
        f"{name}, best threshold", at_best.metrics, published, f"{how}, {best:.2f}, the best for F1: oracle"
    )
    halves, both = judge_in_halves(found, cases)
    out += judged_rows(
        f"{name}, other half's threshold",
        halves,
        f"{name}; thresholds {both[0]:.2f} and {both[1]:.2f}, each tuned on the articles of the other half",
    )
    return out, best, _chart(name, plain, odds)


def _metric_rows(
    label: str, metrics: Mapping[str, float | int | str], published: Mapping[str, str], how: str
) -> list[Row]:
    return [
        Row(f"{label}: {key}", value, _number(metrics, key), how)
        for key, value in published.items()
        if key in metrics
    ]


def _number(metrics: Mapping[str, float | int | str], key: str) -> float | None:
    return float(metrics[key]) if key in metrics else None


def _chart(name: str, scored: Any, odds: Mapping[str, float]) -> Chart:
    curve = threshold_curve(scored, odds, points=41)
    inside = np.isfinite(curve.threshold) & (np.abs(curve.threshold) < 1e8)
    lines = (
        ("EM", curve.exact),
        ("F1", curve.f1),
        ("HasAns F1", curve.has_answer_f1),
        ("NoAns EM", curve.no_answer_exact),
    )
    x = curve.threshold[inside].tolist()
    return Chart(
        f"{name}: EM and F1 by null threshold",
        "null threshold",
        "per cent",
        tuple(Curve(label, tuple(zip(x, y[inside].tolist(), strict=True))) for label, y in lines),
    )


def _water(cases: Sequence[Case]) -> tuple[list[Row], str]:
    """Work the blog's example of a prediction that is close and not equal."""
    case = _asked(cases, WATER)
    if case is None:
        return [], f"Q: {WATER}\nis not among these questions."
    said = "water bodies"
    em = float(max(exact_match(said, gold) for gold in case.answers))
    best = max(f1(said, gold) for gold in case.answers)
    how = f"n=1; prediction {said!r} against {len(case.answers)} gold answers"
    text = f"Q: {WATER}\nprediction: {said}\ngold: {' | '.join(case.answers)}\nEM {em:g}, F1 {best:.4g}"
    return [Row("'water bodies': EM", "0", em, how), Row("'water bodies': F1", "0.8", best, how)], text


def _trick(name: str, reader: Reader, cases: Sequence[Case], threshold: float) -> tuple[list[Row], str]:
    """Work the blog's robust prediction: n-best without question tokens, null odds, threshold."""
    case = _asked(cases, TRICK)
    if case is None or case.passage is None:
        return [], f"Q: {TRICK}\nis not among these questions."
    reading = reader.read(case.question, [case.passage])
    shares = probabilities(reading)
    lines = [f"Q: {TRICK} ({name}; gold: no answer)"]
    lines += [
        f"  {span.score:8.4f}  {share:.4f}  {span.item.text}"
        for span, share in list(zip(reading.spans, shares, strict=True))[:5]
    ]
    lines.append(f"  {reading.null_score:8.4f}  {1 - sum(shares):.4f}  (no answer)")
    for label, value in (("the blog's default", BLOG_THRESHOLD), ("best for F1 here", threshold)):
        none = reading.null_odds > value
        text = "no answer" if none or not reading.spans else reading.spans[0].item.text
        lines.append(f"threshold {value:.2f} ({label}): {text}")
    lines.append(
        "the blog's model: 'free oxygen began to outgas from the oceans' at 1.0, no answer at -3.77; without the "
        "checks it quoted the question itself"
    )
    row = Row(
        f"{name}: null odds of {TRICK!r}",
        "-0.2090 (DistilBERT)",
        float(reading.null_odds),
        "n=1; above 0: no answer at threshold 0",
    )
    return [row], "\n".join(lines)


def _asked(cases: Sequence[Case], question: str) -> Case | None:
    return next((case for case in cases if case.question.strip() == question), None)


RECIPES = (
    Recipe(
        "blog-reader-metrics",
        "EM, F1, null threshold and robust prediction on SQuAD 2.0 dev",
        "blog: Evaluating QA: Metrics, Predictions, and the Null Response (2020)",
        run,
    ),
)
