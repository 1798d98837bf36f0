"""Retriever metrics: the blog's rules, brute force, and ir_measures."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.retrieval import (
    GoldPassage,
    Retrieved,
    average_precision,
    holds_answer,
    query_times,
    reciprocal_rank,
    score_hits,
    score_retrieval,
)
from quoth.types import Passage

HITS = st.lists(st.lists(st.booleans(), min_size=5, max_size=5), min_size=1, max_size=8)


def passage(number: int, text: str = "text", title: str = "") -> Passage:
    """A passage of document d, a hundred characters a piece."""
    return Passage("d", number * 100, number * 100 + 100, text, title)


def blog_ap(flags: list[int]) -> float:
    """The blog's formula, as it states it: precision at each hit, over the number of hits retrieved."""
    precisions = [sum(flags[: i + 1]) / (i + 1) for i, flag in enumerate(flags) if flag]
    return sum(precisions) / len(precisions) if precisions else 0.0


@given(HITS)
def test_average_precision_is_the_blogs(hits: list[list[bool]]) -> None:
    """Every row must equal the blog's loop."""
    expected = [blog_ap([int(flag) for flag in row]) for row in hits]
    assert average_precision(np.array(hits)) == pytest.approx(expected)


@given(HITS)
def test_reciprocal_rank_is_that_of_the_first_hit(hits: list[list[bool]]) -> None:
    """Every row must be one over the place of its first hit, or 0."""
    expected = [1 / (row.index(True) + 1) if True in row else 0.0 for row in hits]
    assert reciprocal_rank(np.array(hits)) == pytest.approx(expected)


@given(HITS)
def test_recall_grows_with_k_and_ndcg_stays_within_one(hits: list[list[bool]]) -> None:
    """recall@k must not fall as k grows; nDCG must lie in 0..1 and be 1 for hits first."""
    relevant = np.array([max(1, sum(row)) for row in hits], dtype=np.float64)
    scores = score_hits([str(i) for i in range(len(hits))], hits, ks=(1, 3, 5), rule="x", relevant=relevant)
    columns = scores.columns
    assert (columns["recall@1"] <= columns["recall@3"]).all()
    assert (columns["recall@3"] <= columns["recall@5"]).all()
    assert ((columns["nDCG@5"] >= 0) & (columns["nDCG@5"] <= 1 + 1e-12)).all()
    ideal = score_hits(
        scores.ids, [sorted(row, reverse=True) for row in hits], ks=(5,), rule="x", relevant=relevant
    )
    assert ideal.columns["nDCG@5"] == pytest.approx([float(any(row)) for row in hits])


@given(HITS)
def test_ndcg_mrr_and_precision_agree_with_ir_measures(hits: list[list[bool]]) -> None:
    """Cut-off metrics must equal trec_eval's on the same ranking."""
    import ir_measures
    from ir_measures import RR, P, nDCG

    qrels = [
        ir_measures.Qrel(str(q), f"{q}-{i}", int(flag))
        for q, row in enumerate(hits)
        for i, flag in enumerate(row)
    ]
    run = [
        ir_measures.ScoredDoc(str(q), f"{q}-{i}", 10.0 - i)
        for q, row in enumerate(hits)
        for i, _ in enumerate(row)
    ]
    ids = [str(q) for q in range(len(hits))]
    relevant = np.array([sum(row) for row in hits], dtype=np.float64)
    ours = score_hits(ids, hits, ks=(3, 5), rule="x", relevant=relevant)
    measures = {"nDCG@3": nDCG @ 3, "nDCG@5": nDCG @ 5, "MRR@5": RR, "P@3": P @ 3}
    theirs = {
        (m.query_id, str(m.measure)): m.value
        for m in ir_measures.iter_calc(list(measures.values()), qrels, run)
    }
    for name, measure in measures.items():
        assert ours.columns[name] == pytest.approx([theirs[id, str(measure)] for id in ids])


def test_the_answer_may_stand_in_the_title_and_case_does_not_matter() -> None:
    """The blog prepends the title and lower-cases both sides."""
    assert holds_answer(passage(0, "was a singer", "Beyoncé"), ["BEYONCÉ was"])
    assert not holds_answer(passage(0, "was a singer"), ["Beyoncé"])
    assert not holds_answer(passage(0, "anything"), [""])


def test_first_answer_any_answer_and_gold_passage_are_three_numbers() -> None:
    """A passage that holds the second answer elsewhere must count for "any-answer" alone."""
    results = [
        Retrieved(
            "q",
            answers=("red", "blue"),
            gold=GoldPassage("d", 210, 213),
            passages=(passage(0, "a blue sky"), passage(1, "nothing"), passage(2, "red and dead")),
        )
    ]
    scores = score_retrieval(results, ks=(1, 3))
    assert scores["answer"].metrics["recall@1/answer"] == 0
    assert scores["any-answer"].metrics["recall@1/any-answer"] == 1
    assert scores["answer"].metrics["recall@3/answer"] == 1
    assert scores["passage"].metrics["recall@3/passage"] == 1
    assert scores["passage"].metrics["mAP@3/passage"] == pytest.approx(1 / 3)
    assert scores["any-answer"].metrics["mAP@3/any-answer"] == pytest.approx((1 + 2 / 3) / 2)
    assert scores["passage"].metrics["nDCG@3/passage"] == pytest.approx(1 / math.log2(4))


def test_a_question_that_retrieved_nothing_is_a_zero_and_is_counted() -> None:
    """Nothing retrieved must cost, not vanish."""
    gold = GoldPassage("d", 0, 1)
    results = [Retrieved("a", ("text",), gold, (passage(0),)), Retrieved("b", ("text",), gold, ())]
    scores = score_retrieval(results, ks=(3,))["answer"]
    assert scores.metrics["recall@3/answer"] == 0.5
    assert scores.empty == 1


def test_overlapping_passages_that_hold_one_gold_place_count_once_by_passage() -> None:
    """The same gold place retrieved twice must not make nDCG exceed 1."""
    twice = (passage(0), Passage("d", 50, 150, "text"))
    scores = score_retrieval([Retrieved("q", ("text",), GoldPassage("d", 60, 70), twice)], ks=(2,))
    assert scores["passage"].metrics["nDCG@2/passage"] == 1.0
    assert scores["passage"].metrics["P@2/passage"] == 0.5


def test_unanswerable_questions_are_left_to_the_passage_rule() -> None:
    """Answer rules take answerable questions; with neither answers nor places there is nothing to score."""
    results = [Retrieved("a", ("text",), None, (passage(0),)), Retrieved("b", (), None, (passage(0),))]
    assert score_retrieval(results, ks=(1,))["answer"].ids == ("a",)
    with pytest.raises(InputError, match="None of the 1 questions"):
        score_retrieval(results[1:], ks=(1,))
    with pytest.raises(InputError, match="occurs twice"):
        score_retrieval([results[0], results[0]])
    with pytest.raises(InputError, match="1 or more"):
        score_retrieval(results, ks=(0,))


def test_query_times_give_median_and_tail() -> None:
    """One slow query must move the 95th percentile, not the median."""
    times = query_times([1.0] * 19 + [100.0])
    assert times.median_ms == 1.0
    assert times.p95_ms == pytest.approx(5.95)
    with pytest.raises(InputError):
        query_times([])


def test_a_gold_paragraph_counts_in_an_index_with_other_document_ids() -> None:
    """Where ids differ, a passage that holds the whole gold paragraph must still be the gold one."""
    gold = GoldPassage("elsewhere", 900, 910, paragraph="the gold paragraph")
    inside = Passage("d", 0, 30, "before\nthe gold paragraph", "")
    scores = score_retrieval([Retrieved("q", ("gold",), gold, (passage(5), inside))], ks=(1, 2))["passage"]
    assert [scores.metrics[f"recall@{k}/passage"] for k in (1, 2)] == [0.0, 1.0]
