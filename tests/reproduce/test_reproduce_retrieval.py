"""The retriever's recipe: two analyzers, recall by number of passages and by size of the corpus."""

import json
import random
from pathlib import Path

import pytest

from quoth import settings
from quoth.datasets import load_squad
from quoth.evaluate.harness import run_retriever
from quoth.evaluate.retrieval import score_flags
from quoth.reproduce import Inputs, recipe
from quoth.reproduce import retriever as room
from quoth.reproduce.corpus import DEV, TRAIN, load_corpus, open_index

WORDS = [
    "river",
    "tower",
    "bridge",
    "market",
    "school",
    "church",
    "harbour",
    "forest",
    "castle",
    "garden",
    "museum",
    "station",
    "theatre",
]


@pytest.fixture
def at(tmp_path: Path) -> Inputs:
    """Return inputs over 60 paragraphs of six articles, each with two questions, one unanswerable."""
    draw = random.Random(5)
    (tmp_path / "data/squad").mkdir(parents=True)
    for name, letters in ((TRAIN, "ABCD"), (DEV, "EF")):
        articles = []
        for letter in letters:
            paragraphs = []
            for n in range(10):
                words = draw.sample(WORDS, 6)
                year = draw.randrange(1000, 9999)
                text = (
                    f"In {letter}{n} the {words[0]} stood by the {words[1]}; the {words[2]} burned in {year}."
                )
                asked = f"When did the {words[2]} of {letter}{n} by the {words[0]}s burn?"
                found = [{"text": str(year), "answer_start": text.index(str(year))}]
                qas = [
                    {"id": f"{letter}{n}", "question": asked, "answers": found, "is_impossible": False},
                    {"id": f"{letter}{n}x", "question": "Why?", "answers": [], "is_impossible": True},
                ]
                paragraphs.append({"context": text, "qas": qas})
            articles.append({"title": f"Town {letter}", "paragraphs": paragraphs})
        (tmp_path / "data" / name).write_text(
            json.dumps({"version": "v2.0", "data": articles}), encoding="utf-8"
        )
    (tmp_path / "work").mkdir()
    return Inputs(tmp_path / "data", tmp_path / "work", settings.load(environment={}))


def test_both_analyzers_stand_beside_the_published(at: Inputs, monkeypatch: pytest.MonkeyPatch) -> None:
    """Recall and mAP under two rules, times, both curves, the analyzer's parts; the second run changes nothing."""
    monkeypatch.setattr(room, "SIZES", (20, 40))
    outcome = recipe("blog-retriever").run(at)
    rows = {row.name: row for row in outcome.rows}
    assert rows["standard: recall@3/answer"].published == "0.8226"
    assert rows["english: recall@3/answer"].published == "0.8501"
    assert rows["english: mAP@3/answer"].published == "0.7801"
    assert rows["standard: mean ms a query"].published == "3.06"
    assert "n=60" in rows["english: recall@3/answer"].how
    values = [rows[f"english: recall@{k}/passage"].measured or 0 for k in (1, 3, 5, 10, 20)]
    assert values == sorted(values)
    for row in outcome.rows:
        if " ms " not in row.name:
            assert 0 <= (row.measured or 0) <= 1
    by_k, by_size = outcome.charts
    assert {curve.name for curve in by_k.curves} >= {"standard, first answer", "english, gold paragraph"}
    assert [x for x, _ in by_size.curves[0].points] == [20, 40, 60]
    assert "[drink]" in outcome.examples[0]
    assert outcome.differences
    again = recipe("blog-retriever").run(at)
    assert [(r.name, r.measured) for r in again.rows if " ms " not in r.name] == [
        (r.name, r.measured) for r in outcome.rows if " ms " not in r.name
    ]


def test_its_figures_are_those_of_the_harness(at: Inputs) -> None:
    """Ranks of hits give the recall and mAP that ``quoth eval retriever`` computes from flags."""
    corpus = load_corpus(at)
    cases = room.answerable(load_squad(at.file(DEV)))
    assert {case.id for case in cases} == {f"{letter}{n}" for letter in "EF" for n in range(10)}
    with open_index(at.work / "x", corpus.documents) as index:
        own = room._scores([{"id": c.id, **room.hits(index, c)} for c in cases])
        rows = run_retriever(index, cases, k=20)
    theirs = score_flags([(row["id"], row["flags"]) for row in rows])
    for rule in ("answer", "passage"):
        for name, value in own[rule].metrics.items():
            assert theirs[rule].metrics[name] == pytest.approx(value), name


def test_paragraphs_as_documents_are_found_alike(at: Inputs) -> None:
    """Cut into documents of one paragraph each, the corpus gives the same hits as it does whole."""
    corpus = load_corpus(at)
    cases = [*room.answerable(corpus.train), *room.answerable(corpus.dev)]
    apart = room._paragraphs(corpus)
    assert len(apart) == corpus.passages == 60
    with open_index(at.work / "a", corpus.documents) as whole, open_index(at.work / "b", apart) as cut:
        for case in cases[::5]:
            one, other = room.hits(whole, case), room.hits(cut, case)
            assert (one["passage"][:1] == [0]) == (other["passage"][:1] == [0])
