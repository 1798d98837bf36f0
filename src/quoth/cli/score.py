"""``quoth score``: judge files of predictions and runs, with no model at all."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quoth.cli.evaluating import data_name
from quoth.cli.output import Json, Quiet, emit, note, say, table
from quoth.errors import InputError

if TYPE_CHECKING:
    from quoth.evaluate import GoldRanking
    from quoth.evaluate.ranking import RankingScores

score = typer.Typer(
    help="Judge predictions and runs: official definitions, conventions printed.", no_args_is_help=True
)

GoldFile = Annotated[Path, typer.Option(help="The gold file.")]
RunFile = Annotated[Path, typer.Option(help="A TREC run: qid Q0 candidate rank score tag.")]


@score.command("spans")
def spans(
    gold: Annotated[Path, typer.Option(help="A data set in SQuAD format, also gzipped.")],
    predictions: Annotated[Path, typer.Option(help="JSON: question id -> answer text (empty: no answer).")],
    null_odds: Annotated[
        Path | None, typer.Option(help="JSON: question id -> null score less best span.")
    ] = None,
    null_threshold: Annotated[
        float | None, typer.Option(help="No answer when the null odds exceed this.")
    ] = None,
    missing: Annotated[
        str, typer.Option(help="A missing prediction is wrong, or skip leaves it out.")
    ] = "wrong",
    rule: Annotated[str, typer.Option(help="squad-v2 or squad-v1: whose official script.")] = "squad-v2",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score answer spans: EM and F1 as the official SQuAD scripts define them, to the last digit.

    Example:

        quoth score spans --gold dev-v2.0.json --predictions predictions.json --null-odds null_odds.json
    """
    from quoth.datasets import load_squad
    from quoth.evaluate import GoldSpans, score_spans
    from quoth.evaluate.runs import read_null_odds, read_predictions

    questions = load_squad(gold).questions
    scored = score_spans(
        [GoldSpans(q.id, tuple(a.text for a in q.answers)) for q in questions],
        read_predictions(predictions),
        null_odds=read_null_odds(null_odds) if null_odds else None,
        null_threshold=null_threshold,
        missing=_choice("--missing", missing, ("wrong", "skip")),  # type: ignore[arg-type]  # one of these
        rule=_choice("--rule", rule, ("squad-v2", "squad-v1")),  # type: ignore[arg-type]  # one of these
    )
    if scored.missing:
        counted = "count as wrong" if missing == "wrong" else "are left out"
        note(f"{len(scored.missing):,} questions have no prediction and {counted}.", quiet=quiet)
    body = {**scored.metrics, "extra": scored.extra, "f1_set": scored.f1_of_sets}
    _show("score-spans/1", body, scored.conventions, as_json=as_json)


@score.command("ranking")
def ranking(
    gold: GoldFile,
    run: RunFile,
    convention: Annotated[
        str, typer.Option(help="clean, has-positive, all or card (the eval card's own recipe).")
    ] = "clean",
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score a ranking of sentences (MAP, MRR, P@1, hit@k) or of documents against qrels (MAP, nDCG@10).

    Gold: WikiQA TSV, SelQA JSON or TSV, TREC-QA XML, ASNQ, or a qrels file.

    Example:

        quoth score ranking --gold WikiQA-test.tsv --run bm25.trec --convention has-positive
    """
    from quoth.evaluate import score_judged, score_ranking
    from quoth.evaluate.ranking import Convention
    from quoth.evaluate.runs import read_qrels, read_run

    scores = read_run(run)
    if _is_qrels(gold):
        judged = score_judged(read_qrels(gold), scores)
        _show("score-ranking/1", {"metrics": judged.metrics, "n": len(judged.ids)},
              judged.conventions, as_json=as_json)  # fmt: skip
        return
    names: tuple[Convention, ...] = ("clean", "has-positive", "all", "card")
    chosen = _choice("--convention", convention, names)
    golds = _selection_gold(gold)
    found = score_ranking(golds, scores, convention=chosen)  # type: ignore[arg-type]  # one of the names
    if found.missing_questions:
        note(f"{len(found.missing_questions):,} questions are not in the run.", quiet=quiet)
    if as_json:
        body = {"metrics": found.metrics, "n": found.n, "ties": found.ties}
        _show("score-ranking/1", body, found.conventions, as_json=True)
        return
    shown = dict.fromkeys(("has-positive", "clean", chosen))
    _print_rankings({name: score_ranking(golds, scores, convention=name) for name in shown})  # type: ignore[arg-type]
    _print_conventions(found.conventions)


@score.command("triggering")
def triggering(
    gold: GoldFile,
    run: RunFile,
    level: Annotated[str, typer.Option(help="question or section.")] = "question",
    threshold: Annotated[float | None, typer.Option(help="Trigger where the score reaches this.")] = None,
    tune_on: Annotated[
        tuple[Path, Path] | None,
        typer.Option(metavar="GOLD RUN", help="Tune the threshold on this pair, for F1."),
    ] = None,
    this_is_test: Annotated[
        bool,
        typer.Option("--i-know-this-is-test", help="Tune on a test split all the same; the result says so."),
    ] = False,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Score answer triggering: is the top sentence given, and should it have been?

    Example:

        quoth score triggering --gold WikiQA-test.tsv --run test.trec --tune-on WikiQA-dev.tsv dev.trec
    """
    from quoth.datasets import load
    from quoth.evaluate import score_triggering, tune_triggering
    from quoth.evaluate.runs import read_run

    at = _choice("--level", level, ("question", "section"))
    if (threshold is None) == (tune_on is None):
        raise InputError("Give --threshold, or --tune-on with a gold file and a run.")
    tuned_on, value = "", threshold
    if tune_on is not None:
        data = load(tune_on[0])
        tuned = tune_triggering(
            _triggering_gold(tune_on[0]), read_run(tune_on[1]), level=at,  # type: ignore[arg-type]  # one of the two
            split=data.split, name=data_name(tune_on[0], gold), allow_test=this_is_test,
        )  # fmt: skip
        tuned_on, value = tuned.tuned_on, tuned.threshold
        if data.split == "test":
            note("The threshold was tuned on a test split, as was asked for.", quiet=quiet)
    scored = score_triggering(
        _triggering_gold(gold), read_run(run), level=at, threshold=float(value or 0.0),  # type: ignore[arg-type]
        tuned_on=tuned_on, scored_on=data_name(gold, tune_on[0] if tune_on else None),
    )  # fmt: skip
    body = {
        **scored.metrics,
        "threshold": scored.threshold,
        "n": len(scored.ids),
        "tuned_on": scored.tuned_on,
    }
    _show("score-triggering/1", body, scored.conventions, as_json=as_json)


def _selection_gold(path: Path) -> "Sequence[GoldRanking]":
    from quoth.datasets import SelectionDataset, load
    from quoth.evaluate import selection_cases

    data = load(path)
    if not isinstance(data, SelectionDataset):
        raise InputError(
            f"{path} holds no candidate sentences to rank.", hint="`quoth data describe` says what it is."
        )
    return [case.gold for case in selection_cases(data)]


def _triggering_gold(path: Path) -> "Sequence[GoldRanking]":
    from quoth.datasets import TriggeringDataset, load
    from quoth.evaluate import trigger_cases

    data = load(path)
    return (
        [c.gold for c in trigger_cases(data)]
        if isinstance(data, TriggeringDataset)
        else _selection_gold(path)
    )


def _is_qrels(path: Path) -> bool:
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline().split()
    except OSError as problem:
        raise InputError(f"{path} cannot be read: {problem.strerror}.", code="missing_file") from problem
    return len(first) == 4 and first[3].lstrip("-").isdigit()


def _choice(option: str, value: str, choices: Sequence[str]) -> str:
    if value not in choices:
        raise InputError(f"{option} is {value!r}; it must be one of {', '.join(choices)}.")
    return value


def _print_rankings(found: "Mapping[str, RankingScores]") -> None:
    names = list(next(iter(found.values())).metrics)
    rows: list[list[Any]] = []
    for convention, scores in found.items():
        rows.append([convention, scores.n, *(scores.metrics[name] for name in names)])
        rows.append(["  expected over ties", scores.n, *(scores.ties[f"expected_{name}"] for name in names)])
    table(rows, ("convention", "n", *names))


def _show(schema: str, body: Mapping[str, Any], conventions: Mapping[str, str], *, as_json: bool) -> None:
    if as_json:
        emit(schema, {**body, "conventions": dict(conventions)})
        return
    for name, value in body.items():
        for key, figure in value.items() if isinstance(value, Mapping) else ((name, value),):
            say(f"{key}: {figure}")
    _print_conventions(conventions)


def _print_conventions(conventions: Mapping[str, str]) -> None:
    for name, meaning in conventions.items():
        say(f"  ({name}: {meaning})")
