"""Selection metrics: brute force over tie orders, trec_eval, and the published counts."""

import csv
from itertools import groupby, permutations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.judged import score_judged
from quoth.evaluate.ranking import GoldRanking, card_mrr, rank_candidates, score_ranking
from quoth.evaluate.ties import (
    expected_average_precision,
    expected_dcg,
    expected_hit,
    expected_reciprocal_rank,
    groups_of,
)

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
WIKIQA = SHARED / "data/wikiqa/WikiQA-test.tsv"
CRANFIELD = SHARED / "data/cranfield/cranqrel.trec.txt"


def ap(flags: list[bool], total: int) -> float:
    """Average precision, as the textbook has it."""
    return sum(sum(flags[:i]) / i for i in range(1, len(flags) + 1) if flags[i - 1]) / total if total else 0.0


def orders(scores: list[float], items: list[float]) -> list[list[float]]:
    """Every order of *items* that sorts *scores*, tied ones in every permutation."""
    blocks = [
        [item for _, item in g] for _, g in groupby(zip(scores, items, strict=True), key=lambda p: p[0])
    ]
    out: list[list[float]] = [[]]
    for block in blocks:
        out = [head + list(tail) for head in out for tail in permutations(block)]
    return out


TIED = st.lists(st.tuples(st.sampled_from([3.0, 2.0, 1.0]), st.booleans()), min_size=1, max_size=6).map(
    lambda pairs: sorted(pairs, key=lambda p: -p[0])
)


@given(TIED, st.integers(0, 2), st.integers(1, 7))
def test_expected_values_equal_the_mean_over_all_tie_orders(
    pairs: list[tuple[float, bool]], unseen: int, k: int
) -> None:
    """The closed forms of AP, RR, hit@k and DCG must equal brute force over every permutation of ties."""
    scores, flags = [s for s, _ in pairs], [f for _, f in pairs]
    every = [[bool(x) for x in order] for order in orders(scores, [float(f) for f in flags])]
    groups, total = groups_of(scores, flags), sum(flags) + unseen
    first = [order.index(True) + 1 if True in order else 0 for order in every]
    discounts = [1 / np.log2(i + 2) for i in range(len(flags))]
    dcg = [sum(d for d, f in list(zip(discounts, order, strict=True))[:k] if f) for order in every]
    assert expected_average_precision(groups, total) == pytest.approx(np.mean([ap(o, total) for o in every]))
    assert expected_reciprocal_rank(groups) == pytest.approx(np.mean([1 / f if f else 0 for f in first]))
    assert expected_hit(groups, k) == pytest.approx(np.mean([0 < f <= k for f in first]))
    assert expected_dcg(scores, [float(f) for f in flags], k) == pytest.approx(np.mean(dcg))


def gold(id: str, labels: str) -> GoldRanking:
    """A question with candidates id-0, id-1, ... labelled by a string of 0 and 1."""
    return GoldRanking(id, tuple(f"{id}-{i}" for i in range(len(labels))), tuple(c == "1" for c in labels))


RUNS = st.lists(
    st.lists(st.tuples(st.booleans(), st.integers(0, 10**6), st.booleans()), min_size=1, max_size=8),
    min_size=1,
    max_size=6,
)


@given(RUNS)
def test_map_mrr_and_p1_agree_with_trec_eval_where_nothing_is_tied(
    rows: list[list[tuple[bool, int, bool]]],
) -> None:
    """On runs without ties, with candidates missing at random, every figure must equal ir_measures'."""
    import ir_measures
    from ir_measures import AP, RR, P, Success

    questions, run, taken = [], {}, 0
    qrels, docs = [], []
    for q, row in enumerate(rows):
        question = gold(f"q{q}", "".join("1" if label else "0" for label, _, _ in row))
        questions.append(question)
        taken += any(question.labels)
        run[question.id] = {
            c: float(score + i / 10)
            for i, (c, (_, score, kept)) in enumerate(zip(question.candidates, row, strict=True))
            if kept
        }
        qrels += [
            ir_measures.Qrel(question.id, c, int(x))
            for c, x in zip(question.candidates, question.labels, strict=True)
        ]
        docs += [ir_measures.ScoredDoc(question.id, c, s) for c, s in run[question.id].items()]
    if not taken:
        with pytest.raises(InputError, match="takes none"):
            score_ranking(questions, run, convention="has-positive")
        return
    ours = score_ranking(questions, run, convention="has-positive", hits=(3,))
    wanted = {"AP": AP, "RR": RR, "P@1": P @ 1, "hit@3": Success @ 3}
    theirs = {
        (m.query_id, str(m.measure)): m.value
        for m in ir_measures.iter_calc(list(wanted.values()), qrels, docs)
    }
    for name, measure in wanted.items():
        expected = [theirs.get((id, str(measure)), 0.0) for id in ours.ids]
        assert ours.columns[name] == pytest.approx(expected)
        if all(len(set(scores.values())) == len(scores) for scores in run.values()):
            assert ours.expected[name] == pytest.approx(expected)


def test_ties_follow_the_document_where_trec_eval_follows_the_id() -> None:
    """With equal scores the earlier candidate is first here; trec_eval puts the greater id first."""
    import ir_measures
    from ir_measures import RR

    question = gold("q", "10")
    ours = score_ranking([question], {"q": {"q-0": 1.0, "q-1": 1.0}}, convention="clean")
    theirs = ir_measures.calc_aggregate(
        [RR],
        [ir_measures.Qrel("q", "q-0", 1), ir_measures.Qrel("q", "q-1", 0)],
        [ir_measures.ScoredDoc("q", "q-0", 1.0), ir_measures.ScoredDoc("q", "q-1", 1.0)],
    )
    assert ours.metrics["MRR"] == 1.0
    assert theirs[RR] == 0.5
    assert ours.ties["expected_MRR"] == pytest.approx(0.75)
    assert ours.ties["questions"] == 1


def test_a_constant_scorer_gets_the_expected_value_and_neither_1_nor_0() -> None:
    """Scoring everything alike must be worth what chance is worth, whatever order the positives stand in."""
    first, last = gold("a", "1000"), gold("b", "0001")
    run = {q.id: dict.fromkeys(q.candidates, 0.0) for q in (first, last)}
    scores = score_ranking([first, last], run, convention="clean")
    chance = (1 + 1 / 2 + 1 / 3 + 1 / 4) / 4
    assert scores.ties["expected_MAP"] == pytest.approx(chance)
    assert scores.metrics["MAP"] == pytest.approx((1 + 1 / 4) / 2)
    assert scores.ties["expected_P@1"] == pytest.approx(1 / 4)


def test_conventions_differ_as_they_say() -> None:
    """One run must give three figures for three sets of questions, with n printed."""
    questions = [gold("mixed", "01"), gold("only", "1"), gold("none", "00")]
    run = {q.id: {c: -float(i) for i, c in enumerate(q.candidates)} for q in questions}
    values = {
        name: score_ranking(questions, run, convention=name) for name in ("clean", "has-positive", "all")
    }  # type: ignore[arg-type]
    assert {name: (s.n, s.metrics["MAP"]) for name, s in values.items()} == {
        "clean": (1, 0.5),
        "has-positive": (2, 0.75),
        "all": (3, 0.5),
    }
    assert "n = 2" in values["has-positive"].conventions["questions"]


def test_missing_candidates_and_questions_cost_and_are_counted() -> None:
    """An unscored positive is not retrieved; a question without scores counts 0; unknown ids are negatives."""
    questions = [gold("a", "101"), gold("b", "10")]
    scores = score_ranking(questions, {"a": {"a-1": 2.0, "a-0": 1.0, "a-9": 3.0}}, convention="clean")
    assert scores.columns["AP"] == pytest.approx([1 / 3 / 2, 0.0])
    assert scores.missing_questions == ("b",)
    assert (scores.missing_candidates, scores.extra_candidates) == (1, 1)


def test_the_card_drops_what_it_does_not_find() -> None:
    """The card's MRR as written must ignore questions whose gold is absent, and say so when used by name."""
    assert card_mrr([["x", "y"], ["z"], []], ["y", "nothing", "z"]) == 0.5
    with pytest.raises(InputError, match="undefined"):
        card_mrr([["x"]], ["y"])
    questions = [gold("a", "010"), gold("b", "100"), gold("c", "00")]
    scores = score_ranking(questions, {"a": {"a-0": 2.0, "a-1": 1.0}, "b": {"b-1": 1.0}}, convention="card")
    assert scores.metrics["MRR"] == card_mrr([["a-0", "a-1"], ["b-1"], []], ["a-1", "b-0", None]) == 0.5
    assert scores.dropped == 2
    assert "never report this figure alone" in scores.conventions["dropped"]


def test_equal_words_with_two_ids_are_two_questions() -> None:
    """Grouping is by id alone: the same id twice is refused, never merged."""
    with pytest.raises(InputError, match="occurs twice"):
        score_ranking([gold("a", "10"), gold("a", "01")], {}, convention="all")


@pytest.mark.parametrize(
    ("questions", "run", "convention", "message"),
    [
        ([gold("a", "10")], {"a": {"a-0": float("nan")}}, "all", "not a number"),
        ([GoldRanking("a", ("x", "x"), (True, False))], {}, "all", "needs its own id"),
        ([gold("a", "00")], {}, "clean", "takes none"),
        ([gold("a", "10")], {}, "cleanest", "Unknown convention"),
        ([gold("a", "10")], {}, "card", "nothing to average"),
    ],
)
def test_what_cannot_be_ranked_is_refused(
    questions: list[GoldRanking], run: dict[str, dict[str, float]], convention: str, message: str
) -> None:
    """Bad input must end in one clear line."""
    with pytest.raises(InputError, match=message):
        score_ranking(questions, run, convention=convention)  # type: ignore[arg-type]


@pytest.mark.skipif(not WIKIQA.exists(), reason="needs ../shared/data/wikiqa")
def test_wikiqa_test_has_243_questions_with_a_positive_and_237_clean_ones() -> None:
    """The published counts must come out of the conventions, and a constant scorer must be near chance."""
    rows: dict[str, list[tuple[str, bool]]] = {}
    with WIKIQA.open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
            rows.setdefault(row["QuestionID"], []).append((row["SentenceID"], row["Label"] == "1"))
    questions = [GoldRanking(q, tuple(c for c, _ in r), tuple(x for _, x in r)) for q, r in rows.items()]
    run = {q.id: dict.fromkeys(q.candidates, 1.0) for q in questions}
    found = {
        name: score_ranking(questions, run, convention=name) for name in ("has-positive", "clean", "all")
    }  # type: ignore[arg-type]
    assert {name: scores.n for name, scores in found.items()} == {
        "has-positive": 243,
        "clean": 237,
        "all": 633,
    }
    assert 0.2 < found["clean"].ties["expected_MAP"] < 0.4
    assert found["all"].ties["expected_MAP"] == pytest.approx(
        found["has-positive"].ties["expected_MAP"] * 243 / 633
    )


JUDGED = st.lists(
    st.lists(
        st.tuples(st.sampled_from([-1, 0, 1, 3]), st.integers(0, 9), st.booleans()), min_size=1, max_size=8
    ),
    min_size=1,
    max_size=4,
)


@given(JUDGED, st.booleans())
def test_graded_figures_agree_with_ir_measures(rows: list[list[tuple[int, int, bool]]], ties: bool) -> None:
    """nDCG@3, MAP, MRR and P@3 must equal ir_measures' without ties, and with ties given in its own order."""
    import ir_measures
    from ir_measures import AP, RR, P, nDCG

    qrels: dict[str, dict[str, int]] = {}
    run: dict[str, dict[str, float]] = {}
    for t, row in enumerate(rows):
        qrels[str(t)] = {f"d{i}": grade for i, (grade, _, _) in enumerate(row)}
        listed = [(f"d{i}", float(s if ties else s + i / 10)) for i, (_, s, kept) in enumerate(row) if kept]
        run[str(t)] = dict(sorted(listed, reverse=True))
    if not any(grade > 0 for grades in qrels.values() for grade in grades.values()):
        with pytest.raises(InputError, match="Nothing to score"):
            score_judged(qrels, run)
        return
    ours = score_judged(qrels, run, k=3)
    wanted = {"AP": AP, "nDCG@3": nDCG @ 3, "RR": RR, "P@3": P @ 3}
    theirs = {
        (m.query_id, str(m.measure)): m.value
        for m in ir_measures.iter_calc(list(wanted.values()), qrels, run)
    }
    for name, measure in wanted.items():
        assert ours.columns[name] == pytest.approx([theirs.get((t, str(measure)), 0.0) for t in ours.ids])
        if not ties:
            assert ours.expected[name] == pytest.approx(ours.columns[name])


@pytest.mark.skipif(not CRANFIELD.exists(), reason="needs ../shared/data/cranfield")
def test_a_random_cranfield_run_agrees_with_pytrec_eval() -> None:
    """On the real judgments, MAP and nDCG@10 of a random run must equal pytrec_eval's."""
    import pytrec_eval

    qrels: dict[str, dict[str, int]] = {}
    for line in CRANFIELD.read_text(encoding="utf-8").splitlines():
        topic, _, document, grade = line.split()
        qrels.setdefault(topic, {})[document] = int(grade)
    random = np.random.default_rng(7)
    run = {t: {str(d + 1): float(s) for d, s in enumerate(random.permutation(1400))} for t in qrels}
    theirs = pytrec_eval.RelevanceEvaluator(qrels, {"map", "ndcg_cut_10"}).evaluate(run)
    ours = score_judged(qrels, run)
    assert len(qrels) == 225
    assert ours.columns["AP"] == pytest.approx([theirs[t]["map"] for t in ours.ids])
    assert ours.columns["nDCG@10"] == pytest.approx([theirs[t]["ndcg_cut_10"] for t in ours.ids])


def test_ranking_puts_unknown_candidates_behind_their_ties() -> None:
    """Order must be score, then document order, then candidates the gold does not have."""
    assert rank_candidates(gold("a", "00"), {"new": 1.0, "a-1": 1.0, "a-0": 1.0}) == ["a-0", "a-1", "new"]
