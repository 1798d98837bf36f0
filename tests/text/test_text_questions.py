"""The one taxonomy of questions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text import ANSWER_TYPES, QUESTION_TYPES, answer_type, question_type


@pytest.mark.parametrize(
    ("question", "kind", "answer"),
    [
        ("Who wrote Faust?", "who", "person"),
        ("To whom was it sold?", "who", "person"),
        ("Whose idea was it?", "who", "person"),
        ("In what year was he born?", "when", "date"),
        ("On what date did it open?", "when", "date"),
        ("Which century was it?", "when", "date"),
        ("When did the war end?", "when", "date"),
        ("What's the capital of France?", "what", "place"),
        ("What is the name of the river that runs through Rome?", "what", "place"),
        ("What German poet was descended from Huguenots?", "what", "person"),
        ("What company owned NBC in the 1930s?", "what", "organization"),
        ("What percentage of people voted?", "what", "number"),
        ("What did Luther write?", "what", "entity"),
        ("What is photosynthesis?", "what", "description"),
        ("What was the reason for the delay?", "what", "description"),
        ("Which of the two is larger?", "which", "entity"),
        ("Beyoncé was born in which city?", "which", "place"),
        ("The man who founded Rome was born where?", "where", "place"),
        ("In the US, who decides on it?", "who", "person"),
        ("According to the text, what did he say when asked?", "what", "entity"),
        ("Why is the sky blue?", "why", "description"),
        ("How do plants grow?", "how", "description"),
        ("How many people live in Rome?", "how many", "number"),
        ("How much did it cost?", "how many", "money"),
        ("How much water is in it?", "how many", "number"),
        ("How many dollars were raised?", "how many", "money"),
        ("How long did it take?", "how many", "duration"),
        ("How long is the river?", "how many", "number"),
        ("How old was she when he died?", "how many", "number"),
        ("Is it true?", "yes-no", "yes-no"),
        ("Didn't he know who won?", "yes-no", "yes-no"),
        ("Name a large car.", "other", "other"),
        ("Tell me who won.", "who", "person"),
        ("", "other", "other"),
        ("WHO IS IT", "who", "person"),
        ("how", "how", "description"),
        ("how long", "how many", "duration"),
        ("what", "what", "entity"),
    ],
)
def test_types(question: str, kind: str, answer: str) -> None:
    """The asking word decides wherever it stands, and times and measures are told apart."""
    assert (question_type(question), answer_type(question)) == (kind, answer)


@given(
    st.one_of(
        st.text(max_size=60),
        st.lists(st.sampled_from(["who", "what", "how", "is", "in", ",", "the", "long", "name", "of"])).map(
            " ".join
        ),
    )
)
def test_every_text_has_a_type(question: str) -> None:
    """Anything at all gets a row of the tables."""
    assert question_type(question) in QUESTION_TYPES
    assert answer_type(question) in ANSWER_TYPES
