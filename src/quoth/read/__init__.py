"""Reading: passages in, exact spans and one "no answer" score out."""

from quoth.read.calibrate import (
    FEATURES,
    Calibration,
    Held,
    features,
    fit_confidence,
    fit_threshold,
    fit_weight,
    fold_of,
)
from quoth.read.calibrate import save as save_calibrations
from quoth.read.combine import combine, probabilities
from quoth.read.profiles import PROFILES, Profile
from quoth.read.reader import ReadSettings, SpanReader
from quoth.read.spans import Group, merge

__all__ = [
    "FEATURES",
    "PROFILES",
    "Calibration",
    "Group",
    "Held",
    "Profile",
    "ReadSettings",
    "SpanReader",
    "combine",
    "features",
    "fit_confidence",
    "fit_threshold",
    "fit_weight",
    "fold_of",
    "merge",
    "probabilities",
    "save_calibrations",
]
