"""Order: BM25 as a plain reading of its formula has it, ties by id and start, the same however the index was made."""

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest
from store_fixtures import one

from quoth.retrieve.store import Index
from quoth.retrieve.store.analysis import analyzer, neighbours
from quoth.retrieve.store.clauses import NEIGHBOUR_WEIGHT, TITLE_WEIGHT
from quoth.types import Passage, Query, Scored

K1, B = 1.2, 0.75
WORDS = [f"w{i}" for i in range(40)]


def results(index: Index, question: str, k: int = 20) -> list[tuple[float, str, int]]:
    return [(s.score, s.item.document_id, s.item.start) for s in index.retrieve(Query(question), k=k)]


def fieldnorm(length: int) -> int:
    """Return a length as the engine keeps it, in one byte: exact to 40, then in ever larger steps (Lucene's
    SmallFloat, 3 bits of mantissa over an offset of 24).
    """
    if length < 40:
        return length
    return max(v for v in (decoded(b) for b in range(256)) if v <= length)


def decoded(byte: int) -> int:
    if byte < 24:
        return byte
    bits, shift = (byte - 24) & 7, ((byte - 24) >> 3) - 1
    return 24 + (bits if shift == -1 else (bits | 8) << shift)


@dataclass(frozen=True)
class Unit:
    """A word, or two words at a distance, that a question searches for."""

    words: tuple[str, ...]
    gap: int = 0

    def count(self, text: list[str]) -> int:
        if len(self.words) == 1:
            return text.count(self.words[0])
        left, right = self.words
        return sum(text[i] == left and text[i + self.gap] == right for i in range(len(text) - self.gap))


def bm25(texts: dict[str, list[str]], weights: Mapping[Unit, float]) -> Counter[str]:
    """Score texts by BM25 (Robertson and Zaragoza 2009, equation 3.15) with Lucene's idf; ``|`` is no word."""
    lengths = {id: len(text) - text.count("|") for id, text in texts.items()}
    mean = sum(lengths.values()) / len(texts)
    scores: Counter[str] = Counter()
    for unit, weight in weights.items():
        seen = [sum(word in text for text in texts.values()) for word in unit.words]
        idf = sum(math.log(1 + (len(texts) - n + 0.5) / (n + 0.5)) for n in seen)
        for id, text in texts.items():
            tf = unit.count(text)
            norm = K1 * (1 - B + B * fieldnorm(lengths[id]) / mean)
            scores[id] += weight * idf * tf * (K1 + 1) / (tf + norm)
    return scores


def brute_force(passages: Sequence[Passage], question: str) -> dict[str, float]:
    """Return the score of every passage that matches: words in text and title, neighbours in the text."""
    words = analyzer("english")
    asked = words.question_terms(question)
    cut = {p.document_id: [[t.text for t in words.terms(x)] for x in (p.title, p.text)] for p in passages}
    single = Counter(Unit((t.text,)) for t in asked)
    pairs = Counter(Unit((a.text, b.text), b.position - a.position) for a, b in neighbours(asked))
    texts = {id: [*title, "|", *text] for id, (title, text) in cut.items()}
    total = bm25(texts, single)
    total += bm25(texts, {unit: n * NEIGHBOUR_WEIGHT for unit, n in pairs.items()})
    total += bm25(
        {id: title for id, (title, _) in cut.items()}, {u: n * TITLE_WEIGHT for u, n in single.items()}
    )
    return {id: score for id, score in total.items() if score > 0}


@pytest.mark.parametrize("seed", range(4))
def test_scores_are_bm25(index: Index, seed: int) -> None:
    """Scores and order equal a brute-force BM25 over random texts, titles and neighbours included."""
    rng = random.Random(seed)
    index.put(
        [
            one(
                f"d{i:03}",
                " ".join(rng.choices(WORDS, k=rng.randint(1, 60))),
                title=" ".join(rng.choices(WORDS, k=2)),
            )
            for i in range(80)
        ]
    )
    passages = [p for _, p in index.passages()]
    for _ in range(10):
        question = " ".join(rng.choices(WORDS, k=rng.randint(1, 6)))
        got = {s.item.document_id: s.score for s in index.retrieve(Query(question), k=100)}
        assert got == pytest.approx(brute_force(passages, question), rel=2e-5)


def test_ties_are_in_order_of_id_and_start(make_index) -> None:  # type: ignore[no-untyped-def]
    """Equal passages come by (document id, start), and the cut at k falls in that order, in any layout."""
    rng = random.Random(1)
    names = [f"d{i:03}" for i in range(300)]
    expected = sorted(names)
    for round, sizes in enumerate(((300,), (1, 2, 3, 50, 100, 144), (20,) * 15)):
        index = make_index(f"layout{round}")
        rng.shuffle(names)
        at = 0
        for size in sizes:
            index.put([one(name, "the same apple") for name in names[at : at + size]])
            at += size
        for k in (1, 7, 100, 299):
            assert [id for _, id, _ in results(index, "apple", k)] == expected[:k]
        assert len({score for score, _, _ in results(index, "apple", 300)}) == 1


def test_starts_break_ties_within_a_document(index: Index) -> None:
    """Equal passages of one document come in the order of their places."""
    index.put([one("b", "\n\n".join(["apple"] * 400)), one("a", "pear")])
    found: Sequence[Scored[Passage]] = index.retrieve(Query("apple"), k=5)
    assert [s.item.start for s in found] == sorted(s.item.start for s in found)


def test_the_way_an_index_was_made_leaves_no_trace(make_index) -> None:  # type: ignore[no-untyped-def]
    """Batches of any size give the same scores as one; edits and drops do so after a rebuild."""
    rng = random.Random(2)
    rows = [one(f"d{i:03}", " ".join(rng.choices(WORDS, k=30)), title=rng.choice(WORDS)) for i in range(200)]
    questions = [" ".join(rng.choices(WORDS, k=4)) for _ in range(30)]
    at_once, in_parts, edited = make_index("once"), make_index("parts"), make_index("edited")
    at_once.put(rows)
    for i in range(0, 200, 7):
        in_parts.put(rows[i : i + 7])
    edited.put([one(f"d{i:03}", "an old text w1 w2 w3") for i in range(150)])
    edited.put([one(f"x{i:03}", "w1 w2 w3 to be dropped") for i in range(50)])
    edited.put(rows[::-1])
    edited.drop([f"x{i:03}.txt" for i in range(50)])
    edited.rebuild()
    for question in questions:
        assert results(at_once, question) == results(in_parts, question) == results(edited, question)


def test_k_is_clamped(index: Index) -> None:
    """No k makes the engine fail: below 1 is 1, and what is beyond reason is 10,000."""
    index.put([one(f"d{i}", "apple") for i in range(5)])
    assert [len(results(index, "apple", k)) for k in (-1, 0, 1, 3, 10**12)] == [1, 1, 1, 3, 5]
