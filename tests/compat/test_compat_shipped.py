"""The drop-in with the reader that comes with it, on texts like those of the pipeline's documentation."""

import pytest

from quoth import question_answering
from quoth.models import shipped

pytestmark = pytest.mark.skipif("small" not in shipped(), reason="this checkout has no shipped weights")

LONG = """
✨ Lantern: tools for reading old letters

Lantern brings together programs that transcribe, date and index handwritten letters in more than forty
languages, so that small archives need no staff of their own for it.

Why Lantern?

1. It asks for little:
  - A laptop without a graphics card is enough for a box of letters a day.
  - Nothing is sent to anybody.

2. It is open:
  - Every step can be changed, and every result can be corrected by hand.

Lantern stands on three libraries — Quill, Inkwell and Parchment — and what one of them has learned can be
used by the other two. They are kept by the same people, in Ghent.
"""


def test_a_place_is_found() -> None:
    """One question, one context, one dictionary, with the offsets of the slice."""
    answer = question_answering(
        question="Where was the workshop founded ?", context="The workshop was founded in Paris."
    )
    assert isinstance(answer, dict)
    assert (answer["answer"], answer["start"], answer["end"]) == ("Paris", 28, 33)
    assert 0.5 < answer["score"] <= 1


def test_two_questions_on_two_contexts() -> None:
    """Lists of the same length are answered pairwise."""
    answers = question_answering(
        question=["What kind of company is Borealis?", "Where is Borealis?"],
        context=["Borealis is a shipping company.", "Borealis is a company in New-York"],
    )
    assert isinstance(answers, list)
    assert answers[0]["answer"].startswith("shipping")
    assert answers[1]["answer"] == "New-York"


def test_a_long_text_with_signs_beyond_the_keyboard() -> None:
    """Offsets hold behind an emoji and dashes, in a text of several windows."""
    answer = question_answering(
        question="Which libraries does ✨ Lantern stand on?", context=LONG, max_seq_len=96, doc_stride=32
    )
    assert isinstance(answer, dict)
    assert "Quill, Inkwell and Parchment" in answer["answer"]
    assert LONG[answer["start"] : answer["end"]] == answer["answer"]


def test_what_is_not_there_is_not_answered_when_asked() -> None:
    """With ``handle_impossible_answer`` a text that does not say it gives the empty answer."""
    answer = question_answering(
        question="What country is Oslo the capital of?", context=LONG, handle_impossible_answer=True
    )
    assert isinstance(answer, dict)
    assert (answer["answer"], answer["start"], answer["end"]) == ("", 0, 0)
