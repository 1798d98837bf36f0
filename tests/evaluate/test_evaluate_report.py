"""Plots, tables, the page and the folder that a report is."""

import csv
import io
import json
import math
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate import (
    DataFacts,
    Evaluation,
    Figure,
    Mark,
    Plot,
    RunScores,
    Series,
    SystemFacts,
    Table,
    comparison,
    make_manifest,
    svg,
    write_report,
)
from quoth.evaluate.manifest import Manifest
from quoth.evaluate.page import page
from quoth.evaluate.plots import nice_ticks
from quoth.evaluate.runs import read_predictions, read_questions, read_run
from quoth.evaluate.tables import csv_table, latex_table, shown

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = '<script>alert(1)</script> & "quotes"'

LINE = Plot(
    "line",
    "EM by threshold",
    "line",
    "threshold",
    "per cent",
    (
        Series(
            "EM", (-1.0, 0.0, 1.0), (50.0, 60.0, 55.0), (48.0, 58.0, 53.0), (52.0, 62.0, 57.0), (10, 10, 10)
        ),
        Series("F1", tuple(float(i) for i in range(-50, 50)), tuple(float(i % 7) for i in range(100))),
    ),
    marks=(Mark(0.5, "in use"), Mark(40.0, "floor", vertical=False)),
)
BAR = Plot(
    "bar",
    "F1 by type",
    "bar",
    "F1",
    "type",
    (Series("F1", (), (70.0, math.nan), (60.0, math.nan), (80.0, math.nan), (100, 0)),),
    categories=("who (100)", "why (0)"),
    marks=(Mark(50.0, "floor"),),
)
RELIABILITY = Plot(
    "reliability",
    "Reliability",
    "reliability",
    "confidence",
    "share right",
    (Series("confidence", (0.1, 0.9), (0.2, 0.8), n=(5, 50)),),
)


def evaluation(**changes: object) -> Evaluation:
    """A small evaluation with one of everything."""
    facts: dict[str, object] = {
        "kind": "reader",
        "title": f"A reader {HOSTILE}",
        "figures": (Figure("f1", 72.5, 40, 70.0, 75.0, convention="missing = wrong", split="dev", digits=2),),
        "metrics": {"f1": 72.5, "odd": float("inf")},
        "conventions": {"gold": "maximum over all"},
        "questions": RunScores("r", ("a", "b"), {"f1": np.array([1.0, 0.5])}, ("d", "d")),
        "tables": (
            Table("by-type", "By type", ("type", "n", "F1"), (("who_1", 3, 0.5), ("50% & more", 4, 1 / 3))),
        ),
        "plots": (LINE, BAR, RELIABILITY),
        "json_files": {"predictions.json": {"a": "x", "b": ""}},
        "run": {"a": {"d:0-1": 1.5}},
        "notes": ("Something to know.",),
    }
    return Evaluation(**(facts | changes))  # type: ignore[arg-type]


def manifest() -> Manifest:
    """The facts of a run."""
    return make_manifest(
        "reader",
        data=DataFacts("toy", "dev", 2, "ab12", note="Reconstructed."),
        system=SystemFacts({"reader": "fake"}),
        conventions={"gold": "maximum over all"},
        command=("quoth", "eval", "reader", "--data", "toy.json"),
    )


@pytest.mark.parametrize("plot", [LINE, BAR, RELIABILITY], ids=lambda p: p.kind)
@pytest.mark.parametrize("standalone", [True, False])
def test_a_plot_is_well_formed_and_says_what_it_shows(plot: Plot, standalone: bool) -> None:
    """Every plot must be XML, hold its labels, and carry no number that is not one."""
    drawn = svg(plot, standalone=standalone)
    root = ElementTree.fromstring(drawn)
    words = " ".join(element.text or "" for element in root.iter())
    assert plot.x_label in words
    assert plot.y_label in words
    assert (plot.title in words) == standalone
    assert all(mark.label in words for mark in plot.marks)
    if len(plot.series) > 1:
        assert all(series.label in words for series in plot.series)
    assert "nan" not in re.sub(r"<title>.*?</title>", "", drawn)
    assert "inf" not in re.sub(r"[a-z]*inf[a-z]+", "", drawn)


def test_every_point_can_be_read_by_pointing_at_it() -> None:
    """Points and bars must have a title with value, interval and n."""
    titles = [e.text or "" for e in ElementTree.fromstring(svg(LINE)).iter(f"{SVG}title")]
    assert "EM: 60 at 0 [58, 62], n = 10" in titles
    assert any(
        "who (100), F1: 70" in (e.text or "") for e in ElementTree.fromstring(svg(BAR)).iter(f"{SVG}title")
    )
    assert any(
        "n = 50" in (e.text or "") for e in ElementTree.fromstring(svg(RELIABILITY)).iter(f"{SVG}title")
    )


def test_points_lie_inside_the_picture_in_the_right_order() -> None:
    """A higher value must stand higher, a greater x further right, all within the view."""
    root = ElementTree.fromstring(
        svg(Plot("p", "t", "line", "x", "y", (Series("s", (1.0, 2.0), (3.0, 9.0)),)))
    )
    dots = [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in root.iter(f"{SVG}circle")]
    assert dots[0][0] < dots[1][0]
    assert dots[0][1] > dots[1][1]
    width, height = (float(v) for v in root.attrib["viewBox"].split()[2:])
    assert all(0 <= x <= width and 0 <= y <= height for x, y in dots)


def test_a_seventh_line_is_told_from_the_first() -> None:
    """There are six colours: who shares one is dashed, in the picture and in the legend."""
    lines = tuple(Series(f"s{n}", (1.0, 2.0), (float(n), float(n) + 1)) for n in range(8))
    drawn = svg(Plot("p", "t", "line", "x", "y", lines))
    assert drawn.count('stroke-dasharray="6 4"') == 4
    assert drawn.count('class="q-line q-s0"') == 3


def test_ticks_say_how_far_apart_they_are() -> None:
    """Steps of 0.025 are written out, so that evenly spaced ticks look it."""
    plot = Plot("p", "t", "line", "x", "y", (Series("s", (1.0, 2.0), (0.87, 0.99)),), y_range=(0.865, 1.0))
    texts = {e.text for e in ElementTree.fromstring(svg(plot)).iter(f"{SVG}text")}
    assert {"0.875", "0.900", "0.925"} <= texts


def test_a_logarithmic_plot_gives_each_decade_the_same_room() -> None:
    """Ten, a hundred and a thousand stand evenly, with a tick at each; a point at zero has no place."""
    points = Series("s", (0.0, 10.0, 100.0, 1000.0), (5.0, 0.1, 1.0, 10.0))
    root = ElementTree.fromstring(svg(Plot("p", "t", "line", "x", "y", (points,), log=True)))
    dots = [(float(e.attrib["cx"]), float(e.attrib["cy"])) for e in root.iter(f"{SVG}circle")]
    assert len(dots) == 3
    steps = np.diff(np.array(dots), axis=0)
    assert np.allclose(steps[0], steps[1], atol=0.2)
    assert {"10", "100", "1,000", "0.1", "1"} <= {e.text for e in root.iter(f"{SVG}text")}


@given(st.floats(1e-6, 1e9), st.floats(1.0, 1e6))
def test_a_logarithmic_plot_has_a_tick_and_keeps_its_points_inside(low: float, times: float) -> None:
    """Wherever the values lie, the points are in the picture and an axis can be read."""
    plot = Plot("p", "t", "line", "x", "y", (Series("s", (1.0, 2.0), (low, low * times)),), log=True)
    root = ElementTree.fromstring(svg(plot))
    assert all(0 <= float(e.attrib["cy"]) <= 340 for e in root.iter(f"{SVG}circle"))
    assert any((e.text or "").strip() for e in root.iter(f"{SVG}text") if "q-end" in e.attrib["class"])


@given(st.floats(-1e6, 1e6), st.floats(1e-3, 1e6))
def test_ticks_are_few_round_and_within(low: float, width: float) -> None:
    """Ticks must lie in the range, be evenly spaced, and be neither one nor a crowd."""
    ticks = nice_ticks(low, low + width)
    slack = 1e-6 * max(1.0, abs(low), width)
    assert all(low - slack <= tick <= low + width + slack for tick in ticks)
    assert 2 <= len(ticks) <= 14
    steps = np.diff(ticks)
    assert np.allclose(steps, steps[0], rtol=1e-6, atol=slack)


def test_ticks_of_nothing_do_not_fail() -> None:
    """An empty or unbounded range must give one tick, and an empty plot must draw."""
    assert nice_ticks(1.0, 1.0) == (1.0,)
    assert nice_ticks(0.0, math.inf) == (0.0,)
    for kind in ("line", "bar"):
        ElementTree.fromstring(svg(Plot("p", "t", kind, "x", "y", (Series("s", (), ()),))))  # type: ignore[arg-type]
    ElementTree.fromstring(svg(Plot("p", "t", "line", "x", "y", (Series("s", (1.0,), (5.0,)),))))


def test_the_page_stands_alone_and_believes_nothing() -> None:
    """No script, no request, and every text from outside escaped."""
    text = page(evaluation(), manifest())
    assert "<script" not in text
    assert HOSTILE not in text
    assert "&lt;script&gt;" in text
    outside = set(re.findall(r"(?:src|href|url)\s*[=(]", text))
    assert not outside
    assert set(re.findall(r"https?://[^\"]+", text)) <= {"http://www.w3.org/2000/svg"}
    assert "prefers-color-scheme:dark" in text
    assert "@media print" in text


def test_the_page_shows_figures_with_all_that_goes_with_them() -> None:
    """Value, interval, n, convention, split, notes, conventions, command and manifest must be on the page."""
    text = page(evaluation(), manifest())
    for part in (
        "72.50",
        "70.00 – 75.00",
        "95% interval",
        "n = 40",
        "missing = wrong",
        "split dev",
        "Something to know.",
        "Reconstructed.",
        "maximum over all",
        "quoth eval reader --data toy.json",
        "ab12",
        "who_1",
    ):
        assert part in text, part


def test_a_report_folder_holds_everything_and_reads_back(tmp_path: Path) -> None:
    """Page, manifest, metrics, tables, plots and run files must be there, and be what was measured."""
    pytest.importorskip("matplotlib", reason="needs the extra eval")
    written, notes = write_report(evaluation(), manifest(), tmp_path / "out")
    names = {str(path.relative_to(tmp_path / "out")) for path in written}
    assert names == {
        "report.html", "manifest.json", "metrics.json", "questions.csv", "predictions.json", "run.trec",
        "tables/by-type.csv", "tables/by-type.tex",
        *(f"plots/{name}.{kind}" for name in ("line", "bar", "reliability") for kind in ("svg", "png")),
    }  # fmt: skip
    assert notes == []
    out = tmp_path / "out"
    metrics = json.loads((out / "metrics.json").read_text(encoding="utf-8"))
    assert metrics["metrics"] == {"f1": 72.5, "odd": None}
    assert metrics["intervals"]["f1"] == {"value": 72.5, "low": 70.0, "high": 75.0, "level": 0.95, "n": 40}
    assert read_predictions(out / "predictions.json") == {"a": "x", "b": ""}
    assert read_run(out / "run.trec") == {"a": {"d:0-1": 1.5}}
    assert read_questions(out).columns["f1"].tolist() == [1.0, 0.5]
    assert (out / "plots/line.png").read_bytes().startswith(b"\x89PNG")
    assert not [path for path in out.rglob("*") if path.name.endswith(".tmp")]


def test_ids_with_spaces_survive_a_run_file_in_another_spelling(tmp_path: Path) -> None:
    """A long run must not end in an error over an id: white space is written as %20, and said."""
    _, notes = write_report(evaluation(run={"q 1": {"a b": 1.0}}, plots=()), manifest(), tmp_path)
    assert read_run(tmp_path / "run.trec") == {"q%201": {"a%20b": 1.0}}
    assert notes == ["run.trec: white space in ids is written as %20."]


def test_without_matplotlib_the_report_lacks_only_its_pngs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The missing extra must be named in a note, and all the rest be written."""
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    written, notes = write_report(evaluation(), manifest(), tmp_path)
    assert not any(path.suffix == ".png" for path in written)
    assert (tmp_path / "plots/line.svg").exists()
    assert notes == ["PNG plots need matplotlib. Install it: pip install 'quoth[eval]'."]


def test_a_folder_that_cannot_be_made_is_refused(tmp_path: Path) -> None:
    """A file in the way must be said in one line."""
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(InputError, match="cannot be made"):
        write_report(evaluation(), manifest(), tmp_path / "file" / "out")


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.84504, "0.8450"), (-0.5, "-0.5000"), (8.41014, "8.410"), (69.0, "69.00"), (876.01, "876.0"), (1246.57, "1,247"),
     (9.99996, "10.00"), (0.0, "0.0000"), (12, "12")],
)  # fmt: skip
def test_numbers_of_many_scales_have_four_digits_that_tell(value: float, said: str) -> None:
    """Shares, milliseconds and megabytes in one column are each shown as exactly as they are of use."""
    assert shown(value) == said


def test_latex_is_escaped_and_numbers_stand_right() -> None:
    """Characters that LaTeX takes for markup must be escaped; CSV keeps every digit."""
    [table] = evaluation().tables
    tex = latex_table(table)
    assert r"\begin{tabular}{lrr}" in tex
    assert r"who\_1 & 3 & 0.50 \\" in tex
    assert r"50\% \& more & 4 & 0.33 \\" in tex
    rows = list(csv.reader(io.StringIO(csv_table(table))))
    assert rows[0] == ["type", "n", "F1"]
    assert float(rows[2][2]) == 1 / 3


def test_a_comparison_is_an_evaluation_like_any_other(tmp_path: Path) -> None:
    """Differences, p-values and the changed questions must be in figures and tables, and be written."""
    random = np.random.default_rng(0)
    ids = tuple(str(i) for i in range(50))
    a = random.random(50)
    runs = [RunScores(name, ids, {"f1": a + shift}) for name, shift in (("a", 0.0), ("b", 0.1), ("c", 0.0))]
    result = comparison(runs, resamples=499)
    assert len(result.figures) == 3
    assert result.figures[0].value == pytest.approx(0.1)
    assert "(Holm)" in result.figures[0].convention
    assert [table.name for table in result.tables] == ["pairs", "changed-1", "changed-3"]
    assert "over 3 comparisons" in result.conventions["correction"]
    written, _ = write_report(result, manifest(), tmp_path)
    assert written[0].read_text(encoding="utf-8").startswith("<!doctype html>")
