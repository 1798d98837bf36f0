"""The drop-in against the published rules of the removed pipeline, in a slow and plain form."""

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.compat import QuestionAnswering, pipeline, question_answering

Maker = Callable[..., Any]
KEYS = {"score": float, "start": int, "end": int, "answer": str}
Q, C = "Where was the company founded?", "The company was founded in Lyon."


@pytest.fixture
def answerer(toy: Maker) -> QuestionAnswering:
    """Return the pipeline over a reader that likes Lyon."""
    return QuestionAnswering(toy(max_length=384, noise=0.1, marks={"Lyon": (6.0, 6.0)}))


def plain(model: Any, question: str, context: str, **choice: Any) -> list[dict[str, Any]]:
    """Return the pipeline's answers by its rules, one span at a time."""
    from quoth.reading import windows

    longest, stride = choice["max_seq_len"], choice["doc_stride"]
    ids = model.tokenize([question])[0].ids[:64]
    tokens = model.tokenize([context])[0]
    special = 3
    room = longest - special - len(ids)
    cuts, first = [], 0
    while first < len(tokens.ids):
        cuts.append((first, min(first + room, len(tokens.ids))))
        if cuts[-1][1] == len(tokens.ids):
            break
        first += room - stride
    found: list[dict[str, Any]] = []
    least = 1e6
    for low, high in cuts:
        piece = windows.Text(tokens.ids[low:high], *[tokens.offsets[low:high, 0]] * 3)
        (placed,) = windows.place([piece], ids, model.layout, window=longest, stride=9999)
        start, end = model.logits([placed.window])[0]
        allowed = [0, *range(placed.at, placed.at + placed.length)]
        total = [sum(math.exp(float(side[i])) for i in allowed) for side in (start, end)]
        ps = {i: math.exp(float(start[i])) / total[0] for i in allowed}
        pe = {i: math.exp(float(end[i])) / total[1] for i in allowed}
        least = min(least, ps[0] * pe[0])
        spans = [
            (ps[i] * pe[j], i - placed.at + low, j - placed.at + low)
            for i in allowed[1:]
            for j in allowed[1:]
            if i <= j < i + choice["max_answer_len"]
        ]
        for score, i, j in sorted(spans, key=lambda s: -s[0])[: choice["top_k"]]:
            a, b = int(tokens.offsets[i, 0]), int(tokens.offsets[j, 1])
            same = [f for f in found if f["answer"].lower() == context[a:b].lower()]
            if same:
                same[0]["score"] += score
            else:
                found.append({"score": score, "start": a, "end": b, "answer": context[a:b]})
    if choice["handle_impossible_answer"]:
        found.append({"score": least, "start": 0, "end": 0, "answer": ""})
    return sorted(found, key=lambda f: -f["score"])[: choice["top_k"]]


@settings(max_examples=60, deadline=None)
@given(
    words=st.lists(
        st.sampled_from(["alpha", "beta", "gamma", "of", "in,", "delta."]), min_size=1, max_size=70
    ),
    top_k=st.integers(1, 8),
    longest=st.integers(1, 9),
    stride=st.integers(0, 12),
    impossible=st.booleans(),
    null=st.floats(-2, 4),
)
def test_answers_follow_the_published_rules(
    toy: Maker, words: list[str], top_k: int, longest: int, stride: int, impossible: bool, null: float
) -> None:
    """Softmax by window, products of shares, a band of lengths, the smallest null, merged and sorted."""
    model = toy(max_length=384, null=null)
    context = " ".join(words)
    choice = {
        "top_k": top_k,
        "max_answer_len": longest,
        "max_seq_len": 32,
        "doc_stride": stride,
        "handle_impossible_answer": impossible,
    }
    expected = plain(model, "what is it?", context, **choice)
    got = QuestionAnswering(model)(question="what is it?", context=context, align_to_words=False, **choice)  # type: ignore[arg-type]
    listed = got if isinstance(got, list) else [got]
    assert [a["answer"] for a in listed] == [e["answer"] for e in expected]
    assert [(a["start"], a["end"]) for a in listed] == [(e["start"], e["end"]) for e in expected]
    assert [a["score"] for a in listed] == pytest.approx([e["score"] for e in expected], rel=1e-5)


def test_one_answer_is_a_dictionary_of_plain_types(answerer: QuestionAnswering) -> None:
    """Keys and types are those of the pipeline; the answer is the slice between its offsets."""
    answer = answerer(question=Q, context=C)
    assert isinstance(answer, dict)
    assert {key: type(value) for key, value in answer.items()} == KEYS
    assert answer["answer"] == "Lyon" == C[answer["start"] : answer["end"]]
    assert 0.9 < answer["score"] <= 1


def test_several_answers_are_a_list(answerer: QuestionAnswering) -> None:
    """``top_k`` gives a list, best first, no answer twice, never more than asked for."""
    answers = answerer(question=Q, context=C, top_k=5)
    assert isinstance(answers, list)
    assert len(answers) == 5
    assert [a["score"] for a in answers] == sorted((a["score"] for a in answers), reverse=True)
    assert len({a["answer"].lower() for a in answers}) == 5


def test_many_inputs_give_as_many_results(answerer: QuestionAnswering) -> None:
    """Lists of questions with one context or as many, and lists of mappings, give lists of results."""
    one = answerer(question=Q, context=C)
    assert answerer(question=[Q, Q], context=C) == [one, one]
    assert answerer(question=[Q, Q], context=[C, C]) == [one, one]
    assert answerer([{"question": Q, "context": C}] * 3) == [one] * 3
    assert answerer({"question": Q, "context": C} for _ in range(2)) == [one, one]
    assert answerer({"question": Q, "context": C}) == one
    assert answerer(Q, C) == one
    assert answerer([{"question": Q, "context": C}]) == one
    several = answerer(question=[Q, Q], context=C, top_k=2)
    assert [len(answers) for answers in several] == [2, 2]


def test_a_batch_is_one_call_to_the_model(toy: Maker) -> None:
    """The windows of many inputs are handed over together."""
    model = toy(max_length=384)
    QuestionAnswering(model)(question=[Q] * 20, context=C, batch_size=4, padding="longest")
    assert model.batches == [20]


def test_the_impossible_answer_competes_only_when_asked(toy: Maker) -> None:
    """A strong null is passed over by default, and an empty answer from 0 to 0 when it may compete."""
    qa = QuestionAnswering(toy(max_length=384, noise=0.1, null=9.0, marks={"Lyon": (3.0, 3.0)}))
    assert qa(question=Q, context=C)["answer"] == "Lyon"  # type: ignore[call-overload]
    empty = qa(question=Q, context=C, handle_impossible_answer=True)
    assert isinstance(empty, dict)
    assert (empty["answer"], empty["start"], empty["end"]) == ("", 0, 0)
    assert empty["score"] > 0.9
    both = qa(question=Q, context=C, handle_impossible_answer=True, top_k=2)
    assert [a["answer"] for a in both] == ["", "Lyon"]  # type: ignore[index]


def test_one_window_with_an_answer_beats_the_null_of_the_others(toy: Maker) -> None:
    """Over a long context the null has the smallest of its windows' scores."""
    filler = "Nothing of note happened there. " * 60
    model = toy(max_length=384, noise=0.1, null=6.0, marks={"Lyon": (12.0, 12.0)})
    context = filler + C + filler
    answer = QuestionAnswering(model)(question=Q, context=context, handle_impossible_answer=True)
    assert isinstance(answer, dict)
    assert answer["answer"] == "Lyon"
    assert answer["start"] == context.index("Lyon")
    assert len(model.seen) > 2


@pytest.mark.parametrize(
    ("context", "mark", "aligned", "not_aligned"),
    [
        ("It was founded in Marseille.", "eill", "Marseille", "eill"),
        ("It cost 3.75 million.", "75", "75", "75"),
        ("Schools (e.g. Grandecole) grew.", "deco", "Grandecole", "deco"),
    ],
)
def test_answers_align_to_words(toy: Maker, context: str, mark: str, aligned: str, not_aligned: str) -> None:
    """A word that the model cuts is completed, unless that is switched off."""
    qa = QuestionAnswering(toy(max_length=384, noise=0.01, marks={mark: (9.0, 9.0)}))
    assert qa(question=Q, context=context)["answer"] == aligned  # type: ignore[call-overload]
    assert qa(question=Q, context=context, align_to_words=False)["answer"] == not_aligned  # type: ignore[call-overload]


def test_answers_that_read_the_same_add_up(toy: Maker) -> None:
    """Aligned to words, the parts of one word are one answer with their scores together."""
    qa = QuestionAnswering(toy(max_length=384, noise=0.0, marks={"Mars": (5, 5), "eill": (5, 5)}))
    apart = qa(question=Q, context="Marseille grew.", align_to_words=False, top_k=20)
    together = qa(question=Q, context="Marseille grew.", top_k=20)
    assert isinstance(apart, list)
    assert isinstance(together, list)
    pieces = [a["score"] for a in apart if set(a["answer"]) <= set("Marseille") and a["answer"] != "grew"]
    whole = next(a["score"] for a in together if a["answer"] == "Marseille")
    assert whole == pytest.approx(sum(pieces))
    assert len({a["answer"] for a in together}) == len(together)


def test_a_long_question_is_cut(toy: Maker) -> None:
    """A question is read up to ``max_question_len`` tokens."""
    model = toy(max_length=384)
    QuestionAnswering(model)(question="why " * 50, context="so", max_question_len=10)
    assert len(model.seen[0].ids) == 10 + 3 + 1


def test_a_context_of_spaces_has_no_answer(answerer: QuestionAnswering) -> None:
    """There is nothing to quote, and the impossible answer is then sure."""
    assert answerer(question=Q, context="  ") == []
    sure = {"score": 1.0, "start": 0, "end": 0, "answer": ""}
    assert answerer(question=Q, context="  ", handle_impossible_answer=True) == sure


@pytest.mark.parametrize(
    "call",
    [
        lambda qa: qa(question="", context=C),
        lambda qa: qa(question=None, context=C),
        lambda qa: qa(question=Q, context=""),
        lambda qa: qa(question=Q, context=None),
        lambda qa: qa(question=Q),
        lambda qa: qa("", C),
        lambda qa: qa(None, C),
        lambda qa: qa(Q, None),
        lambda qa: qa(Q),
        lambda qa: qa(None),
        lambda qa: qa(1),
        lambda qa: qa(),
        lambda qa: qa({"question": None, "context": C}),
        lambda qa: qa([{"question": Q, "context": C}, {"question": Q, "context": ""}]),
        lambda qa: qa(question={"an": "oddity"}, context=C),
        lambda qa: qa(question=[Q, Q], context=[C, C, C]),
        lambda qa: qa(question=Q, context=C, top_k=0),
        lambda qa: qa(question=Q, context=C, max_answer_len=0),
        lambda qa: qa(question=Q, context=C, doc_stride=500),
        lambda qa: qa(question=Q, context=C * 9, max_seq_len=20, doc_stride=15),
    ],
)
def test_bad_input_is_a_value_error(answerer: QuestionAnswering, call: Callable[[Any], Any]) -> None:
    """What the pipeline refused with a ValueError is refused with one."""
    with pytest.raises(ValueError, match=r"question|context|mapping|must be|doc_stride"):
        call(answerer)


@pytest.mark.parametrize("item", [{"context": C}, {"question": Q}])
def test_a_missing_key_is_a_key_error(answerer: QuestionAnswering, item: dict[str, str]) -> None:
    """A mapping without a question or a context is a KeyError, alone or in a list."""
    for one in (item, [item]):
        with pytest.raises(KeyError, match="question and context"):
            answerer(one)


def test_the_old_name_of_top_k_still_works(answerer: QuestionAnswering) -> None:
    """``topk`` warns and does what ``top_k`` does."""
    with pytest.warns(UserWarning, match="top_k"):
        answers = answerer(question=Q, context=C, topk=2)
    assert answers == answerer(question=Q, context=C, top_k=2)


def test_the_function_and_the_factory_do_the_same(toy: Maker) -> None:
    """``question_answering`` and ``pipeline`` are two ways to the same answers; other tasks are unknown."""
    model = toy(max_length=384)
    answer = question_answering(question=Q, context=C, model=model)
    assert pipeline("question-answering", model=model)(question=Q, context=C) == answer
    assert question_answering(Q, C, model=model) == answer
    with pytest.raises(KeyError, match="summarization"):
        pipeline("summarization", model=model)
