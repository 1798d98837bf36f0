"""One recipe for each published experiment: inputs, command, published, measured."""

from collections.abc import Mapping
from importlib import import_module

from quoth.errors import InputError
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row, data_folder
from quoth.reproduce.report import as_evaluation

__all__ = [
    "Chart",
    "Curve",
    "Inputs",
    "Outcome",
    "Recipe",
    "Row",
    "as_evaluation",
    "data_folder",
    "recipe",
    "recipes",
]

_MODULES: tuple[str, ...] = (
    "calibration",
    "speed",
    "masking",
    "expansion",
    "reader",
    "retriever",
    "combining",
    "system",
    "selection",
    "triggering",
    "passages",
    "questions",
    "fusion",
    "scale",
    "cranfield",
    "engines",
    "wikipedia",
)
"""Modules of this package that define ``RECIPES``; each is imported when a recipe is asked for."""


def recipes() -> Mapping[str, Recipe]:
    """Return every recipe by name, in the order in which the experiments were published."""
    found = [r for module in _MODULES for r in import_module(f"quoth.reproduce.{module}").RECIPES]
    return {r.name: r for r in found}


def recipe(name: str) -> Recipe:
    """Return one recipe. Raise ``InputError`` for an unknown name."""
    known = recipes()
    if name not in known:
        raise InputError(f"There is no recipe {name!r}.", hint=f"There are: {', '.join(known)}.")
    return known[name]
