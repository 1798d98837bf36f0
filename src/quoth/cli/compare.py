"""``quoth compare``: runs of the same questions, side by side, with significance."""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.cli.output import Json, Quiet, emit, note, say, table

Seed = Annotated[int, typer.Option(help="For the intervals and the tests.")]
Report = Annotated[
    Path | None, typer.Option(help="Write manifest, figures, tables, plots and a page into this folder.")
]


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="A B...", help="Report folders, or their questions.csv.")
    ],
    metric: Annotated[list[str] | None, typer.Option(help="Only these metrics.")] = None,
    changed: Annotated[int, typer.Option(help="List so many of the questions that changed.")] = 10,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare runs question by question: differences, intervals, significance (Holm over several), what changed.

    Example:

        quoth compare reports/small reports/large --report reports/small-large
    """
    from quoth.evaluate import DataFacts, SystemFacts, comparison, make_manifest, write_report
    from quoth.evaluate import compare as paired
    from quoth.evaluate.runs import read_questions

    files = [path / "questions.csv" if path.is_dir() else path for path in runs]
    scores = [read_questions(f, name=name) for f, name in zip(files, _names(files), strict=True)]
    pairs = paired(scores, metrics=metric or (), seed=seed)
    found = comparison(scores, metrics=metric or (), seed=seed)
    if report is not None:
        manifest = make_manifest(
            "compare", data=DataFacts(", ".join(map(str, files)), _split(files), len(scores[0].ids)),
            system=SystemFacts(),
            conventions=found.conventions, seed=seed, command=["quoth", *sys.argv[1:]],
        )  # fmt: skip
        _, notes = write_report(found, manifest, report)
        for remark in notes:
            note(remark, quiet=quiet)
    if as_json:
        emit("compare/1", {"conventions": dict(found.conventions), "pairs": [_pair(p) for p in pairs]})
        return
    table(
        [(p.metric, p.a, p.b, p.mean_a, p.mean_b, p.interval.value, f"{p.interval.low:+.4f}..{p.interval.high:+.4f}",
          p.adjusted, p.better, p.worse) for p in pairs],
        ("metric", "a", "b", "mean a", "mean b", "b - a", "95%", "p", "better", "worse"),
    )  # fmt: skip
    for name, meaning in found.conventions.items():
        say(f"  ({name}: {meaning})")
    for pair in pairs:
        if pair.changes and changed:
            say(f"\n{pair.metric}, {pair.a} -> {pair.b}: {len(pair.changes)} questions changed")
            table([(c.id, c.a, c.b) for c in pair.changes[:changed]], ("question", pair.a, pair.b))


def _pair(pair: Any) -> dict[str, Any]:
    return {
        "metric": pair.metric, "a": pair.a, "b": pair.b, "mean_a": pair.mean_a, "mean_b": pair.mean_b,
        "difference": pair.interval.value, "low": pair.interval.low, "high": pair.interval.high,
        "p": pair.test.p_value, "p_holm": pair.adjusted, "better": pair.better, "worse": pair.worse,
        "changed": [{"id": c.id, "a": c.a, "b": c.b} for c in pair.changes],
    }  # fmt: skip


def _names(files: Sequence[Path]) -> list[str]:
    """Return a name for each run: its folder's (or file's), with as many folders above as tell all apart."""
    parts = [f.parent.parts if f.name == "questions.csv" else f.with_suffix("").parts for f in files]
    longest = max(map(len, parts), default=1)
    for depth in range(1, longest + 1):
        names = ["/".join(p[-depth:]) for p in parts]
        if len(set(names)) == len(names) and all(names):
            return names
    return [str(f) for f in files]


def _split(files: Sequence[Path]) -> str:
    """Return the split that the runs' manifests name, where there are manifests and they agree."""
    found = set()
    for file in files:
        manifest = file.with_name("manifest.json")
        try:
            found.add(str(json.loads(manifest.read_text(encoding="utf-8"))["data"]["split"]))
        except (OSError, ValueError, KeyError, TypeError):
            found.add("unknown")
    return found.pop() if len(found) == 1 else "unknown"
