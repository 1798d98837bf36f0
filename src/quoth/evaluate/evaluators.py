"""Run a part over questions and judge it: one call each for reader, retriever, ranker, trigger and system."""

from collections.abc import Callable, Mapping, Sequence

from quoth.evaluate.breakdown import breakdown
from quoth.evaluate.cases import Case, RankCase, TriggerCase
from quoth.evaluate.evaluation import Evaluation
from quoth.evaluate.harness import run_ranker, run_reader, run_retriever, run_sections, run_system
from quoth.evaluate.paired import RunScores
from quoth.evaluate.rankings import (
    ranking_run,
    retriever_evaluation,
    sentences_evaluation,
    triggering_evaluation,
)
from quoth.evaluate.resume import Row, Running
from quoth.evaluate.retrieval import KS
from quoth.evaluate.spans import GoldSpans, Missing, Rule, score_spans
from quoth.evaluate.summaries import reader_evaluation, span_figures, span_plots, system_evaluation
from quoth.protocols import Ranker, Reader, Retriever
from quoth.types import Query, Trace


def evaluate_reader(
    reader: Reader,
    cases: Sequence[Case],
    *,
    title: str,
    null_threshold: float = 0.0,
    split: str = "",
    seed: int = 0,
    running: Running | None = None,
) -> Evaluation:
    """Read every question's gold passage and judge the answers."""
    rows = run_reader(reader, cases, running=running)
    return reader_evaluation(rows, cases, title=title, null_threshold=null_threshold, split=split, seed=seed)


def evaluate_retriever(
    retriever: Retriever,
    cases: Sequence[Case],
    *,
    title: str,
    ks: Sequence[int] = KS,
    split: str = "",
    seed: int = 0,
    running: Running | None = None,
) -> Evaluation:
    """Retrieve for every question and judge what came."""
    rows = run_retriever(retriever, cases, k=max(ks), running=running)
    return retriever_evaluation(rows, cases, title=title, ks=ks, split=split, seed=seed)


def evaluate_system(
    ask: Callable[[Query], Trace],
    cases: Sequence[Case],
    *,
    title: str,
    reader_rows: Sequence[Row] = (),
    split: str = "",
    seed: int = 0,
    running: Running | None = None,
) -> Evaluation:
    """Ask every question of the whole system and judge the answers; *reader_rows*: the reader alone."""
    rows = run_system(ask, cases, running=running)
    return system_evaluation(rows, cases, title=title, reader_rows=reader_rows, split=split, seed=seed)


def evaluate_sentences(
    ranker: Ranker,
    cases: Sequence[RankCase],
    *,
    title: str,
    floors: Mapping[str, Ranker] | None = None,
    split: str = "",
    seed: int = 0,
    running: Running | None = None,
) -> Evaluation:
    """Rank every question's candidates and judge the order, beside the *floors* (lexical rankers by name)."""
    rows = run_ranker(ranker, cases, running=running)
    beside = {name: ranking_run(run_ranker(floor, cases), cases) for name, floor in (floors or {}).items()}
    return sentences_evaluation(rows, cases, title=title, floors=beside, split=split, seed=seed)


def evaluate_triggering(
    ranker: Ranker,
    cases: Sequence[RankCase] | Sequence[TriggerCase],
    *,
    title: str,
    threshold: float,
    tuned_on: str = "",
    scored_on: str = "",
    running: Running | None = None,
) -> Evaluation:
    """Score every sentence (or section, for ``TriggerCase``s) and judge the decisions at *threshold*."""
    sections = [case for case in cases if isinstance(case, TriggerCase)]
    questions = [case for case in cases if isinstance(case, RankCase)]
    if sections:
        rows = run_sections(ranker, sections, running=running)
    else:
        rows = run_ranker(ranker, questions, running=running)
    return triggering_evaluation(
        rows,
        cases,
        title=title,
        level="section" if sections else "question",
        threshold=threshold,
        tuned_on=tuned_on,
        scored_on=scored_on,
    )


def evaluate_predictions(
    predictions: Mapping[str, str],
    cases: Sequence[Case],
    *,
    title: str,
    null_odds: Mapping[str, float] | None = None,
    null_threshold: float | None = None,
    missing: Missing = "wrong",
    rule: Rule = "squad-v2",
    split: str = "",
) -> Evaluation:
    """Judge a predictions file: the official figures, with intervals, bins and (with odds) curves."""
    spans = score_spans(
        [GoldSpans(case.id, case.answers) for case in cases],
        predictions,
        null_odds=null_odds,
        null_threshold=null_threshold,
        missing=missing,
        rule=rule,
    )
    place = {case.id: case for case in cases}
    taken = [place[id] for id in spans.ids]
    tables, plots = breakdown({"EM": spans.exact, "F1": spans.f1}, taken, scale=100.0)
    curves = span_plots(spans, null_odds, null_threshold or 0.0) if null_odds else []
    return Evaluation(
        kind="spans",
        title=title,
        figures=span_figures(spans, cases, split=split),
        metrics={**spans.metrics, "f1_set": spans.f1_of_sets, "extra": spans.extra},
        conventions=dict(spans.conventions) | {"intervals": "95%, percentile bootstrap over documents"},
        questions=RunScores(
            title, spans.ids, {"exact": spans.exact, "f1": spans.f1}, tuple(c.group or c.id for c in taken)
        ),
        tables=tuple(tables),
        plots=(*curves, *plots),
    )
