"""``blog-passage-ranking``: the best paragraphs of N documents against the first document alone."""

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import mean, median

from quoth import text
from quoth.evaluate.significance import bootstrap
from quoth.protocols import Ranker
from quoth.rank import Bm25Ranker, TfidfRanker, top
from quoth.reproduce.articles import Articles, Asked, Holds, article_index, cmu_articles, squad_articles
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.retrieve.store import Index
from quoth.types import Candidate, Passage, Query

NS = (1, 2, 3, 4, 5, 7, 10, 15, 20)
QUESTIONS = 500
"""Asked of each collection, where no other limit is set: each has its paragraphs ranked eighteen times."""

PARAGRAPHS = 20
"""What the blog took: its articles had so many on average."""

RANKERS: Mapping[str, type[Bm25Ranker] | type[TfidfRanker]] = {"tf-idf": TfidfRanker, "bm25": Bm25Ranker}
PUBLISHED = {("top document", 1): "0.44 (NQ)", ("tf-idf", 5): "0.53 (NQ)"}


@dataclass(frozen=True, slots=True)
class Pool:
    """What one question brought up: whether its first document holds an answer, and how long that took.

    ``held[ranker, n, m]`` says whether the best m paragraphs of n documents hold one, ``took`` the milliseconds
    of retrieving n documents and ranking their paragraphs.
    """

    first: bool
    took_first: float
    held: Mapping[tuple[str, int, int], bool]
    took: Mapping[tuple[str, int], float]


def run(inputs: Inputs) -> Outcome:
    """Measure SQuAD articles (their own paragraphs) and CMU articles (cut by ``text.passages``)."""
    rows: list[Row] = []
    charts: list[Chart] = []
    about: list[str] = []
    for load in (squad_articles, cmu_articles):
        articles = load(inputs).limited(inputs.limit or QUESTIONS, inputs.seed)
        cut = {document.id: text.passages(document) for document in articles.documents}
        average = round(mean(len(passages) for passages in cut.values()))
        sizes = tuple(dict.fromkeys((average, PARAGRAPHS)))
        about.append(f"{articles.name}: {articles.about}; {average} paragraphs in an article on average.")
        ranker = _Ranking({name: make() for name, make in RANKERS.items()}, cut, sizes)
        pools = []
        with article_index(inputs, articles) as index:
            for number, asked in enumerate(articles.questions):
                inputs.progress(number, len(articles.questions), articles.name)
                pools.append(ranker.pool(index, asked))
        rows += _rows(articles, pools, sizes)
        charts += _charts(articles, pools, sizes)
    return Outcome(
        rows=tuple(rows),
        differences=(
            "Published: Natural Questions over all of Wikipedia, articles of 20 paragraphs on average, Elasticsearch. "
            "Here: hundreds of articles, so the first document alone is far more often right than 44%.",
            "As many paragraphs as an article has on average are compared with one article, as published; 20 beside.",
            "An answer counts where title and text hold it in lower case; 20 paragraphs of a longer article "
            "are less text than the article.",
            *about,
        ),
        charts=tuple(charts),
    )


class _Ranking:
    """Retrieves documents and ranks their paragraphs, timed."""

    def __init__(
        self, rankers: Mapping[str, Ranker], cut: Mapping[str, Sequence[Passage]], sizes: Sequence[int]
    ) -> None:
        self._rankers, self._cut, self._sizes = rankers, cut, sizes
        self._holds = Holds()

    def pool(self, index: Index, asked: Asked) -> Pool:
        held: dict[tuple[str, int, int], bool] = {}
        took: dict[tuple[str, int], float] = {}
        begun = time.perf_counter()
        first = [s.item for s in index.retrieve(Query(asked.question), k=1)]
        took_first = (time.perf_counter() - begun) * 1000
        for n in NS:
            begun = time.perf_counter()
            found = index.retrieve(Query(asked.question), k=n)
            retrieved = time.perf_counter() - begun
            pieces = [p for scored in found for p in self._cut[scored.item.document_id]]
            texts = [Candidate(p.text) for p in pieces]
            for name, ranker in self._rankers.items():
                begun = time.perf_counter()
                best = top(pieces, ranker.score(asked.question, texts), k=max(self._sizes))
                took[name, n] = (time.perf_counter() - begun + retrieved) * 1000
                right = [self._holds(scored.item, asked.answers) for scored in best]
                held |= {(name, n, m): any(right[:m]) for m in self._sizes}
        right_first = any(self._holds(passage, asked.answers) for passage in first)
        return Pool(right_first, took_first, held, took)


def _rows(articles: Articles, pools: Sequence[Pool], sizes: Sequence[int]) -> Iterator[Row]:
    groups = [asked.document_id for asked in articles.questions]
    first = bootstrap([float(pool.first) for pool in pools], groups=groups)
    base = median(pool.took_first for pool in pools)
    yield Row(
        f"{articles.name} recall: the first document",
        PUBLISHED["top document", 1],
        first.value,
        f"n={first.n}, retrieval {base:.1f} ms (median)",
        first.low,
        first.high,
    )
    for name in RANKERS:
        for n in NS:
            for m in sizes:
                interval = bootstrap([float(pool.held[name, n, m]) for pool in pools], groups=groups)
                spent = median(pool.took[name, n] for pool in pools)
                yield Row(
                    f"{articles.name} recall: {name}, best {m} paragraphs of {n}",
                    PUBLISHED.get((name, n), "") if m == sizes[0] else "",
                    interval.value,
                    f"n={interval.n}, {spent:.1f} ms with retrieval (median), {spent / base:.1f} times the first row",
                    interval.low,
                    interval.high,
                )


def _charts(articles: Articles, pools: Sequence[Pool], sizes: Sequence[int]) -> Iterator[Chart]:
    def share(name: str, n: int, m: int) -> float:
        return mean(float(pool.held[name, n, m]) for pool in pools)

    flat = mean(float(pool.first) for pool in pools)
    curves = [Curve("the first document", tuple((float(n), flat) for n in NS))]
    curves += [
        Curve(f"{name}, best {m}", tuple((float(n), share(name, n, m)) for n in NS))
        for name in RANKERS
        for m in sizes
    ]
    yield Chart(f"Passage ranking, {articles.name}", "documents", "recall", tuple(curves))
    times = [
        Curve(name, tuple((float(n), median(pool.took[name, n] for pool in pools)) for n in NS))
        for name in RANKERS
    ]
    yield Chart(f"Retrieval and passage ranking, {articles.name}", "documents", "milliseconds", tuple(times))


RECIPES = (
    Recipe(
        "blog-passage-ranking",
        "The best paragraphs of N documents (TF-IDF, BM25) against the first document alone: recall and time",
        "blog, improving the retriever on Natural Questions: passage ranking",
        run,
    ),
)
