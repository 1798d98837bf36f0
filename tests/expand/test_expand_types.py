"""Answer types by shape: in texts, in ranking, and in the feature-based reader."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.rank import Bm25Ranker
from quoth.rank.types import AnswerTypeRanker, fitting
from quoth.reading.cues import FEATURES, WEIGHTS, FeatureReader, candidates
from quoth.testing.parts import check_ranker, check_reader
from quoth.text.mentions import TYPED, mentions, names
from quoth.types import Candidate, Passage

TEXT = (
    "In March 1990, Beyoncé Knowles paid $1.5 million (about 3,000 euros) for The Hunger Games. It took three to four "
    "years, from 1998–2002 until the 19th century. University of the West of England was founded on 20 July 1969 by 12 "
    "men. Paris is big. He saw Paris in 1851 and 45% of twenty-five people."
)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("date", ["March 1990", "1998–2002", "19th century", "20 July 1969", "1851"]),
        ("money", ["$1.5 million", "3,000 euros"]),
        ("duration", ["three to four years"]),
        (
            "person",
            ["Beyoncé Knowles", "Hunger Games", "University of the West of England", "Paris", "Paris"],
        ),
        ("description", []),
        ("entity", []),
    ],
)
def test_mentions_by_kind(kind: str, expected: list[str]) -> None:
    """Each kind finds what has its shape; kinds without one find nothing."""
    assert [TEXT[a:b] for a, b in mentions(TEXT, kind)] == expected


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        (
            "number",
            "Of 12,500 men 3.5 % and one hundred and five horses came, no2 B12",
            ["12,500", "3.5 %", "one hundred and five"],
        ),
        (
            "date",
            "on 3 May, in 44 BC, the 1990s, 2024-05-01, the late 12th century; 1,990 men; room 12000",
            ["3 May", "44 BC", "1990s", "2024-05-01", "late 12th century"],
        ),
        ("money", "It cost US$ 20, £5m, 30 cents or € 7.50.", ["US$ 20", "£5m", "30 cents", "€ 7.50"]),
        ("duration", "a 12-hour shift, two working days and 5 kilometres", ["12-hour", "two working days"]),
    ],
)
def test_shapes(kind: str, text: str, expected: list[str]) -> None:
    """Digits, spelt numbers, units and currencies are read as people write them."""
    assert [text[a:b] for a, b in mentions(text, kind)] == expected


def test_names_need_more_than_an_opening_capital() -> None:
    """A word that opens a sentence is no name, unless it is written so elsewhere, too; possessives are cut."""
    assert list(_names("Horses ran. Victory came to Ann's Horses in May.")) == ["Horses", "Ann", "Horses"]
    assert _names("Although he left, Germany’s army stayed.") == ["Germany"]


def _names(text: str) -> list[str]:
    return [text[a:b] for a, b in names(text)]


@given(st.text(alphabet=st.sampled_from("Aa 19.,$%’-MayJune thof\n"), max_size=80), st.sampled_from(TYPED))
def test_mentions_are_slices_in_order(text: str, kind: str) -> None:
    """Mentions lie within the text, from left to right, are not empty and do not overlap."""
    found = mentions(text, kind)
    assert all(0 <= a < b <= len(text) for a, b in found)
    assert all(x[1] <= y[0] for x, y in zip(found, found[1:]))  # noqa: B905, RUF007


QUESTION = "When was the siege of Vienna of 1529 ended?"
CANDIDATES = [
    Candidate("The siege of Vienna ended, and the king went home."),
    Candidate("The siege of Vienna of 1529 ended."),
    Candidate("The siege of Vienna ended in October 1530."),
    Candidate("Apples were sold in 1950."),
]


def test_the_type_lifts_or_filters() -> None:
    """A date that the question does not have lifts a text by the boost; with the filter the others come behind."""
    plain = list(Bm25Ranker().score(QUESTION, CANDIDATES))
    lifted = AnswerTypeRanker(boost=0.5).score(QUESTION, CANDIDATES)
    assert lifted == pytest.approx([plain[0], plain[1], plain[2] * 1.5, plain[3] * 1.5])
    alone = AnswerTypeRanker(boost=0.0, required=True).score(QUESTION, CANDIDATES)
    assert sorted(range(4), key=lambda i: -alone[i])[:2] == [2, 3]
    assert (alone[0] > alone[1]) == (plain[0] > plain[1])
    assert AnswerTypeRanker(required=True).score("Why was it ended?", CANDIDATES) == Bm25Ranker().score(
        "Why was it ended?", CANDIDATES
    )
    assert fitting(QUESTION, "date", "in 1530")
    assert not fitting(QUESTION, "date", "in 1529")


@pytest.mark.parametrize("ranker", [AnswerTypeRanker(), AnswerTypeRanker(required=True)])
def test_the_ranker_keeps_the_contract(ranker: AnswerTypeRanker) -> None:
    """Every score is finite and in the order given."""
    check_ranker(ranker, independent=False)
    with pytest.raises(InputError, match="boost"):
        AnswerTypeRanker(boost=-1.0)


def _passages(texts: Sequence[str]) -> list[Passage]:
    return [Passage(f"d{i}", 5, 5 + len(text), text) for i, text in enumerate(texts)]


def test_features_answer_by_type() -> None:
    """The answer is of the asked type, near the question's words, and not from the question."""
    passages = _passages([
        "The siege of Vienna began in 1529. Ann Lee sold 12 apples in 1950.",
        "Vienna is a city in Austria. Suleiman the Magnificent led the siege of Vienna.",
    ])  # fmt: skip
    reader = FeatureReader()
    check_reader(reader)
    when = reader.read("When did the siege of Vienna begin?", passages)
    who = reader.read("Who led the siege of Vienna?", passages)
    assert when.spans[0].item.text == "1529"
    assert who.spans[0].item.text == "Suleiman the Magnificent"
    assert who.passages[0] == 1
    assert len(reader.read("What was sold?", passages).spans) > len(when.spans)
    assert len(FeatureReader(n_best=1).read("What was sold?", passages).spans) == 1


@given(st.text(max_size=60), st.text(max_size=200))
def test_candidates_are_slices_with_all_features(question: str, text: str) -> None:
    """Whatever the texts, candidates lie within the passage, each once, with a finite value for every feature."""
    found = list(candidates(question, text))
    assert len({(f.start, f.end) for f in found}) == len(found)
    assert all(0 <= f.start < f.end <= len(text) for f in found)
    assert all(len(f.features) == len(FEATURES) == len(WEIGHTS) for f in found)
    assert all(abs(value) < 1e6 for f in found for value in f.features)
