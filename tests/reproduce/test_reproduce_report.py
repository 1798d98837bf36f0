"""A reproduction as a page, tables and plots."""

import csv
import json
from pathlib import Path

import pytest

from quoth import reproduce, settings
from quoth.cli import run
from quoth.evaluate import make_manifest, write_report
from quoth.evaluate.manifest import DataFacts, SystemFacts
from quoth.reproduce import Chart, Curve, Inputs, Outcome, Recipe, Row

OUTCOME = Outcome(
    rows=(
        Row("recall@3", ".85", 0.87, "by answer string, n = 10", low=0.8, high=0.9),
        Row("query, ms", "", None, "no server <here>"),
    ),
    differences=("texts are copies",),
    charts=(
        Chart("How cost grows", "passages", "ms", (Curve("BM25", ((10.0, 1.0), (1000.0, 2.0))),), log=True),
    ),
    examples=("Who? -> Me.",),
)


def _run(inputs: Inputs) -> Outcome:
    return OUTCOME


RECIPE = Recipe("made-up", "what nobody published", "nobody", _run)


def test_every_row_and_chart_is_in_the_report(tmp_path: Path) -> None:
    """The table has published, measured and interval; a missing figure says why; the plot has its points."""
    manifest = make_manifest("reproduce", data=DataFacts("data", "", 0), system=SystemFacts(), conventions={})
    files, _ = write_report(reproduce.as_evaluation(RECIPE, OUTCOME), manifest, tmp_path)
    rows = list(csv.reader((tmp_path / "tables/figures.csv").read_text(encoding="utf-8").splitlines()))
    assert rows[1] == ["recall@3", ".85", "0.87", "0.8", "0.9", "by answer string, n = 10"]
    assert rows[2] == ["query, ms", "-", "", "", "", "no server <here>"]
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Differs: texts are copies." in page
    assert "no server &lt;here&gt;" in page
    assert "BM25: 2 at 1,000" in page
    assert "0 questions" not in page
    assert (tmp_path / "plots/how-cost-grows.svg").is_file()
    assert tmp_path / "questions.csv" not in files


def test_the_command_writes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """--report DIR holds the page and how to make it again; a folder that cannot be made is refused first."""
    monkeypatch.setattr(reproduce, "recipe", lambda name: RECIPE)
    (tmp_path / "data").mkdir()
    options = ["--data", str(tmp_path / "data"), "--work", str(tmp_path / "work")]
    assert run(["reproduce", "made-up", *options, "--report", str(tmp_path / "report")]) == 0
    assert "report.html" in capsys.readouterr().err
    manifest = json.loads((tmp_path / "report/manifest.json").read_text(encoding="utf-8"))
    assert manifest["kind"] == "reproduce"
    assert manifest["system"]["settings"]["profile"] == settings.load()["profile"].value
    assert manifest["conventions"]["recall@3"] == "by answer string, n = 10"
    (tmp_path / "file").write_text("", encoding="utf-8")
    assert run(["reproduce", "made-up", *options, "--report", str(tmp_path / "file/report")]) == 2
    assert "cannot be made" in capsys.readouterr().err
