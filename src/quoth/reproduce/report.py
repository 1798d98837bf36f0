"""A reproduction as a report: the same page, tables and plots as an evaluation's."""

import re

from quoth.evaluate.evaluation import Evaluation, Table
from quoth.evaluate.paired import RunScores
from quoth.evaluate.plots import Plot, Series
from quoth.reproduce.recipe import Chart, Outcome, Recipe


def as_evaluation(recipe: Recipe, outcome: Outcome) -> Evaluation:
    """Return what a recipe found, for ``write_report``: every row in one table, every chart a plot."""
    bounds = any(r.low is not None for r in outcome.rows)
    rows = tuple(
        (
            r.name,
            r.published or "-",
            *("" if v is None else v for v in ((r.measured, r.low, r.high) if bounds else (r.measured,))),
            r.how,
        )
        for r in outcome.rows
    )
    header = ("figure", "published", "measured", *(("low", "high") if bounds else ()), "how")
    note = "low, high: the bounds of a 95% interval, where one was computed" if bounds else ""
    figures = Table("figures", "Published and measured", header, rows, digits=None, note=note, open=True)
    return Evaluation(
        kind="reproduce",
        title=f"{recipe.name}: {recipe.title}",
        figures=(),
        metrics={r.name: r.measured for r in outcome.rows if r.measured is not None},
        conventions={},
        questions=RunScores(recipe.name, (), {}),
        tables=(figures,),
        plots=tuple(_plot(chart) for chart in outcome.charts),
        notes=(*(f"Differs: {d.rstrip('.')}." for d in outcome.differences), *outcome.examples),
    )


def _plot(chart: Chart) -> Plot:
    series = tuple(
        Series(c.name, tuple(x for x, _ in c.points), tuple(y for _, y in c.points)) for c in chart.curves
    )
    name = re.sub(r"\W+", "-", chart.title.lower()).strip("-")
    return Plot(name, chart.title, "line", chart.x, chart.y, series, log=chart.log)
