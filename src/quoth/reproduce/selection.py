"""SelQA: every ranker that we have on answer sentence selection, and triggering on sections."""

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from quoth.datasets import (
    TriggeringDataset,
    load_selqa,
    load_selqa_triggering,
    load_squad,
    squad_to_triggering,
)
from quoth.evaluate import RankCase, score_ranking, selection_cases, trigger_cases
from quoth.evaluate.bins import score_bins
from quoth.evaluate.breakdown import ORDERS
from quoth.evaluate.harness import run_ranker
from quoth.evaluate.ranking import RankingScores, Run
from quoth.evaluate.rankings import ranking_run
from quoth.protocols import Ranker
from quoth.reproduce.corpus import DEV
from quoth.reproduce.measuring import aligned, every_ranker, file_facts, keeping, mean_row, plain, sampled
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.reproduce.triggering import section_rows

Made = Mapping[str, tuple[Ranker, Mapping[str, str]]]

SELQA = "selqa/ass/selqa-ass-dev.json"
SAMPLES = "selqa/samples/answer_triggering_analysis.zip"
SECTIONS = 5
TRIGGERED = 1_000
EXPECTED = {"bm25": "(expected about .84)"}


def run(inputs: Inputs) -> Outcome:
    """Rank the sections' sentences of SelQA dev with every ranker, then decide on sections."""
    path = inputs.file(SELQA)
    cases = sampled(selection_cases(load_selqa(path)), inputs)
    facts = file_facts(path)
    runs: dict[str, Run] = {}
    made = every_ranker(inputs.settings)
    for name, (ranker, depends) in made.items():
        found = run_ranker(
            ranker, cases, running=keeping(inputs, f"selqa-{plain(name)}", {**facts, **depends})
        )
        runs[name] = ranking_run(found, cases)
    rows: list[Row] = []
    scored: dict[str, RankingScores] = {}
    for name, one in runs.items():
        scored[name], some = _ranked(name, one, cases)
        rows += some
    tables, chart = _bins(scored, cases)
    rows += _samples(inputs, made)
    rows += _five(inputs, made)
    return Outcome(
        tuple(rows),
        (
            f"SelQA dev, {len(cases):,} of its 785 questions; the test set is kept aside, and nothing here was trained "
            "on SelQA. A dev figure is no final result",
            "the card's recipe ('card') takes one gold sentence a question and drops questions whose gold is not "
            "found: it stands beside the others, never alone",
            "SelQA's triggering sets are not at hand but for a few questions a split in their format; the five-section "
            "sets are made of SQuAD 2.0 dev (the question's paragraph and four others of its article)",
            "the card's F1 is named question-level and compares one decision a section: both levels are given",
        ),
        (chart,),
        tuple(tables),
    )


def _ranked(name: str, one: Run, cases: Sequence[RankCase]) -> tuple[RankingScores, list[Row]]:
    """Return the has-positive scores of a ranker, and its rows under three conventions."""
    gold = [case.gold for case in cases]
    group = {case.gold.id: case.group for case in cases}
    main = score_ranking(gold, one, convention="has-positive")
    groups = [group[id] for id in main.ids]
    ties = main.ties
    rows = []
    for column, label in (("AP", "MAP"), ("RR", "MRR"), ("P@1", "P@1"), ("hit@5", "hit@5")):
        how = f"has-positive; expected over ties {ties[f'expected_{label}']:.4f}"
        how += f" ({ties['questions']} questions with ties that matter)" if label == "MAP" else ""
        expected = EXPECTED.get(name, "") if label == "MAP" else ""
        rows.append(mean_row(f"{name}: {label}", expected, main.columns[column], groups, how))
    for convention, only in (("clean", ("MAP", "MRR", "P@1")), ("card", ("MRR",))):
        found = score_ranking(gold, one, convention=convention)  # type: ignore[arg-type]  # two of the names
        for label in only:
            how = f"n={found.n:,}; {convention}" + (
                f", {found.dropped} dropped" if convention == "card" else ""
            )
            rows.append(Row(f"{name}: {label}/{convention}", "", found.metrics[label], how))
    return main, rows


def _bins(scored: Mapping[str, RankingScores], cases: Sequence[RankCase]) -> tuple[list[str], Chart]:
    """Return MAP by every way of grouping as text, and by word overlap as a chart."""
    first = next(iter(scored.values()))
    place = {case.gold.id: case for case in cases}
    taken = [place[id] for id in first.ids]
    columns = {name: s.columns["AP"] for name, s in scored.items()}
    ways = list(dict.fromkeys(way for case in taken for way in case.bins))
    tables, points = [], {name: list[tuple[float, float]]() for name in columns}
    for way in ways:
        at = [i for i, case in enumerate(taken) if way in case.bins]
        bins = score_bins(
            {name: column[at] for name, column in columns.items()},
            [taken[i].bins[way] for i in at],
            order=ORDERS.get(way, ()),
            groups=[taken[i].group for i in at],
        )
        lines = [[way, "n", *columns]]
        lines += [[b.key, f"{b.n:,}", *(f"{b.figures[name].value:.3f}" for name in columns)] for b in bins]
        tables.append(f"MAP (has-positive) by {way}\n" + aligned(lines))
        if way == "word overlap":
            for b in bins:
                middle = _middle(b.key)
                for name in columns:
                    points[name].append((middle, b.figures[name].value))
    curves = tuple(Curve(name, tuple(p)) for name, p in points.items())
    return tables, Chart(
        "MAP by word overlap", "question words in the answer, per cent (middle of the bin)", "MAP", curves
    )


def _middle(label: str) -> float:
    low, _, high = label.rstrip("%").partition("-")
    return (float(low) + float(high or low)) / 2 if low.isdigit() else 0.0


def _samples(inputs: Inputs, made: Made) -> list[Row]:
    """Trigger on the format samples: tuned on the dev one, applied to the test one."""
    dev, test = _sample(inputs, "dev"), _sample(inputs, "test")
    rows = []
    for name, (ranker, _) in made.items():
        if name != "bm25" and not name.startswith("reader"):
            continue
        rows += section_rows(
            f"format sample, {name}",
            ranker,
            trigger_cases(test),
            tune_on=trigger_cases(dev),
            how=f"tuned on the dev sample ({len(dev.questions)} questions): for the format, no figure to rely on",
        )
    return rows


def _sample(inputs: Inputs, split: str) -> TriggeringDataset:
    name = f"selqa-at-{split}.json"
    with zipfile.ZipFile(io.BytesIO(inputs.file(SAMPLES).read_bytes())) as archive:
        member = next(m for m in archive.namelist() if m.endswith(name))
        path = Path(inputs.work) / name
        path.write_bytes(archive.read(member))
    return load_selqa_triggering(path)


def _five(inputs: Inputs, made: Made) -> list[Row]:
    """Trigger on five sections a question, of SQuAD 2.0 dev: tuned on half of the articles, applied to the other."""
    path = inputs.file(DEV)
    cases = sampled(
        trigger_cases(squad_to_triggering(load_squad(path), sections=SECTIONS)), inputs, otherwise=TRIGGERED
    )
    facts = {**file_facts(path), "sections": str(SECTIONS)}
    rows = []
    for name, (ranker, depends) in made.items():
        rows += section_rows(
            f"SQuAD 2.0 dev, five sections, {name}",
            ranker,
            cases,
            running=keeping(inputs, f"sections-{plain(name)}", {**facts, **depends}),
            how="each half of the articles with the threshold of the other",
        )
    return rows


RECIPES = (
    Recipe(
        "selqa",
        "answer sentence selection on SelQA dev with every ranker, by bins; triggering on five sections",
        "eval card: SelQA (Jurczyk et al., 2016)",
        run,
    ),
)
