"""The blog's ways to read several passages, by how many there are; and the best answer against any of the top k."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth import assemble
from quoth.datasets import load_squad
from quoth.evaluate import Case, span_cases, span_documents
from quoth.evaluate.resume import run_rows
from quoth.evaluate.spans import exact_match, f1
from quoth.protocols import Layout, Retriever, SpanModel, Tokens, Window
from quoth.reading import Held, SpanReader, fit_weight, fold_of
from quoth.reproduce.corpus import DEV, open_index
from quoth.reproduce.measuring import (
    Judged,
    file_facts,
    judge,
    judge_in_halves,
    judged_rows,
    keeping,
    mean_row,
    reader_facts,
    said,
    sampled,
    span_reader,
    with_mode,
)
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.types import Passage, Query, ReadMode, Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Doubles = NDArray[np.float64]
    Found = Mapping[str, Any]

QUESTIONS = 1_000
DEPTHS = (1, 2, 3, 5, 10)
DEEPEST = max(DEPTHS)
MODES: tuple[ReadMode, ...] = ("joint", "concatenate", "each")
GRID = (0.0, 0.01, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0, 1.5, 2.0)
KEPT = 20


class Remembering:
    """A span model that runs each window once: the ways of reading share most of theirs."""

    def __init__(self, model: SpanModel) -> None:
        self._model = model
        self._known: dict[tuple[bytes, bytes], tuple[Floats, Floats]] = {}

    @property
    def name(self) -> str:
        return self._model.name

    @property
    def layout(self) -> Layout:
        return self._model.layout

    @property
    def max_length(self) -> int:
        return self._model.max_length

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """Return the tokens of the model within."""
        return self._model.tokenize(texts)

    def logits(self, windows: Sequence[Window]) -> "Sequence[tuple[Floats, Floats]]":
        """Return the logits of each window, from memory where it was seen."""
        keys = [(w.ids.tobytes(), w.types.tobytes()) for w in windows]
        new = {key: window for key, window in zip(keys, windows, strict=True) if key not in self._known}
        for key, pair in zip(new, self._model.logits(list(new.values())), strict=True):
            self._known[key] = pair
        return [self._known[key] for key in keys]


def read_question(
    reader: SpanReader, question: str, found: Sequence[Scored[Passage]], *, keep: int = KEPT
) -> dict[str, Any]:
    """Return what every way of reading says of the first 1, 2, 3, 5 and 10 passages, and of each alone.

    ``alone`` has a reading for each passage; ``depths`` one for each mode and number of passages.
    """
    passages = [s.item for s in found[:DEEPEST]]
    model = Remembering(reader.model)
    readers = {mode: with_mode(reader, mode, model) for mode in MODES}
    alone = readers["joint"].read_many([(question, [p]) for p in passages])
    depths = {}
    for mode, part in readers.items():
        for depth in DEPTHS:
            reading = part.read(question, passages[:depth])
            depths[f"{mode}-{depth}"] = {
                **said(reading, keep=keep),
                "passages": list(reading.passages[:keep]),
                "tokens": reading.tokens,
            }
    return {
        "scores": [float(s.score) for s in found[:DEEPEST]],
        "alone": [said(reading, keep=1) for reading in alone],
        "depths": depths,
    }


def readings(inputs: Inputs) -> tuple[list[Case], list[dict[str, Any]], str]:
    """Read the sampled dev questions' passages in every way; return cases, rows, and how it was done."""
    path = inputs.file(DEV)
    dataset = load_squad(path)
    documents, _ = span_documents(dataset)
    cases = sampled(span_cases(dataset), inputs, otherwise=QUESTIONS)
    reader = span_reader(inputs.settings)
    name = assemble.reader_name(inputs.settings)
    facts = {**file_facts(path), **reader_facts(inputs.settings), "depths": str(DEPTHS), "kept": str(KEPT)}
    with open_index(inputs.work / "squad-dev-english", documents) as index:

        def work(case: Case, retriever: Retriever = index) -> dict[str, Any]:
            return read_question(reader, case.question, retriever.retrieve(Query(case.question), k=DEEPEST))

        rows = run_rows(
            cases, id_of=lambda case: case.id, work=work, running=keeping(inputs, f"combine-{name}", facts)
        )
    paragraphs = sum(len(d.paragraphs) for d in documents)
    return cases, rows, f"{name}, english index of {paragraphs:,} dev paragraphs"


def run_combine(inputs: Inputs) -> Outcome:
    """Compare joint, concatenated and separate reading by number of passages, and weigh the retriever in."""
    cases, rows, how = readings(inputs)
    out: list[Row] = []
    curves: list[Curve] = []
    halved: list[Curve] = []
    for mode in MODES:
        plain: list[tuple[float, float]] = []
        tuned: list[tuple[float, float]] = []
        for depth in DEPTHS:
            part = _at(rows, mode, depth)
            judged = judge(part, cases)
            out += judged_rows(f"{mode}, {depth} passages", judged, f"{how}; threshold 0")
            halves, both = judge_in_halves(part, cases)
            out += judged_rows(
                f"{mode}, {depth} passages, threshold of the other half",
                halves,
                f"{how}; thresholds {both[0]:.2f} and {both[1]:.2f} by articles",
            )
            plain.append((float(depth), 100 * float(judged.f1.mean())))
            tuned.append((float(depth), 100 * float(halves.f1.mean())))
        curves.append(Curve(mode, tuple(plain)))
        halved.append(Curve(mode, tuple(tuned)))
    weighed: list[tuple[float, float]] = []
    for depth in DEPTHS[1:]:
        judged, said_how = _weighed(rows, cases, depth)
        out += judged_rows(f"joint, {depth} passages, retriever weighed in", judged, f"{how}; {said_how}")
        weighed.append((float(depth), 100 * float(judged.f1.mean())))
    halved.append(Curve("joint, retriever weighed in", tuple(weighed)))
    return Outcome(
        tuple(out),
        (
            "the blog shows bars without numbers: concatenated reading above separate reading at every number of "
            "passages, and both falling as passages are added",
            f"{len(cases):,} questions of SQuAD 2.0 dev by our own seed (which 1,000 the blog took is not said), "
            "read by our own reader, from our own retriever",
            "the blog compared probabilities of different passages, which have no common scale; here 'each' takes the "
            "span of the best log odds against its own passage's null, and says nothing only where every passage does",
            "no span crosses a passage here, in any mode",
        ),
        (
            Chart("F1 by number of passages, threshold 0", "passages", "F1, per cent", tuple(curves)),
            Chart(
                "F1 by number of passages, threshold of the other half",
                "passages",
                "F1, per cent",
                tuple(halved),
            ),
        ),
    )


def run_topk(inputs: Inputs) -> Outcome:
    """Compare the one best answer of k passages with the best of the k passages' own answers."""
    cases, rows, how = readings(inputs)
    has = np.array([bool(case.answers) for case in cases])
    groups = tuple(case.group or case.id for case in cases)
    some = [g for g, h in zip(groups, has, strict=True) if h]
    out: list[Row] = []
    lines: dict[str, list[tuple[float, float]]] = {}
    for depth in DEPTHS:
        parts = {
            f"best answer, {mode}": judge(_at(rows, mode, depth), cases) for mode in ("concatenate", "joint")
        }
        parts["any of the k"] = Judged(*any_of(rows, cases, depth), groups)
        for label, judged in parts.items():
            out += judged_rows(f"{label}, k = {depth}", judged, f"{how}; all questions, threshold 0")
            lines.setdefault(label, []).append((float(depth), 100 * float(judged.exact.mean())))
        if some:
            parts["any of the k"] = Judged(*any_of(rows, cases, depth, nulls=False), groups)
            for label, judged in parts.items():
                told = (
                    f"{how}; best spans, no answer aside"
                    if label == "any of the k"
                    else f"{how}; threshold 0"
                )
                name = f"{label}, k = {depth}: HasAns EM"
                out.append(mean_row(name, "", judged.exact[has], some, told, scale=100.0))
                points = lines.setdefault(f"{label}, HasAns", [])
                points.append((float(depth), 100 * float(judged.exact[has].mean())))
    return Outcome(
        tuple(out),
        (
            "the blog shows bars without numbers: the share of questions with a right answer among the passages' own "
            "rises with k while the best answer falls",
            "any of the top k: right where the answer of at least one passage, read alone, is; for a question without "
            "an answer, where at least one gives none; on questions with an answer (HasAns) each passage's best "
            "span counts, whether or not it would be given",
            f"{len(cases):,} questions of SQuAD 2.0 dev by our own seed, our own reader and retriever",
        ),
        (
            Chart(
                "Best answer against any of the top k", "passages (k)", "EM, per cent",
                tuple(Curve(label, tuple(points)) for label, points in lines.items()),
            ),
        ),
    )  # fmt: skip


def any_of(
    rows: "Sequence[Found]", cases: Sequence[Case], depth: int, *, nulls: bool = True
) -> "tuple[Doubles, Doubles]":
    """Return EM and F1 of the best of the first *depth* passages' own answers, in 0..1.

    With *nulls* a passage whose null odds exceed 0 says nothing; without, its best span counts all the same.
    """
    best = np.zeros((2, len(cases)))
    for i, (row, case) in enumerate(zip(rows, cases, strict=True)):
        golds = case.answers or ("",)
        for reading in row["alone"][:depth]:
            text = "" if nulls and reading["null_odds"] > 0 else reading["text"]
            best[0, i] = max(best[0, i], max(exact_match(text, gold) for gold in golds))
            best[1, i] = max(best[1, i], max(f1(text, gold) for gold in golds))
        if not row["alone"] and not case.answers:
            best[:, i] = 1.0
    return best[0], best[1]


def _at(rows: "Sequence[Found]", mode: str, depth: int) -> "list[Found]":
    return [{"id": row["id"], **row["depths"][f"{mode}-{depth}"]} for row in rows]


def _weighed(rows: "Sequence[Found]", cases: Sequence[Case], depth: int) -> tuple[Judged, str]:
    """Return EM and F1 of joint reading with a retriever weight and threshold of the other half of the articles."""
    part = _at(rows, "joint", depth)
    folds = np.array([fold_of(case.group) for case in cases])
    exact, score = np.zeros(len(cases)), np.zeros(len(cases))
    notes = []
    for fold in (0, 1):
        there, here = np.flatnonzero(folds != fold).tolist(), np.flatnonzero(folds == fold).tolist()
        weight, threshold = 0.0, 0.0
        if len(there):
            held = _held([part[i] for i in there], [rows[i] for i in there], [cases[i] for i in there])
            weight, threshold = fit_weight(held, grid=GRID)
        notes.append(f"weight {weight:g}, threshold {threshold:.2f}")
        if len(here):
            chosen = [_reweighed(part[i], rows[i]["scores"], depth, weight) for i in here]
            judged = judge(chosen, [cases[i] for i in here], threshold=threshold)
            exact[here], score[here] = judged.exact, judged.f1
    groups = tuple(case.group or case.id for case in cases)
    return Judged(
        exact, score, groups
    ), f"{' and '.join(notes)}, each tuned on the other half of the articles"


def _reweighed(row: "Found", scores: Sequence[float], depth: int, weight: float) -> dict[str, Any]:
    """Return *row* with its best span by reader score plus *weight* times the retriever's gap."""
    if not row["nbest"]:
        return dict(row)
    gaps = _gaps(row, scores, depth)
    values = [span["score"] + weight * gap for span, gap in zip(row["nbest"], gaps, strict=True)]
    best = max(range(len(values)), key=lambda i: (values[i], -i))
    return {**row, "text": row["nbest"][best]["text"], "null_odds": row["null_score"] - values[best]}


def _gaps(row: "Found", scores: Sequence[float], depth: int) -> list[float]:
    top = max(scores[:depth])
    return [scores[i] - top for i in row["passages"]]


def _held(part: "Sequence[Found]", rows: "Sequence[Found]", cases: Sequence[Case]) -> Held:
    shape = (len(cases), KEPT)
    spans, gaps, gains = np.full(shape, -np.inf), np.zeros(shape), np.zeros(shape)
    for i, (row, whole, case) in enumerate(zip(part, rows, cases, strict=True)):
        many = len(row["nbest"])
        if not many:
            continue
        spans[i, :many] = [span["score"] for span in row["nbest"]]
        gaps[i, :many] = _gaps(row, whole["scores"], len(whole["scores"]))
        if case.answers:
            gains[i, :many] = [max(f1(s["text"], gold) for gold in case.answers) for s in row["nbest"]]
    nulls = np.array([row["null_score"] for row in part])
    return Held(spans, gaps, gains, nulls, np.array([bool(case.answers) for case in cases]))


SOURCE = "blog: Evaluating QA: the Retriever & the Full QA System (2020)"

RECIPES = (
    Recipe(
        "blog-combine",
        "joint, concatenated and separate reading, by number of passages; the retriever weighed in",
        SOURCE,
        run_combine,
    ),
    Recipe("blog-topk", "the best answer against any of the top k passages' answers", SOURCE, run_topk),
)
