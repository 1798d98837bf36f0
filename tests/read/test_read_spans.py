"""The decoder against one that tries every span, and what counts as a word."""

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from quoth.protocols import Layout, Tokens
from quoth.reading import spans, windows

BERT = Layout(before=(101,), between=(102,), after=(102,), passage_type=1)


def build(
    texts: Sequence[str], *, window: int, stride: int, joined: bool
) -> tuple[list[windows.Placed], list[windows.Text]]:
    """Return windows over *texts*, whose tokens are single characters (spaces as well)."""
    made = [
        windows.of_passage(
            Tokens(np.arange(len(t), dtype=np.int64), np.array([(i, i + 1) for i in range(len(t))]).reshape(-1, 2)), i
        )
        for i, t in enumerate(texts)
    ]  # fmt: skip
    if joined:
        made = [windows.chain(made)]
    return windows.place(made, np.array([7, 8]), BERT, window=window, stride=stride), made


def brute(
    placed: Sequence[windows.Placed],
    logits: Sequence[tuple[np.ndarray, np.ndarray]],
    made: Sequence[windows.Text],
    texts: Sequence[str],
    *,
    n: int,
    longest: int,
) -> list[tuple[int, int, int, float]]:
    """Return the n-best by trying every start and end of every window, best first."""
    every = []
    for order, (p, (s, e)) in enumerate(zip(placed, logits, strict=True)):
        text = made[p.text]
        for i in range(p.length):
            for j in range(i, min(i + longest, p.length)):
                owner = int(text.owners[p.first + i])
                if owner == int(text.owners[p.first + j]):
                    score = np.float32(s[p.at + i]) + np.float32(e[p.at + j])
                    start, end = int(text.starts[p.first + i]), int(text.ends[p.first + j])
                    every.append((-float(score), order, i, j, owner, start, end))
    kept: list[tuple[int, int, int, float]] = []
    for negative, _, _, _, owner, start, end in sorted(every):
        low, high = spans.whole_words(texts[owner], start, end)
        apart = all(owner != o or high <= a or low >= b for o, a, b, _ in kept)
        if low < high and apart and len(kept) < n:
            kept.append((owner, low, high, -negative))
    return kept


passages = st.lists(st.text("ab .1é字", min_size=1, max_size=24), min_size=1, max_size=4)


@settings(max_examples=300, deadline=None)
@given(passages, st.integers(0, 2**32 - 1), st.integers(1, 9), st.integers(1, 12), st.booleans())
@example(["a b"], 0, 1, 1, False)
def test_the_n_best_are_those_of_trying_everything(
    texts: list[str], seed: int, longest: int, n: int, joined: bool
) -> None:
    """The decoder gives what trying every span of every window gives: spans, scores and order."""
    placed, made = build(texts, window=16, stride=4, joined=joined)
    random = np.random.default_rng(seed)
    logits = [tuple(random.normal(size=(2, len(p.window.ids))).astype(np.float32)) for p in placed]
    bases = np.zeros(len(texts), dtype=np.int64)
    stacked = spans.stack(placed, logits, made, bases=bases, groups=np.arange(len(texts)))
    found = spans.n_best(
        stacked, n=n, max_tokens=longest, snap=lambda p, a, b: spans.whole_words(texts[p], a, b)
    )
    expected = brute(placed, logits, made, texts, n=n, longest=longest)
    assert [(f.passage, f.start, f.end) for f in found] == [e[:3] for e in expected]
    np.testing.assert_allclose([f.score for f in found], [e[3] for e in expected], rtol=1e-6)


def test_the_null_score_is_read_at_the_null_position() -> None:
    """Each window's null score is the sum of its two logits at its own null position."""
    placed, _ = build(["a b c d"], window=8, stride=2, joined=False)
    logits = [(np.arange(8, dtype=np.float32)[: len(p.window.ids)] + i,) * 2 for i, p in enumerate(placed)]
    assert spans.null_scores(placed, logits).tolist() == [2.0 * i for i in range(len(placed))]


@pytest.mark.parametrize(
    ("text", "inside", "whole"),
    [
        ("the Benedictines came", "edict", "Benedictines"),
        ("at 3.7 billion", "7 bil", "3.7 billion"),
        ("paid $60,000.", "60", "60,000"),
        ("paid $60,000.", "$60,0", "$60,000"),
        ("grew 12.5% a year", "2.5", "12.5"),
        ("grew 12.5% a year", "5%", "12.5%"),
        ("in 1999, 2000 people", "1999", "1999"),
        ("in 1999, 2000 people", "1999,", "1999,"),
        ("Luther's theses", "uther", "Luther"),
        ("mid-1960s boom", "960", "1960s"),
        ("the end.", "nd.", "end."),
        ("the end.", "nd", "end"),
        ("(see Annex B)", "nnex B", "Annex B"),
        ("  spaced out ", " spaced ", "spaced"),
        ("cafe\u0301 noir", "cafe", "cafe\u0301"),
        ("naïveté", "ve", "naïveté"),
        ("小学校の国語", "国", "国"),
        ("ภาษาไทย", "า", "า"),
        ("नमस्ते दुनिया", "स", "नमस्ते"),
        ("서울특별시 종로", "특", "서울특별시"),
        ("שלום עולם", "לו", "שלום"),
        ("snake_case name", "case", "snake_case"),
    ],
)
def test_a_span_is_widened_to_whole_words(text: str, inside: str, whole: str) -> None:
    """A cut word or number is completed; signs, currency and per cent are neither added nor dropped."""
    start = text.index(inside)
    low, high = spans.whole_words(text, start, start + len(inside))
    assert text[low:high] == whole


@given(st.text(max_size=40), st.integers(0, 40), st.integers(0, 40))
def test_widening_keeps_the_span_and_does_so_once(text: str, one: int, two: int) -> None:
    """What comes back lies in the text, holds all that was there but spaces, and stays as it is."""
    start, end = sorted((min(one, len(text)), min(two, len(text))))
    low, high = spans.whole_words(text, start, end)
    assert 0 <= low <= high <= len(text)
    assert text[start:end].strip() in text[low:high]
    if low < high:
        assert spans.whole_words(text, low, high) == (low, high)
    else:
        assert not text[start:end].strip()


@given(st.text(max_size=30))
def test_what_is_compared_does_not_change_by_comparing(text: str) -> None:
    """Folding a folded text changes nothing, and only an empty text folds to nothing."""
    folded = spans.same(text)
    assert spans.same(folded) == folded
    assert bool(folded) == bool(text.split())


def test_a_score_is_no_worse_than_the_best_of_the_top_twenty() -> None:
    """The exact search never finds less than run_squad's twenty starts by twenty ends."""
    text = "w " * 150
    placed, made = build([text], window=384, stride=128, joined=False)
    for seed in range(20):
        random = np.random.default_rng(seed)
        logits = [tuple(random.normal(size=(2, len(p.window.ids))).astype(np.float32)) for p in placed]
        stacked = spans.stack(placed, logits, made, bases=np.zeros(1, np.int64), groups=np.zeros(1, np.int64))
        best = spans.n_best(stacked, n=1, max_tokens=30, snap=lambda _, a, b: (a, b))[0].score
        start, end = logits[0][0][5:-1], logits[0][1][5:-1]
        few = [
            float(start[i] + end[j])
            for i in np.argsort(-start)[:20]
            for j in np.argsort(-end)[:20]
            if 0 <= j - i < 30
        ]
        assert best >= max(few) - 1e-6
