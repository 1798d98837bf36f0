"""Answer triggering: decisions on WikiQA's questions, and on sections, with thresholds from elsewhere."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from quoth.datasets import load_wikiqa
from quoth.evaluate import (
    GoldRanking,
    Running,
    TriggerCase,
    bootstrap,
    card_f1,
    score_triggering,
    selection_cases,
    tune_triggering,
)
from quoth.evaluate.harness import run_ranker, run_sections
from quoth.evaluate.ranking import Run
from quoth.evaluate.rankings import ranking_run
from quoth.evaluate.triggering import Level, TriggerScores
from quoth.protocols import Ranker
from quoth.reading import fold_of
from quoth.reproduce.measuring import every_ranker, file_facts, keeping, plain, sampled
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]

WIKIQA_DEV, WIKIQA_TEST = "wikiqa/WikiQA-dev.tsv", "wikiqa/WikiQA-test.tsv"
PUBLISHED = {"precision": "26.09", "recall": "37.04", "f1": "30.61"}
"""CNN-Cnt on WikiQA test, question level, in per cent (Yang, Yih and Meek, 2015)."""

LEVELS: tuple[Level, ...] = ("section", "question")


@dataclass(frozen=True, slots=True)
class Decided:
    """Decisions, one row each: 0/1 arrays of shape (n,), and the document that each belongs to."""

    triggered: "Doubles"
    correct: "Doubles"
    answerable: "Doubles"
    groups: tuple[str, ...]
    thresholds: tuple[float, ...]

    @property
    def ratios(self) -> "Mapping[str, tuple[Doubles, Doubles]]":
        """Precision, recall and F1 as ratios of sums."""
        return {
            "precision": (self.correct, self.triggered),
            "recall": (self.correct, self.answerable),
            "f1": (2 * self.correct, self.triggered + self.answerable),
        }


def run(inputs: Inputs) -> Outcome:
    """Tune each ranker's threshold on WikiQA dev, apply it to WikiQA test."""
    dev_path, test_path = inputs.file(WIKIQA_DEV), inputs.file(WIKIQA_TEST)
    dev = sampled(selection_cases(load_wikiqa(dev_path)), inputs)
    test = sampled(selection_cases(load_wikiqa(test_path)), inputs)
    rows: list[Row] = []
    curves: list[Curve] = []
    for name, (ranker, depends) in every_ranker(inputs.settings).items():
        runs = []
        for part, path in ((dev, dev_path), (test, test_path)):
            running = keeping(inputs, f"{path.stem}-{plain(name)}", {**file_facts(path), **depends})
            runs.append(ranking_run(run_ranker(ranker, part, running=running), part))
        tuned = tune_triggering(
            [c.gold for c in dev], runs[0], level="question", split="dev", name=dev_path.name
        )
        gold = [c.gold for c in test]
        scores = score_triggering(
            gold, runs[1], level="question", threshold=tuned.threshold, tuned_on=tuned.tuned_on
        )
        decided = _decided([scores], {c.gold.id: c.group for c in test})
        how = f"question level, WikiQA test; threshold {tuned.threshold:.4g} tuned on dev"
        how += f" (F1 {100 * tuned.value:.2f} there)"
        published = {k: f"{v} (CNN-Cnt)" for k, v in PUBLISHED.items()}
        rows += ratio_rows(name, decided, how, published=published)
        curves.append(Curve(name, _trade(gold, runs[1])))
    return Outcome(
        tuple(rows),
        (
            "published: a convolutional network with word counts, trained on WikiQA's train split; ours are not "
            "trained on WikiQA: counts, and a reader that learned from SQuAD",
            f"{len(test):,} of 633 test and {len(dev):,} of 296 dev questions; only the threshold comes from dev",
            "of sentences with the same highest score the first is the top one",
        ),
        (
            Chart(
                "Recall against precision, WikiQA test",
                "recall, per cent",
                "precision, per cent",
                tuple(curves),
            ),
        ),
    )


def _trade(gold: Sequence[GoldRanking], one: Run, points: int = 25) -> tuple[tuple[float, float], ...]:
    """Return (recall, precision) at thresholds spread evenly over the questions."""
    best = sorted({max(one[q.id].values()) for q in gold if one.get(q.id)}, reverse=True)
    if not best:
        return ()
    at = sorted({best[int(i)] for i in np.linspace(0, len(best) - 1, min(points, len(best)))}, reverse=True)
    found = [score_triggering(gold, one, level="question", threshold=t) for t in at]
    return tuple((100 * s.recall, 100 * s.precision) for s in found)


def section_rows(
    label: str,
    ranker: Ranker,
    cases: Sequence[TriggerCase],
    *,
    how: str,
    tune_on: Sequence[TriggerCase] = (),
    running: Running | None = None,
) -> list[Row]:
    """Return precision, recall and F1 by section and by question, and the card's own F1.

    The threshold comes from *tune_on*; without it each half of the documents has that of the other.
    """
    one = ranking_run(run_sections(ranker, cases, running=running), cases)
    rows = []
    for level in LEVELS:
        if tune_on:
            other = ranking_run(run_sections(ranker, tune_on), tune_on)
            tuned = tune_triggering([c.gold for c in tune_on], other, level=level, split="dev")
            scored = [score_triggering([c.gold for c in cases], one, level=level, threshold=tuned.threshold)]
        else:
            scored = _halves(cases, one, level)
        decided = _decided(scored, {c.gold.id: c.group for c in cases})
        at = ", ".join(f"{t:.4g}" for t in decided.thresholds)
        rows += ratio_rows(f"{label}, {level} level", decided, f"{how}; threshold {at}")
        if level == "section":
            card = card_f1(decided.triggered.astype(int).tolist(), decided.answerable.astype(int).tolist())
            rows.append(
                Row(
                    f"{label}: F1/card",
                    "",
                    100 * card,
                    f"n={len(decided.groups):,} sections; the card's recipe",
                )
            )
    return rows


def _halves(cases: Sequence[TriggerCase], one: Run, level: Level) -> list[TriggerScores]:
    """Score each half of the documents with the threshold of the other; all with one's own where there is one half."""
    folds = [[c.gold for c in cases if fold_of(c.group) == fold] for fold in (0, 1)]
    if not all(folds):
        everything = [c.gold for c in cases]
        tuned = tune_triggering(everything, one, level=level, split="dev")
        return [score_triggering(everything, one, level=level, threshold=tuned.threshold)]
    out = []
    for fold in (0, 1):
        tuned = tune_triggering(folds[1 - fold], one, level=level, split="dev")
        out.append(score_triggering(folds[fold], one, level=level, threshold=tuned.threshold))
    return out


def _decided(scores: Sequence[TriggerScores], group: Mapping[str, str]) -> Decided:
    return Decided(
        np.concatenate([s.triggered for s in scores]),
        np.concatenate([s.correct for s in scores]),
        np.concatenate([s.answerable for s in scores]),
        tuple(group[id] for s in scores for id in s.ids),
        tuple(s.threshold for s in scores),
    )


def ratio_rows(
    label: str, decided: Decided, how: str, *, published: Mapping[str, str] | None = None
) -> list[Row]:
    """Return precision, recall and F1 in per cent, with intervals over documents; 0 where nothing was triggered."""
    rows = []
    n = len(decided.groups)
    for name, (top, below) in decided.ratios.items():
        said = (published or {}).get(name, "")
        if below.sum():
            found = bootstrap(top, weights=below, groups=decided.groups, resamples=1000)
            rows.append(
                Row(
                    f"{label}: {name}",
                    said,
                    100 * found.value,
                    f"n={n:,}; {how}",
                    100 * found.low,
                    100 * found.high,
                )
            )
        else:
            rows.append(Row(f"{label}: {name}", said, 0.0, f"n={n:,}; {how}"))
    return rows


RECIPES = (
    Recipe(
        "wikiqa-triggering",
        "is there an answer at all: WikiQA test, question level, thresholds tuned on dev",
        "WikiQA (Yang, Yih and Meek, 2015)",
        run,
    ),
)
