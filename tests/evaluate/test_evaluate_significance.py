"""Intervals and tests against scipy, exact enumeration and known answers."""

import time
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from quoth.errors import InputError
from quoth.evaluate.significance import bootstrap, holm, permutation_test

SMALL = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=8)


@given(SMALL)
def test_the_exact_test_equals_scipys(pairs: list[tuple[int, int]]) -> None:
    """With few questions every sign pattern is tried, and the p-value must be scipy's exact one."""
    a, b = np.array([x for x, _ in pairs], float), np.array([y for _, y in pairs], float)
    ours = permutation_test(a, b)
    theirs = stats.permutation_test(
        (a, b), lambda x, y, axis: np.mean(x - y, axis=axis), permutation_type="samples", n_resamples=np.inf
    )
    assert ours.exact
    assert ours.p_value == pytest.approx(theirs.pvalue)
    assert ours.difference == pytest.approx(theirs.statistic)


def test_the_random_test_is_close_to_scipys_and_fast() -> None:
    """On 11,873 pairs with 9,999 resamples the p-value must be near the normal approximation, within 2 s."""
    random = np.random.default_rng(1)
    a = (random.random(11873) < 0.66).astype(float)
    b = np.where(random.random(11873) < 0.9, a, random.random(11873) < 0.62).astype(float)
    began = time.perf_counter()
    ours = permutation_test(a, b)
    took = time.perf_counter() - began
    d = a - b
    z = abs(d.sum()) / np.sqrt((d**2).sum())
    assert ours.p_value == pytest.approx(2 * stats.norm.sf(z), abs=0.02)
    assert not ours.exact
    assert took < 2.0


def test_equal_systems_differ_by_chance_alone() -> None:
    """Two identical runs must have p = 1 and no difference; seeds repeat."""
    values = np.random.default_rng(0).random(50)
    same = permutation_test(values, values)
    assert (same.difference, same.p_value) == (0.0, 1.0)
    other = np.random.default_rng(1).random(50)
    assert permutation_test(values, other, seed=3) == permutation_test(values, other, seed=3)


def test_false_alarms_come_at_the_rate_promised() -> None:
    """Under the null, p <= 0.1 must happen in about one of ten runs, clustered or not."""
    random = np.random.default_rng(5)
    alarms = []
    for seed in range(300):
        shared = np.repeat(random.normal(size=20), 5)
        a, b = shared + random.normal(size=100), random.normal(size=100)
        groups = np.repeat(np.arange(20), 5).tolist()
        alarms.append(permutation_test(a, b, groups=groups, resamples=199, seed=seed).p_value <= 0.1)
    assert 0.05 < np.mean(alarms) < 0.16


def test_the_bootstrap_agrees_with_scipys_percentile_interval() -> None:
    """Without clusters the interval must be scipy's, up to resampling noise."""
    values = np.random.default_rng(2).random(400)
    ours = bootstrap(values, resamples=5000)
    theirs = stats.bootstrap(
        (values,), np.mean, method="percentile", n_resamples=5000, rng=3
    ).confidence_interval
    assert (ours.low, ours.high) == (
        pytest.approx(theirs.low, abs=0.003),
        pytest.approx(theirs.high, abs=0.003),
    )
    assert ours.value == pytest.approx(values.mean())
    assert ours == bootstrap(values, resamples=5000)


def test_clusters_widen_the_interval() -> None:
    """Questions that agree within their document are fewer facts than questions: the interval must say so."""
    random = np.random.default_rng(4)
    groups = np.repeat(np.arange(30), 20)
    values = np.repeat(random.random(30), 20)
    alone, together = bootstrap(values), bootstrap(values, groups=groups.tolist())
    assert (together.high - together.low) > 3 * (alone.high - alone.low)
    assert (alone.clusters, together.clusters, together.n) == (600, 30, 600)


def test_intervals_cover_as_often_as_they_promise() -> None:
    """A 90% interval of a mean must hold the truth in about 90 of 100 draws."""
    random = np.random.default_rng(6)
    held = 0
    for seed in range(200):
        interval = bootstrap(random.random(80), level=0.9, resamples=400, seed=seed)
        held += interval.low <= 0.5 <= interval.high
    assert 0.83 < held / 200 < 0.96


def test_a_ratio_of_sums_is_bootstrapped_as_one() -> None:
    """With weights the value is sum / sum, and a constant ratio has no spread."""
    weights = np.arange(1.0, 51.0)
    interval = bootstrap(0.25 * weights, weights=weights)
    assert (interval.low, interval.value, interval.high) == (pytest.approx(0.25),) * 3


def test_holm_is_between_raw_and_bonferroni() -> None:
    """The adjusted p-values of a textbook case must come out, in the order given."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_keeps_order_and_never_lowers_a_p_value(values: list[float]) -> None:
    """Adjusted values must not fall below the raw ones, exceed Bonferroni's, or change their order."""
    adjusted = holm(values)
    for raw, new in zip(values, adjusted, strict=True):
        assert raw <= new <= min(1.0, raw * len(values)) + 1e-12
    order = sorted(range(len(values)), key=lambda i: values[i])
    assert all(adjusted[a] <= adjusted[b] for a, b in pairwise(order))


def test_what_cannot_be_tested_is_refused() -> None:
    """Empty, unequal and non-finite input must end in one clear line."""
    with pytest.raises(InputError, match="same questions"):
        permutation_test([1.0], [1.0, 2.0])
    with pytest.raises(InputError, match="finite"):
        bootstrap([float("nan")])
    with pytest.raises(InputError, match="as many"):
        bootstrap([1.0, 2.0], groups=["a"])
    with pytest.raises(InputError, match="level"):
        bootstrap([1.0], level=1.5)
