"""``quoth eval``: run our parts over a data set, judge them, report."""

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.cli.compare import compare
from quoth.cli.evaluating import (
    Run,
    asked,
    data_name,
    finish,
    ranker_named,
    resuming,
    sample,
    searched,
    selection_data,
    span_data,
    trigger_data,
)
from quoth.cli.output import IndexOption, Json, Quiet
from quoth.errors import InputError

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
Retrieve = Annotated[str | None, typer.Option(help="auto, lexical, dense, hybrid, or one plugged in.")]
KS = (1, 3, 5, 10, 20)


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
    dataset = span_data(data)
    cases = sample(span_cases(dataset), run)
    threshold = assemble.threshold_of(run.settings) or 0.0
    part, facts = assemble.open_whole_reader(run.settings), assemble.system_facts(run.settings)
    with resuming(run, facts) as running:
        found = evaluate_reader(
            part, cases, title=f"{assemble.reader_name(run.settings)} on {data.name}",
            null_threshold=threshold, split=dataset.split, seed=seed, running=running,
        )  # fmt: skip
    finish(run, found, dataset.split, len(cases), facts)


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
    cases, split = asked(data)
    cases = sample([case for case in cases if case.answers], run)
    with searched(run, index) as library:
        facts = assemble.system_facts(run.settings, retriever=library.store)
        expanded = assemble.expanding(library)
        with resuming(run, facts) as running:
            found = evaluate_retriever(
                expanded, cases, title=f"{assemble.retriever_name(library)} on {data.name}",
                ks=sorted({*(x for x in KS if x < k), k}), split=split, seed=seed, running=running,
            )  # fmt: skip
    finish(run, found, split, len(cases), facts)


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
    cases, split = asked(data)
    cases = sample(cases, run)
    with searched(run, index) as library:
        facts = assemble.system_facts(run.settings, retriever=library.store)
        alone: list[dict[str, Any]] = []
        if all(case.passage for case in cases):
            with resuming(replace(run, kind="system-reader"), facts) as running:
                alone = run_reader(library.pipeline.reader, cases, running=running)
        with resuming(run, facts) as running:
            found = evaluate_system(
                without_quoting(library.pipeline).ask, cases,
                title=f"{assemble.reader_name(run.settings)}, {run.settings['profile'].value}, on {data.name}",
                reader_rows=alone, split=split, seed=seed, running=running,
            )  # fmt: skip
    finish(run, found, split, len(cases), facts)


@evaluate.command("sentences")
def sentences(
    data: Data,
    ranker: Annotated[
        str, typer.Option(help="constant, count, idf, bm25, tfidf, types, reader, or one plugged in.")
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

    run = Run("sentences", data, settings.load(options={"reader": reader}), limit, seed, report, as_json, quiet,
              ranker)  # fmt: skip
    dataset = selection_data(data)
    cases = sample(selection_cases(dataset), run)
    facts = assemble.system_facts(run.settings if ranker == "reader" else {}, parts={"ranker": ranker})
    with resuming(run, facts) as running:
        found = evaluate_sentences(
            ranker_named(ranker, run.settings), cases, title=f"{ranker} on {data.name}",
            floors=assemble.floors(), split=dataset.split, seed=seed, running=running,
        )  # fmt: skip
    finish(run, found, dataset.split, len(cases), facts)


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
    from quoth.evaluate import evaluate_triggering, refuse_test, tune_triggering
    from quoth.evaluate.harness import run_ranker, run_sections
    from quoth.evaluate.rankings import ranking_run

    if (threshold is None) == (tune_on is None):
        raise InputError("Give --threshold, or --tune-on with a data set.")
    run = Run("triggering", data, settings.load(options={"reader": reader}), limit, seed, report, as_json, quiet,
              ranker)  # fmt: skip
    part = ranker_named(ranker, run.settings)
    facts = assemble.system_facts(run.settings if ranker == "reader" else {}, parts={"ranker": ranker})
    cases, split, level = trigger_data(data)
    cases = sample(cases, run)
    value, tuned_on, said = threshold or 0.0, "", ""
    if tune_on is not None:
        others, other_split, other_level = trigger_data(tune_on)
        said = refuse_test(other_split, this_is_test, doing="tuning a threshold")
        if other_level != level:
            raise InputError(f"{tune_on} is of {other_level}s, {data} of {level}s; both must be alike.")
        with resuming(replace(run, kind="triggering-tuning", data=tune_on, limit=0), facts) as running:
            rows = (run_sections if level == "section" else run_ranker)(part, others, running=running)
        tuned = tune_triggering(
            [c.gold for c in others], ranking_run(rows, others), level=level, split=other_split,
            name=data_name(tune_on, data), allow_test=this_is_test,
        )  # fmt: skip
        value, tuned_on = tuned.threshold, tuned.tuned_on
    with resuming(run, facts) as running:
        found = evaluate_triggering(
            part, cases, title=f"{ranker} on {data.name}", threshold=value, tuned_on=tuned_on,
            scored_on=data_name(data, tune_on), running=running,
        )  # fmt: skip
    if said:
        found = replace(found, notes=(*found.notes, said))
    finish(run, found, split, len(cases), facts)


COMMANDS = ((compare, "compare"),)
