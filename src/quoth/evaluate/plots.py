"""Plots as data, drawn as SVG without any library; the page, the .svg files and the PNGs share one record."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from html import escape
from math import ceil, floor, isfinite, log10
from typing import Literal

Kind = Literal["line", "bar", "reliability"]

WIDTH, LINE_HEIGHT = 520, 340
COLOURS = ("#2f6db5", "#d0662a", "#2f8a63", "#8b5fb3", "#b3404f", "#62707d")
DARK = ("#7fb2ee", "#f0985f", "#6cc79b", "#c09ae6", "#ec8591", "#a3b1bd")


@dataclass(frozen=True, slots=True)
class Series:
    """One line, or one bar of each category; ``low`` and ``high`` are intervals, ``n`` what is behind a point."""

    label: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    low: tuple[float, ...] = ()
    high: tuple[float, ...] = ()
    n: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Mark:
    """A reference line across the plot: vertical at ``at`` (a threshold) or horizontal (a floor)."""

    at: float
    label: str
    vertical: bool = True


@dataclass(frozen=True, slots=True)
class Plot:
    """A figure. ``name`` is its file name; ``categories`` label the bars, x of a bar series is ignored.

    A reliability plot has one series: x = mean confidence, y = share right, n = questions in the bin. With
    ``log`` both axes of a line plot are logarithmic; what is not above zero is left out.
    """

    name: str
    title: str
    kind: Kind
    x_label: str
    y_label: str
    series: tuple[Series, ...]
    categories: tuple[str, ...] = ()
    marks: tuple[Mark, ...] = ()
    y_range: tuple[float, float] | None = None
    x_ticks: tuple[float, ...] = ()
    note: str = ""
    log: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """A scale from data to pixels, linear or logarithmic, with its ticks."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = log10(low), log10(high), log10(value)
        return self.start + (value - low) / ((high - low) or 1.0) * (self.end - self.start)

    def label(self, value: float) -> str:
        """Return a tick's text with the digits that the step between ticks needs."""
        if self.log:
            return f"{value:,.0f}" if value >= 1 else f"{value:g}"
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else 1.0
        digits = max(0, -floor(log10(step) + 1e-9)) if step > 0 else 0
        digits += (
            abs(round(step, digits) - step) > step / 100
        )  # steps of 0.025 take a digit more than of 0.02
        return _minus(f"{value:,.{digits}f}")


def nice_ticks(low: float, high: float, *, about: int = 6) -> tuple[float, ...]:
    """Return round values (steps of 1, 2, 2.5 or 5 times a power of ten) that lie within low..high."""
    if not (isfinite(low) and isfinite(high)) or high <= low:
        return (low,)
    rough = (high - low) / about
    power = 10.0 ** floor(log10(rough))
    step = next(power * m for m in (1, 2, 2.5, 5, 10) if power * m >= rough * (1 - 1e-9))
    first, last = ceil(low / step - 1e-9), floor(high / step + 1e-9)
    return tuple(round(i * step, 12) + 0.0 for i in range(first, last + 1))


def decades(low: float, high: float) -> tuple[float, ...]:
    """Return the powers of ten within low..high, both above zero; the nearest one where there is none."""
    first, last = ceil(log10(low) - 1e-9), floor(log10(high) + 1e-9)
    return tuple(10.0**i for i in range(min(first, last), last + 1))


def svg(plot: Plot, *, standalone: bool = True) -> str:
    """Draw a plot. Standalone files carry their title and colours; inline ones use the page's."""
    body, height = _bars(plot) if plot.kind == "bar" else _lines(plot)
    top = 34 if standalone else 0
    head = f'<text class="q-title" x="0" y="18">{escape(plot.title)}</text>' if standalone else ""
    style = f"<style>{STANDALONE_CSS}</style>" if standalone else ""
    back = f'<rect class="q-back" width="{WIDTH + 32}" height="{height + top + 32}" x="-16" y="-16"/>'
    box = f"-16 -16 {WIDTH + 32} {height + top + 32}" if standalone else f"0 0 {WIDTH} {height}"
    size = f'width="{WIDTH + 32}" height="{height + top + 32}"' if standalone else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{box}" {size} class="q-plot" role="img" '
        f'aria-label="{escape(plot.title, quote=True)}">{style}{back if standalone else ""}{head}'
        f'<g transform="translate(0,{top})">{body}</g></svg>'
    )


def _lines(plot: Plot) -> tuple[str, int]:
    plot = _above_zero(plot) if plot.log else plot
    legend, legend_height = _legend(plot)
    top, bottom = 26 + legend_height, LINE_HEIGHT - 44
    xs = [v for s in plot.series for v in s.x if isfinite(v)]
    spread = [v for s in plot.series for v in (*s.y, *s.low, *s.high) if isfinite(v)]
    marks_x = [m.at for m in plot.marks if m.vertical and isfinite(m.at)]
    y = _y_axis(plot, spread + [m.at for m in plot.marks if not m.vertical], bottom, top)
    left = 14 + 7 * max(len(y.label(t)) for t in y.ticks)
    if plot.kind == "reliability":
        right = left + (bottom - top) * 1.25
        x = Axis(0.0, 1.0, left, right, nice_ticks(0, 1, about=5))
    elif plot.log:
        right = WIDTH - 16.0
        x = _log_axis(xs + marks_x, plot.x_ticks, left, right)
    else:
        right = WIDTH - 16.0
        low, high = min(xs + marks_x, default=0.0), max(xs + marks_x, default=1.0)
        pad = 0.02 * (high - low) or 0.5
        x = Axis(low - pad, high + pad, left, right, plot.x_ticks or nice_ticks(low, high, about=7))
    parts = [legend, _frame(plot, x, y, (left, right, top, bottom))]
    if plot.kind == "reliability":
        parts.append(_reliability(plot.series[0], x, y))
    else:
        parts += [_line(s, i, x, y) for i, s in enumerate(plot.series)]
    parts += [_mark(m, x, y, (left, right, top, bottom)) for m in plot.marks if isfinite(m.at)]
    return "".join(parts), LINE_HEIGHT


def _y_axis(plot: Plot, values: Sequence[float], bottom: float, top: float) -> Axis:
    if plot.log:
        return _log_axis(values, (), bottom, top)
    if plot.kind == "reliability":
        low, high = 0.0, 1.0
    elif plot.y_range is not None:
        low, high = plot.y_range
    else:
        low, high = min(values, default=0.0), max(values, default=1.0)
        pad = 0.06 * (high - low) or abs(high) * 0.1 or 0.5
        low, high = (0.0 if 0 <= low < 0.35 * high else low - pad), high + pad
        if low < 0 <= min(values, default=0.0):
            low = 0.0
    return Axis(low, high, bottom, top, nice_ticks(low, high, about=6))


def _log_axis(values: Sequence[float], ticks: tuple[float, ...], start: float, end: float) -> Axis:
    """Return a logarithmic axis with room around *values*, and at least one power of ten on it."""
    low, high = min(values, default=1.0) / 1.3, max(values, default=10.0) * 1.3
    marks = ticks or decades(low, high)
    return Axis(min(low, marks[0]), high, start, end, marks, log=True)


def _above_zero(plot: Plot) -> Plot:
    """Return the plot with the points that a logarithmic scale has."""
    kept = []
    for s in plot.series:
        at = [i for i in range(len(s.x)) if s.x[i] > 0 and s.y[i] > 0]
        n = tuple(s.n[i] for i in at) if s.n else ()
        kept.append(Series(s.label, tuple(s.x[i] for i in at), tuple(s.y[i] for i in at), n=n))
    return replace(plot, series=tuple(kept), marks=tuple(m for m in plot.marks if m.at > 0))


def _frame(plot: Plot, x: Axis, y: Axis, box: tuple[float, float, float, float]) -> str:
    left, right, top, bottom = box
    out = [f'<text class="q-label" x="0" y="{top - 12:.1f}">{escape(plot.y_label)}</text>']
    for tick in y.ticks:
        at = y(tick)
        line = "q-zero" if tick == y.ticks[0] and abs(at - bottom) < 1 else "q-grid"
        out.append(f'<line class="{line}" x1="{left:.1f}" x2="{right:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>')
        out.append(f'<text class="q-tick q-end" x="{left - 8:.1f}" y="{at + 4:.1f}">{y.label(tick)}</text>')
    out.append(f'<line class="q-zero" x1="{left:.1f}" x2="{right:.1f}" y1="{bottom}" y2="{bottom}"/>')
    for tick in x.ticks:
        at = x(tick)
        out.append(f'<line class="q-zero" x1="{at:.1f}" x2="{at:.1f}" y1="{bottom}" y2="{bottom + 4}"/>')
        out.append(f'<text class="q-tick q-mid" x="{at:.1f}" y="{bottom + 18}">{x.label(tick)}</text>')
    middle = (left + right) / 2
    out.append(
        f'<text class="q-label q-mid" x="{middle:.1f}" y="{bottom + 38}">{escape(plot.x_label)}</text>'
    )
    return "".join(out)


def _line(series: Series, index: int, x: Axis, y: Axis) -> str:
    points = [i for i in range(len(series.x)) if isfinite(series.x[i]) and isfinite(series.y[i])]
    if not points:
        return ""
    at = [(x(series.x[i]), y(series.y[i])) for i in points]
    path = " ".join(f"{'L' if k else 'M'}{a:.1f},{b:.1f}" for k, (a, b) in enumerate(at))
    out = []
    if series.low and series.high:
        up = " ".join(f"{x(series.x[i]):.1f},{y(series.high[i]):.1f}" for i in points)
        down = " ".join(f"{x(series.x[i]):.1f},{y(series.low[i]):.1f}" for i in reversed(points))
        out.append(f'<polygon class="q-band q-f{index % 6}" points="{up} {down}"/>')
    out.append(f'<path class="q-line q-s{index % 6}"{_dashes(index)} d="{path}"/>')
    dots = len(points) <= 30
    step = 1 if dots else len(points) // 60 + 1
    for k in range(0, len(points), step):
        i = points[k]
        said = f"{series.label}: {_number(series.y[i])} at {_number(series.x[i])}"
        if series.low and series.high:
            said += f" [{_number(series.low[i])}, {_number(series.high[i])}]"
        said += f", n = {series.n[i]:,}" if series.n else ""
        kind, radius = (f"q-dot q-f{index % 6}", 3.5) if dots else ("q-hover", 7.0)
        a, b = at[k]
        out.append(
            f'<circle class="{kind}" cx="{a:.1f}" cy="{b:.1f}" r="{radius}"><title>{escape(said)}</title></circle>'
        )
    return "".join(out)


def _dashes(index: int) -> str:
    """Return what tells a line from the one whose colour it has: there are six."""
    return ' stroke-dasharray="6 4"' if index >= len(COLOURS) else ""


def _reliability(series: Series, x: Axis, y: Axis) -> str:
    largest = max(series.n, default=1)
    out = [f'<line class="q-mark" x1="{x(0):.1f}" y1="{y(0):.1f}" x2="{x(1):.1f}" y2="{y(1):.1f}"/>']
    out.append(f'<text class="q-tick" x="{x(1) + 10:.1f}" y="{y(1) + 4:.1f}">perfect</text>')
    for a, b in zip(series.x, series.y, strict=True):
        out.append(f'<line class="q-gap" x1="{x(a):.1f}" x2="{x(a):.1f}" y1="{y(a):.1f}" y2="{y(b):.1f}"/>')
    for a, b, n in zip(series.x, series.y, series.n, strict=True):
        radius = 3.5 + 9.5 * (n / largest) ** 0.5
        said = f"confidence {a:.2f}: {b:.0%} right, n = {n:,}"
        out.append(
            f'<circle class="q-dot q-f0" cx="{x(a):.1f}" cy="{y(b):.1f}" r="{radius:.1f}">'
            f"<title>{escape(said)}</title></circle>"
        )
    notes = ("Size of a dot:", "questions in its bin.", "Line: the gap to", "perfect calibration.")
    for k, words in enumerate(notes):
        out.append(f'<text class="q-tick" x="{x(1) + 10:.1f}" y="{y(0.5) + 16 * k:.1f}">{words}</text>')
    return "".join(out)


def _mark(mark: Mark, x: Axis, y: Axis, box: tuple[float, float, float, float]) -> str:
    left, right, top, bottom = box
    if mark.vertical:
        at = x(mark.at)
        side, shift = ("q-end", -6) if at > (left + right) / 2 else ("", 6)
        return (
            f'<line class="q-mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top}" y2="{bottom}"/>'
            f'<text class="q-tick {side} q-halo" x="{at + shift:.1f}" y="{bottom - 8}">{escape(mark.label)}</text>'
        )
    at = y(mark.at)
    return (
        f'<line class="q-mark" x1="{left:.1f}" x2="{right:.1f}" y1="{at:.1f}" y2="{at:.1f}"/>'
        f'<text class="q-tick q-end q-halo" x="{right:.1f}" y="{at - 6:.1f}">{escape(mark.label)}</text>'
    )


def _bars(plot: Plot) -> tuple[str, int]:
    legend, legend_height = _legend(plot)
    many = len(plot.series)
    thick = 18 if many == 1 else max(13, 30 // many)
    row = thick * many + (14 if many == 1 else 18)
    top = 26 + legend_height
    bottom = top + row * len(plot.categories) + 2
    left = 22 + 6.6 * max((len(c) for c in plot.categories), default=4)
    spread = [v for s in plot.series for v in (*s.y, *s.high) if isfinite(v)]
    spread += [m.at for m in plot.marks]
    low, high = plot.y_range or (min([*spread, 0.0]), max([*spread, 0.0]) or 1.0)
    step = nice_ticks(low, high, about=5)
    if (
        plot.y_range is None and len(step) > 1
    ):  # end on a tick, so that the longest bar has an end to be read at
        high = max(high, step[-1] + (step[1] - step[0]) * (step[-1] < high - 1e-9))
    x = Axis(low, high, left, WIDTH - 62.0, nice_ticks(low, high, about=5))
    digits = 1 if high >= 10 else 2 if high >= 2 else 3
    out = [legend, f'<text class="q-label" x="0" y="{top - 12}">{escape(plot.y_label)}</text>']
    for tick in x.ticks:
        at = x(tick)
        out.append(f'<line class="q-grid" x1="{at:.1f}" x2="{at:.1f}" y1="{top - 4}" y2="{bottom}"/>')
        out.append(f'<text class="q-tick q-mid" x="{at:.1f}" y="{bottom + 16}">{x.label(tick)}</text>')
    for c, category in enumerate(plot.categories):
        above = top + c * row + 6
        middle = above + thick * many / 2
        out.append(
            f'<text class="q-name q-end" x="{left - 10:.1f}" y="{middle + 4:.1f}">{escape(category)}</text>'
        )
        out += [
            _bar(s, i, (c, category), x, (above + i * thick, thick, digits))
            for i, s in enumerate(plot.series)
        ]
    out.append(f'<line class="q-zero" x1="{x(0):.1f}" x2="{x(0):.1f}" y1="{top - 4}" y2="{bottom}"/>')
    for mark in plot.marks:
        at = x(mark.at)
        out.append(f'<line class="q-mark" x1="{at:.1f}" x2="{at:.1f}" y1="{top - 4}" y2="{bottom}"/>')
        out.append(
            f'<text class="q-tick q-mid q-halo" x="{at:.1f}" y="{top - 10}">{escape(mark.label)}</text>'
        )
    middle = (x.start + x.end) / 2
    out.append(
        f'<text class="q-label q-mid" x="{middle:.1f}" y="{bottom + 36}">{escape(plot.x_label)}</text>'
    )
    return "".join(out), ceil(bottom + 44)


def _bar(series: Series, index: int, at: tuple[int, str], x: Axis, place: tuple[float, float, int]) -> str:
    c, category = at
    value = series.y[c]
    if not isfinite(value):
        return ""
    top, thick, digits = place
    middle = top + thick / 2
    start, end = sorted((x(0), x(value)))
    said = f"{category}, {series.label}: {_number(value)}"
    interval = ""
    tip = x(max(value, 0.0))
    if series.low and series.high and isfinite(series.low[c]) and isfinite(series.high[c]):
        a, b = x(series.low[c]), x(min(series.high[c], x.high))
        said += f" [{_number(series.low[c])}, {_number(series.high[c])}]"
        interval = f'<line class="q-whisker" x1="{a:.1f}" x2="{b:.1f}" y1="{middle:.1f}" y2="{middle:.1f}"/>'
        tip = max(tip, b)
    if series.n:
        said += f", n = {series.n[c]:,}"
    return (
        f'<g><title>{escape(said)}</title><rect class="q-bar q-f{index % 6}" x="{start:.1f}" y="{top + 1:.1f}" '
        f'width="{max(end - start, 0.5):.1f}" height="{thick - 2:.1f}" rx="2"/>{interval}'
        f'<text class="q-value" x="{tip + 6:.1f}" y="{middle + 4:.1f}">{_minus(f"{value:,.{digits}f}")}</text></g>'
    )


def _legend(plot: Plot) -> tuple[str, int]:
    """Return the legend and its height; a single series needs none."""
    if len(plot.series) < 2:
        return "", 0
    out, x, y = [], 0.0, 10.0
    for i, series in enumerate(plot.series):
        width = 40 + 6.6 * len(series.label)
        if x and x + width > WIDTH:
            x, y = 0.0, y + 20
        mark = f'<rect class="q-f{i % 6}" x="{x:.1f}" y="{y - 7:.1f}" width="14" height="6" rx="2"/>'
        if i >= len(COLOURS):
            line = f'x1="{x:.1f}" x2="{x + 14:.1f}" y1="{y - 4:.1f}" y2="{y - 4:.1f}"'
            mark = f'<line class="q-line q-s{i % 6}"{_dashes(i)} {line}/>'
        out.append(mark)
        out.append(f'<text class="q-key" x="{x + 20:.1f}" y="{y:.1f}">{escape(series.label)}</text>')
        x += width
    return "".join(out), int(y) + 12


def _number(value: float) -> str:
    size = abs(value)
    digits = 0 if size >= 1000 or value == int(value) else 1 if size >= 10 else 2 if size >= 1 else 3
    return _minus(f"{value:,.{digits}f}")


def _minus(text: str) -> str:
    return text.replace("-", "\u2212")


def _css(ink: str, soft: str, grid: str, paper: str, colours: Sequence[str]) -> str:
    series = "".join(f".q-s{i}{{stroke:{c}}}.q-f{i}{{fill:{c}}}" for i, c in enumerate(colours))
    return (
        f".q-title,.q-name,.q-key,.q-value{{fill:{ink}}}.q-label,.q-tick{{fill:{soft}}}"
        f".q-grid{{stroke:{grid}}}.q-zero,.q-mark,.q-gap{{stroke:{soft}}}.q-whisker{{stroke:{ink}}}"
        f".q-back{{fill:{paper}}}.q-halo,.q-dot{{stroke:{paper}}}{series}"
    )


SHAPE_CSS = (
    ".q-plot text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,'Helvetica Neue',Arial,sans-serif;"
    "font-variant-numeric:tabular-nums}.q-plot .q-title{font-size:16px;font-weight:600}"
    ".q-plot .q-value{font-size:11.5px;font-weight:600}.q-plot .q-tick{font-size:11.5px}"
    ".q-end{text-anchor:end}.q-mid{text-anchor:middle}.q-grid{stroke-width:1}.q-zero{stroke-width:1}"
    ".q-line{fill:none;stroke-width:2.25;stroke-linejoin:round;stroke-linecap:round}.q-dot{stroke-width:1.5}"
    ".q-band{opacity:.11}.q-bar{opacity:.92}.q-mark{stroke-width:1.25;stroke-dasharray:4 4}"
    ".q-gap{stroke-width:2;opacity:.55}.q-whisker{stroke-width:1.5;opacity:.75}"
    ".q-hover{fill:transparent}.q-halo{stroke-width:4;paint-order:stroke;stroke-linejoin:round}"
)
LIGHT_CSS = _css("#1d2530", "#5f6b78", "#e6e9ed", "#ffffff", COLOURS)
DARK_CSS = _css("#e8edf2", "#9aa7b4", "#2c353f", "#151b22", DARK)
STANDALONE_CSS = SHAPE_CSS + LIGHT_CSS
