"""Words and folding."""

import itertools
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text import STOP_WORDS, fold, looks_english, word_spans, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't pay $1,000.50, OK?", ["don't", "pay", "1,000.50", "ok"]),
        ("Don’t", ["don't"]),
        ("x_y state-of-the-art 3.", ["x", "y", "state", "of", "the", "art", "3"]),
        ("Café cafe\u0301 NAÏVE Straße", ["cafe", "cafe", "naive", "strasse"]),
        ("ﬁne Ⅻ ２０", ["fine", "xii", "20"]),
        ("東京タワーへ", ["東", "京", "タワー", "へ"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("שָׁלוֹם مُحَمَّد", ["שלום", "محمد"]),
        ("İstanbul", ["istanbul"]),
        ("!?… —", []),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    """Words of all scripts are found and folded; numbers and contractions stay whole."""
    assert words(text) == expected


@given(st.text(max_size=80))
def test_words_are_the_folded_spans(text: str) -> None:
    """Spans are ordered and not empty, and there is one for each word, but for words folding changes."""
    spans = word_spans(text)
    assert all(a < b for a, b in spans)
    assert all(x[1] <= y[0] for x, y in itertools.pairwise(spans))
    assert all(any(c.isalnum() for c in text[a:b]) for a, b in spans)
    assert [fold(text[a:b]) for a, b in spans] == words(text)


@given(st.text(max_size=60))
def test_folding_is_blind_to_composition_case_and_repetition(text: str) -> None:
    """A folded text folds to itself when it is ASCII, and NFC and NFD fold alike."""
    import unicodedata

    assert fold(unicodedata.normalize("NFC", text)) == fold(unicodedata.normalize("NFD", text))
    if text.isascii():
        assert fold(fold(text)) == fold(text.upper()) == fold(text)


def test_stop_words_are_the_33_of_lucene() -> None:
    """The list is Lucene's: with "their" and "such", without "from" and "who"."""
    assert len(STOP_WORDS) == 33
    assert {"their", "such", "into"} <= STOP_WORDS
    assert not {"from", "who", "i", "he", "has"} & STOP_WORDS


@pytest.mark.parametrize(
    "text",
    ["Who wrote Faust?", "Population of Paris?", "capital of France", "", "42", "Who was Charles de Gaulle?"],
)
def test_english_is_taken_for_english(text: str) -> None:
    """Questions and keywords in English, and what says nothing, are English."""
    assert looks_english(text)


@pytest.mark.parametrize(
    "text",
    [
        "Wer schrieb Faust?",
        "Quand est né Napoléon ?",
        "¿Quién es el rey?",
        "Chi è il presidente?",
        "東京はどこですか",
        "Qual é a capital?",
        "Кто написал это?",
        "Waar is Amsterdam?",
        "ما هي العاصمة؟",
    ],
)
def test_other_languages_are_told(text: str) -> None:
    """A question in another language is noticed by its script or its function words."""
    assert not looks_english(text)


def test_no_squad_question_is_taken_for_foreign() -> None:
    """Of the questions of XQuAD's English part, at most one in a hundred is misjudged."""
    path = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "squad" / "xquad.en.json"
    if not path.is_file():
        pytest.skip("../shared/data/squad is not here")
    data = json.loads(path.read_text(encoding="utf-8"))["data"]
    questions = [q["question"] for a in data for p in a["paragraphs"] for q in p["qas"]]
    assert sum(not looks_english(q) for q in questions) <= len(questions) / 100
