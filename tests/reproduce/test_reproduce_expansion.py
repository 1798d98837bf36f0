"""Expansion, passage ranking and question processing, run small on the data at hand."""

from pathlib import Path

import pytest

from quoth import settings
from quoth.errors import InputError
from quoth.reproduce import Inputs, recipe
from quoth.reproduce.articles import (
    Articles,
    Asked,
    Holds,
    article_index,
    cmu_articles,
    first_hits,
    recalled,
    selqa_sections,
    short_answers,
)
from quoth.reproduce.expansion import open_sources
from quoth.types import Document, Passage, Query

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the shared data sets are not here")


def _inputs(work: Path, *, limit: int = 0, **options: object) -> Inputs:
    return Inputs(data=DATA, work=work, settings=settings.load(options=options, environment={}), limit=limit)


def test_short_answers_are_the_blogs() -> None:
    """Answers of one to five words are kept, yes and no in any form are not."""
    assert short_answers(["Yes.", "no, never", "1 2 3 4 5", "1 2 3 4 5 6", " Vienna. ", "?"]) == (
        "1 2 3 4 5",
        "Vienna",
    )


def test_recall_counts_the_first_answer(tmp_path: Path) -> None:
    """Ranks count from 1, 0 is no answer, and an index in the work folder is made once."""
    documents = tuple(
        Document(f"d{i}", f"Word{i} is number {i}.", title="T", sha256=str(i)) for i in range(3)
    )
    asked = (Asked("number 1?", ("IS NUMBER 1",), "d1"), Asked("number 2?", ("absent",), "d2"))
    articles = Articles("Tiny", documents, asked, "three")
    inputs = _inputs(tmp_path)
    for _ in range(2):
        with article_index(inputs, articles) as index:
            ranks = first_hits(articles, lambda q: [s.item for s in index.retrieve(Query(q), k=3)], Holds())
    assert ranks == [1, 0]
    assert recalled(ranks, 1) == [1.0, 0.0]
    assert len(list(tmp_path.iterdir())) == 1
    assert Holds()(Passage("a", 0, 1, "x", "The Title"), ("title x",))
    assert len(articles.limited(1, 0).questions) == 1


@needs_data
def test_collections_are_what_they_say(tmp_path: Path) -> None:
    """CMU has 114 articles and only short answers; every SelQA answer stands in its section."""
    cmu, selqa = cmu_articles(_inputs(tmp_path)), selqa_sections(_inputs(tmp_path))
    assert (len(cmu.documents), len(cmu.questions)) == (114, 712)
    assert (len(selqa.documents), len(selqa.questions)) == (680, 785)
    texts = {document.id: document.text for document in selqa.documents}
    assert all(answer in texts[asked.document_id] for asked in selqa.questions for answer in asked.answers)


@needs_data
def test_what_is_not_there_is_skipped_with_its_reason(tmp_path: Path) -> None:
    """Without a masked model, or with a name that is none, the recipe says so and measures the others."""
    plain = open_sources(_inputs(tmp_path))
    named = open_sources(_inputs(tmp_path, expand=f"entities,mlm:{tmp_path}"))
    assert plain.sources[0].name == named.sources[0].name == "vectors"
    assert any("QUOTH_EXPAND" in why for why in plain.skipped)
    assert any(why.startswith("mlm was skipped:") and str(tmp_path) in why for why in named.skipped)
    with pytest.raises(InputError, match="glove"):
        open_sources(Inputs(data=tmp_path, work=tmp_path, settings=settings.load(environment={})))


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "row"),
    [
        ("blog-expansion", "SQuAD recall@1: none"),
        ("blog-passage-ranking", "SQuAD recall: tf-idf, best 20 paragraphs of 5"),
        ("question-processing", "recall@3: english analyzer, as asked"),
    ],
)
def test_recipes_run(name: str, row: str, tmp_path: Path) -> None:
    """A recipe gives every figure in 0..1 with its interval, its charts, and how the data differ."""
    outcome = recipe(name).run(_inputs(tmp_path, limit=12))
    figures = {r.name: r for r in outcome.rows}
    assert len(figures) == len(outcome.rows)
    measured = figures[row].measured
    assert measured is not None
    assert measured > 0.4
    assert all(r.measured is not None and 0 <= r.measured <= 1 for r in outcome.rows)
    assert all(r.low is not None and r.high is not None and r.low <= r.high for r in outcome.rows)
    assert len(outcome.differences) >= 3
    for chart in outcome.charts:
        assert all(curve.points for curve in chart.curves)
