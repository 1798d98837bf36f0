"""The recipes that read: official figures, thresholds, ways of combining, the whole system."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quoth import settings
from quoth.evaluate import Case, GoldSpans, score_spans, span_cases
from quoth.models import load_reader, shipped
from quoth.protocols import SpanModel, Window
from quoth.reading import SpanReader, combine
from quoth.reproduce import Inputs, recipe
from quoth.reproduce.combining import DEPTHS, MODES, Remembering, any_of, read_question
from quoth.reproduce.measuring import aligned, judge, judge_in_halves, plain, said, sampled, with_mode
from quoth.reproduce.reader import PREDICTIONS, PUBLISHED, TRICK, WATER
from quoth.types import Passage, Scored

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
TOWNS = ("Turin", "Oslo", "Lima", "Kyoto", "Accra", "Quito")
CONTEXT = "Free oxygen also occurs in solution in the world's water bodies."

needs_readers = pytest.mark.skipif(not shipped(), reason="no reader is shipped in this checkout")


def article(
    title: str, paragraphs: Sequence[tuple[str, Sequence[tuple[str, str, Sequence[str]]]]]
) -> dict[str, Any]:
    return {
        "title": title,
        "paragraphs": [
            {
                "context": text,
                "qas": [
                    {
                        "id": id,
                        "question": question,
                        "is_impossible": not answers,
                        "answers": [{"text": a, "answer_start": text.index(a)} for a in answers],
                    }
                    for id, question, answers in asked
                ],
            }
            for text, asked in paragraphs
        ],
    }


def towns(prefix: str) -> list[dict[str, Any]]:
    out = []
    for number, town in enumerate(TOWNS):
        text = f"The tower of {town} was built in 15{number}0 by the guild of masons, and fell in a storm."
        asked = [
            (f"{prefix}{number}a", f"When was the tower of {town} built?", [f"15{number}0"]),
            (f"{prefix}{number}b", f"Who built the tower of {town}?", ["the guild of masons"]),
            (f"{prefix}{number}c", f"Who painted the tower of {town}?", []),
        ]
        out.append(article(f"{prefix}{town}", [(text, asked)]))
    return out


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder laid out as the data sets are, with small ones in it."""
    root = tmp_path / "data"
    (root / "squad/predictions-distilbert").mkdir(parents=True)
    oxygen = article(
        "Oxygen",
        [
            (CONTEXT, [("w", WATER, ["water bodies", "the world's water bodies"])]),
            (
                "Free oxygen gas was almost nonexistent before bacteria evolved, about 3.5 billion years ago.",
                [("t", TRICK, [])],
            ),
        ],
    )
    dev = {"version": "v2.0", "data": [*towns("d"), oxygen]}
    (root / "squad/dev-v2.0.reconstructed.json.gz").write_text(json.dumps(dev), encoding="utf-8")
    train = {"version": "v2.0", "data": towns("t")}
    (root / "squad/train-v2.0.reconstructed.json.gz").write_text(json.dumps(train), encoding="utf-8")
    guesses = {q["id"]: "" for a in dev["data"] for p in a["paragraphs"] for q in p["qas"]}
    (root / PREDICTIONS).write_text(json.dumps(guesses), encoding="utf-8")
    return root


def inputs(data: Path, work: Path, **options: object) -> Inputs:
    work.mkdir(parents=True, exist_ok=True)
    return Inputs(data, work, settings.load(options={"reader": "small", **options}, environment={}))


def figures(outcome: Any) -> dict[str, float | None]:
    """Return the measured figures by name, times aside."""
    return {row.name: row.measured for row in outcome.rows if " ms" not in row.name}


class Counting:
    """Passes everything on to a model and counts the windows that it ran."""

    def __init__(self, model: SpanModel) -> None:
        self.model = model
        self.windows = 0
        self.name, self.layout, self.max_length = model.name, model.layout, model.max_length

    def tokenize(self, texts: Sequence[str]) -> Any:
        return self.model.tokenize(texts)

    def logits(self, windows: Sequence[Window]) -> Any:
        self.windows += len(windows)
        return self.model.logits(windows)


def passages(n: int) -> list[Scored[Passage]]:
    texts = [f"The tower of {TOWNS[i % 6]} was built in 1{500 + i} by masons. " * 3 for i in range(n)]
    return [Scored(Passage(f"d{i}", 0, len(t), t), float(20 - i)) for i, t in enumerate(texts)]


@pytest.mark.skipif(
    not (DATA / PREDICTIONS).exists(), reason="the prediction file is not beside the checkout"
)
def test_the_official_figures_are_the_published_ones() -> None:
    """Every figure of the prediction file is what the blog printed, to the last digit."""
    from quoth.datasets import load_squad
    from quoth.reproduce.corpus import DEV
    from quoth.reproduce.reader import _official, _water

    at = Inputs(DATA, DATA, settings.load(environment={}))
    cases = span_cases(load_squad(at.file(DEV)))
    rows = _official(at, cases)
    assert [row.name for row in rows] == list(PUBLISHED)
    for row in rows:
        assert row.measured == pytest.approx(float(row.published), rel=1e-15), row.name
    em, f1 = _water(cases)[0]
    assert (em.measured, f1.measured) == (0, pytest.approx(0.8))
    assert any(case.question == TRICK and not case.answers for case in cases)


@needs_readers
def test_reader_metrics_show_thresholds_and_both_examples(data: Path, tmp_path: Path) -> None:
    """The recipe has the file's figures, best thresholds beside the blog's, the other half's, and the examples."""
    outcome = recipe("blog-reader-metrics").run(inputs(data, tmp_path / "work"))
    names = figures(outcome)
    assert names["NoAns_exact"] == 100
    assert names["HasAns_exact"] == 0
    assert names["'water bodies': EM"] == 1
    assert {"small: best_f1", "small: best_f1_thresh", "small, best threshold: NoAns_exact"} <= set(names)
    assert {"small, other half's threshold: EM", f"small: null odds of {TRICK!r}"} <= set(names)
    published = {row.name: row.published for row in outcome.rows}
    assert published["small: best_f1"].startswith("71.11")
    assert outcome.differences
    assert [c.title for c in outcome.charts] == ["small: EM and F1 by null threshold"]
    assert any("prediction: water bodies" in text for text in outcome.examples)
    trick = next(text for text in outcome.examples if TRICK in text)
    assert "threshold 1.00 (the blog's default)" in trick
    assert "What happened" not in trick.split("\n", 1)[1].replace(TRICK, "").split("the blog's model")[0]


@needs_readers
def test_a_second_run_reads_nothing_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was read is kept in the work folder; a larger sample goes on from a smaller one."""
    at = inputs(data, tmp_path / "work")
    first = recipe("blog-reader-metrics").run(at)
    kept = next((tmp_path / "work").glob("reader-small-*.jsonl"))
    lines = kept.read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 20
    kept.write_text("\n".join(lines[:9]) + "\n" + lines[9][:20], encoding="utf-8")
    again = recipe("blog-reader-metrics").run(at)
    assert figures(again) == figures(first)
    assert len(kept.read_text(encoding="utf-8").splitlines()) == 21


@needs_readers
def test_ways_of_combining_are_compared(data: Path, tmp_path: Path) -> None:
    """Each way of reading at each number of passages has EM and F1 with intervals, the retriever's weight too."""
    at = inputs(data, tmp_path / "work")
    outcome = recipe("blog-combine").run(at)
    names = figures(outcome)
    for mode in MODES:
        for depth in DEPTHS:
            assert f"{mode}, {depth} passages: F1" in names
            assert f"{mode}, {depth} passages, threshold of the other half: EM" in names
    assert "joint, 10 passages, retriever weighed in: F1" in names
    assert all(
        row.low is not None and row.low <= (row.measured or 0) <= (row.high or 0) for row in outcome.rows
    )
    assert [curve.name for curve in outcome.charts[0].curves] == list(MODES)
    kept = list((tmp_path / "work").glob("combine-small-*.jsonl"))
    assert len(kept) == 1
    topk = recipe("blog-topk").run(at)
    assert list((tmp_path / "work").glob("combine-small-*.jsonl")) == kept
    held = figures(topk)
    for depth in DEPTHS:
        assert (held[f"any of the k, k = {depth}: HasAns EM"] or 0) >= (
            held["any of the k, k = 1: HasAns EM"] or 0
        )
    assert held["best answer, joint, k = 3: EM"] == names["joint, 3 passages: EM"]


@needs_readers
def test_the_system_stands_beside_the_reader_alone(data: Path, tmp_path: Path) -> None:
    """The recipe has both with the same questions, thresholds of the other half, stages, and what was read."""
    outcome = recipe("blog-system").run(inputs(data, tmp_path / "work", profile="fast"))
    names = figures(outcome)
    for label in ("full system, shipped threshold", "reader alone, threshold 0"):
        assert {f"{label}: EM", f"{label}: F1"} <= set(names)
    assert 0 < (names["an answer in what was read"] or 0) <= 100
    assert any(row.name == "full system, retrieve: median ms" for row in outcome.rows)
    assert outcome.charts[0].curves[0].points[0][0] == 1
    assert any("shipped" in text and "not held out" in text for text in outcome.differences)


@needs_readers
def test_remembered_windows_change_nothing() -> None:
    """A model that remembers gives what the model gives, and runs each window once in all modes and depths."""
    counting = Counting(load_reader("small", threads=1))
    found = passages(10)
    question = "When was the tower of Lima built?"
    row = read_question(SpanReader(counting), question, found)
    ran = counting.windows
    assert ran < sum(DEPTHS) * len(MODES)
    plain_reader = SpanReader(counting.model)
    for mode in MODES:
        for depth in (1, 3, 10):
            reading = with_mode(plain_reader, mode).read(question, [s.item for s in found[:depth]])
            kept = row["depths"][f"{mode}-{depth}"]
            assert kept["text"] == reading.spans[0].item.text
            assert kept["null_odds"] == pytest.approx(reading.null_odds, abs=0.2)
    model = Remembering(counting)
    window = Window(np.array([101, 2054, 102, 2023, 102]), np.array([0, 0, 0, 1, 1]))
    before = counting.windows
    model.logits([window, window])
    model.logits([window])
    assert counting.windows == before + 1


@needs_readers
def test_weighing_from_rows_is_what_combine_does() -> None:
    """The best span with a retriever weight, from kept rows, is that of ``quoth.reading.combine``."""
    from quoth.reproduce.combining import _reweighed

    found = passages(5)
    reader = SpanReader(load_reader("small", threads=1))
    question = "When was the tower of Kyoto built?"
    row = read_question(reader, question, found)
    reading = reader.read(question, [s.item for s in found])
    for weight in (0.0, 0.3, 2.0):
        wanted = combine(reading, [s.score for s in found], weight=weight)
        got = _reweighed(row["depths"]["joint-5"], row["scores"], 5, weight)
        assert got["text"] == wanted.spans[0].item.text
        assert got["null_odds"] == pytest.approx(wanted.null_odds, abs=0.2)


def case(id: str, answers: Sequence[str], group: str) -> Case:
    return Case(id, "?", tuple(answers), group=group)


def test_any_of_the_k_counts_each_passage() -> None:
    """Any of the first k answers may be right; an unanswerable question needs one passage that says nothing."""
    cases = [case("a", ["1500"], "x"), case("b", [], "y"), case("c", ["gone"], "z")]
    alone = [
        [{"text": "no", "null_odds": -1.0}, {"text": "1500", "null_odds": 3.0}],
        [{"text": "no", "null_odds": -1.0}, {"text": "yes", "null_odds": 1.0}],
        [],
    ]
    rows = [{"id": c.id, "alone": a} for c, a in zip(cases, alone, strict=True)]
    assert any_of(rows, cases, 1)[0].tolist() == [0, 0, 0]
    assert any_of(rows, cases, 2)[0].tolist() == [0, 1, 0]
    assert any_of(rows, cases, 2, nulls=False)[0].tolist() == [1, 0, 0]


def test_halves_use_the_other_ones_threshold() -> None:
    """Each half of the articles is judged with the best threshold of the other, computed by hand here."""
    from quoth.reading import fold_of

    groups = [f"g{i}" for i in range(40)]
    cases = [case(f"q{i}", ["yes"] if i % 2 else [], g) for i, g in enumerate(groups)]
    rows = [{"id": c.id, "text": "yes", "null_odds": float(i % 7) - 3 * (i % 2)} for i, c in enumerate(cases)]
    judged, thresholds = judge_in_halves(rows, cases)
    for fold in (0, 1):
        here = [i for i, g in enumerate(groups) if fold_of(g) == fold]
        there = [i for i, g in enumerate(groups) if fold_of(g) != fold]
        best = max(
            sum((rows[i]["null_odds"] <= t) == bool(cases[i].answers) for i in there)
            for t in [-100.0, *(row["null_odds"] for row in rows)]
        )
        mine = sum((rows[i]["null_odds"] <= thresholds[fold]) == bool(cases[i].answers) for i in there)
        assert mine == best
        for i in here:
            assert judged.exact[i] == float(
                (rows[i]["null_odds"] <= thresholds[fold]) == bool(cases[i].answers)
            )


def test_judging_is_the_official_score() -> None:
    """Rows judged at a threshold are what ``score_spans`` makes of them; a refused question is wrong."""
    cases = [case("a", ["yes"], "x"), case("b", [], "x"), case("c", ["yes"], "y")]
    rows: list[dict[str, Any]] = [
        {"id": "a", "text": "yes", "null_odds": 0.5},
        {"id": "b", "text": "yes", "null_odds": 2.0},
        {"id": "c", "error": "question_too_long"},
    ]
    judged = judge(rows, cases, threshold=1.0)
    gold = [GoldSpans(c.id, c.answers) for c in cases]
    official = score_spans(gold, {"a": "yes", "b": "yes"}, null_odds={"a": 0.5, "b": 2.0}, null_threshold=1.0)
    assert judged.exact.tolist() == official.exact.tolist() == [1, 1, 0]
    assert judged.groups == ("x", "x", "y")


def test_small_things(tmp_path: Path) -> None:
    """Samples keep their order and are the seed's; tables align; names become file names; no span has finite odds."""
    at = Inputs(tmp_path, tmp_path, {}, limit=5, seed=1)
    picked = sampled(range(100), at)
    assert picked == sorted(picked)
    assert picked == sampled(range(100), at)
    assert picked != sampled(range(100), Inputs(tmp_path, tmp_path, {}, limit=5, seed=2))
    assert sampled(range(3), at) == [0, 1, 2]
    assert len(sampled(range(100), Inputs(tmp_path, tmp_path, {}), otherwise=7)) == 7
    assert aligned([["way", "n"], ["a", "10"]]) == "  way   n\n  a    10"
    assert plain("reader (small)") == "reader--small"
    from quoth.types import Reading

    row = said(Reading((), (), 0.0, 0, 0, 0))
    assert (row["text"], row["null_odds"], row["nbest"]) == ("", 1e9, [])
