"""The same plots as PNG, drawn by matplotlib (extra ``eval``)."""

from math import ceil
from pathlib import Path
from typing import Any

from quoth.errors import InputError, MissingExtraError
from quoth.evaluate.plots import COLOURS, Plot

_INK, _SOFT, _GRID = "#1d2530", "#5f6b78", "#e6e9ed"


def write_png(plot: Plot, path: str | Path, *, dpi: int = 160) -> None:
    """Draw *plot* into a PNG file.

    Raises ``MissingExtraError`` without matplotlib, ``InputError`` where the file cannot be written.
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise MissingExtraError(
            "PNG plots need matplotlib.", hint="Install it: pip install 'quoth[eval]'."
        ) from error
    height = 3.9 if plot.kind != "bar" else 1.3 + 0.32 * len(plot.categories) * max(1, len(plot.series) * 0.6)
    figure = Figure(figsize=(6.6, height), layout="constrained")
    axes = figure.subplots()
    {"line": _line, "bar": _bar, "reliability": _reliability}[plot.kind](plot, axes)
    _dress(plot, axes)
    try:
        figure.savefig(path, dpi=dpi, format="png")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from error


def _line(plot: Plot, axes: Any) -> None:
    for i, s in enumerate(plot.series):
        colour = COLOURS[i % len(COLOURS)]
        marker = "o" if len(s.x) <= 30 else ""
        style = "-" if i < len(COLOURS) else "--"  # the second six are told from the first
        axes.plot(s.x, s.y, style, color=colour, label=s.label, marker=marker, markersize=4, linewidth=1.8)
        if s.low and s.high:
            axes.fill_between(s.x, s.low, s.high, color=colour, alpha=0.15, linewidth=0)
    if plot.log:
        axes.set(xscale="log", yscale="log")
    if plot.x_ticks:
        axes.set_xticks(plot.x_ticks)
    if plot.y_range:
        axes.set_ylim(*plot.y_range)
    axes.grid(axis="y", color=_GRID)


def _bar(plot: Plot, axes: Any) -> None:
    thick = 0.75 / max(1, len(plot.series))
    for i, s in enumerate(plot.series):
        places = [c + (i - (len(plot.series) - 1) / 2) * thick for c in range(len(plot.categories))]
        axes.barh(places, s.y, height=thick * 0.9, color=COLOURS[i % len(COLOURS)], label=s.label)
        if s.low and s.high:
            axes.hlines(places, s.low, s.high, color=_INK, linewidth=1.1, alpha=0.75)
    axes.set_yticks(range(len(plot.categories)), plot.categories)
    axes.invert_yaxis()
    if plot.y_range:
        axes.set_xlim(*plot.y_range)
    axes.grid(axis="x", color=_GRID)


def _reliability(plot: Plot, axes: Any) -> None:
    s = plot.series[0]
    largest = max(s.n, default=1)
    axes.plot([0, 1], [0, 1], color=_SOFT, linestyle="--", linewidth=1)
    axes.vlines(s.x, s.x, s.y, color=_SOFT, alpha=0.55, linewidth=1.5)
    axes.scatter(s.x, s.y, s=[20 + 180 * n / largest for n in s.n], color=COLOURS[0], zorder=3)
    axes.set(xlim=(0, 1), ylim=(0, 1))
    axes.set_aspect("equal")
    axes.grid(axis="y", color=_GRID)


def _dress(plot: Plot, axes: Any) -> None:
    """Title on the left, no box, soft ticks, reference lines and a legend above where there are several series."""
    axes.set_axisbelow(True)
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.spines["bottom"].set_color(_SOFT)
    axes.tick_params(colors=_SOFT, labelsize=8.5, length=0)
    axes.set_xlabel(plot.x_label, color=_SOFT, fontsize=9)
    axes.set_ylabel(plot.y_label, color=_SOFT, fontsize=9)
    for mark in plot.marks:
        upright = mark.vertical or plot.kind == "bar"
        (axes.axvline if upright else axes.axhline)(mark.at, color=_SOFT, linestyle="--", linewidth=1)
        at = {"x": mark.at, "y": 0.02} if upright else {"x": 0.99, "y": mark.at}
        transform = axes.get_xaxis_transform() if upright else axes.get_yaxis_transform()
        side = "left" if upright else "right"
        axes.text(
            **at, s=f" {mark.label}", transform=transform, color=_SOFT, fontsize=8, ha=side, va="bottom"
        )
    several = len(plot.series) > 1
    columns = 4 if sum(len(s.label) + 5 for s in plot.series) <= 76 else 2
    lines = ceil(len(plot.series) / columns) if several else 0
    axes.set_title(plot.title, loc="left", color=_INK, fontsize=11, fontweight="bold", pad=8 + 17 * lines)
    if several:
        style = {"frameon": False, "fontsize": 8.5, "handlelength": 1.2}
        axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=columns, **style)
