"""Evidence spans, pruning curves and calibration."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.calibration import score_calibration
from quoth.evaluate.evidence import EvidenceRow, PruneRow, iou, pruning_curve, score_evidence

TEXT = "one two three four five six"


def span(words: str) -> tuple[int, int]:
    """Where some words of TEXT stand."""
    start = TEXT.index(words)
    return start, start + len(words)


def test_words_are_counted_over_all_rows() -> None:
    """Micro averages must count the marked words of rows without evidence as wrong."""
    rows = [
        EvidenceRow("a", TEXT, (span("two three"),), (span("three four"),)),
        EvidenceRow("b", TEXT, (), (span("six"),)),
        EvidenceRow("c", TEXT, (), ()),
    ]
    metrics = score_evidence(rows).metrics
    assert metrics["word_precision"] == pytest.approx(1 / 3)
    assert metrics["word_recall"] == pytest.approx(1 / 2)
    assert metrics["word_f1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert metrics["overlap_recall"] == 1.0
    assert metrics["containment"] == 0.0
    assert metrics["over_prediction"] == 0.5


def test_a_partly_marked_word_is_marked() -> None:
    """A span that ends inside a word marks the whole word."""
    metrics = score_evidence([EvidenceRow("a", TEXT, ((0, 3),), ((0, 5),))]).metrics
    assert (metrics["word_precision"], metrics["word_recall"]) == (0.5, 1.0)


def test_spans_match_one_to_one_from_iou_a_half() -> None:
    """Two marked spans over one gold span are one hit; exactly half an overlap still counts."""
    rows = [EvidenceRow("a", "x" * 20, ((0, 10),), ((0, 10), (0, 9)))]
    assert score_evidence(rows).metrics["span_f1@0.5"] == pytest.approx(2 / 3)
    assert iou((0, 10), (0, 5)) == 0.5
    assert score_evidence([EvidenceRow("a", "x" * 20, ((0, 10),), ((0, 5),))]).metrics["span_f1@0.5"] == 1.0
    assert score_evidence([EvidenceRow("a", "x" * 20, ((0, 10),), ((0, 4),))]).metrics["span_f1@0.5"] == 0.0


SPANS = st.lists(st.tuples(st.integers(0, 26), st.integers(1, 9)), max_size=3).map(
    lambda pairs: tuple((a, min(len(TEXT), a + n)) for a, n in pairs)
)


@given(SPANS, SPANS)
def test_metrics_stay_within_bounds_and_swap_when_roles_swap(
    gold: tuple[tuple[int, int], ...], marked: tuple[tuple[int, int], ...]
) -> None:
    """Swapping gold and marked must swap precision and recall, and keep both F1s."""
    one = score_evidence([EvidenceRow("a", TEXT, gold, marked)]).metrics
    two = score_evidence([EvidenceRow("a", TEXT, marked, gold)]).metrics
    assert one["word_precision"] == two["word_recall"]
    assert one["word_f1"] == two["word_f1"]
    assert one["span_f1@0.5"] == two["span_f1@0.5"]
    assert all(0 <= one[name] <= 1 for name in ("word_f1", "span_f1@0.5", "containment", "overlap_recall"))
    assert one["containment"] <= one["overlap_recall"]


def test_spans_outside_their_text_and_no_rows_are_refused() -> None:
    """Bad offsets must be named, not clipped."""
    with pytest.raises(InputError, match="not in its"):
        score_evidence([EvidenceRow("a", "short", ((0, 9),), ())])
    with pytest.raises(InputError, match="no rows"):
        score_evidence([])


def test_pruning_goes_from_everything_kept_to_nothing() -> None:
    """Keeping all words must keep all answers; keeping none keeps none; good scores keep answers longest."""
    pieces = tuple((*span(word), score) for word, score in zip(TEXT.split(), [1, 5, 6, 2, 3, 0], strict=True))
    row = PruneRow(TEXT, pieces, (span("two three"),), ("Two Three",))
    curve = pruning_curve([row], points=7)
    assert (curve[0].words, curve[0].strings, curve[0].spans) == (1.0, 1.0, 1.0)
    assert (curve[-1].words, curve[-1].strings, curve[-1].spans) == (0.0, 0.0, 0.0)
    third = next(point for point in curve if point.words == pytest.approx(1 / 3))
    assert (third.strings, third.spans) == (1.0, 1.0)
    sixth = next(point for point in curve if point.words == pytest.approx(1 / 6))
    assert (sixth.strings, sixth.spans) == (0.0, 0.0)
    assert all(a.words >= b.words for a, b in pairwise(curve))
    with pytest.raises(InputError):
        pruning_curve([], points=5)


PAIRS = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=60)


@given(PAIRS, st.integers(1, 12))
def test_calibration_figures_equal_their_definitions(pairs: list[tuple[float, bool]], bins: int) -> None:
    """ECE and Brier must equal a plain loop over the bins; every question is in exactly one bin."""
    p, y = [c for c, _ in pairs], [float(r) for _, r in pairs]
    ours = score_calibration(p, y, bins=bins)
    expected = 0.0
    for i in range(bins):
        inside = [j for j, c in enumerate(p) if min(int(c * bins), bins - 1) == i]
        if inside:
            gap = abs(np.mean([p[j] for j in inside]) - np.mean([y[j] for j in inside]))
            expected += len(inside) / len(p) * gap
    assert ours.ece_width == pytest.approx(expected)
    assert ours.brier == pytest.approx(np.mean([(a - b) ** 2 for a, b in zip(p, y, strict=True)]))
    assert sum(b.n for b in ours.width_bins) == sum(b.n for b in ours.mass_bins) == len(p)
    assert max(b.n for b in ours.mass_bins) - min(b.n for b in ours.mass_bins) <= 1
    gap = abs(ours.mean_confidence - ours.accuracy)
    assert min(ours.ece_width, ours.ece_mass) >= gap - 1e-9


def test_perfect_confidence_has_no_error() -> None:
    """Confidence 1 for right and 0 for wrong answers must give 0 everywhere."""
    ours = score_calibration([1, 1, 0], [1, 1, 0])
    assert (ours.ece_width, ours.ece_mass, ours.brier) == (0, 0, 0)
    assert ours.metrics["ECE_equal_width"] == 0


@pytest.mark.parametrize(("p", "y"), [([], []), ([0.5], [1, 0]), ([1.5], [1]), ([float("nan")], [1])])
def test_confidences_that_are_no_probabilities_are_refused(p: list[float], y: list[float]) -> None:
    """Empty, unequal and out-of-range input must be refused."""
    with pytest.raises(InputError):
        score_calibration(p, y)
