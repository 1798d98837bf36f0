"""Public data sets: describe them, convert between forms, check their labels."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.cli.output import Json, Quiet, emit, note, progress, say, table
from quoth.errors import InputError

if TYPE_CHECKING:
    from quoth.datasets import (
        Dataset,
        Lengths,
        Profile,
        SelectionCandidate,
        SelectionQuestion,
        TriggeringQuestion,
    )

CHECK_FAILED = 1

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE", help="A data file (gzip is unpacked), or a retrieval collection's folder."
    ),
]
FormatOption = Annotated[
    str | None, typer.Option("--format", help="The file's format, where its content does not tell.")
]
SplitOption = Annotated[
    str | None,
    typer.Option("--split", help="train, dev, test or unknown (else what the file's name states)."),
]


class Target(StrEnum):
    """What a file can be converted to."""

    AS2 = "as2"
    SQUAD = "squad"
    TRIGGERING = "triggering"


app = typer.Typer(
    name="data",
    help="Public data sets: describe them, convert between forms, check their labels.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("describe")
def describe_command(
    files: Annotated[
        list[str], typer.Argument(metavar="FILE...", help="Data files, or folders of retrieval collections.")
    ],
    format: FormatOption = None,
    split: SplitOption = None,
    as_json: Json = False,
) -> None:
    """Describe data sets: question types, lengths in words, answers per question, what is unanswerable.

    Example: quoth data describe dev-v2.0.json WikiQA-dev.tsv
    """
    from quoth.datasets import describe

    profiles = [(file, describe(_load(file, format, split))) for file in files]
    if as_json:
        emit("data-describe/1", {"profiles": [{"file": file, **asdict(found)} for file, found in profiles]})
        return
    for at, (file, found) in enumerate(profiles):
        if at:
            say()
        _print_profile(file, found)


@app.command("convert")
def convert_command(
    file: File,
    out: Annotated[
        str, typer.Argument(metavar="OUT", help="The new file; .tsv gives WikiQA's rows, .gz is packed.")
    ],
    to: Annotated[Target, typer.Option("--to", help="What to convert to.")],
    format: FormatOption = None,
    split: SplitOption = None,
    impossible: Annotated[
        bool,
        typer.Option("--impossible", help="as2: keep unanswerable questions, with no positive sentence."),
    ] = False,
    seed: Annotated[int, typer.Option(help="triggering: the seed of the draw of other sections.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Convert a data set: spans to sentences (as2), sentences to spans (squad), spans to five-section sets.

    Example: quoth data convert train-v1.1.json squad-as2.json --to as2
    """
    if Path(out).exists() and Path(file).exists() and Path(out).samefile(file):
        raise InputError(f"{out} is the file that is read.", hint="Name another file to write.")
    data = _load(file, format, split)
    with progress("converting", quiet=quiet or as_json) as advance:
        tally = _Tally(advance, len(getattr(data, "questions", ())))
        _convert(data, out, to, impossible=impossible, seed=seed, tally=tally)
    body: dict[str, Any] = {
        "file": file,
        "out": out,
        "to": to.value,
        "split": data.split,
        "questions": tally.questions,
        "pairs": tally.pairs,
        "positives": tally.positives,
        "left_out": tally.left_out,
    }
    if as_json:
        emit("data-convert/1", body)
        return
    said = f"{out}: {tally.questions} questions"
    if tally.pairs:
        said += f", {tally.pairs} question-sentence pairs, {tally.positives} of them positive"
    say(said + (f"; {tally.left_out} questions could not be placed" if tally.left_out else ""))


@app.command("check")
def check_command(
    file: File,
    format: FormatOption = None,
    split: SplitOption = None,
    limit: Annotated[
        int, typer.Option(min=0, help="How many problems to print, unrepaired ones first.")
    ] = 20,
    as_json: Json = False,
) -> None:
    """Check a data set's labels. Exits with 1 where a problem could not be repaired with certainty.

    Example: quoth data check 200423_covidQA.json --json
    """
    data = _load(file, format, split)
    problems = sorted(data.problems, key=lambda problem: problem.repaired)
    kinds = Counter((problem.kind, problem.repaired) for problem in problems)
    unrepaired = sum(not problem.repaired for problem in problems)
    questions = len(data.topics if hasattr(data, "topics") else data.questions)
    if as_json:
        emit(
            "data-check/1",
            {
                "file": file,
                "questions": questions,
                "repaired": len(problems) - unrepaired,
                "unrepaired": unrepaired,
                "kinds": [{"kind": k, "repaired": r, "count": n} for (k, r), n in sorted(kinds.items())],
                "problems": [asdict(problem) for problem in problems],
            },
        )
    else:
        say(f"{file}: {questions} questions, {len(problems)} problems, {unrepaired} of them not repaired")
        if problems:
            rows = [(kind, "yes" if repaired else "no", n) for (kind, repaired), n in sorted(kinds.items())]
            table(rows, ("problem", "repaired", "count"))
        for problem in problems[:limit]:
            say(f"{problem.id}: {problem.kind}: {problem.detail}")
        if len(problems) > limit:
            note(f"{len(problems) - limit} more: --limit, or --json for all")
    if unrepaired:
        raise typer.Exit(CHECK_FAILED)


def _load(file: str, format: str | None, split: str | None) -> "Dataset":
    from quoth.datasets import load

    if split is None:
        return load(file, format=format)
    for known in ("train", "dev", "test", "unknown"):
        if split == known:
            return load(file, format=format, split=known)
    raise InputError(f"{split!r} is no split.", hint="train, dev, test and unknown are.")


@dataclass
class _Tally:
    """Counts what passes on its way to a file."""

    advance: Any
    total: int
    questions: int = 0
    pairs: int = 0
    positives: int = 0
    left_out: int = 0

    def selection(self, questions: "Iterable[SelectionQuestion]") -> "Iterator[SelectionQuestion]":
        for question in questions:
            self._count(question.id, question.candidates)
            yield question

    def triggering(self, questions: "Iterable[TriggeringQuestion]") -> "Iterator[TriggeringQuestion]":
        for question in questions:
            self._count(question.id, [c for section in question.sections for c in section.candidates])
            yield question

    def _count(self, id: str, candidates: "Iterable[SelectionCandidate]") -> None:
        labels = [candidate.label for candidate in candidates]
        self.questions += 1
        self.pairs += len(labels)
        self.positives += sum(labels)
        self.advance(self.questions, self.total, id)


def _convert(data: "Dataset", out: str, to: Target, *, impossible: bool, seed: int, tally: _Tally) -> None:
    from quoth.datasets import (
        SelectionDataset,
        SpanDataset,
        TriggeringDataset,
        iter_selection,
        iter_triggering,
        selection_to_squad,
        write_selection,
        write_squad,
        write_triggering,
    )

    if to is Target.AS2 and isinstance(data, SpanDataset):
        write_selection(tally.selection(iter_selection(data, impossible=impossible)), out)
    elif to is Target.AS2 and isinstance(data, SelectionDataset):
        write_selection(tally.selection(data.questions), out)
    elif to is Target.TRIGGERING and isinstance(data, SpanDataset):
        write_triggering(tally.triggering(iter_triggering(data, seed=seed)), out)
    elif to is Target.TRIGGERING and isinstance(data, TriggeringDataset):
        write_triggering(tally.triggering(data.questions), out)
    elif to is Target.SQUAD and isinstance(data, SpanDataset | SelectionDataset):
        spans: SpanDataset = data if isinstance(data, SpanDataset) else selection_to_squad(data)
        tally.left_out = len(data.questions) - len(spans.questions)
        tally.questions = write_squad(spans, out)
    else:
        raise InputError(
            f"{data.name} ({type(data).__name__}) cannot be converted to {to.value}.",
            hint="Spans become as2, triggering or squad; sentence selection becomes squad or as2.",
        )


def _print_profile(file: str, found: "Profile") -> None:
    say(f"{file}: {found.task}, split {found.split}")
    say(
        f"  {found.questions} questions, {found.texts} texts, {found.documents} documents"
        + (f", {found.pairs} pairs ({found.positives} positive)" if found.pairs else "")
        + (f", {found.unanswerable:.1%} unanswerable" if found.task != "retrieval" else "")
    )
    rows = [
        _length_row("question, words", found.question_words),
        _length_row("text, words", found.text_words),
        _length_row("answers per question", found.answers),
        _length_row("answer, words", found.answer_words),
    ]
    table(
        [row for row in rows if row[1]], ("length", "n", "min", "median", "mean", "p95", "max", "at most 5")
    )
    shares = ((kind, n, n / max(found.questions, 1)) for kind, n in found.question_types.items() if n)
    table(list(shares), ("question type", "n", "share"))


def _length_row(name: str, found: "Lengths") -> tuple[object, ...]:
    return (name, found.n, found.minimum, found.median, found.mean, found.p95, found.maximum, found.short)
