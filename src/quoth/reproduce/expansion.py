"""``blog-expansion``: does more than the question's own words find more answers, by number of documents?"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from quoth.errors import QuothError
from quoth.evaluate.significance import bootstrap, permutation_test
from quoth.protocols import Expander
from quoth.reproduce.articles import (
    Articles,
    Holds,
    article_index,
    cmu_articles,
    first_hits,
    recalled,
    selqa_sections,
    squad_articles,
)
from quoth.reproduce.masking import FOLDER as MADE
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.retrieve.expand import (
    EntityExpander,
    MaskedSynonyms,
    Parts,
    Rm3Expander,
    SynonymExpander,
    SynonymSource,
    VectorSynonyms,
    WordNetSynonyms,
    load_vectors,
    open_wordnet,
)
from quoth.retrieve.store import Index
from quoth.types import Passage, Query

VECTORS = "glove/glove.6B.50d.subset.txt"
KS = (1, 3, 5, 10, 14, 20)
SHOWN = (1, 5, 14)
PUBLISHED = {
    ("none", 14): "about 0.70 at 14 (NQ)",
    ("entities", 14): "slightly above none",
    ("entities + vectors, weight 1", 14): "below none",
    ("entities + mlm, weight 1", 14): "below none",
}
EXAMPLES = (
    "Who is the bad guy in The Hunger Games?",
    "what is Thomas Middleditch's popular tv show?",
    "how many rose species are found in the Montreal Botanical Garden?",
)


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to expand. ``make`` gives its expanders for one index."""

    name: str
    make: Callable[[Parts], tuple[Expander, ...]]


@dataclass(frozen=True, slots=True)
class Sources:
    """Where synonyms come from, and why others are not there."""

    sources: tuple[SynonymSource, ...]
    skipped: tuple[str, ...]


def run(inputs: Inputs) -> Outcome:
    """Measure every variant on SQuAD and CMU articles as whole documents and on SelQA sections."""
    sources = open_sources(inputs)
    variants = list(_variants(sources.sources))
    rows: list[Row] = []
    charts: list[Chart] = []
    about: list[str] = []
    collections = (squad_articles, cmu_articles, selqa_sections)
    for done, load in enumerate(collections):
        articles = load(inputs).limited(inputs.limit, inputs.seed)
        about.append(f"{articles.name}: {articles.about}")
        with article_index(inputs, articles) as index:
            results = []
            for number, variant in enumerate(variants):
                what = f"{articles.name}: {variant.name}"
                inputs.progress(done * len(variants) + number, len(collections) * len(variants), what)
                results.append((variant, *_measure(articles, index, variant.make(Parts(index)))))
        base = results[0][1]
        for variant, ranks, cost in results:
            rows += _rows(articles, variant, ranks, base, cost)
        charts.append(_chart(articles, [(variant.name, ranks) for variant, ranks, _ in results]))
    return Outcome(
        rows=tuple(rows),
        differences=(
            "Published: Natural Questions dev over all of Wikipedia, full articles, in Elasticsearch; figures from its "
            "text and plot. Here: hundreds of articles, so that recall is higher, and only differences compare.",
            *about,
            f"Word vectors: {VECTORS} (9,222 words, 50 dimensions), where the blog had GloVe's 400,000 words of 50 "
            "(its text says 100) dimensions.",
            "Entities: the built-in recogniser (quoted, capitalised, the index's titles) in place of spaCy's "
            "en_core_web_sm.",
            *sources.skipped,
        ),
        charts=tuple(charts),
        examples=tuple(_example(question, sources.sources) for question in EXAMPLES),
    )


def open_sources(inputs: Inputs) -> Sources:
    """Return the sources of synonyms that there are: vectors, WordNet where installed, a masked model where named."""
    found: list[SynonymSource] = [VectorSynonyms(load_vectors(inputs.file(VECTORS)))]
    skipped = []
    try:
        found.append(WordNetSynonyms(open_wordnet()))
    except QuothError as problem:
        skipped.append(f"wordnet was skipped: {problem}")
    named = str(inputs.settings["expand"].value) if "expand" in inputs.settings else ""
    model = next((part.partition(":")[2] for part in named.split(",") if part.startswith("mlm:")), "")
    made = inputs.work / MADE
    model = model or (str(made) if made.is_dir() else "")
    if not model:
        skipped.append(
            "mlm was skipped: no masked language model is named (QUOTH_EXPAND=mlm:MODEL names one; the recipe "
            "masked-lm makes one)."
        )
        return Sources(tuple(found), tuple(skipped))
    from quoth.models.masked import load_masked

    try:
        found.append(MaskedSynonyms(load_masked(model)))
    except QuothError as problem:
        skipped.append(f"mlm was skipped: {problem}")
    return Sources(tuple(found), tuple(skipped))


def _variants(sources: Sequence[SynonymSource]) -> Iterator[Variant]:
    yield Variant("none", lambda parts: ())
    yield Variant("entities", lambda parts: (EntityExpander(parts.recogniser),))
    yield Variant("entities, weight 1", lambda parts: (EntityExpander(parts.recogniser, weight=1.0),))
    for source in sources:
        yield Variant(source.name, lambda parts, source=source: (parts.synonyms(source),))  # type: ignore[misc]
        yield Variant(
            f"entities + {source.name}, weight 1",
            lambda parts, source=source: (  # type: ignore[misc]
                EntityExpander(parts.recogniser, weight=1.0),
                SynonymExpander(
                    source, parts.recogniser, is_name=lambda word: parts.names().knows(word), weight=1.0
                ),
            ),
        )
    yield Variant("rm3", lambda parts: (Rm3Expander(parts.retriever),))
    yield Variant("rm3, original weight 0.9", lambda parts: (Rm3Expander(parts.retriever, original=0.9),))


def _measure(articles: Articles, index: Index, expanders: Sequence[Expander]) -> tuple[list[int], float]:
    """Return the rank of each question's first hit, and the median milliseconds that expanding took."""
    spent: list[float] = []

    def retrieve(question: str) -> Sequence[Passage]:
        query = Query(question)
        begun = time.perf_counter()
        for expander in expanders:
            query = expander.expand(query)
        spent.append((time.perf_counter() - begun) * 1000)
        return [scored.item for scored in index.retrieve(query, k=max(KS))]

    ranks = first_hits(articles, retrieve, Holds())
    return ranks, median(spent)


def _rows(
    articles: Articles, variant: Variant, ranks: Sequence[int], base: Sequence[int], cost: float
) -> Iterator[Row]:
    groups = [asked.document_id for asked in articles.questions]
    for k in SHOWN:
        interval = bootstrap(recalled(ranks, k), groups=groups)
        test = permutation_test(recalled(ranks, k), recalled(base, k), groups=groups)
        against = "" if variant.name == "none" else f"{test.difference:+.4f} to none, p {test.p_value:.3f}; "
        yield Row(
            f"{articles.name} recall@{k}: {variant.name}",
            PUBLISHED.get((variant.name, k), ""),
            interval.value,
            f"{against}n={interval.n}, by answer string, {cost:.1f} ms to expand",
            interval.low,
            interval.high,
        )


def _chart(articles: Articles, results: Sequence[tuple[str, Sequence[int]]]) -> Chart:
    curves = tuple(
        Curve(name, tuple((float(k), sum(recalled(ranks, k)) / len(ranks)) for k in KS))
        for name, ranks in results
    )
    return Chart(f"Recall by number of documents, {articles.name}", "documents", "recall", curves)


def _example(question: str, sources: Sequence[SynonymSource]) -> str:
    """Return what each way of expanding adds to a question of the blog's."""
    from quoth.retrieve.expand import RuleRecogniser

    recogniser = RuleRecogniser()
    query = EntityExpander(recogniser).expand(Query(question))
    for source in sources:
        query = SynonymExpander(source, recogniser).expand(query)
    phrases = [f'"{phrase.text}" ({phrase.origin})' for phrase in query.phrases]
    terms = [f"{term.text} ({term.origin})" for term in query.terms]
    return f"{question} -> {'; '.join([*phrases, *terms])}"


RECIPES = (
    Recipe(
        "blog-expansion",
        "Recall by number of documents: entities, synonyms by vectors, WordNet and masked words, feedback",
        "blog, Beyond SQuAD / improving the retriever: query expansion",
        run,
    ),
)
