"""``quoth eval`` and ``quoth compare``: run our parts, judge them, report."""

import hashlib
import json
import os
import random
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from quoth.cli.output import IndexOption, Json, Quiet, emit, note, progress, say, table
from quoth.errors import InputError

if TYPE_CHECKING:
    from quoth.datasets import SelectionDataset, SpanDataset
    from quoth.evaluate import Case, Evaluation, Running, SystemFacts
    from quoth.protocols import Ranker, Retriever
    from quoth.settings import Chosen

T = TypeVar("T")

evaluate = typer.Typer(
    help="Run a part over a data set and judge it, with intervals and conventions.", no_args_is_help=True
)

Data = Annotated[Path, typer.Option(help="The data set.")]
Limit = Annotated[int, typer.Option(min=0, help="A random sample of so many questions (0: all).")]
Seed = Annotated[int, typer.Option(help="For the sample and the intervals.")]
Report = Annotated[
    Path | None, typer.Option(help="Write manifest, figures, tables, plots and a page into this folder.")
]
Reader = Annotated[str | None, typer.Option(help="small, large, a folder, or a Hugging Face name.")]
Profile = Annotated[str | None, typer.Option(help="fast, balanced or thorough.")]
Read = Annotated[str | None, typer.Option(help="joint, concatenate or each.")]
Threshold = Annotated[str | None, typer.Option(help="No answer when the null odds exceed this.")]
Retrieve = Annotated[str | None, typer.Option(help="lexical, dense or hybrid.")]
KS = (1, 3, 5, 10, 20)


@dataclass(frozen=True, slots=True)
class Run:
    """What one evaluation is made of, as the options gave it."""

    kind: str
    data: Path
    settings: "Mapping[str, Chosen]"
    limit: int
    seed: int
    report: Path | None
    as_json: bool
    quiet: bool
    extra: str = ""


@evaluate.command("reader")
def reader(
    data: Data,
    reader: Reader = None,
    null_threshold: Threshold = None,
    max_answer_tokens: Annotated[int | None, typer.Option(help="The longest answer.")] = None,
    limit: Limit = 0,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Read each question's own passage, whole: EM and F1 with and without answers, best thresholds.

    The threshold is 0 unless one is given: what ships with a reader was fitted for retrieved passages.

    Example:

        quoth eval reader --data dev-v2.0.json --reader large --report reports/large
    """
    from quoth import assemble, settings
    from quoth.evaluate import evaluate_reader, span_cases

    options = {"reader": reader, "null_threshold": null_threshold, "max_answer_tokens": max_answer_tokens}
    run = Run("reader", data, settings.load(options=options), limit, seed, report, as_json, quiet)
    dataset = _spans(data)
    cases = _sample(span_cases(dataset), run)
    threshold = assemble.threshold_of(run.settings) or 0.0
    part = assemble.open_whole_reader(run.settings)
    with _running(run, len(cases)) as running:
        found = evaluate_reader(
            part, cases, title=f"{assemble.reader_name(run.settings)} on {data.name}",
            null_threshold=threshold, split=dataset.split, seed=seed, running=running,
        )  # fmt: skip
    _finish(run, found, dataset.split, len(cases), assemble.system_facts(run.settings))


@evaluate.command("retriever")
def retriever(
    data: Data,
    retriever: Retrieve = None,
    analyzer: Annotated[str | None, typer.Option(help="For the data set's own passages.")] = None,
    expand: Annotated[str | None, typer.Option(help="Expanders, separated by commas.")] = None,
    k: Annotated[int, typer.Option("-k", "--k", min=1, help="The deepest rank that is judged.")] = 20,
    index: IndexOption = None,
    limit: Limit = 0,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Retrieve for each answerable question: recall@k, mAP and nDCG by answer string and by gold passage; time.

    Without --index the data set's own passages are indexed first.

    Example:

        quoth eval retriever --data dev-v2.0.json --analyzer standard -k 20
    """
    from quoth import assemble, settings
    from quoth.evaluate import evaluate_retriever

    options = {"retriever": retriever, "analyzer": analyzer, "expand": expand}
    run = Run(
        "retriever", data, settings.load(options=options), limit, seed, report, as_json, quiet, f"{index}:{k}"
    )
    cases, split = _asked(data)
    cases = _sample([case for case in cases if case.answers], run)
    with _index(run, index) as opened, _running(run, len(cases)) as running:
        expanded = assemble.expanding(opened, run.settings)
        found = evaluate_retriever(
            expanded, cases, title=f"{assemble.retriever_name(opened, run.settings)} on {data.name}",
            ks=sorted({*(x for x in KS if x < k), k}), split=split, seed=seed, running=running,
        )  # fmt: skip
        facts = assemble.system_facts(run.settings, retriever=opened)
    _finish(run, found, split, len(cases), facts)


@evaluate.command("system")
def system(
    data: Data,
    reader: Reader = None,
    profile: Profile = None,
    read: Read = None,
    retriever: Retrieve = None,
    ranker: Annotated[str | None, typer.Option(help="Ranks the passages before they are read.")] = None,
    k: Annotated[int | None, typer.Option("-k", "--k", help="Passages taken from the retriever.")] = None,
    null_threshold: Threshold = None,
    index: IndexOption = None,
    limit: Limit = 0,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Ask each question of the whole system: EM and F1, any of the top k, beside the reader alone; time by stage.

    Example:

        quoth eval system --data dev-v2.0.json --limit 500 --profile fast
    """
    from quoth import assemble, settings
    from quoth.evaluate import evaluate_system
    from quoth.evaluate.harness import run_reader
    from quoth.pipeline import without_quoting

    options = {
        "reader": reader, "profile": profile, "read": read, "retriever": retriever, "ranker": ranker, "k": k,
        "null_threshold": null_threshold,
    }  # fmt: skip
    run = Run("system", data, settings.load(options=options), limit, seed, report, as_json, quiet, str(index))
    cases, split = _asked(data)
    cases = _sample(cases, run)
    with _index(run, index) as opened:
        library = assemble.Library(opened, settings=run.settings, root=Path.cwd())
        alone: list[dict[str, Any]] = []
        if all(case.passage for case in cases):
            with _running(replace(run, kind="system-reader"), len(cases)) as running:
                alone = run_reader(library.pipeline.reader, cases, running=running)
        with _running(run, len(cases)) as running:
            found = evaluate_system(
                without_quoting(library.pipeline).ask, cases,
                title=f"{assemble.reader_name(run.settings)}, {run.settings['profile'].value}, on {data.name}",
                reader_rows=alone, split=split, seed=seed, running=running,
            )  # fmt: skip
        facts = assemble.system_facts(run.settings, retriever=opened)
    _finish(run, found, split, len(cases), facts)


@evaluate.command("sentences")
def sentences(
    data: Data,
    ranker: Annotated[
        str, typer.Option(help="constant, count, idf, bm25, tfidf, reader, or one plugged in.")
    ] = "bm25",
    reader: Reader = None,
    limit: Limit = 0,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Rank each question's candidate sentences (AS2): MAP, MRR, P@1, beside the lexical floors, with bins.

    `--ranker reader` ranks by the reader's best span inside each sentence.

    Example:

        quoth eval sentences --data WikiQA-dev.tsv --ranker bm25
    """
    from quoth import assemble, settings
    from quoth.evaluate import evaluate_sentences, selection_cases

    run = Run(
        "sentences",
        data,
        settings.load(options={"reader": reader}),
        limit,
        seed,
        report,
        as_json,
        quiet,
        ranker,
    )
    dataset = _selection(data)
    cases = _sample(selection_cases(dataset), run)
    with _running(run, len(cases)) as running:
        found = evaluate_sentences(
            _ranker(ranker, run.settings), cases, title=f"{ranker} on {data.name}",
            floors=assemble.floors(), split=dataset.split, seed=seed, running=running,
        )  # fmt: skip
    facts = assemble.system_facts(run.settings if ranker == "reader" else {}, parts={"ranker": ranker})
    _finish(run, found, dataset.split, len(cases), facts)


@evaluate.command("triggering")
def triggering(
    data: Data,
    ranker: Annotated[str, typer.Option(help="As for `eval sentences`.")] = "bm25",
    reader: Reader = None,
    threshold: Annotated[float | None, typer.Option(help="Trigger where the score reaches this.")] = None,
    tune_on: Annotated[Path | None, typer.Option(help="Tune the threshold on this data set, for F1.")] = None,
    this_is_test: Annotated[
        bool, typer.Option("--i-know-this-is-test", help="Tune on a test split all the same.")
    ] = False,
    limit: Limit = 0,
    seed: Seed = 0,
    report: Report = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Decide for each question (or section) whether its best sentence is given: precision, recall, F1.

    Example:

        quoth eval triggering --data WikiQA-test.tsv --ranker reader --tune-on WikiQA-dev.tsv
    """
    from quoth import assemble, settings
    from quoth.evaluate import evaluate_triggering, tune_triggering
    from quoth.evaluate.harness import run_ranker, run_sections
    from quoth.evaluate.rankings import ranking_run

    if (threshold is None) == (tune_on is None):
        raise InputError("Give --threshold, or --tune-on with a data set.")
    run = Run("triggering", data, settings.load(options={"reader": reader}), limit, seed, report, as_json, quiet,
              f"{ranker}:{threshold}:{tune_on}")  # fmt: skip
    part = _ranker(ranker, run.settings)
    value, tuned_on = threshold or 0.0, ""
    if tune_on is not None:
        other, split, level = _trigger_cases(tune_on)
        with _running(replace(run, kind="triggering-dev", data=tune_on, limit=0), len(other)) as running:
            rows = (run_sections if level == "section" else run_ranker)(part, other, running=running)
        tuned = tune_triggering(
            [c.gold for c in other], ranking_run(rows, other), level=level, split=split, name=str(tune_on),
            allow_test=this_is_test,
        )  # fmt: skip
        value, tuned_on = tuned.threshold, tuned.tuned_on
    cases, split, _ = _trigger_cases(data)
    cases = _sample(cases, run)
    with _running(run, len(cases)) as running:
        found = evaluate_triggering(
            part, cases, title=f"{ranker} on {data.name}", threshold=value, tuned_on=tuned_on,
            scored_on=str(data), running=running,
        )  # fmt: skip
    facts = assemble.system_facts(run.settings if ranker == "reader" else {}, parts={"ranker": ranker})
    _finish(run, found, split, len(cases), facts)


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
    scores = [read_questions(f, name=_run_name(f)) for f in files]
    pairs = paired(scores, metrics=metric or (), seed=seed)
    found = comparison(scores, metrics=metric or (), seed=seed)
    if report is not None:
        manifest = make_manifest(
            "compare", data=DataFacts(", ".join(map(str, files)), "", len(scores[0].ids)), system=SystemFacts(),
            conventions=found.conventions, seed=seed, command=sys.argv[1:],
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


def _run_name(file: Path) -> str:
    return file.parent.name if file.name == "questions.csv" else file.stem


def _spans(path: Path) -> "SpanDataset":
    from quoth.datasets import SpanDataset, load

    data = load(path)
    if not isinstance(data, SpanDataset):
        raise InputError(
            f"{path} holds no questions with spans.", hint="`quoth data describe` says what it is."
        )
    return data


def _selection(path: Path) -> "SelectionDataset":
    from quoth.datasets import SelectionDataset, load

    data = load(path)
    if not isinstance(data, SelectionDataset):
        raise InputError(
            f"{path} holds no candidate sentences.", hint="`quoth data convert --to as2` makes them."
        )
    return data


def _asked(path: Path) -> "tuple[list[Case], str]":
    from quoth.datasets import OpenDataset, SpanDataset, load
    from quoth.evaluate import open_cases, span_cases

    data = load(path)
    if isinstance(data, SpanDataset):
        return span_cases(data), data.split
    if isinstance(data, OpenDataset):
        return open_cases(data), data.split
    raise InputError(
        f"{path} holds no questions with answers.", hint="`quoth data describe` says what it is."
    )


def _trigger_cases(path: Path) -> tuple[list[Any], str, Any]:
    from quoth.datasets import TriggeringDataset, load
    from quoth.evaluate import selection_cases, trigger_cases

    data = load(path)
    if isinstance(data, TriggeringDataset):
        return list(trigger_cases(data)), data.split, "section"
    return list(selection_cases(_selection(path))), data.split, "question"


def _ranker(name: str, settings: "Mapping[str, Chosen]") -> "Ranker":
    from quoth import assemble
    from quoth.rank import SpanSentenceRanker

    if name == "reader":
        return SpanSentenceRanker(assemble.open_whole_reader(settings))
    ranker = assemble.open_ranker(name)
    if ranker is None:
        raise InputError("--ranker none ranks nothing.", hint="`constant` is the floor of file order.")
    return ranker


def _sample(items: Sequence[T], run: Run) -> list[T]:
    if not run.limit or run.limit >= len(items):
        return list(items)
    picked = sorted(random.Random(run.seed).sample(range(len(items)), run.limit))
    return [items[i] for i in picked]


@contextmanager
def _index(run: Run, index: str | None) -> "Iterator[Retriever]":
    """Yield the index that is named, or one of the data set's own passages in a folder that goes again."""
    from quoth import assemble

    if index is not None:
        address = assemble.address_of(index)
        with assemble.Library(
            assemble.open_retriever(address, run.settings), settings=run.settings, root=address.root
        ) as library:
            yield library.retriever
        return
    documents = assemble.documents_of(run.data)
    with tempfile.TemporaryDirectory(prefix="quoth-") as folder:
        note(
            f"indexing the {sum(len(d.paragraphs) or 1 for d in documents)} passages of {run.data.name}",
            quiet=run.quiet,
        )
        opened = assemble.index_documents(Path(folder) / assemble.INDEX_FOLDER, documents, run.settings)
        try:
            yield assemble.with_vectors(opened, Path(folder) / assemble.INDEX_FOLDER, run.settings)
        finally:
            opened.close()


@contextmanager
def _running(run: Run, total: int) -> "Iterator[Running]":
    """Yield how to run: rows are kept until the evaluation is done, so that an interrupted one goes on."""
    from quoth.evaluate import Running, file_sha256

    depends = {name: str(chosen.value) for name, chosen in run.settings.items()}
    depends |= {
        "kind": run.kind, "data": file_sha256(run.data) if run.data.is_file() else str(run.data),
        "limit": str(run.limit), "seed": str(run.seed), "extra": run.extra,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(depends, sort_keys=True).encode()).hexdigest()[:16]
    resume = _cache() / f"{run.kind}-{digest}.jsonl"
    with progress(f"Evaluating {run.kind}", quiet=run.quiet) as advance:
        if resume.exists():
            note(f"going on with an interrupted run ({resume.name})", quiet=run.quiet)
        tell: Callable[[int, int], None] = lambda done, whole: advance(done, whole, "")  # noqa: E731
        yield Running(resume=resume, settings=depends, progress=tell)
    resume.unlink(missing_ok=True)


def _cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    folder = Path(base) / "quoth" / "eval"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _finish(run: Run, found: "Evaluation", split: str, n: int, facts: "SystemFacts") -> None:
    from quoth.evaluate import DataFacts, file_sha256, make_manifest, write_report

    sha = file_sha256(run.data) if run.data.is_file() else ""
    sampled = f"a random sample, seed {run.seed}" if run.limit else ""
    manifest = make_manifest(
        run.kind, data=DataFacts(run.data.name, split, n, sha, sampled), system=facts,
        conventions=found.conventions, seed=run.seed, command=["quoth", *sys.argv[1:]],
    )  # fmt: skip
    if run.report is not None:
        files, notes = write_report(found, manifest, run.report)
        note(f"report: {files[0]}", quiet=run.quiet)
        for remark in notes:
            note(remark, quiet=run.quiet)
    if run.as_json:
        emit(f"eval-{run.kind}/1", {**found.as_dict(), "manifest": manifest.as_dict()})
        return
    say(found.title)
    for figure in found.figures:
        say(f"  {figure}")
    for part in found.tables[:4]:
        say(f"\n{part.title}")
        table(part.rows, part.header)
    say()
    for name, meaning in found.conventions.items():
        say(f"  ({name}: {meaning})")
    for remark in found.notes:
        note(remark, quiet=run.quiet)


COMMANDS = ((compare, "compare"),)
