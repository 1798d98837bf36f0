"""Lexical rankers against their formulas, written out the slow way."""

import time
from collections import Counter
from math import log, sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.rank import (
    RANKERS,
    Bm25Ranker,
    ConstantRanker,
    IdfCountRanker,
    Terms,
    TfidfRanker,
    WordCountRanker,
    top,
)
from quoth.testing import check_ranker
from quoth.types import Candidate

PLAIN = Terms(stop_words=frozenset(), stem=False)
TEXTS = st.lists(st.sampled_from(["a", "b", "c", "d", "e", "f"]), max_size=8).map(" ".join)


def candidates(texts: list[str]) -> list[Candidate]:
    return [Candidate(text) for text in texts]


def grams(text: str, shortest: int, longest: int) -> Counter[str]:
    found = text.split()
    sizes = range(shortest, longest + 1)
    return Counter(" ".join(found[i : i + n]) for n in sizes for i in range(len(found) - n + 1))


def cosine_by_the_book(question: str, texts: list[str], shortest: int, longest: int) -> list[float]:
    """Scikit-learn's TfidfVectorizer, fitted to the texts, and the cosine, with dictionaries."""
    counts = [grams(text, shortest, longest) for text in texts]
    frequency = Counter(gram for count in counts for gram in count)

    def vector(count: Counter[str]) -> dict[str, float]:
        raw = {
            g: tf * (log((1 + len(texts)) / (1 + frequency[g])) + 1)
            for g, tf in count.items()
            if frequency[g]
        }
        length = sqrt(sum(w * w for w in raw.values()))
        return {g: w / length for g, w in raw.items()} if length else {}

    asked = vector(grams(question, shortest, longest))
    return [sum(w * asked.get(g, 0.0) for g, w in vector(count).items()) for count in counts]


def bm25_by_the_book(question: str, texts: list[str], k1: float, b: float) -> list[float]:
    documents = [text.split() for text in texts]
    mean = sum(map(len, documents)) / len(documents)
    scores = []
    for document in documents:
        score = 0.0
        for term in question.split():
            tf = document.count(term)
            df = sum(term in other for other in documents)
            if tf:
                idf = log(1 + (len(documents) - df + 0.5) / (df + 0.5))
                score += idf * tf / (tf + k1 * (1 - b + b * len(document) / mean))
        scores.append(score)
    return scores


@given(
    TEXTS, st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from([(1, 1), (1, 3), (2, 3), (3, 3), (1, 5)])
)
def test_tfidf_is_the_formula(question: str, texts: list[str], ngrams: tuple[int, int]) -> None:
    """The array code gives the cosine of scikit-learn's weights to 12 digits."""
    given_scores = TfidfRanker(ngrams=ngrams, terms=PLAIN).score(question, candidates(texts))
    assert given_scores == pytest.approx(cosine_by_the_book(question, texts, *ngrams), abs=1e-12)


def test_tfidf_is_what_scikit_learn_gives() -> None:
    """Figures of TfidfVectorizer(ngram_range=(1, 1)) for a small set, worked out by hand."""
    texts = ["red apple", "red red car", "blue car"]
    scores = TfidfRanker(ngrams=(1, 1), terms=PLAIN).score("red car", candidates(texts))
    red = car = log(4 / 3) + 1
    rare = log(4 / 2) + 1
    asked = sqrt(red**2 + car**2)
    assert scores[0] == pytest.approx(red * red / asked / sqrt(red**2 + rare**2))
    assert scores[1] == pytest.approx((2 * red * red + car * car) / asked / sqrt(4 * red**2 + car**2))
    assert scores[2] == pytest.approx(car * car / asked / sqrt(car**2 + rare**2))


@given(TEXTS, st.lists(TEXTS, min_size=1, max_size=6), st.sampled_from([(1.2, 0.75), (0.9, 0.4), (0.0, 1.0)]))
def test_bm25_is_the_formula(question: str, texts: list[str], parameters: tuple[float, float]) -> None:
    """BM25 over the candidates equals the sum over the question's terms, repeated ones too."""
    k1, b = parameters
    if not any(texts):
        texts[0] = "a"
    scores = Bm25Ranker(k1=k1, b=b, terms=PLAIN).score(question, candidates(texts))
    assert scores == pytest.approx(bm25_by_the_book(question, texts, k1, b), abs=1e-12)


def test_counts() -> None:
    """Word counts take each term once; the weighted count prefers the rare one."""
    texts = candidates(["red red apple", "red car", "blue car", ""])
    assert WordCountRanker(terms=PLAIN).score("red red car", texts) == [1, 2, 1, 0]
    scores = IdfCountRanker(terms=PLAIN).score("blue red", texts)
    assert scores == pytest.approx([log(5 / 3) + 1, log(5 / 3) + 1, log(5 / 2) + 1, 0])
    assert ConstantRanker().score("red", texts) == [0, 0, 0, 0]


def test_terms_fold_stop_and_stem() -> None:
    """Terms are folded, stop words go, and forms of a word meet unless that is switched off."""
    assert Terms().of("The Cafés were opened in Zürich") == ["cafe", "were", "open", "zurich"]
    assert Terms(stem=False).of("the cafés") == ["cafes"]
    assert Terms(stop_words=frozenset(), stem=False).of("the cafés") == ["the", "cafes"]


@pytest.mark.parametrize("name", sorted(RANKERS))
def test_every_ranker_keeps_the_contract(name: str) -> None:
    """The rankers of the table pass the check that third parties run."""
    check_ranker(RANKERS[name]())


def test_questions_without_terms_score_nothing() -> None:
    """Stop words only, no words at all, and words that no text has give equal scores, not an error."""
    texts = candidates(["red apple", "", "blue car"])
    for make in RANKERS.values():
        for question in ("", "the of and", "?!", "zebra"):
            assert set(make().score(question, texts)) == {0.0}


@pytest.mark.parametrize("ngrams", [(0, 1), (2, 1)])
def test_impossible_ngrams_are_refused(ngrams: tuple[int, int]) -> None:
    """The range of n-grams starts at 1 and does not run backwards."""
    with pytest.raises(InputError, match="ngrams"):
        TfidfRanker(ngrams=ngrams)


@pytest.mark.parametrize(("k1", "b"), [(-1, 0.5), (1, -0.1), (1, 1.1)])
def test_impossible_parameters_are_refused(k1: float, b: float) -> None:
    """BM25's parameters have their range."""
    with pytest.raises(InputError, match="k1"):
        Bm25Ranker(k1=k1, b=b)


def test_four_hundred_paragraphs_are_ranked_at_once() -> None:
    """400 paragraphs of 120 words take far less than a second, and the one that answers comes first."""
    texts = [" ".join(f"w{(i * j) % 997}" for j in range(120)) for i in range(399)]
    texts.insert(200, texts[7] + " the siege of Vienna began in 1529")
    ranker = TfidfRanker()
    begun = time.perf_counter()
    scores = ranker.score("When did the siege of Vienna begin?", candidates(texts))
    assert time.perf_counter() - begun < 1
    assert top(texts, scores, k=1)[0].item == texts[200]
