"""Words, vectors, and both: recall over the 20,100 paragraphs of SQuAD 2.0, and what each costs.

The weight of the sum, the constant of the reciprocal ranks and the weights of re-ranking are learned on train
questions, whose paragraphs are in the same index; every figure is of the answerable dev questions.
"""

import json
import random
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import MissingExtraError
from quoth.evaluate.cases import Case
from quoth.evaluate.retrieval import KS, Retrieved, query_times, score_retrieval
from quoth.models import load_reader
from quoth.models.encoder import load_encoder
from quoth.protocols import Encoder, Retriever
from quoth.reading import ReadSettings, SpanReader
from quoth.reproduce.corpus import load_corpus, open_index
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.retrieve.dense import (
    DenseRetriever,
    HybridRetriever,
    Place,
    Vectors,
    encoder_name,
    key_of,
    open_vectors,
    sync,
)
from quoth.retrieve.fuse import Example, Fusion, Key, fit_linear, fit_weight, fuse
from quoth.types import Passage, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quoth.retrieve.store import Index

    Floats = NDArray[np.float64]

TRAIN_QUESTIONS = 2_000
TIMED = 500
DEPTH = 100
WEIGHTS = (0.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 125.0, 150.0, 175.0, 200.0, 250.0, 300.0, 400.0)
CONSTANTS = (2.0, 5.0, 10.0, 20.0, 40.0, 60.0)
RERANKED = 20
RERANK_TRAIN = 200
AT_ONCE = 4
NOTHING = -30.0
BUDGETS = {"small": 4_000, "large": 2_000}
"""Tokens that ``thorough`` reads, by reader."""
FEATURES = {"span": [0, 1], "span and null": [0, 1, 2]}
"""Which columns are weighed: the fused score, the best span's, the null's."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with both lists of hits; every lexical hit has its exact cosine."""

    case: Case
    lexical: Mapping[Key, float]
    cosines: Mapping[Key, float]
    gold: frozenset[Key]

    @property
    def example(self) -> Example:
        return Example(self.lexical, self.cosines, self.gold)


@dataclass(frozen=True, slots=True)
class Parts:
    """What is searched, and with what."""

    index: "Index"
    vectors: Vectors
    encoder: Encoder
    passages: Mapping[Key, Passage]


def run(inputs: Inputs) -> Outcome:
    """Learn on train questions, measure on dev questions."""
    corpus = load_corpus(inputs)
    with open_index(inputs.work / "squad-english", corpus.documents) as index:
        parts = _parts(index, inputs)
        drawn = random.Random(inputs.seed)
        train = drawn.sample([c for c in corpus.cases("train") if c.answers], TRAIN_QUESTIONS)
        dev = [c for c in corpus.cases("dev") if c.answers]
        if inputs.limit:
            dev = drawn.sample(dev, min(inputs.limit, len(dev)))
        learned = _all_asked(parts, train, inputs, "train questions")
        measured = _all_asked(parts, dev, inputs, "dev questions")
        weight, curve = fit_weight([a.example for a in learned], WEIGHTS, depth=DEPTH)
        constant = max(
            CONSTANTS, key=lambda c: _reciprocal_rank(learned, Fusion("ranks", constant=c, depth=DEPTH))
        )
        summed = Fusion("sum", weight=weight, depth=DEPTH)
        ranked = Fusion("ranks", constant=constant, depth=DEPTH)
        orders: dict[str, list[list[Key]]] = {
            "BM25": [_best(a.lexical) for a in measured],
            f"vectors ({parts.encoder.name})": [_best(a.cosines) for a in measured],
            f"reciprocal ranks, k = {constant:g}": [_fused(a, ranked) for a in measured],
            f"BM25 + {weight:g} cosine": [_fused(a, summed) for a in measured],
        }
        times = _times(parts, dev, ranked, summed)
        rows: list[Row] = []
        charts: list[Curve] = []
        for (name, order), spent in zip(orders.items(), times, strict=True):
            made, points = _figures(parts, name, measured, order)
            rows += [*made, *_time_rows(name, spent)]
            charts.append(Curve(name, points))
        rows += _reranking(parts, learned, measured, summed, inputs)
    grid = Curve(f"{TRAIN_QUESTIONS} train questions", tuple(curve.items()))
    return Outcome(
        rows=tuple(rows),
        differences=(
            f"weight, constant and re-ranking learned on {TRAIN_QUESTIONS} train questions (seed {inputs.seed}); the "
            "readers learned from the train paragraphs, so what is learned for re-ranking trusts them a little much",
            f"each list goes {DEPTH} deep; times on this machine, one question at a time, with its embedding",
        ),
        charts=(
            Chart("Recall by answer string", "k", "recall@k", tuple(charts)),
            Chart("The weight of the cosine", "weight", "MRR of the gold passage", (grid,)),
        ),
    )


def _parts(index: "Index", inputs: Inputs) -> Parts:
    name = encoder_name(str(inputs.settings["vectors"].value))
    if name is None:
        raise MissingExtraError("This recipe needs an encoder.", hint="pip install 'quoth[dense]'")
    encoder = load_encoder(name, threads=int(inputs.settings["threads"].value))
    place = Place(folder=index.folder)
    sync(index, encoder, place=place, progress=lambda done, total: inputs.progress(done, total, "vectors"))
    passages = {_key(passage): passage for _, passage in index.passages()}
    return Parts(index, open_vectors(place, encoder), encoder, passages)


def _key(passage: Passage) -> Key:
    return (passage.document_id, passage.start, passage.end)


def _all_asked(parts: Parts, cases: Sequence[Case], inputs: Inputs, what: str) -> list[Asked]:
    found = []
    for number, case in enumerate(cases):
        inputs.progress(number, len(cases), what)
        found.append(_asked(parts, case))
    return found


def _asked(parts: Parts, case: Case) -> Asked:
    hits = parts.index.retrieve(Query(case.question), k=DEPTH)
    vector = parts.encoder.encode_queries([case.question])[0]
    cosines = {key[:3]: score for key, score in parts.vectors.search(vector, k=DEPTH)}
    exact = parts.vectors.similarities(vector, [key_of(hit.item) for hit in hits])
    cosines |= {_key(h.item): c for h, c in zip(hits, exact, strict=True) if c is not None}
    gold = case.gold
    right = frozenset(
        key
        for key in cosines
        if gold is not None and key[0] == gold.document_id and key[1] <= gold.start and gold.end <= key[2]
    )
    return Asked(case, {_key(hit.item): hit.score for hit in hits}, cosines, right)


def _best(scores: Mapping[Key, float]) -> list[Key]:
    return sorted(scores, key=lambda key: (-scores[key], key))[: max(KS)]


def _fused(asked: Asked, fusion: Fusion) -> list[Key]:
    return [key for key, _ in fuse(asked.lexical, asked.cosines, fusion)[: max(KS)]]


def _reciprocal_rank(asked: Sequence[Asked], fusion: Fusion) -> float:
    ranks = [next((r for r, k in enumerate(_fused(a, fusion), 1) if k in a.gold), 0) for a in asked]
    return sum(1 / rank for rank in ranks if rank) / max(1, len(ranks))


# -- figures


def _figures(
    parts: Parts, name: str, asked: Sequence[Asked], orders: Sequence[Sequence[Key]]
) -> tuple[list[Row], tuple[tuple[float, float], ...]]:
    """Return recall@k by each rule as rows, and by the first answer as points."""
    retrieved = [
        Retrieved(a.case.id, a.case.answers, a.case.gold, tuple(parts.passages[key] for key in order))
        for a, order in zip(asked, orders, strict=True)
    ]
    scored = score_retrieval(retrieved)
    rows = [
        Row(f"{name}: recall@{k}/{rule}", "", float(found.columns[f"recall@{k}"].mean()), f"n={len(asked)}")
        for rule, found in scored.items()
        for k in KS
    ]
    return rows, tuple((float(k), float(scored["answer"].columns[f"recall@{k}"].mean())) for k in KS)


def _times(parts: Parts, cases: Sequence[Case], ranked: Fusion, summed: Fusion) -> list[list[float]]:
    """Return milliseconds a question of each way, asked in turns."""
    made = (parts.vectors, parts.encoder)
    ways: tuple[Retriever, ...] = (
        parts.index,
        DenseRetriever(parts.index, *made),
        HybridRetriever(parts.index, *made, fusion=ranked),
        HybridRetriever(parts.index, *made, fusion=summed),
    )
    spent: list[list[float]] = [[] for _ in ways]
    for case in cases[: TIMED + 5]:
        for way, kept in zip(ways, spent, strict=True):
            start = time.perf_counter()
            way.retrieve(Query(case.question), k=max(KS))
            kept.append((time.perf_counter() - start) * 1e3)
    return [kept[5:] or kept for kept in spent]


def _time_rows(name: str, milliseconds: Sequence[float]) -> list[Row]:
    found = query_times(milliseconds)
    how = f"{found.n} questions, k={max(KS)}, the question's embedding included"
    return [
        Row(f"{name}: ms a question, median", "", found.median_ms, how),
        Row(f"{name}: ms a question, p95", "", found.p95_ms, how),
    ]


# -- the reader's own scores


@dataclass(frozen=True, slots=True)
class Listed:
    """The first passages of a question, and what is known of each: shape (passages, features)."""

    keys: tuple[Key, ...]
    features: "Floats"
    right: "NDArray[np.bool_]"
    milliseconds: float


def _reranking(
    parts: Parts, train: Sequence[Asked], dev: Sequence[Asked], fusion: Fusion, inputs: Inputs
) -> list[Row]:
    """Return the figures of the fused order and of the readers' scores on top of it, on the same questions."""
    train = train[:RERANK_TRAIN]
    rows: list[Row] = []
    chosen = str(inputs.settings["reader"].value)
    for reader, tokens in {chosen: BUDGETS[chosen]}.items() if chosen in BUDGETS else BUDGETS.items():
        model = load_reader(reader, threads=int(inputs.settings["threads"].value))
        alone = SpanReader(model, settings=ReadSettings(n_best=1))
        read = _remembering(alone, inputs.work / f"fusion-read-{reader}.jsonl", tokens=tokens)

        def listed(asked: Sequence[Asked], what: str, read: Read = read) -> list[Listed]:
            rows = []
            for number, one in enumerate(asked):
                inputs.progress(number, len(asked), what)
                rows.append(_listed(parts, one, fusion, read))
            return rows

        known, met = listed(train, f"{reader}, train"), listed(dev, f"{reader}, dev")
        right = [row.right for row in known]
        told = f"fused + {reader} reader, {tokens} tokens"
        for what, used in FEATURES.items():
            weights, scale = fit_linear([row.features[:, used] for row in known], right)
            orders = [_reordered(row, (row.features[:, used] / scale) @ weights) for row in met]
            rows += _figures(parts, f"{told}, {what}", dev, orders)[0]
        rows += _time_rows(told, [row.milliseconds for row in met])
    return rows


Found = tuple[float, float]
Read = Callable[[Case, Sequence[Passage]], tuple[list[Found], float]]


def _remembering(reader: SpanReader, path: Path, *, tokens: int) -> Read:
    """Return what reads passages alone, as far as *tokens* go: (best span, null) scores of each, and ms.

    What was read is kept in *path*, so that a second run finds it again.
    """
    known: dict[str, tuple[list[Found], float]] = {}
    if path.exists():
        for line in path.read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            known[row["key"]] = ([(span, null) for span, null in row["found"]], row["ms"])

    def read(case: Case, passages: Sequence[Passage]) -> tuple[list[Found], float]:
        key = f"{case.id} {' '.join(f'{p.document_id}:{p.start}' for p in passages)}"
        if key not in known:
            start = time.perf_counter()
            found: list[Found] = []
            spent = 0
            for begin in range(0, len(passages), AT_ONCE):
                for reading in reader.read_many(
                    [(case.question, [p]) for p in passages[begin : begin + AT_ONCE]]
                ):
                    spent += reading.tokens
                    if spent <= tokens or not found:
                        found.append(
                            (reading.spans[0].score if reading.spans else NOTHING, reading.null_score)
                        )
                if spent >= tokens:
                    break
            known[key] = (found, (time.perf_counter() - start) * 1e3)
            with path.open("a", encoding="utf-8") as file:
                file.write(json.dumps({"key": key, "found": found, "ms": known[key][1]}) + "\n")
        return known[key]

    return read


def _listed(parts: Parts, asked: Asked, fusion: Fusion, read: Read) -> Listed:
    """Return the features of the first passages: fused score, best span's and null score.

    What was not read any more gets the least span and the highest null score of what was.
    """
    scored = fuse(asked.lexical, asked.cosines, fusion)[:RERANKED]
    found, spent = read(asked.case, [parts.passages[key] for key, _ in scored])
    worst = (min(span for span, _ in found), max(null for _, null in found))
    found = [*found, *[worst] * (len(scored) - len(found))]
    features = np.array([[score, *pair] for (_, score), pair in zip(scored, found, strict=True)])
    keys = tuple(key for key, _ in scored)
    return Listed(keys, features, np.array([key in asked.gold for key in keys]), spent)


def _reordered(row: Listed, scores: "Floats") -> list[Key]:
    order = sorted(range(len(row.keys)), key=lambda i: (-scores[i], i))
    return [row.keys[i] for i in order]


RECIPES = (
    Recipe(
        "retrieval-fusion",
        "BM25, vectors and their fusion over 20,100 SQuAD paragraphs; the readers' scores on top",
        "ours",
        run,
    ),
)
