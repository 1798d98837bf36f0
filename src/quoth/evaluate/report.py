"""Write an evaluation into a folder: manifest, JSON, tables, run files, plots and the page."""

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

    def put(name: str) -> Path:
        written.append(root / name)
        return written[-1]

    write_json(put("manifest.json"), manifest.as_dict())
    write_json(put("metrics.json"), evaluation.as_dict())
    write_questions(put("questions.csv"), evaluation.questions)
    for name, data in evaluation.json_files.items():
        write_json(put(name), data)
    if evaluation.run:
        write_run(put("run.trec"), evaluation.run)
    for table in evaluation.tables:
        write_text(put(f"tables/{table.name}.csv"), csv_table(table))
        write_text(put(f"tables/{table.name}.tex"), latex_table(table))
    notes: list[str] = []
    for plot in evaluation.plots:
        write_text(put(f"plots/{plot.name}.svg"), svg(plot))
        try:
            write_png(plot, root / f"plots/{plot.name}.png")
            written.append(root / f"plots/{plot.name}.png")
        except MissingExtraError as error:
            notes = [str(error)]
    write_text(written[0], page(evaluation, manifest))
    return written, notes
