"""Does a confidence of 0.8 mean right four times in five? ECE, Brier score, reliability bins.

ECE is the mean gap between confidence and accuracy over bins, weighted by bin size (Naeini, Cooper and
Hauskrecht 2015; Guo et al. 2017). Equal-width and equal-mass bins give different numbers and are named apart.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from quoth.errors import InputError

Array = NDArray[np.float64]
Binning = Literal["width", "mass"]


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """Questions of similar confidence: the range, how many, their mean confidence, the share right."""

    low: float
    high: float
    n: int
    confidence: float
    accuracy: float


@dataclass(frozen=True)
class Calibration:
    """Calibration figures over n questions, all in 0..1, lower is better; and the bins behind them."""

    n: int
    ece_width: float
    ece_mass: float
    brier: float
    mean_confidence: float
    accuracy: float
    width_bins: tuple[ReliabilityBin, ...]
    mass_bins: tuple[ReliabilityBin, ...]

    @property
    def metrics(self) -> dict[str, float]:
        """Return the figures by name; both ECEs say their binning."""
        return {
            "ECE_equal_width": self.ece_width,
            "ECE_equal_mass": self.ece_mass,
            "Brier": self.brier,
            "mean_confidence": self.mean_confidence,
            "accuracy": self.accuracy,
            "n": float(self.n),
        }


def score_calibration(confidence: Sequence[float], right: Sequence[float], *, bins: int = 10) -> Calibration:
    """Compare confidences in 0..1 with outcomes (1 right, 0 wrong), both of shape (n,).

    Raises ``InputError`` for empty or unequal input, a value outside 0..1, or fewer than one bin.
    """
    p = np.asarray(confidence, dtype=np.float64)
    y = np.asarray(right, dtype=np.float64)
    if p.shape != y.shape or p.ndim != 1 or not len(p) or bins < 1:
        raise InputError(
            f"Calibration needs as many confidences ({p.size}) as outcomes ({y.size}), and bins."
        )
    if not (np.all((p >= 0) & (p <= 1)) and np.all((y >= 0) & (y <= 1))):
        raise InputError(
            "A confidence or outcome is not within 0..1.", hint="Give probabilities, not scores."
        )
    width, mass = reliability(p, y, bins=bins, by="width"), reliability(p, y, bins=bins, by="mass")
    return Calibration(
        n=len(p),
        ece_width=_ece(width, len(p)),
        ece_mass=_ece(mass, len(p)),
        brier=float(np.mean((p - y) ** 2)),
        mean_confidence=float(p.mean()),
        accuracy=float(y.mean()),
        width_bins=width,
        mass_bins=mass,
    )


def reliability(p: Array, y: Array, *, bins: int, by: Binning) -> tuple[ReliabilityBin, ...]:
    """Return the non-empty bins in order of confidence.

    By width, bin i is [i / bins, (i + 1) / bins), the last one closed. By mass, the questions sorted by
    confidence are cut into *bins* parts whose sizes differ by one at most (equal confidences may be parted).
    """
    order = np.argsort(p, kind="stable")
    if by == "mass":
        parts = np.array_split(order, min(bins, len(p)))
        edges = [(float(p[part[0]]), float(p[part[-1]])) for part in parts]
    else:
        which = np.minimum((p * bins).astype(np.int64), bins - 1)
        filled = np.unique(which)
        parts = [np.flatnonzero(which == i) for i in filled]
        edges = [(float(i) / bins, float(i + 1) / bins) for i in filled]
    return tuple(
        ReliabilityBin(low, high, len(part), float(p[part].mean()), float(y[part].mean()))
        for part, (low, high) in zip(parts, edges, strict=True)
    )


def _ece(bins: Sequence[ReliabilityBin], n: int) -> float:
    return float(sum(b.n * abs(b.confidence - b.accuracy) for b in bins) / n)
