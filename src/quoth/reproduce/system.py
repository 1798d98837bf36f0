"""The whole system against the reader alone on the gold paragraph, over all of SQuAD 2.0 dev."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quoth import assemble
from quoth.evaluate import Case, top_k_by_system
from quoth.evaluate.harness import run_reader, run_system
from quoth.evaluate.retrieval import query_times
from quoth.pipeline import without_quoting
from quoth.reproduce.corpus import DEV, TRAIN, load_corpus, open_index
from quoth.reproduce.measuring import (
    Settings,
    file_facts,
    judge,
    judge_in_halves,
    judged_rows,
    keeping,
    mean_row,
    reader_facts,
    sampled,
)
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row

DECIDE = ("profile", "k", "ranker", "expand", "null_threshold", "budget_ms")


def run(inputs: Inputs) -> Outcome:
    """Ask every dev question of the whole system, and of the reader with the paragraph it was written for."""
    corpus = load_corpus(inputs)
    cases = sampled(corpus.cases("dev"), inputs)
    name = assemble.reader_name(inputs.settings)
    dev = inputs.file(DEV)
    reader = assemble.open_whole_reader(inputs.settings)
    alone_facts = {**file_facts(dev), **reader_facts(inputs.settings), "what": "gold passage, whole"}
    alone = run_reader(reader, cases, running=keeping(inputs, f"reader-{name}", alone_facts))
    with open_index(inputs.work / "squad-english", corpus.documents) as index:
        pipeline = assemble.make_pipeline(index, index, settings=inputs.settings, root=Path.cwd())
        calibration = pipeline.calibration
        facts = {**file_facts(inputs.file(TRAIN), dev), **reader_facts(inputs.settings)}
        facts |= {key: str(inputs.settings[key].value) for key in DECIDE} | {"calibration": repr(calibration)}
        full = run_system(
            without_quoting(pipeline).ask, cases, running=keeping(inputs, f"system-{name}", facts)
        )
    how = f"{name}, {inputs.settings['profile'].value} profile, {corpus.passages:,} paragraphs"
    rows, charts = _figures(full, alone, cases, how, inputs.settings)
    return Outcome(
        tuple(rows),
        (
            "the blog shows bars without numbers: the full system well below the reader alone",
            f"{len(cases):,} of the 11,873 dev questions; the index holds the paragraphs of train and dev, as the "
            "blog's did",
            "an unanswerable question is right when nothing is quoted, although another paragraph might answer it",
            "the shipped threshold and retriever weight were fitted on questions of these same articles: rows with "
            "'shipped' are not held out; those with the other half's threshold are",
        ),
        tuple(charts),
    )


def _figures(
    full: Sequence[Mapping[str, Any]],
    alone: Sequence[Mapping[str, Any]],
    cases: Sequence[Case],
    how: str,
    settings: Settings,
) -> tuple[list[Row], list[Chart]]:
    shipped = next((float(row["threshold"]) for row in full if "threshold" in row), 0.0)
    rows = judged_rows(
        "full system, shipped threshold",
        judge(full, cases, threshold=shipped),
        f"{how}; {shipped:.2f}, read {settings['read'].value}",
    )
    halves, both = judge_in_halves(full, cases)
    told = f"thresholds {both[0]:.2f} and {both[1]:.2f}, each tuned on the other half of the articles"
    rows += judged_rows("full system, other half's threshold", halves, f"{how}; {told}")
    rows += judged_rows("reader alone, threshold 0", judge(alone, cases), "gold paragraph")
    tuned, both = judge_in_halves(alone, cases)
    told = f"gold paragraph; thresholds {both[0]:.2f} and {both[1]:.2f}, tuned on the other half"
    rows += judged_rows("reader alone, other half's threshold", tuned, told)
    has = [i for i, case in enumerate(cases) if case.answers]
    if has:
        for label, part in (("full system", halves), ("reader alone", tuned)):
            groups = [part.groups[i] for i in has]
            rows.append(
                mean_row(
                    f"{label}: HasAns F1", "", part.f1[has], groups, "other half's threshold", scale=100.0
                )
            )
        held = [float(any(full[i].get("flags", {}).get("any-answer", []))) for i in has]
        groups = [halves.groups[i] for i in has]
        rows.append(
            mean_row(
                "an answer in what was read", "", held, groups, "the most that reading can reach", scale=100.0
            )
        )
    rows += _costs(full, alone)
    return rows, [_by_k(full, alone, cases)]


def _costs(full: Sequence[Mapping[str, Any]], alone: Sequence[Mapping[str, Any]]) -> list[Row]:
    rows = []
    for label, part in (("full system", full), ("reader alone", alone)):
        times = query_times([row["ms"] for row in part if "ms" in row] or [0.0])
        rows.append(
            Row(
                f"{label}: median ms a question",
                "",
                times.median_ms,
                f"n={times.n:,}; 95th percentile {times.p95_ms:.1f}; this machine, as busy as it was",
            )
        )
    stages: dict[str, list[float]] = {}
    for row in full:
        for stage, ms in row.get("timings", {}).items():
            stages.setdefault(stage, []).append(ms)
    for stage, times_ms in stages.items():
        rows.append(
            Row(f"full system, {stage}: median ms", "", float(np.median(times_ms)), f"n={len(times_ms):,}")
        )
    tokens = [row["tokens"] for row in full if "tokens" in row]
    if tokens:
        rows.append(
            Row("full system: median tokens read", "", float(np.median(tokens)), f"n={len(tokens):,}")
        )
    return rows


def _by_k(
    full: Sequence[Mapping[str, Any]], alone: Sequence[Mapping[str, Any]], cases: Sequence[Case]
) -> Chart:
    systems = {"full system": [dict(r) for r in full], "reader alone": [dict(r) for r in alone]}
    _, plot = top_k_by_system(systems, cases)
    curves = tuple(Curve(s.label, tuple(zip(s.x, s.y, strict=True))) for s in plot.series)
    return Chart("Any of the top k answers", "answers (k)", "per cent", curves)


RECIPES = (
    Recipe(
        "blog-system",
        "the full system against the reader alone on the gold paragraph",
        "blog: Evaluating QA: the Retriever & the Full QA System (2020)",
        run,
    ),
)
