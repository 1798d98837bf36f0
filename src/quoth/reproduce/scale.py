"""How cost grows: 10,000, 100,000 and a million passages on the embedded engine, and as many vectors.

Texts are real paragraphs, repeated with a fifth of their words exchanged, the same for everyone. Vectors are made up
(points around 1,000 centres): what is measured is searching them, not making them. Each step runs in a process of
its own, so that its peak memory is its own.
"""

import os
import resource
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from quoth.evaluate.retrieval import QueryTimes, query_times
from quoth.reproduce.copies import BATCH, EXCHANGED, base_texts, batches
from quoth.reproduce.corpus import load_corpus
from quoth.reproduce.engines import index_address, server_address, without_server
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.retrieve.dense import Vectors, graph
from quoth.retrieve.dense.vectors import EXACT_LIMIT
from quoth.retrieve.opensearch import Address, OpenSearchStore
from quoth.retrieve.opensearch.admin import delete
from quoth.retrieve.opensearch.wire import Wire
from quoth.retrieve.store import Index
from quoth.types import Passage, Query

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

T = TypeVar("T")

CHARTS = {"seconds": "Building an index", "MB": "Its size", "ms": "A question"}
"""Titles by unit."""

SIZES = (10_000, 100_000, 1_000_000)
QUESTIONS = 300
K = 20
CENTRES, SPREAD, DIMENSION = 1_000, 0.9, 384
AGREED = (10, 100)
"""Ten are read; a hundred are fused with the words' hits."""


@dataclass(frozen=True, slots=True)
class Built:
    seconds: float
    bytes: int
    peak: int


@dataclass(frozen=True, slots=True)
class Queried:
    first_ms: float
    times: QueryTimes
    peak: int


@dataclass(frozen=True, slots=True)
class Embedded:
    seconds: float
    graph_seconds: float
    bytes: int
    peak: int


@dataclass(frozen=True, slots=True)
class Compared:
    """The search of the vectors beside an exact scan, and beside a graph (HNSW) alone.

    ``recall`` is the search's, of the so many (``AGREED``) that the scan finds.
    """

    exact_ms: float
    recall: tuple[float, ...]
    graph_seconds: float
    graph_bytes: int
    graph_ms: float
    graph_recall: float


@dataclass(frozen=True, slots=True)
class Near:
    """What vectors cost: made and kept, searched in a new process, and that search beside others."""

    made: Embedded
    asked: Queried
    compared: Compared


def run(inputs: Inputs) -> Outcome:
    """Measure every size up to ``--limit`` (0: all three)."""
    texts = base_texts(inputs)
    questions = [c.question for c in load_corpus(inputs).cases("dev") if c.answers][:: 5_928 // QUESTIONS]
    rows: list[Row] = []
    curves: dict[tuple[str, str], list[tuple[float, float]]] = {}
    server = server_address()
    sizes = [n for n in SIZES if not inputs.limit or n <= inputs.limit] or [inputs.limit]
    for done, size in enumerate(sizes):
        inputs.progress(done, len(sizes), f"{size:,} passages")
        folder = inputs.work / f"scale-{size}"
        built = _apart(_build, folder / "index", texts, size)
        asked = _apart(_query, folder / "index", questions[:QUESTIONS])
        place = folder / "vectors"
        near = Near(_apart(_embed, place, size), _apart(_search, place), _apart(_compare, place, size))
        shutil.rmtree(folder)
        rows += _rows(size, built, asked, near)
        points = _points("embedded", built, asked) | {
            ("ms", "nearest vectors, median"): near.asked.times.median_ms
        }
        if server is not None:
            inputs.progress(done, len(sizes), f"{size:,} passages on {server}")
            on_server = _apart(_on_server, server, texts, size, questions[:QUESTIONS])
            rows += _server_rows(size, on_server)
            points |= _points("OpenSearch", *on_server)
        for key, value in points.items():
            curves.setdefault(key, []).append((float(size), float(value)))
    return Outcome(
        rows=tuple(rows),
        differences=(
            f"{len(texts):,} real paragraphs (SQuAD, CMU's Wikipedia articles); beyond them copies with "
            f"{EXCHANGED:.0%} of the words exchanged",
            f"vectors are made up: {CENTRES:,} centres, {DIMENSION} dimensions; a real encoder's rate is in "
            "retrieval-fusion",
            f"measured with {os.cpu_count()} processors, all that else runs on the machine included",
            *(() if server else (without_server(),)),
        ),
        charts=tuple(
            Chart(
                title,
                "passages",
                unit,
                tuple(Curve(n, tuple(p)) for (u, n), p in curves.items() if u == unit),
                log=True,
            )
            for unit, title in CHARTS.items()
        ),
    )


def _points(name: str, built: Built, asked: Queried) -> dict[tuple[str, str], float]:
    """Return a point for each curve, by (unit, label)."""
    return {
        ("seconds", name): built.seconds,
        ("MB", name): built.bytes / 1e6,
        ("ms", f"{name}, median"): asked.times.median_ms,
        ("ms", f"{name}, p95"): asked.times.p95_ms,
    }


def _rows(size: int, built: Built, asked: Queried, near: Near) -> Iterator[Row]:
    name = f"{size:,} passages"
    how = f"{asked.times.n} dev questions, k={K}"
    yield Row(
        f"{name}: build, s", "", built.seconds, f"peak {built.peak} MB; one batch of {BATCH:,} at a time"
    )
    yield Row(f"{name}: index, MB", "", built.bytes / 1e6, "catalog with the text, and the engine's files")
    yield Row(f"{name}: query median, ms", "", asked.times.median_ms, how)
    yield Row(f"{name}: query p95, ms", "", asked.times.p95_ms, how)
    yield Row(f"{name}: first query, ms", "", asked.first_ms, "opening the index included")
    yield Row(f"{name}: peak memory while asking, MB", "", float(asked.peak), "the whole process")
    yield from _near_rows(name, near, graphed=size > EXACT_LIMIT)


def _near_rows(name: str, near: Near, *, graphed: bool) -> Iterator[Row]:
    made, asked, compared = near.made, near.asked, near.compared
    way = "HNSW" if graphed else "exact scan"
    of = f"{asked.times.n} questions, k={AGREED[0]}"
    graph_how = "usearch, int8, 16 links, 128 candidates"
    for what, value, how in (
        ("vectors, build s", made.seconds, "table and file; making the vectors up included, no graph"),
        ("vectors, MB", made.bytes / 1e6, "float16, table, and the graph where there is one"),
        ("peak memory while making vectors, MB", made.peak, "the whole process"),
        ("nearest median, ms", asked.times.median_ms, f"{way}, {of}"),
        ("nearest p95, ms", asked.times.p95_ms, f"{way}, {of}"),
        ("opening the vectors, ms", asked.first_ms, "with the first search"),
        (
            "peak memory while searching vectors, MB",
            asked.peak,
            "the whole process, pages of mapped files included",
        ),
        *(
            (f"nearest, recall@{k} of exact", share, f"{way}, {asked.times.n} questions, k={k}")
            for k, share in zip(AGREED, compared.recall, strict=True)
        ),
        ("exact scan, median ms", compared.exact_ms, "float32 in memory"),
        ("graph, build s", made.graph_seconds if graphed else compared.graph_seconds, graph_how),
        ("graph alone, MB", compared.graph_bytes / 1e6, "holds the vectors once more, as int8"),
        ("graph alone, median ms", compared.graph_ms, of),
        (f"graph alone, recall@{AGREED[0]} of exact", compared.graph_recall, of),
    ):
        yield Row(f"{name}: {what}", "", float(value), how)


def _server_rows(size: int, measured: tuple[Built, Queried]) -> Iterator[Row]:
    built, asked = measured
    name = f"{size:,} passages on OpenSearch"
    how = f"{asked.times.n} dev questions, k={K}"
    yield Row(
        f"{name}: build, s", "", built.seconds, f"one batch of {BATCH:,} at a time, all on this machine"
    )
    yield Row(f"{name}: index, MB", "", built.bytes / 1e6, "passages and catalog, as the server counts them")
    yield Row(f"{name}: query median, ms", "", asked.times.median_ms, how)
    yield Row(f"{name}: query p95, ms", "", asked.times.p95_ms, how)
    yield Row(f"{name}: first query, ms", "", asked.first_ms, how)
    yield Row(f"{name}: heap in use while asking, MB", "", float(asked.peak), "the server's, all nodes")


# -- the steps, each in a process of its own


def _apart(step: Callable[..., T], *given: object) -> T:
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(step, *given).result()


def _peak() -> int:
    """Return this process's peak resident memory in MB.

    Linux has it in ``VmHWM`` (KiB), while its ``ru_maxrss`` begins with the parent's; macOS counts that in bytes.
    """
    status = Path("/proc/self/status")
    if status.is_file():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) * 1024 // 1_000_000
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit // 1_000_000


def _build(folder: Path, texts: Sequence[tuple[str, str]], size: int) -> Built:
    folder.parent.mkdir(parents=True, exist_ok=True)
    with Index.create(folder) as index:
        spent = sum(_timed(lambda some=batch: index.put(some)) for batch in batches(texts, size))  # type: ignore[misc]
    size_on_disk = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return Built(spent, size_on_disk, _peak())


def _on_server(
    server: str, texts: Sequence[tuple[str, str]], size: int, questions: Sequence[str]
) -> tuple[Built, Queried]:
    """Build and ask an index of its own on a server, and remove it. Peaks are the server's heap in use, in MB."""
    address = index_address(server, f"quoth-scale-{size}")
    wire = Wire(Address.parse(address))
    delete(wire)
    try:
        with OpenSearchStore.connect(address, create=True) as store:
            spent = sum(_timed(lambda some=batch: store.put(some)) for batch in batches(texts, size))  # type: ignore[misc]
            built = Built(spent, int(str(store.info()["bytes"])), _heap(wire))
            first = _timed(lambda: store.retrieve(Query(questions[0]), k=K)) * 1e3
            times = [_timed(lambda q=q: store.retrieve(Query(q), k=K)) * 1e3 for q in questions]  # type: ignore[misc]
            return built, Queried(first, query_times(times), _heap(wire))
    finally:
        delete(wire)
        wire.close()


def _heap(wire: Wire) -> int:
    nodes = wire.get("/_nodes/stats/jvm")["nodes"].values()
    return int(sum(node["jvm"]["mem"]["heap_used_in_bytes"] for node in nodes) // 1_000_000)


def _query(folder: Path, questions: Sequence[str]) -> Queried:
    start = time.perf_counter()
    with Index.open(folder) as index:
        index.retrieve(Query(questions[0]), k=K)
        first = (time.perf_counter() - start) * 1e3
        spent = [_timed(lambda q=q: index.retrieve(Query(q), k=K)) * 1e3 for q in questions]  # type: ignore[misc]
    return Queried(first, query_times(spent), _peak())


def _embed(folder: Path, size: int) -> Embedded:
    vectors = Vectors(folder, encoder=_Points.name, dimension=DIMENSION)
    start = time.perf_counter()
    marks = [start]
    vectors.sync(_Numbered(size), _Points(), progress=lambda done, total: marks.append(time.perf_counter()))
    built, graph_seconds = marks[-1] - start, time.perf_counter() - marks[-1]
    vectors.close()
    return Embedded(built, graph_seconds, vectors.bytes, _peak())


def _search(folder: Path) -> Queried:
    asked = _questions()
    start = time.perf_counter()
    vectors = Vectors(folder, encoder=_Points.name, dimension=DIMENSION)
    vectors.search(asked[0], k=AGREED[0])
    opened = (time.perf_counter() - start) * 1e3
    spent = [_timed(lambda v=v: vectors.search(v, k=AGREED[0])) * 1e3 for v in asked]  # type: ignore[misc]
    return Queried(opened, query_times(spent), _peak())


def _compare(folder: Path, size: int) -> Compared:
    asked = _questions()
    vectors = Vectors(folder, encoder=_Points.name, dimension=DIMENSION)
    stored = np.memmap(folder / "vectors.f16", np.float16, "r").reshape(-1, DIMENSION)
    exact_ms, nearest = _exact(stored, asked)
    found = [[key.start for key, _ in vectors.search(v, k=max(AGREED))] for v in asked]
    made, seconds = next(folder.glob("graph-*"), None), 0.0
    if (
        made is None
    ):  # too few for one: made for the comparison alone; keys are serial numbers from 1, as ours are
        other = folder / "other"
        other.mkdir()
        table = {row + 1: row for row in range(size)}
        seconds = _timed(lambda: graph.update(other, None, table, stored))
        made = next(other.iterdir())
    index = graph.view(made.parent, made.name)
    spent, alone = [], []
    for vector in asked:
        start = time.perf_counter()
        keys = [key - 1 for key in graph.nearest(index, vector, graph.candidates(AGREED[0]))]
        order = np.argsort(-(np.asarray(stored[keys], np.float32) @ vector))
        spent.append((time.perf_counter() - start) * 1e3)
        alone.append([keys[i] for i in order])
    recall = tuple(_agreement(found, nearest, k) for k in AGREED)
    return Compared(
        exact_ms, recall, seconds, made.stat().st_size, median(spent), _agreement(alone, nearest, AGREED[0])
    )


def _agreement(found: Sequence[Sequence[int]], nearest: Sequence[Sequence[int]], k: int) -> float:
    """Return the share of the *k* nearest that were found among the first *k*."""
    both = sum(len(set(some[:k]) & set(right[:k])) for some, right in zip(found, nearest, strict=True))
    return both / sum(len(right[:k]) for right in nearest)


def _questions() -> "Floats":
    return _Points().encode_queries([f"question {i}" for i in range(QUESTIONS)])


def _exact(stored: "NDArray[np.float16]", asked: "Floats") -> tuple[float, list[list[int]]]:
    """Return an exact scan's median ms, and the rows of the nearest to each question, the nearest first."""
    matrix = np.asarray(stored, np.float32)
    spent, found = [], []
    most = min(max(AGREED), len(matrix) - 1)
    for vector in asked:
        start = time.perf_counter()
        scores = np.einsum("ij,j->i", matrix, vector)
        best = np.argpartition(-scores, most)[:most]
        order = best[np.argsort(-scores[best])].tolist()
        spent.append((time.perf_counter() - start) * 1e3)
        found.append(order)
    return median(spent), found


def _timed(what: Callable[[], object]) -> float:
    start = time.perf_counter()
    what()
    return time.perf_counter() - start


class _Numbered:
    """Passages that are numbers: row i of the file is passage i, as rows are given out in order."""

    def __init__(self, size: int) -> None:
        self._size = size

    def __iter__(self) -> Iterator[Passage]:
        for number in range(self._size):
            text = str(number)
            yield Passage("numbers", number, number + len(text), text)


class _Points:
    """An encoder whose vectors are points around centres, by the text's hash."""

    name = "points"
    dimension = DIMENSION

    def __init__(self) -> None:
        drawn = np.random.default_rng(0).standard_normal((CENTRES, DIMENSION)).astype(np.float32)
        self._centres = drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def encode_passages(self, texts: Sequence[str]) -> "Floats":
        """Return a unit vector for each text."""
        if not texts:
            return np.zeros((0, DIMENSION), np.float32)
        seeds = [int.from_bytes(sha256(text.encode()).digest()[:8], "big") for text in texts]
        noise = np.stack(
            [np.random.default_rng(seed).standard_normal(DIMENSION, np.float32) for seed in seeds]
        )
        made = self._centres[[seed % CENTRES for seed in seeds]] + SPREAD * noise / np.sqrt(DIMENSION)
        return np.asarray(made / np.linalg.norm(made, axis=1, keepdims=True), np.float32)

    encode_queries = encode_passages


RECIPES = (Recipe("scale", "how cost grows: 10 thousand, 100 thousand and a million passages", "ours", run),)
