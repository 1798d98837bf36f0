"""``quoth reproduce``: published experiments, run again."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from quoth.cli.output import Json, Quiet, emit, note, progress, say, table
from quoth.errors import InputError

if TYPE_CHECKING:
    from quoth.reproduce import Inputs, Outcome, Recipe

SHOWN = ("profile", "reader", "retriever", "vectors")
"""Settings that the manifest names."""

MOST_POINTS = 12
"""Points of a curve that the terminal shows."""


def reproduce(
    name: Annotated[str | None, typer.Argument(help="A recipe; without it, they are listed.")] = None,
    data: Annotated[Path | None, typer.Option(help="The folder of data sets (else QUOTH_DATA).")] = None,
    limit: Annotated[int, typer.Option(help="At most so many questions (0: as published).", min=0)] = 0,
    seed: Annotated[int, typer.Option(help="For what is sampled.")] = 0,
    work: Annotated[Path, typer.Option(help="Where indexes and caches are kept.")] = Path("reports/work"),
    out: Annotated[Path | None, typer.Option(help="Write the outcome as JSON, too.")] = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Write a page, the table as CSV and LaTeX, and the plots into this folder."),
    ] = None,
    profile: Annotated[str | None, typer.Option(help="fast, balanced or thorough.")] = None,
    reader: Annotated[
        str | None, typer.Option(help="small, large, a folder, or a Hugging Face name.")
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Run a published experiment on the data at hand: published, measured, and how the data differ.

    Example:

        quoth reproduce blog-retriever --data ../shared/data --limit 1000
    """
    from quoth import reproduce as room
    from quoth import settings

    if name is None:
        _list(room.recipes(), as_json=as_json)
        return
    recipe = room.recipe(name)
    options = {"profile": profile, "reader": reader}
    _writable(work)
    for folder in (out and out.parent, report):
        if folder is not None:
            _writable(folder)
    with progress(name, quiet=quiet) as advance:
        inputs = room.Inputs(
            data=room.data_folder(data), work=work, settings=settings.load(options=options), limit=limit, seed=seed,
            progress=advance,
        )  # fmt: skip
        outcome = recipe.run(inputs)
    body = {
        "name": recipe.name,
        "title": recipe.title,
        "source": recipe.source,
        "limit": limit,
        **asdict(outcome),
    }
    if out is not None:
        out.write_text(json.dumps(body, ensure_ascii=False, indent=1), encoding="utf-8")
        note(f"written to {out}", quiet=quiet)
    if report is not None:
        for remark in _report(recipe, outcome, inputs, report):
            note(remark, quiet=quiet)
    if as_json:
        emit("reproduce/1", body)
    else:
        _print(recipe, outcome)


def _report(recipe: "Recipe", outcome: "Outcome", inputs: "Inputs", folder: Path) -> list[str]:
    from quoth.evaluate import DataFacts, SystemFacts, make_manifest, write_report
    from quoth.reproduce import as_evaluation

    chosen = {name: str(c.value) for name, c in inputs.settings.items() if name in SHOWN}
    limited = f"at most {inputs.limit:,} questions" if inputs.limit else ""
    manifest = make_manifest(
        "reproduce",
        data=DataFacts(inputs.data.resolve().name, "", 0, note=limited),
        system=SystemFacts(settings=chosen), conventions={r.name: r.how for r in outcome.rows},
        seed=inputs.seed, command=["quoth", *sys.argv[1:]],
    )  # fmt: skip
    written, remarks = write_report(as_evaluation(recipe, outcome), manifest, folder)
    return [f"report: {written[0]}", *remarks]


def _writable(folder: Path) -> None:
    """Make *folder* before anything is measured. Raise ``InputError`` where that fails."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise InputError(
            f"{folder} cannot be made: {problem.strerror}.", hint="Choose another folder."
        ) from problem


def _list(recipes: "Mapping[str, Recipe]", *, as_json: bool) -> None:
    rows = [(r.name, r.title, r.source) for r in recipes.values()]
    if as_json:
        emit("reproduce-list/1", {"recipes": [{"name": n, "title": t, "source": s} for n, t, s in rows]})
    else:
        table(rows, ("recipe", "what it shows", "source"))


def _print(recipe: "Recipe", outcome: "Outcome") -> None:
    say(f"{recipe.name}: {recipe.title} ({recipe.source})")
    say()
    rows = [(r.name, r.published or "-", r.measured, _interval(r.low, r.high), r.how) for r in outcome.rows]
    table(rows, ("figure", "published", "measured", "95%", "how"))
    for chart in outcome.charts:
        say()
        say(f"{chart.title} ({chart.y} by {chart.x})")
        for curve in chart.curves:
            step = max(1, -(-len(curve.points) // MOST_POINTS))
            shown = "  ".join(f"{x:g}: {y:.4g}" for x, y in curve.points[::step])
            left = f"  (of {len(curve.points)} points; --report draws all)" if step > 1 else ""
            say(f"  {curve.name}: {shown}{left}")
    for example in outcome.examples:
        say()
        say(example)
    say()
    for difference in outcome.differences:
        say(f"differs: {difference}")


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4f}-{high:.4f}"


COMMANDS = ((reproduce, "reproduce"),)
