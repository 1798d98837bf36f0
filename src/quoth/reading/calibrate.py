"""What is fitted on held-out readings: threshold, retriever weight, confidence.

Arrays in, numbers out; no data set is read here. Everything is fitted on articles that the
reported figures do not use: ``fold_of`` tells the two halves apart.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import InputError, ModelError
from quoth.reading.combine import probabilities
from quoth.reading.spans import same
from quoth.types import Reading

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Doubles = NDArray[np.float64]
    Flags = NDArray[np.bool_]

FORMAT = 1

FEATURES = ("null_odds", "margin", "log_share", "log_rank", "log_agreeing")
"""What ``features`` measures of an answer, in this order."""

_LIMIT = 30.0  # logits: beyond this a difference says no more


def features(reading: Reading, index: int) -> "Doubles":
    """Return what is known of the span at *index* of *reading*, of shape (len(FEATURES),).

    ``null_odds``: the null score less the span's; ``margin``: its score less that of the best
    span that says something else; ``log_share``: the log of the share of all spans that say the
    same (see ``probabilities``); ``log_rank``: log(1 + position of its passage among those given);
    ``log_agreeing``: log of the number of spans that say the same. Differences are cut to 30.
    """
    span, said = reading.spans[index], same(reading.spans[index].item.text)
    agree = [i for i, other in enumerate(reading.spans) if same(other.item.text) == said]
    others = [other.score for other in reading.spans if same(other.item.text) != said]
    shares = probabilities(reading)
    margin = span.score - max(others) if others else _LIMIT
    share = max(sum(shares[i] for i in agree), float(np.exp(-_LIMIT)))
    values = (
        reading.null_score - span.score,
        margin,
        float(np.log(share)),
        float(np.log1p(reading.passages[index])),
        float(np.log(len(agree))),
    )
    return np.clip(np.array(values, dtype=np.float64), -_LIMIT, _LIMIT)


@dataclass(frozen=True, slots=True)
class Calibration:
    """What was fitted for a reader under one profile, and on what.

    As it is made by default nothing was: threshold 0, retriever weight 0, no confidence.
    ``own_null``: null odds are those of the best span's own passage (see ``combine``).
    ``coefficients`` (of ``features``, by name) and ``intercept`` give the log odds that an
    answer is right (EM = 1).
    """

    threshold: float = 0.0
    weight: float = 0.0
    coefficients: Mapping[str, float] = field(default_factory=dict, hash=False)
    intercept: float = 0.0
    fitted_on: str = ""
    n: int = 0
    own_null: bool = False

    def __post_init__(self) -> None:
        unknown = sorted(set(self.coefficients) - set(FEATURES))
        if unknown:
            raise ModelError(
                f"The calibration weighs {', '.join(unknown)}, which this version cannot measure.",
                hint="Fit it anew, or take the version of quoth that it was fitted with.",
                code="calibration_unusable",
            )

    def confidence(self, measured: "Doubles") -> float | None:
        """Return the probability that the answer with these ``features`` is right; None where nothing was fitted."""
        if not self.coefficients:
            return None
        weights = np.array([self.coefficients.get(name, 0.0) for name in FEATURES])
        return float(_sigmoid(np.array([weights @ measured + self.intercept]))[0])

    @classmethod
    def load(cls, path: Path, *, profile: str) -> "Calibration":
        """Read what was fitted for *profile*; the file's own choice where it has no such profile.

        Raises ``ModelError`` for a file that is damaged or of another format.
        """
        fits, otherwise = _read(path)
        return fits.get(profile) or fits[otherwise]


def load(path: Path) -> dict[str, Calibration]:
    """Read all fits of a file, by profile. Raises ``ModelError`` as ``Calibration.load`` does."""
    return _read(path)[0]


def _read(path: Path) -> tuple[dict[str, Calibration], str]:
    try:
        held: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        if held.get("format") != FORMAT:
            raise ModelError(
                f"{path} has the format {held.get('format')!r}; this version reads {FORMAT}.",
                hint="Fit it anew, or take the version of quoth that wrote it.",
                code="calibration_unusable",
            )
        fits = {profile: Calibration(**fit) for profile, fit in held["fits"].items()}
        otherwise = held["otherwise"]
        if otherwise not in fits:
            raise ValueError(f"it has no fit {otherwise!r}")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as problem:
        raise ModelError(
            f"{path} cannot be read as a calibration: {problem}.",
            hint="Install the model anew, or remove the file: then nothing is calibrated.",
            code="calibration_unusable",
        ) from problem
    return fits, otherwise


def save(path: Path, fits: Mapping[str, Calibration], *, otherwise: str) -> None:
    """Write what was fitted, by profile; *otherwise* names the one for all other profiles."""
    if otherwise not in fits:
        raise InputError(f"There is no fit for {otherwise!r}; there are {', '.join(sorted(fits))}.")
    rows = {profile: {**asdict(fit), "coefficients": dict(fit.coefficients)} for profile, fit in fits.items()}
    text = json.dumps({"format": FORMAT, "otherwise": otherwise, "fits": rows}, indent=2, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")


def fold_of(title: str, *, folds: int = 2) -> int:
    """Return the fold of an article: the same in every run and on every machine."""
    return int.from_bytes(hashlib.sha256(title.encode()).digest()[:8], "big") % folds


def fit_threshold(null_odds: "Doubles", gain: "Doubles", answerable: "Flags") -> float:
    """Return the null threshold with the best mean score.

    ``gain[i]`` is the EM or F1 of question *i* when it is answered; not answering is worth 1
    where it has no answer, else 0. The one pass of the official SQuAD 2.0 script, but for
    equal odds, which stand or fall together, and for the case that answering never pays: then
    the threshold lies below all odds. Infinite odds (nothing to answer with) are never answered.
    """
    best, _ = _best_threshold(null_odds, gain, answerable)
    return best


def _best_threshold(null_odds: "Doubles", gain: "Doubles", answerable: "Flags") -> tuple[float, float]:
    """Return the best threshold, and the sum of the scores with it."""
    order = np.argsort(null_odds, kind="stable")
    odds = null_odds[order]
    change = np.where(answerable[order], gain[order], -1.0)
    total = float((~answerable).sum()) + np.cumsum(change)
    usable = np.isfinite(odds) & np.append(odds[1:] != odds[:-1], True)
    nothing = float((~answerable).sum())
    if not usable.any():
        return 0.0, nothing
    places = np.flatnonzero(usable)
    best = places[int(total[places].argmax())]
    if total[best] <= nothing:
        return float(odds[places[0]]) - 1.0, nothing
    return float(odds[best]), float(total[best])


@dataclass(frozen=True, slots=True)
class Held:
    """Held-out readings for ``fit_weight``. Arrays of shape (questions, spans), padded with a score of -inf.

    ``scores``: the reader's; ``gaps``: the retriever's score of the span's passage less the best
    one (0 or less); ``gains``: EM or F1 of the span; ``null_scores``: of shape (questions,), or one
    for each span, where its own passage's counts. ``answerable`` has the shape (questions,).
    """

    scores: "Doubles"
    gaps: "Doubles"
    gains: "Doubles"
    null_scores: "Doubles"
    answerable: "Flags"


def fit_weight(held: Held, *, grid: Sequence[float]) -> tuple[float, float]:
    """Return the weight of *grid* with the best score, and the threshold that goes with it.

    For each weight the best span is taken again and the threshold fitted anew. Of weights that
    score the same the first in *grid* wins: put 0 first.
    """
    if not grid:
        raise InputError("The grid of weights is empty.")
    rows = np.arange(len(held.answerable))
    nulls = held.null_scores if held.null_scores.ndim == 2 else held.null_scores[:, None]
    best = (-np.inf, 0.0, 0.0)
    for weight in grid:
        scores = held.scores + weight * held.gaps
        first = scores.argmax(axis=1)
        odds = nulls[rows, first if nulls.shape[1] > 1 else 0] - scores[rows, first]
        threshold, total = _best_threshold(odds, held.gains[rows, first], held.answerable)
        if total > best[0]:
            best = (total, float(weight), threshold)
    return best[1], best[2]


def fit_confidence(
    measured: "Doubles", right: "Flags", *, ridge: float = 1.0
) -> tuple[dict[str, float], float]:
    """Return coefficients by feature name and the intercept of a logistic regression.

    *measured* has the shape (answers, len(FEATURES)); *right* says which answers were (EM = 1).
    Newton's method (iteratively re-weighted least squares) on standardised features with an L2
    penalty of *ridge* on all but the intercept. Raises ``InputError`` for fewer than 10 answers.
    """
    if measured.ndim != 2 or measured.shape[1] != len(FEATURES) or len(measured) != len(right):
        raise InputError(f"Features of the shape (n, {len(FEATURES)}) and n labels are needed.")
    if len(right) < 10:
        raise InputError(f"{len(right)} answers are too few to fit a confidence; 10 are needed.")
    mean, spread = measured.mean(axis=0), measured.std(axis=0)
    spread = np.where(spread > 1e-12, spread, 1.0)
    design = np.column_stack([np.ones(len(right)), (measured - mean) / spread])
    penalty = np.full(design.shape[1], ridge)
    penalty[0] = 1e-6
    theta = np.zeros(design.shape[1])
    labels = right.astype(np.float64)
    loss = _penalised(theta, design, labels, penalty)
    for _ in range(100):
        share = _sigmoid(design @ theta)
        gradient = design.T @ (share - labels) + penalty * theta
        hessian = (design.T * (share * (1 - share))) @ design + np.diag(penalty)
        step = np.linalg.solve(hessian, gradient)
        size = 1.0
        while size > 1e-8 and _penalised(theta - size * step, design, labels, penalty) > loss:
            size /= 2
        theta = theta - size * step
        loss = _penalised(theta, design, labels, penalty)
        if float(np.abs(size * step).max()) < 1e-9:
            break
    weights = theta[1:] / spread
    intercept = float(theta[0] - weights @ mean)
    return {name: float(w) for name, w in zip(FEATURES, weights, strict=True)}, intercept


def _penalised(theta: "Doubles", design: "Doubles", labels: "Doubles", penalty: "Doubles") -> float:
    """Return the negative log likelihood and the penalty."""
    logits = design @ theta
    return float((np.logaddexp(0.0, logits) - labels * logits).sum() + 0.5 * (penalty * theta**2).sum())


def _sigmoid(logits: "Doubles") -> "Doubles":
    """Return 1 / (1 + exp(-x)) without overflow."""
    return np.exp(-np.logaddexp(0.0, -logits))
