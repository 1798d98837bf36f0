"""Reading: passages in, exact spans and one "no answer" score out."""

from quoth.reading.calibrate import (
    FEATURES,
    Calibration,
    Held,
    features,
    fit_confidence,
    fit_threshold,
    fit_weight,
    fold_of,
)
from quoth.reading.calibrate import load as load_calibrations
from quoth.reading.calibrate import save as save_calibrations
from quoth.reading.combine import combine, probabilities
from quoth.reading.profiles import PROFILES, Profile
from quoth.reading.reader import ReadSettings, SpanReader
from quoth.reading.spans import Group, merge

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
    "load_calibrations",
    "merge",
    "probabilities",
    "save_calibrations",
]
