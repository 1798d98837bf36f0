"""A figure that never travels alone: its convention, n and interval are part of it; and the guard of splits."""

from dataclasses import dataclass

from quoth.errors import InputError

TUNED_HERE = "tuned on this set"


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured value with all that must be said beside it.

    ``n`` is the number of questions (or sections, words) behind it; ``low`` and ``high`` bound the ``level``
    confidence interval, None where none was computed. ``split`` and ``tuned_on`` name data sets. ``digits``
    are shown behind the point: 2 for figures in per cent, 4 for those in 0..1.
    """

    name: str
    value: float
    n: int
    low: float | None = None
    high: float | None = None
    level: float = 0.95
    convention: str = ""
    split: str = ""
    tuned_on: str = ""
    digits: int = 4

    def __str__(self) -> str:
        """Return e.g. ``MAP 0.8412 [0.8210, 0.8601] (95%, n=785, clean, split dev)``."""
        d = self.digits
        interval = "" if self.low is None or self.high is None else f" [{self.low:.{d}f}, {self.high:.{d}f}]"
        parts = [f"{self.level:.0%}"] if interval else []
        parts.append(f"n={self.n:,}")
        parts += [part for part in (self.convention, f"split {self.split}" if self.split else "") if part]
        if self.tuned_on:
            parts.append(self.tuned_on if self.tuned_on == TUNED_HERE else f"tuned on {self.tuned_on}")
        return f"{self.name} {self.value:.{d}f}{interval} ({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class TunedThreshold:
    """A threshold and what it was found on; ``value`` of ``metric`` there is an oracle's, not a result."""

    threshold: float
    value: float
    metric: str
    tuned_on: str


def refuse_test(split: str, allowed: bool, *, doing: str = "fitting") -> str:
    """Refuse to fit anything on a split marked test, unless that was *allowed*; return the label to print.

    Raises ``InputError``. The label is empty for any other split.
    """
    if split != "test":
        return ""
    if not allowed:
        raise InputError(
            f"Refused: {doing} on a split marked 'test' would make every figure on it worthless.",
            hint="Use the dev split, or say --i-know-this-is-test; the report will say so too.",
            code="test_split",
        )
    return f"{doing} used the test split, as was asked for"


def tuning_label(tuned_on: str, scored_on: str) -> str:
    """Return ``tuned on this set`` where both names are the same data, else the name tuned on."""
    return TUNED_HERE if tuned_on and tuned_on == scored_on else tuned_on
