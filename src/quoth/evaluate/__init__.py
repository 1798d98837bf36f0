"""Measuring: pure metrics, uncertainty, comparisons, and the runs and reports around them.

Nothing here loads a model: a reader, a ranker, a retriever, an ``ask`` or a predictions file is handed in.
"""

from quoth.evaluate.calibration import score_calibration
from quoth.evaluate.cases import (
    Case,
    RankCase,
    TriggerCase,
    limited,
    open_cases,
    selection_cases,
    span_cases,
    span_documents,
    trigger_cases,
)
from quoth.evaluate.comparison import comparison, one_question, side_by_side
from quoth.evaluate.curves import precision_coverage, threshold_curve, tune_threshold
from quoth.evaluate.evaluation import Evaluation, Table
from quoth.evaluate.evaluators import (
    evaluate_predictions,
    evaluate_reader,
    evaluate_retriever,
    evaluate_sentences,
    evaluate_system,
    evaluate_triggering,
)
from quoth.evaluate.evidence import EvidenceRow, PruneRow, pruning_curve, score_evidence
from quoth.evaluate.figures import Figure, TunedThreshold, refuse_test
from quoth.evaluate.judged import score_judged
from quoth.evaluate.manifest import DataFacts, Manifest, SystemFacts, file_sha256, make_manifest
from quoth.evaluate.paired import RunScores, compare
from quoth.evaluate.plots import Mark, Plot, Series, svg
from quoth.evaluate.ranking import GoldRanking, card_mrr, score_ranking
from quoth.evaluate.report import write_report
from quoth.evaluate.resume import Running
from quoth.evaluate.retrieval import GoldPassage, Retrieved, score_retrieval
from quoth.evaluate.significance import bootstrap, holm, permutation_test
from quoth.evaluate.spans import GoldSpans, SpanScores, score_spans
from quoth.evaluate.summaries import top_k_by_system
from quoth.evaluate.triggering import card_f1, score_triggering, tune_triggering

__all__ = [
    "Case",
    "DataFacts",
    "Evaluation",
    "EvidenceRow",
    "Figure",
    "GoldPassage",
    "GoldRanking",
    "GoldSpans",
    "Manifest",
    "Mark",
    "Plot",
    "PruneRow",
    "RankCase",
    "Retrieved",
    "RunScores",
    "Running",
    "Series",
    "SpanScores",
    "SystemFacts",
    "Table",
    "TriggerCase",
    "TunedThreshold",
    "bootstrap",
    "card_f1",
    "card_mrr",
    "compare",
    "comparison",
    "evaluate_predictions",
    "evaluate_reader",
    "evaluate_retriever",
    "evaluate_sentences",
    "evaluate_system",
    "evaluate_triggering",
    "file_sha256",
    "holm",
    "limited",
    "make_manifest",
    "one_question",
    "open_cases",
    "permutation_test",
    "precision_coverage",
    "pruning_curve",
    "refuse_test",
    "score_calibration",
    "score_evidence",
    "score_judged",
    "score_ranking",
    "score_retrieval",
    "score_spans",
    "score_triggering",
    "selection_cases",
    "side_by_side",
    "span_cases",
    "span_documents",
    "svg",
    "threshold_curve",
    "top_k_by_system",
    "trigger_cases",
    "tune_threshold",
    "tune_triggering",
    "write_report",
]
