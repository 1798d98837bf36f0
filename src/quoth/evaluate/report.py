"""Write an evaluation into a folder: manifest, JSON, tables, run files, plots and the page."""

import re
from collections.abc import Mapping
from pathlib import Path

from quoth.errors import InputError, MissingExtraError
from quoth.evaluate.evaluation import Evaluation
from quoth.evaluate.manifest import Manifest
from quoth.evaluate.page import page
from quoth.evaluate.plots import svg
from quoth.evaluate.png import write_png
from quoth.evaluate.runs import write_json, write_questions, write_run, write_text
from quoth.evaluate.tables import csv_table, latex_table


def write_report(
    evaluation: Evaluation, manifest: Manifest, folder: str | Path
) -> tuple[list[Path], list[str]]:
    """Write everything and return the files, the page first, and notes on what could not be made.

    The folder holds ``report.html``, ``manifest.json``, ``metrics.json``, ``questions.csv``, the evaluation's
    own files (``predictions.json``, ``null-odds.json``, ``nbest.json``, ``run.trec``), each table as CSV and
    LaTeX under ``tables/`` and each plot as SVG and PNG under ``plots/``. PNGs need the extra ``eval``; without
    it a note says so. Raises ``InputError`` where the folder cannot be written.
    """
    root = Path(folder)
    try:
        for part in (root, root / "tables", root / "plots"):
            part.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(
            f"{root} cannot be made: {error.strerror}.", hint="Choose another folder."
        ) from error
    written = [root / "report.html"]
    notes: list[str] = []

    def put(name: str) -> Path:
        written.append(root / name)
        return written[-1]

    write_json(put("manifest.json"), manifest.as_dict())
    write_json(put("metrics.json"), evaluation.as_dict())
    if evaluation.questions.ids:
        write_questions(put("questions.csv"), evaluation.questions)
    for name, data in evaluation.json_files.items():
        write_json(put(name), data)
    if evaluation.run:
        notes += _write_run(put("run.trec"), evaluation.run)
    for table in evaluation.tables:
        write_text(put(f"tables/{table.name}.csv"), csv_table(table))
        write_text(put(f"tables/{table.name}.tex"), latex_table(table))
    for plot in evaluation.plots:
        write_text(put(f"plots/{plot.name}.svg"), svg(plot))
        try:
            write_png(plot, root / f"plots/{plot.name}.png")
            written.append(root / f"plots/{plot.name}.png")
        except MissingExtraError as error:
            notes += [str(error)] if str(error) not in notes else []
    write_text(written[0], page(evaluation, manifest))
    return written, notes


def _write_run(path: Path, run: Mapping[str, Mapping[str, float]]) -> list[str]:
    """Write the run; white space in ids, which the format cannot hold, becomes %20, and a note says so."""
    plain = {_plain(qid): {_plain(c): score for c, score in scores.items()} for qid, scores in run.items()}
    write_run(path, plain)
    changed = any(_plain(c) != c for qid, scores in run.items() for c in (qid, *scores))
    return [f"{path.name}: white space in ids is written as %20."] if changed else []


def _plain(id: str) -> str:
    return re.sub(r"\s", "%20", id) or "%20"
