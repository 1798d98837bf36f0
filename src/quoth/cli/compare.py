"""``quoth compare``: runs of the same questions, side by side, with significance; and one question at a time."""

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.cli.output import Json, Quiet, counted, emit, note, say, table
from quoth.errors import InputError

if TYPE_CHECKING:
    from quoth.evaluate import Evaluation, RunScores
    from quoth.evaluate.paired import PairedDifference

Seed = Annotated[int, typer.Option(help="For the intervals and the tests.")]
Report = Annotated[
    Path | None, typer.Option(help="Write manifest, figures, tables, plots and a page into this folder.")
]
SIDE = (
    "exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact", "MAP/has-positive", "MRR/has-positive",
    "P@1/has-positive", "MAP/clean", "recall@3/answer", "mAP@3/answer", "recall@3/passage", "precision", "recall",
    "median_ms",
)  # fmt: skip
"""What stands side by side, where the runs have it."""


def compare(
    runs: Annotated[
        list[Path], typer.Argument(metavar="A B...", help="Report folders, or their questions.csv.")
    ],
    metric: Annotated[list[str] | None, typer.Option(help="Only these metrics.")] = None,
    changed: Annotated[int, typer.Option(help="List so many of the questions that changed.")] = 10,
    question: Annotated[
        str | None, typer.Option(metavar="ID", help="What each run says to this one question, instead.")
    ] = None,
    data: Annotated[
        Path | None, typer.Option(help="The runs' data set, for the question's words and gold answers.")
    ] = None,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Compare runs question by question: differences, intervals, significance (Holm over several), what changed.

    Examples:

        quoth compare reports/small reports/large --report reports/small-large

        quoth compare reports/small reports/large --question 56ddde6b9a695914005b9628
    """
    from quoth.evaluate import compare as paired
    from quoth.evaluate import comparison
    from quoth.evaluate.runs import read_questions

    files = [path / "questions.csv" if path.is_dir() else path for path in runs]
    scores = [read_questions(f, name=name) for f, name in zip(files, _names(files), strict=True)]
    if question is not None:
        _one(question, _said(question, files, scores), data, as_json=as_json)
        return
    pairs = paired(scores, metrics=metric or (), seed=seed)
    systems = {
        run.name: _json_beside(f, "metrics.json").get("metrics", {})
        for run, f in zip(scores, files, strict=True)
    }
    found = _with_systems(comparison(scores, metrics=metric or (), seed=seed), systems)
    if report is not None:
        for remark in _write(found, files, len(scores[0].ids), seed, report):
            note(remark, quiet=quiet)
    if as_json:
        body = {
            "conventions": dict(found.conventions),
            "systems": systems,
            "pairs": [_pair(p) for p in pairs],
        }
        emit("compare/1", body)
        return
    _print(found, pairs, changed)


def _with_systems(found: "Evaluation", systems: Mapping[str, Mapping[str, Any]]) -> "Evaluation":
    """Return *found* with the runs' own figures in front, where they have any that stand side by side."""
    from quoth.evaluate import side_by_side

    if not any(name in metrics for metrics in systems.values() for name in SIDE):
        return found
    return replace(found, tables=(side_by_side(systems, columns=SIDE), *found.tables))


def _write(found: "Evaluation", files: Sequence[Path], n: int, seed: int, report: Path) -> list[str]:
    from quoth.evaluate import DataFacts, SystemFacts, make_manifest, write_report

    splits = {str(_json_beside(f, "manifest.json").get("data", {}).get("split", "")) for f in files}
    split = splits.pop() if len(splits) == 1 else ""
    manifest = make_manifest(
        "compare", data=DataFacts(", ".join(map(str, files)), split or "unknown", n), system=SystemFacts(),
        conventions=found.conventions, seed=seed, command=["quoth", *sys.argv[1:]],
    )  # fmt: skip
    written, notes = write_report(found, manifest, report)
    return [f"report: {written[0]}", *notes]


def _print(found: "Evaluation", pairs: "Sequence[PairedDifference]", changed: int) -> None:
    if found.tables[0].name == "systems":
        table(found.tables[0].rows, found.tables[0].header)
        say()
    table(
        [(p.metric, p.a, p.b, p.mean_a, p.mean_b, p.interval.value, f"{p.interval.low:+.4f}..{p.interval.high:+.4f}",
          p.adjusted, p.better, p.worse) for p in pairs],
        ("metric", "a", "b", "mean a", "mean b", "b - a", "95%", "p", "better", "worse"),
    )  # fmt: skip
    for name, meaning in found.conventions.items():
        say(f"  ({name}: {meaning})")
    for pair in pairs:
        if pair.changes and changed:
            say(f"\n{pair.metric}, {pair.a} -> {pair.b}: {counted(len(pair.changes), 'question')} changed")
            table([(c.id, c.a, c.b) for c in pair.changes[:changed]], ("question", pair.a, pair.b))


def _said(id: str, files: Sequence[Path], scores: "Sequence[RunScores]") -> dict[str, dict[str, Any]]:
    """Return what each run says to one question: its scores, and where it wrote them the answer and null odds."""
    out = {}
    for file, run in zip(files, scores, strict=True):
        if id not in run.ids:
            raise InputError(
                f"{run.name} has no question {id!r}.", hint="`quoth compare` lists ids that changed."
            )
        at = run.ids.index(id)
        row: dict[str, Any] = {"scores": {name: float(column[at]) for name, column in run.columns.items()}}
        for key, name in (
            ("said", "predictions.json"),
            ("best_span", "best-spans.json"),
            ("null_odds", "null-odds.json"),
        ):
            found = _json_beside(file, name)
            if id in found:
                row[key] = found[id]
        out[run.name] = row
    return out


def _one(id: str, said: Mapping[str, Mapping[str, Any]], data: Path | None, *, as_json: bool) -> None:
    """Print what the runs say to one question."""
    asked, gold = "", list[str]()
    if data is not None:
        asked, gold = _known(data, id)
    if as_json:
        known = {"text": asked, "gold": gold} if data is not None else {}
        emit("compare-question/1", {"id": id, **known, "systems": said})
        return
    say(f"{id}: {asked}" if asked else id)
    if data is not None:
        say(f"gold: {' | '.join(gold) or '(no answer)'}")
    metrics = list(dict.fromkeys(name for row in said.values() for name in row["scores"]))
    answered = any("said" in row for row in said.values())
    header = ("system", *(("said", "best span", "null odds") if answered else ()), *metrics)
    rows = []
    for name, row in said.items():
        texts = (row.get("said", "") or "(no answer)", row.get("best_span", ""), row.get("null_odds"))
        rows.append((name, *(texts if answered else ()), *(row["scores"].get(m) for m in metrics)))
    table(rows, header)


def _known(data: Path, id: str) -> tuple[str, list[str]]:
    """Return a question's words and its gold answers (for sentence selection, the positive sentences)."""
    from quoth.datasets import SelectionDataset, SpanDataset, load

    found = load(data)
    if isinstance(found, SelectionDataset):
        known = {q.id: (q.question, [c.text for c in q.candidates if c.label]) for q in found.questions}
    elif isinstance(found, SpanDataset):
        known = {q.id: (q.question, [a.text for a in q.answers]) for q in found.questions}
    else:
        raise InputError(
            f"{data} holds neither spans nor candidate sentences.",
            hint="`quoth data describe` says what it is.",
        )
    if id not in known:
        raise InputError(f"{data} has no question {id!r}.")
    asked, gold = known[id]
    return asked, list(dict.fromkeys(gold))


def _pair(pair: "PairedDifference") -> dict[str, Any]:
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


def _json_beside(file: Path, name: str) -> dict[str, Any]:
    """Return a JSON object that stands beside a run's scores; an empty one where there is none to read."""
    try:
        found = json.loads(file.with_name(name).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
