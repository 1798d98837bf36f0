"""``question-processing``: what each step between a question and the search gives, one at a time.

Keywords, n-grams, focus and entities before the search; the expected answer type behind it, as a filter or as a
boost; and answers extracted by features alone.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoth import text
from quoth.datasets import load_selqa
from quoth.evaluate.cases import Case, limited, selection_cases
from quoth.evaluate.ranking import score_ranking
from quoth.evaluate.significance import bootstrap, permutation_test
from quoth.evaluate.spans import exact_match, f1
from quoth.protocols import Expander, Ranker
from quoth.rank import Bm25Ranker, TfidfRanker, top
from quoth.rank.types import AnswerTypeRanker, fitting
from quoth.reading.cues import FeatureReader
from quoth.reproduce.articles import Articles, Holds, article_index
from quoth.reproduce.corpus import load_corpus
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row
from quoth.retrieve.expand import EntityExpander, FocusExpander, KeywordExpander, NgramExpander, Parts
from quoth.retrieve.store import Index
from quoth.text.mentions import TYPED
from quoth.types import Candidate, Passage, Query, Scored

K = 20
SHOWN = (1, 3, 10)
READ = 5
SELQA = "selqa/ass/selqa-ass-dev.json"
STEPS: Mapping[str, Callable[[Parts], tuple[Expander, ...]]] = {
    "as asked": lambda parts: (),
    "keywords": lambda parts: (KeywordExpander(),),
    "ngrams": lambda parts: (NgramExpander(),),
    "focus": lambda parts: (FocusExpander(),),
    "entities": lambda parts: (EntityExpander(parts.recogniser),),
    "all four": lambda parts: (
        KeywordExpander(), NgramExpander(), FocusExpander(), EntityExpander(parts.recogniser),
    ),
}  # fmt: skip
TYPES: Mapping[str, tuple[float, bool]] = {
    "boost 0.02": (0.02, False),
    "boost 0.05": (0.05, False),
    "boost 0.1": (0.1, False),
    "boost 0.2": (0.2, False),
    "filter": (0.0, True),
}


class _Given:
    """A ranker whose scores are known."""

    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = scores

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        return self._scores


@dataclass(frozen=True, slots=True)
class Found:
    """The first passages for each case, and which of them hold its first answer."""

    hits: tuple[tuple[Scored[Passage], ...], ...]
    right: tuple[tuple[bool, ...], ...]

    def recalled(self, k: int) -> list[float]:
        return [float(any(flags[:k])) for flags in self.right]


def run(inputs: Inputs) -> Outcome:
    """Measure each step on SQuAD dev questions over 20,100 paragraphs, and answer types on SelQA dev as well."""
    corpus = load_corpus(inputs)
    asked = [case for case in corpus.cases("dev") if case.answers]
    cases = limited(asked, inputs.limit or None, seed=inputs.seed)
    articles = Articles("SQuAD", corpus.documents, (), "")
    rows: list[Row] = []
    holds = Holds()
    for analyzer in ("standard", "english"):
        with article_index(inputs, articles, split="passage", analyzer=analyzer) as index:
            results: dict[str, Found] = {}
            for number, (name, make) in enumerate(STEPS.items()):
                inputs.progress(number, len(STEPS), f"{analyzer}: {name}")
                results[name] = _search(index, cases, make(Parts(index)), holds)
            rows += _compared(cases, results, f"{analyzer} analyzer, ", "as asked")
    plain = results["as asked"]
    typed = {"as retrieved": plain} | {
        name: _retyped(cases, plain, boost=boost, required=required, holds=holds)
        for name, (boost, required) in TYPES.items()
    }
    rows += _compared(cases, typed, "answer type, ", "as retrieved")
    rows += _fits(cases, plain)
    rows += _selection(inputs)
    rows += _extracted(cases, plain)
    kinds = Counter(text.answer_type(case.question) for case in cases)
    return Outcome(
        rows=tuple(rows),
        differences=(
            "The blog's introduction names these steps and gives no figures for them.",
            f"{len(cases)} answerable SQuAD 2.0 dev questions over {corpus.passages} paragraphs (train, dev); recall "
            "by answer string (first answer). The english analyzer leaves 33 stop words and asking words out of every "
            "question by itself; the standard one leaves nothing out.",
            "Expected answer types: " + ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()) + ".",
        ),
    )


def _search(index: Index, cases: Sequence[Case], expanders: Sequence[Expander], holds: Holds) -> Found:
    hits = []
    for case in cases:
        query = Query(case.question)
        for expander in expanders:
            query = expander.expand(query)
        hits.append(tuple(index.retrieve(query, k=K)))
    return _flagged(cases, hits, holds)


def _flagged(cases: Sequence[Case], hits: Sequence[tuple[Scored[Passage], ...]], holds: Holds) -> Found:
    right = tuple(
        tuple(holds(s.item, case.answers[:1]) for s in found) for case, found in zip(cases, hits, strict=True)
    )
    return Found(tuple(hits), right)


def _retyped(cases: Sequence[Case], plain: Found, *, boost: float, required: bool, holds: Holds) -> Found:
    """Return the same passages ordered with the answer type taken into account."""
    moved = []
    for case, found in zip(cases, plain.hits, strict=True):
        passages = [s.item for s in found]
        ranker = AnswerTypeRanker(_Given([s.score for s in found]), boost=boost, required=required)
        moved.append(top(passages, ranker.score(case.question, [Candidate(p.text) for p in passages])))
    return _flagged(cases, moved, holds)


def _compared(cases: Sequence[Case], results: Mapping[str, Found], prefix: str, base: str) -> Iterator[Row]:
    groups = [case.group for case in cases]
    for name, found in results.items():
        for k in SHOWN:
            interval = bootstrap(found.recalled(k), groups=groups)
            test = permutation_test(found.recalled(k), results[base].recalled(k), groups=groups)
            against = "" if name == base else f"{test.difference:+.4f} to {base}, p {test.p_value:.3f}; "
            how = f"{against}n={interval.n}, by answer string"
            yield Row(f"recall@{k}: {prefix}{name}", "", interval.value, how, interval.low, interval.high)


def _fits(cases: Sequence[Case], plain: Found) -> Iterator[Row]:
    """Yield how often passages with and without an answer mention the expected type: what a filter can tell apart."""
    fits: dict[bool, list[float]] = {True: [], False: []}
    for case, found, flags in zip(cases, plain.hits, plain.right, strict=True):
        kind = text.answer_type(case.question)
        if kind in TYPED:
            for scored, right in zip(found[: SHOWN[-1]], flags, strict=False):
                fits[right].append(float(fitting(case.question, kind, scored.item.text)))
    for right, values in fits.items():
        if values:
            name = "hold an answer" if right else "hold none"
            interval = bootstrap(values)
            how = f"n={interval.n} passages among the first {SHOWN[-1]}, questions of a typed answer only"
            yield Row(
                f"mentions of the type in passages that {name}",
                "",
                interval.value,
                how,
                interval.low,
                interval.high,
            )


def _selection(inputs: Inputs) -> Iterator[Row]:
    """Yield MAP and MRR of SelQA's dev sentences, ranked with and without the answer type."""
    cases = limited(selection_cases(load_selqa(inputs.file(SELQA))), inputs.limit or None, seed=inputs.seed)
    rankers: dict[str, Ranker] = {}
    for name, base in (("bm25", Bm25Ranker()), ("tf-idf", TfidfRanker())):
        rankers[name] = base
        for boost in (0.05, 0.2, 0.5):
            rankers[f"{name}, type boost {boost:g}"] = AnswerTypeRanker(base, boost=boost)
        rankers[f"{name}, type filter"] = AnswerTypeRanker(base, boost=0.0, required=True)
    for name, ranker in rankers.items():
        scored = {
            c.gold.id: dict(zip(c.gold.candidates, ranker.score(c.question, c.candidates), strict=True))
            for c in cases
        }
        result = score_ranking([c.gold for c in cases], scored, convention="has-positive")
        for metric, column in (("MAP", "AP"), ("MRR", "RR")):
            interval = bootstrap(result.columns[column])
            yield Row(
                f"SelQA dev {metric}: {name}", "", interval.value, f"n={interval.n}, has-positive", interval.low,
                interval.high,
            )  # fmt: skip


def _extracted(cases: Sequence[Case], plain: Found) -> Iterator[Row]:
    """Yield EM and F1 of answers extracted by features: from the gold paragraph, and from the first passages."""
    reader = FeatureReader()
    given = [[case.passage] if case.passage else [] for case in cases]
    found = [[s.item for s in hits[:READ]] for hits in plain.hits]
    groups = [case.group for case in cases]
    for name, passages in (("gold paragraph", given), (f"first {READ} passages", found)):
        said = []
        for case, read in zip(cases, passages, strict=True):
            reading = reader.read(case.question, read)
            said.append(reading.spans[0].item.text if reading.spans else "")
        exact = [max(float(exact_match(a, g)) for g in c.answers) for a, c in zip(said, cases, strict=True)]
        overlap = [max(f1(a, g) for g in c.answers) for a, c in zip(said, cases, strict=True)]
        for metric, values in (("EM", exact), ("F1", overlap)):
            interval = bootstrap(values, groups=groups)
            how = f"n={interval.n}, answerable questions, always answered, 0..1"
            yield Row(
                f"feature-based answers, {name}: {metric}",
                "",
                interval.value,
                how,
                interval.low,
                interval.high,
            )


RECIPES = (
    Recipe(
        "question-processing",
        "Keywords, n-grams, focus, entities, answer types and feature-based answers, each on and off",
        "blog, introduction: question processing and feature-based extraction",
        run,
    ),
)
