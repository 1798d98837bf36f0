import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

from quoth.errors import InputError, ModelError
from quoth.reading import (
    FEATURES,
    PROFILES,
    Calibration,
    Held,
    features,
    fit_confidence,
    fit_threshold,
    fit_weight,
    fold_of,
    save_calibrations,
)
from quoth.types import Reading, Scored, Span


def reached(odds: np.ndarray, gain: np.ndarray, answerable: np.ndarray, threshold: float) -> float:
    """Return the sum of scores when questions with odds over *threshold* are not answered."""
    answered = ~(odds > threshold)
    return float(np.where(answered, np.where(answerable, gain, 0.0), ~answerable).sum())


rows = st.lists(
    st.tuples(st.sampled_from([-3.0, -1.5, 0.0, 0.5, 2.0, np.inf]), st.sampled_from([0.0, 0.5, 1.0]), st.booleans()),
    min_size=1,
    max_size=12,
)  # fmt: skip


@settings(max_examples=300)
@given(rows)
def test_the_threshold_is_the_best_there_is(table: list[tuple[float, float, bool]]) -> None:
    """No threshold at or around any of the odds reaches more than the fitted one, ties included."""
    odds, gain, answerable = (np.array(c) for c in zip(*table, strict=True))
    best = fit_threshold(odds, gain, answerable)
    assert np.isfinite(best)
    finite = odds[np.isfinite(odds)]
    tried = [reached(odds, gain, answerable, t) for t in (-9.0, *finite)]
    assert reached(odds, gain, answerable, best) == max(tried)


def test_the_threshold_is_that_of_the_official_script() -> None:
    """Where odds differ and answering pays, the one pass of the official script gives the same number."""
    random = np.random.default_rng(5)
    odds, answerable = random.normal(size=400), random.random(400) < 0.5
    gain = np.where(random.random(400) < 0.7, 1.0, 0.3)
    current = best = float((~answerable).sum())
    official = 0.0
    for i in np.argsort(odds):
        current += gain[i] if answerable[i] else -1
        if current > best:
            best, official = current, odds[i]
    assert fit_threshold(odds, gain, answerable) == official


def test_the_weight_is_found_again() -> None:
    """Where the right span is the one that a weight of 0.2 puts first, the grid finds it; else it stays 0."""
    random = np.random.default_rng(1)
    scores, gaps = random.normal(size=(500, 6)), -10 * random.random((500, 6))
    right = (scores + 0.2 * gaps).argmax(axis=1)
    gains = np.zeros((500, 6))
    gains[np.arange(500), right] = 1.0
    held = Held(scores, gaps, gains, np.full(500, -99.0), np.ones(500, dtype=bool))
    weight, threshold = fit_weight(held, grid=[0.0, 0.1, 0.2, 0.4])
    assert weight == 0.2
    assert threshold < 0
    plain = np.zeros((500, 6))
    plain[np.arange(500), scores.argmax(axis=1)] = 1.0
    held = Held(scores, gaps, plain, np.full(500, -99.0), np.ones(500, dtype=bool))
    assert fit_weight(held, grid=[0.0, 0.1, 0.2])[0] == 0.0


def test_a_question_without_spans_does_not_disturb_the_weight() -> None:
    """A row of padding only is never answered, and counts as such."""
    scores = np.array([[1.0, 2.0], [-np.inf, -np.inf]])
    zeros = np.zeros((2, 2))
    held = Held(scores, zeros, zeros + 1, np.zeros(2), np.array([True, False]))
    assert fit_weight(held, grid=[0.0, 1.0]) == (0.0, -2.0)


def test_the_confidence_is_the_penalised_maximum() -> None:
    """Newton's method ends where a general minimiser of the same loss does."""
    random = np.random.default_rng(3)
    x = random.normal(size=(300, len(FEATURES))) * [1, 5, 0.2, 2, 1] + 3
    right = random.random(300) < 1 / (1 + np.exp(-(x[:, 1] - 3) / 2))
    coefficients, intercept = fit_confidence(x, right, ridge=2.0)
    spread, mean = x.std(axis=0), x.mean(axis=0)

    def loss(theta: np.ndarray) -> float:
        logits = theta[0] + ((x - mean) / spread) @ theta[1:]
        fit = np.logaddexp(0, logits).sum() - logits[right].sum()
        return float(fit + (theta[1:] ** 2).sum() + 0.5e-6 * theta[0] ** 2)

    found = minimize(loss, np.zeros(1 + len(FEATURES)), method="BFGS", options={"gtol": 1e-7})
    expected = found.x[1:] / spread
    np.testing.assert_allclose(list(coefficients.values()), expected, atol=1e-4)
    assert intercept == pytest.approx(found.x[0] - expected @ mean, abs=1e-3)
    shares = [Calibration(coefficients=coefficients, intercept=intercept).confidence(row) for row in x]
    assert np.mean(np.array(shares, dtype=float)) == pytest.approx(right.mean(), abs=1e-4)


def test_labels_that_part_cleanly_are_fitted_all_the_same() -> None:
    """Separable, constant and one-sided data end in finite numbers."""
    x = np.column_stack([np.arange(40.0), *[np.full(40, 7.0)] * (len(FEATURES) - 1)])
    for right in (x[:, 0] > 20, np.ones(40, dtype=bool), np.zeros(40, dtype=bool)):
        coefficients, intercept = fit_confidence(x, right)
        assert np.isfinite([*coefficients.values(), intercept]).all()
        low = Calibration(coefficients=coefficients, intercept=intercept).confidence(x[0])
        high = Calibration(coefficients=coefficients, intercept=intercept).confidence(x[-1])
        assert low is not None
        assert high is not None
        assert 0 <= low <= high <= 1 or right.all() or not right.any()


@pytest.mark.parametrize("shape", [(9, len(FEATURES)), (20, 2)])
def test_too_little_to_fit_on_is_refused(shape: tuple[int, int]) -> None:
    """Too few answers, and features of another shape, are named."""
    with pytest.raises(InputError, match=r"too few|shape"):
        fit_confidence(np.zeros(shape), np.zeros(shape[0], dtype=bool))


def reading() -> Reading:
    """Return a reading where two places say Paris, one says Rome."""
    spans = (("Paris", 5.0), ("Rome", 4.0), ("paris", 3.0))
    return Reading(
        tuple(Scored(Span("d", 10 * i, 10 * i + len(t), t), s) for i, (t, s) in enumerate(spans)),
        (2, 0, 1),
        1.0,
        3,
        3,
        90,
    )


def test_features_by_hand() -> None:
    """Odds, margin over what differs, share of all that agree, rank of the passage, number that agree."""
    total = np.exp(5) + np.exp(4) + np.exp(3) + np.exp(1)
    first = dict(zip(FEATURES, features(reading(), 0), strict=True))
    assert first == pytest.approx(
        {
            "null_odds": -4.0,
            "margin": 1.0,
            "log_share": np.log((np.exp(5) + np.exp(3)) / total),
            "log_rank": np.log(3),
            "log_agreeing": np.log(2),
        }
    )
    assert dict(zip(FEATURES, features(reading(), 1), strict=True))["margin"] == -1.0


def test_without_a_fit_there_is_no_confidence() -> None:
    """An uncalibrated reader says None, thresholds at 0 and leaves the retriever out."""
    plain = Calibration()
    assert plain.confidence(features(reading(), 0)) is None
    assert (plain.threshold, plain.weight) == (0.0, 0.0)


def test_a_fit_goes_to_disk_and_back(tmp_path: Path) -> None:
    """What is saved loads the same, by profile, with the file's choice for the others."""
    fits = {
        "balanced": Calibration(-1.25, 0.05, dict.fromkeys(FEATURES, 0.5), 0.1, "SQuAD 2.0 dev", 11873),
        "fast": Calibration(threshold=-2.0, n=3),
    }
    path = tmp_path / "calibration.json"
    save_calibrations(path, fits, otherwise="balanced")
    assert Calibration.load(path, profile="fast") == fits["fast"]
    assert Calibration.load(path, profile="balanced") == fits["balanced"]
    assert Calibration.load(path, profile="thorough") == fits["balanced"]
    with pytest.raises(InputError, match="no fit for"):
        save_calibrations(path, fits, otherwise="thorough")


@pytest.mark.parametrize(
    "held",
    [
        "{",
        "[]",
        "{}",
        json.dumps({"format": 2, "otherwise": "a", "fits": {"a": {}}}),
        json.dumps({"format": 1, "otherwise": "b", "fits": {"a": {}}}),
        json.dumps({"format": 1, "otherwise": "a", "fits": {"a": {"colour": 1}}}),
        json.dumps({"format": 1, "otherwise": "a", "fits": {"a": {"coefficients": {"colour": 1}}}}),
    ],
)
def test_a_damaged_fit_is_a_model_error(tmp_path: Path, held: str) -> None:
    """Another format, missing parts, unknown features: one error class, and the way out."""
    path = tmp_path / "calibration.json"
    path.write_text(held)
    with pytest.raises(ModelError) as caught:
        Calibration.load(path, profile="x")
    assert caught.value.code == "calibration_unusable"
    assert caught.value.hint


def test_folds_are_stable_and_even() -> None:
    """An article is always in the same fold, and each fold gets about half of them."""
    titles = ("Normans", "Oxygen", "Warsaw", "Amazon_rainforest", "Black_Death")
    assert [fold_of(title) for title in titles] == [1, 1, 1, 1, 0]
    counts = np.bincount([fold_of(f"Article {i}") for i in range(1000)], minlength=2)
    assert len(counts) == 2
    assert abs(counts[0] - 500) < 60


def test_profiles_say_how_much_is_read() -> None:
    """The three profiles of the budget table, and what another reader reads for the same time."""
    assert list(PROFILES) == ["fast", "balanced", "thorough"]
    assert PROFILES["fast"].tokens_for("small") == 500
    assert PROFILES["thorough"].tokens_for("large") == 2000
    assert PROFILES["thorough"].tokens_for("small") == 4000
    assert PROFILES["fast"].tokens_for("some/checkpoint") == PROFILES["fast"].tokens
