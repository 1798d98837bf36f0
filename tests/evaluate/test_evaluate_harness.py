"""Running parts over questions: rows, resuming after a kill, and what the evaluations say of them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from quoth.datasets.records import (
    Context,
    GoldAnswer,
    SelectionCandidate,
    SelectionDataset,
    SelectionQuestion,
    SpanDataset,
    SpanQuestion,
    TriggeringDataset,
    TriggeringQuestion,
    TriggeringSection,
)
from quoth.errors import BackendError, InputError
from quoth.evaluate import (
    Running,
    evaluate_predictions,
    evaluate_reader,
    evaluate_retriever,
    evaluate_sentences,
    evaluate_system,
    evaluate_triggering,
    limited,
    one_question,
    selection_cases,
    side_by_side,
    span_cases,
    span_documents,
    top_k_by_system,
    trigger_cases,
)
from quoth.evaluate.cases import Case
from quoth.evaluate.harness import NO_SPAN, run_ranker, run_reader
from quoth.evaluate.summaries import reader_evaluation
from quoth.types import (
    Answer,
    Candidate,
    Document,
    Evidence,
    Passage,
    Place,
    Query,
    Reading,
    Scored,
    Sentence,
    Span,
    Trace,
)


def dataset(n: int = 40) -> SpanDataset:
    """n questions over n / 4 paragraphs of two documents; every fourth question has no answer."""
    contexts = {}
    questions = []
    for p in range(n // 4):
        document = f"d{p % 2}"
        text = f"Paragraph {p} starts here. The colour of item {p} is shade{p} indeed. It ends."
        context = Context(f"{document}/{p // 2}", f"Title {p % 2}", text, document)
        contexts[context.id] = context
        for q in range(4):
            start = text.index(f"shade{p}")
            answers = (GoldAnswer(f"shade{p}", start),) if q < 3 else ()
            id = f"q{p}-{q}"
            questions.append(
                SpanQuestion(
                    id, f"What is the colour of item {p}, asked {q}?", answers, not answers, context.id
                )
            )
    return SpanDataset("toy", "dev", contexts, tuple(questions))


class FakeReader:
    """Finds the word that begins with "shade"; wrong on one question, sure that "asked 3" has no answer."""

    def __init__(self, on_read: Callable[[int], None] = lambda count: None) -> None:
        self.count = 0
        self.on_read = on_read

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        self.count += 1
        self.on_read(self.count)
        if "item 2, asked 0" in question:
            raise InputError("The question is too long.", code="long_question")
        spans = []
        for i, p in enumerate(passages):
            at = p.text.find("shade")
            if at >= 0:
                end = p.text.index(" ", at)
                word = p.text[at:end]
                spans.append((Scored(Span(p.document_id, p.start + at, p.start + end, word), 5.0 - i), i))
            spans.append((Scored(Span(p.document_id, p.start, p.start + 9, p.text[:9]), 2.0 - i), i))
        spans.sort(key=lambda pair: -pair[0].score)
        if "item 1, asked 0" in question:
            spans = [(Scored(s.item, 9.0 - s.score), i) for s, i in reversed(spans)]
        null = 9.0 if "asked 3" in question else 3.0
        scored, where = tuple(s for s, _ in spans), tuple(i for _, i in spans)
        return Reading(scored, where, null, read=len(passages), windows=1, tokens=20)


class FakeRetriever:
    """Brings the paragraph whose number the question names, behind *late* others."""

    def __init__(self, documents: Sequence[Document], late: int = 0) -> None:
        self.documents = {d.id: d for d in documents}
        self.late = late

    def retrieve(self, query: Query, *, k: int) -> list[Scored[Passage]]:
        number = query.question.split("item ")[1].split(",")[0]
        every = [
            Passage(d.id, a, b, d.text[a:b], d.title)
            for d in self.documents.values()
            for a, b in d.paragraphs
        ]
        right = [p for p in every if f"Paragraph {number} " in p.text]
        wrong = [p for p in every if p not in right][: self.late]
        return [Scored(p, float(9 - i)) for i, p in enumerate([*wrong, *right])][:k]

    def document(self, id: str) -> Document:
        return self.documents[id]


def ask_with(retriever: FakeRetriever) -> Callable[[Query], Trace]:
    """A pipeline of the two fakes."""
    reader = FakeReader()

    def ask(query: Query) -> Trace:
        found = retriever.retrieve(query, k=3)
        reading = reader.read(query.question, [s.item for s in found])
        answers = []
        for scored in reading.spans:
            span = scored.item
            sentence = Sentence(span.document_id, span.start, span.end, span.text)
            evidence = Evidence(span, sentence, Place(None, None, 0), "", "", "", scored.score)
            answers.append(Answer(span, scored.score, 0.5, 0.8, "span", (evidence,)))
        return Trace(
            query=query,
            candidates=tuple(found),
            passages=tuple(found),
            sentences=(),
            reading=reading,
            answers=tuple(answers),
            null_odds=reading.null_odds,
            threshold=0.0,
            timings_ms={"retrieve": 1.0, "read": 2.0},
        )

    return ask


class Overlap:
    """Scores a candidate by the words that it shares with the question."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        asked = set(question.lower().split())
        return [float(len(asked & set(c.text.lower().split()))) for c in candidates]


class Constant:
    """Scores everything alike."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
        return [0.0] * len(candidates)


def selection() -> SelectionDataset:
    """Three questions; the second has no answer, the third only overlaps in a wrong sentence."""
    rows = [
        ("red wine here", [("red wine is here", 1), ("nothing", 0)]),
        ("blue sky there", [("a cloud", 0), ("rain", 0)]),
        ("green grass", [("green paint", 0), ("the lawn", 1)]),
    ]
    return SelectionDataset(
        "toy",
        "dev",
        tuple(
            SelectionQuestion(
                f"q{i}",
                question,
                tuple(
                    SelectionCandidate(f"q{i}-{j}", text, label) for j, (text, label) in enumerate(candidates)
                ),
                topic="ART" if i else "FOOD",
            )
            for i, (question, candidates) in enumerate(rows)
        ),
    )


def without_times(metrics: object) -> dict[str, object]:
    """Metrics less the clock's."""
    return {k: v for k, v in dict(metrics).items() if not k.endswith("_ms")}  # type: ignore[call-overload]


def test_documents_hold_the_paragraphs_where_the_cases_say() -> None:
    """Every passage and every gold answer must be the slice of the document that its offsets name."""
    data = dataset()
    documents = {d.id: d for d in span_documents(data)[0]}
    for case, question in zip(span_cases(data), data.questions, strict=True):
        assert case.passage is not None
        text = documents[case.passage.document_id].text
        assert text[case.passage.start : case.passage.end] == case.passage.text
        assert (case.passage.start, case.passage.end) in documents[case.passage.document_id].paragraphs
        if question.answers:
            assert case.gold is not None
            assert text[case.gold.start : case.gold.end] == question.answers[0].text
        assert case.bins["question type"] == "what"
        assert case.group == case.passage.document_id


def test_extra_keys_make_extra_bins() -> None:
    """Any key function must become a way of grouping."""
    cases = span_cases(dataset(), keys={"asked": lambda question, context: question[-2]})
    assert {case.bins["asked"] for case in cases} == set("0123")


def test_a_reader_is_judged_question_by_question() -> None:
    """Right, wrong, refused and unanswerable questions must all be counted as what they are."""
    cases = span_cases(dataset())
    result = evaluate_reader(FakeReader(), cases, title="fake", split="dev")
    metrics = result.metrics
    assert metrics["total"] == 40
    assert metrics["HasAns_exact"] == pytest.approx(100 * 28 / 30)
    assert metrics["NoAns_exact"] == 100.0
    assert metrics["missing"] == 1
    assert "long_question" in result.notes[0]
    assert metrics["any_of_top_1_exact"] == pytest.approx(metrics["exact"])
    assert metrics["any_of_top_2_exact"] == pytest.approx(100 * 39 / 40)
    assert metrics["median_tokens"] == 20
    assert [f.name for f in result.figures] == ["exact", "f1", "HasAns_exact", "HasAns_f1", "NoAns_exact"]
    assert all(f.low is not None and f.n and f.split == "dev" for f in result.figures)
    assert result.json_files["predictions.json"]["q0-3"] == ""  # type: ignore[index]
    assert result.json_files["best-spans.json"]["q0-3"] == "shade0"  # type: ignore[index]
    assert {plot.name for plot in result.plots} >= {"threshold", "coverage", "top-k"}


def test_a_report_of_predictions_agrees_with_the_run_they_came_from() -> None:
    """Scoring the written predictions must give the figures of the run."""
    cases = span_cases(dataset())
    run = evaluate_reader(FakeReader(), cases, title="fake")
    predictions = run.json_files["predictions.json"]
    again = evaluate_predictions(predictions, cases, title="again")  # type: ignore[arg-type]
    for name in ("exact", "f1", "HasAns_f1", "NoAns_exact", "missing"):
        assert again.metrics[name] == run.metrics[name]


def test_a_threshold_moves_no_answer_within_the_first_k() -> None:
    """With a threshold that answers nothing, "no answer" is first everywhere; k = 2 finds the span again."""
    cases = span_cases(dataset(8))
    rows = run_reader(FakeReader(), cases)
    silent = reader_evaluation(rows, cases, title="x", null_threshold=-1e6)
    assert silent.metrics["NoAns_exact"] == silent.metrics["any_of_top_1_exact"] * 4 == 100.0
    assert silent.metrics["HasAns_exact"] == 0.0
    assert silent.metrics["any_of_top_2_exact"] == pytest.approx(100 * 7 / 8)


KILLED = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from pathlib import Path
from test_evaluate_harness import FakeReader, dataset
from quoth.evaluate import Running, span_cases
from quoth.evaluate.harness import run_reader

def die(count):
    if count == 30:
        os.kill(os.getpid(), signal.SIGKILL)

run_reader(FakeReader(die), span_cases(dataset()), running=Running(Path({path!r}), {{"data": "toy"}}, batch=8))
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
def test_a_killed_run_ends_with_identical_figures(tmp_path: Path) -> None:
    """After kill -9 a rerun must read only what is missing and end with the figures of an unbroken run."""
    path = tmp_path / "resume.jsonl"
    code = KILLED.format(folder=str(Path(__file__).parent), path=str(path))
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == -signal.SIGKILL, done.stderr
    kept = len(path.read_text(encoding="utf-8").splitlines()) - 1
    assert kept == 24
    with path.open("ab") as file:
        file.write(b'{"id": "q6-')
    cases = span_cases(dataset())
    reader = FakeReader()
    running = Running(path, {"data": "toy"}, batch=8)
    resumed = evaluate_reader(reader, cases, title="x", running=running)
    unbroken = evaluate_reader(FakeReader(), cases, title="x")
    assert reader.count == 40 - kept
    assert without_times(resumed.metrics) == without_times(unbroken.metrics)
    assert resumed.figures == unbroken.figures
    again = FakeReader()
    third = evaluate_reader(again, cases, title="x", running=running)
    assert again.count == 0
    assert third.metrics == resumed.metrics


def test_a_resume_file_of_other_settings_is_refused(tmp_path: Path) -> None:
    """Rows made with another model must never mix with these: the difference is named, the file untouched."""
    path = tmp_path / "resume.jsonl"
    cases = span_cases(dataset(8))
    run_reader(FakeReader(), cases, running=Running(path, {"model": "a"}))
    before = path.read_bytes()
    with pytest.raises(InputError, match=r"other settings \(model\): model was 'a', now 'b'"):
        run_reader(FakeReader(), cases, running=Running(path, {"model": "b"}))
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("not json\n", "not a resume file"),
        ('{"quoth_resume": 99, "settings": {}}\n', "not a resume file"),
        ('{"quoth_resume": 1, "settings": {}}\nbroken\n', "line 2 is damaged"),
        ('{"quoth_resume": 1, "settings": {}}\n[]\n', "line 2 is no row"),
    ],
)
def test_a_damaged_resume_file_is_refused(tmp_path: Path, content: str, message: str) -> None:
    """What is no row of ours must be said, not guessed at."""
    path = tmp_path / "resume.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        run_reader(FakeReader(), span_cases(dataset(8)), running=Running(path))


def test_progress_is_told_and_ids_must_differ() -> None:
    """Progress must count every question up to the total; an id given twice is refused before anything runs."""
    seen: list[tuple[int, int]] = []
    cases = span_cases(dataset(8))
    run_reader(FakeReader(), cases, running=Running(progress=lambda done, total: seen.append((done, total))))
    assert seen == [(i, 8) for i in range(1, 9)]
    reader = FakeReader()
    with pytest.raises(InputError, match="occurs twice"):
        run_reader(reader, [*cases, cases[0]])
    assert reader.count == 0


def test_a_backend_that_fails_stops_the_run_and_keeps_what_was_done(tmp_path: Path) -> None:
    """Only refused questions become rows; a failing server must surface, with the synced rows kept."""

    def fail(count: int) -> None:
        if count == 6:
            raise BackendError("The server is gone.")

    path = tmp_path / "resume.jsonl"
    with pytest.raises(BackendError):
        run_reader(FakeReader(fail), span_cases(dataset(8)), running=Running(path, batch=2))
    assert len(path.read_text(encoding="utf-8").splitlines()) == 1 + 4


def test_a_retriever_is_judged_by_answer_and_by_place() -> None:
    """With one wrong passage in front, recall@1 is 0 by place, and MRR a half, question by question."""
    data = dataset()
    documents, _ = span_documents(data)
    cases = span_cases(data)
    sharp = evaluate_retriever(FakeRetriever(documents), cases, title="sharp", ks=(1, 3))
    late = evaluate_retriever(FakeRetriever(documents, late=1), cases, title="late", ks=(1, 3))
    assert sharp.metrics["recall@1/passage"] == sharp.metrics["recall@1/answer"] == 1.0
    assert late.metrics["recall@1/passage"] == 0.0
    assert late.metrics["recall@3/passage"] == 1.0
    assert late.metrics["MRR@3/passage"] == 0.5
    assert late.metrics["n"] == 40
    assert set(late.run) == {case.id for case in cases}
    assert {plot.name for plot in late.plots} >= {"recall-by-k", "map-by-k"}


def test_a_system_is_judged_beside_the_reader_alone() -> None:
    """EM over the pipeline, with the gold passage, the recall of what was read, times and confidence."""
    data = dataset()
    documents, _ = span_documents(data)
    cases = span_cases(data)
    rows = run_reader(FakeReader(), cases)
    result = evaluate_system(
        ask_with(FakeRetriever(documents, late=1)), cases, title="fake", reader_rows=rows, split="dev"
    )
    metrics = result.metrics
    assert metrics["answer in what was read"] == pytest.approx(100 * 29 / 30)
    assert float(metrics["exact"]) < float(metrics["reader_alone_exact"])
    assert float(metrics["any_of_top_3_exact"]) > float(metrics["exact"])
    assert metrics["confidence_n"] == 39
    assert float(metrics["peak_memory_mb"]) > 1
    names = {plot.name for plot in result.plots}
    assert names >= {"top-k", "stages", "reliability"}
    assert len(next(p for p in result.plots if p.name == "top-k").series) == 4
    assert any(table.name == "stages" for table in result.tables)


def test_ways_of_reading_stand_in_one_table_and_one_plot() -> None:
    """Each system must have its two columns and lines, and k = 1 must be its own EM."""
    cases = span_cases(dataset(8))
    rows = run_reader(FakeReader(), cases)
    table, plot = top_k_by_system({"joint": rows, "each": rows}, cases)
    assert table.header == ("k", "EM, joint", "F1, joint", "EM, each", "F1, each")
    assert [series.label for series in plot.series] == ["EM, joint", "F1, joint", "EM, each", "F1, each"]
    assert table.rows[0][1] == pytest.approx(reader_evaluation(rows, cases, title="x").metrics["exact"])
    with pytest.raises(InputError, match="'joint' are not of these"):
        top_k_by_system({"joint": rows[1:]}, cases)


def test_a_limit_takes_the_first_or_a_seeded_sample() -> None:
    """Without a seed the first come; with one a sample in file order, the same every time."""
    numbers = list(range(100))
    assert limited(numbers, None) == numbers
    assert limited(numbers, 3) == [0, 1, 2]
    sample = limited(numbers, 10, seed=1)
    assert sample == sorted(sample) == limited(numbers, 10, seed=1) != limited(numbers, 10, seed=2)
    assert limited(numbers, 1000, seed=1) == numbers
    with pytest.raises(InputError, match="1 or more"):
        limited(numbers, 0)


def test_nothing_found_is_finite_and_no_answer() -> None:
    """A reader without spans must be written as "no answer" with odds that JSON can hold."""

    class Mute:
        def read(self, question: str, passages: Sequence[Passage]) -> Reading:
            return Reading((), (), 0.0, read=0, windows=0, tokens=0)

    cases = span_cases(dataset(8))
    [first, *_] = run_reader(Mute(), cases)
    assert (first["text"], first["null_odds"]) == ("", NO_SPAN)
    assert json.dumps(first)
    result = evaluate_reader(Mute(), cases, title="mute")
    assert result.metrics["exact"] == 25.0
    assert result.metrics["missing"] == 0


def test_a_ranker_is_judged_beside_its_floors() -> None:
    """Both conventions with intervals, floors in one table, ties exposed, bins by topic."""
    result = evaluate_sentences(
        Overlap(), selection_cases(selection()), title="overlap", floors={"constant": Constant()}, split="dev"
    )
    assert result.metrics["MAP/has-positive"] == result.metrics["MAP/clean"] == 0.75
    assert result.metrics["MAP/all"] == 0.5
    assert (result.metrics["n/has-positive"], result.metrics["n/all"]) == (2, 3)
    floors = next(table for table in result.tables if table.name == "systems")
    assert [row[0] for row in floors.rows] == ["overlap", "constant"]
    assert floors.rows[1][-1] == pytest.approx(0.75)
    assert {f"{f.name}/{f.convention}" for f in result.figures} >= {"MAP/has-positive", "MAP/clean"}
    assert any(table.name == "by-topic" for table in result.tables)


def test_a_ranker_that_breaks_its_contract_is_refused() -> None:
    """Too few scores, or one that is not finite, must end in one clear line."""

    class Short:
        def score(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
            return [0.0]

    class Nan:
        def score(self, question: str, candidates: Sequence[Candidate]) -> list[float]:
            return [float("nan")] * len(candidates)

    for broken in (Short(), Nan()):
        with pytest.raises(InputError, match="check_ranker"):
            run_ranker(broken, selection_cases(selection()))


def test_triggering_runs_at_both_levels() -> None:
    """Questions by their top sentence, sections by their best; both with a curve and a label for tuning."""
    cases = selection_cases(selection())
    question = evaluate_triggering(
        Overlap(), cases, title="q", threshold=1.0, tuned_on="dev", scored_on="dev"
    )
    assert question.metrics["precision"] == 0.5
    assert question.metrics["recall"] == 0.5
    assert question.metrics["tuned_on"] == "tuned on this set"
    assert "oracle" in question.notes[0]
    sections = trigger_cases(
        TriggeringDataset(
            "toy",
            "dev",
            (
                TriggeringQuestion(
                    "t",
                    "red wine",
                    (
                        TriggeringSection("t-0", "", "", (SelectionCandidate("a", "red wine", 1),)),
                        TriggeringSection("t-1", "", "", (SelectionCandidate("b", "no", 0),)),
                        TriggeringSection("t-2", "", "", ()),
                    ),
                ),
            ),
        )
    )
    section = evaluate_triggering(Overlap(), sections, title="s", threshold=1.0)
    assert (section.metrics["f1"], section.metrics["n"]) == (1.0, 3)
    assert section.questions.ids == ("t#0", "t#1", "t#2")
    never = evaluate_triggering(Overlap(), cases, title="q", threshold=99.0)
    assert (never.metrics["precision"], never.metrics["f1"]) == (0.0, 0.0)


def test_systems_stand_side_by_side_and_one_question_at_a_time() -> None:
    """The explorer's two views: figures by system, and what each says to one question."""
    cases = span_cases(dataset(8))
    rows = run_reader(FakeReader(), cases)
    result = reader_evaluation(rows, cases, title="x")
    table = side_by_side({"a": result.metrics, "b": {"exact": 1.0}})
    assert table.header[:3] == ("system", "exact", "f1")
    assert table.rows[1][2] == ""
    view = one_question(cases[0], {"a": rows[0], "b": {"text": "paint"}})
    assert view.rows[0][:4] == ("a", "shade0", 1.0, 1.0)
    assert view.rows[1][2] == 0.0
    assert "shade0" in view.note
    with pytest.raises(InputError):
        side_by_side({"a": {}})


def test_a_case_without_a_passage_cannot_be_read_alone() -> None:
    """Open questions have no gold passage: that must be said before anything runs."""
    with pytest.raises(InputError, match="no passage of its own"):
        run_reader(FakeReader(), [Case("q", "What?", ("x",))])
