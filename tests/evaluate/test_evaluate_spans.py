"""Span metrics against the official definitions, written anew here, and the published figures."""

import gzip
import json
import re
import string
import time
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.spans import GoldSpans, exact_match, f1, f1_set, normalize, score_spans

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
PREDICTIONS = SHARED / "data/squad/predictions-distilbert/predictions_.json"
DEV = SHARED / "data/squad/dev-v2.0.reconstructed.json.gz"
V1 = SHARED / "data/squad/dev-v1.1.json.gz"

WORDS = st.sampled_from(
    ["the", "a", "an", "Water", "water", "bodies", "world's", "of", "-", "ÉCOLE", "x.y", "3"]
)
TEXTS = st.lists(WORDS, max_size=6).map(" ".join)


def load(path: Path) -> list[GoldSpans]:
    """Read a SQuAD file without the data set room."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        data = json.load(file)["data"]
    return [
        GoldSpans(q["id"], tuple(a["text"] for a in q["answers"]))
        for article in data
        for paragraph in article["paragraphs"]
        for q in paragraph["qas"]
    ]


class Official:
    """The rules of the official 2.0 script, one plain statement each, as slow as they come."""

    def normal(self, text: str) -> str:
        kept = "".join(c for c in text.lower() if c not in set(string.punctuation))
        return " ".join(re.sub(r"\b(a|an|the)\b", " ", kept).split())

    def f1(self, gold: str, said: str) -> float:
        g, s = self.normal(gold).split(), self.normal(said).split()
        if not g or not s:
            return float(g == s)
        same = sum((Counter(g) & Counter(s)).values())
        if not same:
            return 0.0
        precision, recall = same / len(s), same / len(g)
        return (2 * precision * recall) / (precision + recall)

    def raw(self, gold: list[GoldSpans], said: dict[str, str]) -> tuple[dict[str, float], dict[str, float]]:
        exact, f1s = {}, {}
        for q in gold:
            if q.id in said:
                accepted = [a for a in q.answers if self.normal(a)] or [""]
                exact[q.id] = float(max(self.normal(a) == self.normal(said[q.id]) for a in accepted))
                f1s[q.id] = max(self.f1(a, said[q.id]) for a in accepted)
        return exact, f1s

    def threshold(
        self, scores: dict[str, float], odds: dict[str, float], has: dict[str, bool], at: float
    ) -> dict[str, float]:
        return {k: float(not has[k]) if odds[k] > at else v for k, v in scores.items()}

    def best(
        self, said: dict[str, str], scores: dict[str, float], odds: dict[str, float], has: dict[str, bool]
    ) -> tuple[float, float]:
        current = best = float(sum(1 for k in has if not has[k]))
        threshold = 0.0
        for k in sorted(odds, key=lambda k: odds[k]):
            if k in scores:
                current += scores[k] if has[k] else (-1 if said[k] else 0)
                if current > best:
                    best, threshold = current, odds[k]
        return 100.0 * best / len(scores), threshold


@pytest.mark.skipif(not PREDICTIONS.exists(), reason="needs ../shared/data/squad")
def test_the_published_figures_come_out_to_the_last_digit_and_fast() -> None:
    """A public model's predictions on SQuAD 2.0 dev must give the published figures, digit by digit."""
    gold = load(DEV)
    said = json.loads(PREDICTIONS.read_text(encoding="utf-8"))
    began = time.perf_counter()
    scores = score_spans(gold, said, null_odds=dict.fromkeys(said, 0.0))
    took = time.perf_counter() - began
    assert scores.metrics == {
        "exact": 66.25958056093658,
        "f1": 69.66994428499025,
        "total": 11873,
        "HasAns_exact": 68.91025641025641,
        "HasAns_f1": 75.74076391627662,
        "HasAns_total": 5928,
        "NoAns_exact": 63.61648444070648,
        "NoAns_f1": 63.61648444070648,
        "NoAns_total": 5945,
        "best_exact": 66.25958056093658,
        "best_exact_thresh": 0.0,
        "best_f1": 69.66994428499046,
        "best_f1_thresh": 0.0,
        "missing": 0,
    }
    assert list(scores.metrics)[:4] == ["exact", "f1", "total", "HasAns_exact"]
    assert took < 2.0


@pytest.mark.skipif(not PREDICTIONS.exists(), reason="needs ../shared/data/squad")
def test_leaving_predictions_out_costs_unless_skipping_is_asked_for() -> None:
    """Dropping 100 predictions must lower the figures and be counted; "skip" must shrink the total."""
    gold = load(DEV)
    said = json.loads(PREDICTIONS.read_text(encoding="utf-8"))
    right = [q.id for q in gold if q.answers and said[q.id] in q.answers][:100]
    for id in right:
        del said[id]
    counted = score_spans(gold, said)
    skipped = score_spans(gold, said, missing="skip")
    assert counted.missing == skipped.missing == tuple(right)
    assert counted.metrics["total"] == 11873
    assert skipped.metrics["total"] == 11773
    assert counted.metrics["exact"] == pytest.approx(66.25958056093658 - 100 * 100 / 11873)
    assert skipped.metrics["exact"] > counted.metrics["exact"]
    assert "100, wrong" in counted.conventions["missing predictions"]


@pytest.mark.skipif(not V1.exists(), reason="needs ../shared/data/squad")
def test_the_first_gold_answer_of_squad_1_scores_100_under_the_1_1_rule() -> None:
    """Answering with a gold answer must give exact_match = f1 = 100 on all 10,570 questions."""
    gold = load(V1)
    metrics = score_spans(gold, {q.id: q.answers[0] for q in gold}, rule="squad-v1").metrics
    assert (metrics["exact_match"], metrics["f1"], metrics["total"]) == (100.0, 100.0, 10570)


QUESTIONS = st.lists(
    st.tuples(
        st.lists(TEXTS, max_size=4),
        st.one_of(st.none(), st.just(""), TEXTS),
        st.floats(-3, 3).map(lambda x: round(x, 1)),
    ),
    min_size=1,
    max_size=12,
)


@given(QUESTIONS, st.floats(-3, 3))
def test_scores_equal_the_official_definitions(
    rows: list[tuple[list[str], str | None, float]], at: float
) -> None:
    """Scores, thresholded scores and best thresholds must equal the official script's, missing skipped."""
    gold = [GoldSpans(f"q{i}", tuple(answers)) for i, (answers, _, _) in enumerate(rows)]
    said = {f"q{i}": text for i, (_, text, _) in enumerate(rows) if text is not None}
    odds = {f"q{i}": value for i, (_, _, value) in enumerate(rows)}
    if not said:
        with pytest.raises(InputError, match="None of the"):
            score_spans(gold, said, missing="skip")
        return
    has = {q.id: bool(q.answers) for q in gold}
    official = Official()
    exact, f1s = official.raw(gold, said)
    ours = score_spans(gold, said, null_odds=odds, null_threshold=at, missing="skip")
    assert dict(zip(ours.ids, ours.raw_exact, strict=True)) == exact
    assert dict(zip(ours.ids, ours.raw_f1, strict=True)) == f1s
    assert dict(zip(ours.ids, ours.f1, strict=True)) == official.threshold(f1s, odds, has, at)
    best, threshold = official.best(said, f1s, odds, has)
    assert (ours.metrics["best_f1"], ours.metrics["best_f1_thresh"]) == (best, threshold)
    best, threshold = official.best(said, exact, odds, has)
    assert (ours.metrics["best_exact"], ours.metrics["best_exact_thresh"]) == (best, threshold)


def test_the_blogs_example() -> None:
    """ "water bodies" must get EM 0 and F1 0.8 against the blog's three gold answers."""
    gold = ("water", "in solution in the world's water bodies", "the world's water bodies")
    scores = score_spans([GoldSpans("q", gold)], {"q": "water bodies"})
    assert scores.exact[0] == 0
    assert scores.f1[0] == pytest.approx(0.8)
    assert scores.f1_set[0] == pytest.approx(0.8)


def test_multiplicity_separates_the_official_f1_from_the_blogs() -> None:
    """A repeated word must count as often as it occurs in the official F1, and once in the set-based one."""
    assert f1("New York New York", "New York New York") == 1.0
    assert f1_set("New York New York", "New York New York") == 0.5
    assert f1("York York", "York") == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("text", "normal"),
    [
        ("The Cat's  pyjamas!", "cats pyjamas"),
        ("École, ÉCOLE", "école école"),
        ("a", ""),
        ("theatre", "theatre"),
        ("U.S.A", "usa"),
        ("“quoted”", "“quoted”"),
        ("A-team", "ateam"),
    ],
)
def test_normalisation_is_the_official_one(text: str, normal: str) -> None:
    """Only ASCII punctuation and the three articles may go; accents and typographic marks must stay."""
    assert normalize(text) == normal


@given(TEXTS, TEXTS)
def test_exact_match_implies_f1_of_one(a: str, b: str) -> None:
    """Where the match is exact the F1 must be 1, and F1 is symmetric."""
    if exact_match(a, b):
        assert f1(a, b) == 1.0
    assert f1(a, b) == pytest.approx(f1(b, a))


def test_a_missing_prediction_for_an_unanswerable_question_is_wrong_at_every_threshold() -> None:
    """Silence about an id is not the answer "none": it must never count as right."""
    gold = [GoldSpans("a", ()), GoldSpans("b", ("x",))]
    scores = score_spans(gold, {"b": "x"}, null_odds={"b": 1.0}, null_threshold=0.0)
    assert scores.metrics["exact"] == 0.0
    assert scores.metrics["best_exact"] == 50.0
    assert scores.missing == ("a",)


def test_equal_question_strings_with_two_ids_stay_two_questions() -> None:
    """Scores are kept by id: two questions are two rows even if everything but the id agrees."""
    gold = [GoldSpans("1", ("x",)), GoldSpans("2", ("x",))]
    assert score_spans(gold, {"1": "x", "2": "y"}).metrics["exact"] == 50.0


def test_gold_that_normalises_to_nothing_accepts_the_empty_answer() -> None:
    """A gold answer of articles alone is dropped under 2.0 (the empty answer is right) and kept under 1.1."""
    gold = [GoldSpans("q", ("the",))]
    assert score_spans(gold, {"q": ""}).metrics["HasAns_exact"] == 100.0
    old = score_spans(gold, {"q": "a"}, rule="squad-v1").metrics
    assert (old["exact_match"], old["f1"]) == (100.0, 0.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gold": []}, "no questions"),
        ({"gold": [GoldSpans("q", ()), GoldSpans("q", ())]}, "occurs 2 times"),
        ({"predictions": {"q": None}}, "must be a string"),
        ({"null_threshold": 0.0}, "needs null odds"),
        ({"null_odds": {}}, "null odds are None"),
        ({"null_odds": {"q": float("nan")}}, "null odds are nan"),
        ({"missing": "skip", "rule": "squad-v1"}, "cannot skip"),
    ],
)
def test_what_cannot_be_scored_is_refused(change: dict[str, object], message: str) -> None:
    """Bad input must end in one clear line with a way out."""
    given_: dict[str, object] = {"gold": [GoldSpans("q", ("x",))], "predictions": {"q": "x"}} | change
    with pytest.raises(InputError, match=message):
        score_spans(given_.pop("gold"), given_.pop("predictions"), **given_)  # type: ignore[arg-type]


def test_extra_predictions_are_counted_and_change_nothing() -> None:
    """A prediction for an unknown id must not move a figure, only the count of extras."""
    gold = [GoldSpans("q", ("x",))]
    scores = score_spans(gold, {"q": "x", "other": "y"}, null_odds={"q": 0.0, "other": -9.0})
    assert scores.extra == 1
    assert scores.metrics["best_exact"] == 100.0
    assert np.array_equal(scores.answered, [True])
