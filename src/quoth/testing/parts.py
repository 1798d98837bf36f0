"""Checks of rankers, readers, expanders, retrievers: what every implementation must do."""

from collections.abc import Sequence
from itertools import pairwise

from quoth.errors import InputError
from quoth.protocols import Expander, Ranker, Reader, Retriever
from quoth.retrieve.where import satisfies
from quoth.testing.rule import finite, require
from quoth.types import Candidate, Filter, Passage, Phrase, Query, Reading, Term

_QUESTION = "When did the siege of Vienna begin, and who ended it?"
_CANDIDATES = (
    Candidate("The siege of Vienna began in 1529.", next="It was long.", document="The siege of Vienna."),
    Candidate("Apples are red."),
    Candidate(""),
    Candidate("Größe: 今日は晴れです。 שלום 👩🏽‍🚀"),
    Candidate("The siege was ended by the king of Poland. " * 20),
    Candidate("Apples are red."),
)


def check_ranker(ranker: Ranker, *, independent: bool = False, tolerance: float = 1e-4) -> None:
    """Raise ``CheckError`` where *ranker* does not keep the contract of ``quoth.protocols.Ranker``.

    *independent* also asks that a candidate's score does not depend on which others there are.
    *tolerance* is how far two scores of the same text may be apart.
    """
    found = _scores(ranker, _CANDIDATES)
    again = _scores(ranker, _CANDIDATES)
    require(_near(found, again, tolerance), ranker, "the same call gives the same scores.", (found, again))
    require(abs(found[1] - found[5]) <= tolerance, ranker, "equal candidates have equal scores.", found)
    turned = _scores(ranker, _CANDIDATES[::-1])[::-1]
    require(_near(found, turned, tolerance), ranker, "scores do not depend on the order.", (found, turned))
    _scores(ranker, ())
    alone = [_scores(ranker, [candidate])[0] for candidate in _CANDIDATES]
    if independent:
        require(_near(found, alone, tolerance), ranker, "scores do not depend on the others.", (found, alone))


def _scores(ranker: Ranker, candidates: Sequence[Candidate]) -> list[float]:
    scores = ranker.score(_QUESTION, candidates)
    require(
        len(scores) == len(candidates), ranker, f"there are {len(candidates)} scores for as many.", scores
    )
    require(all(map(finite, scores)), ranker, "every score is a finite number.", scores)
    return [float(score) for score in scores]


def _near(one: Sequence[float], other: Sequence[float], tolerance: float) -> bool:
    return all(abs(a - b) <= tolerance for a, b in zip(one, other, strict=True))


_TEXT = "Some words before. The siege of Vienna began in 1529. 👩🏽‍🚀 Größe: 今日は晴れです。 It was ended by John."
_PASSAGES = (
    Passage("a", 0, len(_TEXT), _TEXT, "Vienna"),
    Passage("a", 19, 53, _TEXT[19:53], "Vienna"),
    Passage("b", 100, 103, "   "),
    Passage("b", 200, 200 + 60 * 400, "The siege was ended by the king, who then went home to eat. " * 400),
    Passage("c", 7, 16, "It is so."),
)


def check_reader(reader: Reader, *, tolerance: float = 1e-4) -> None:
    """Raise ``CheckError`` where *reader* does not keep the contract of ``quoth.protocols.Reader``.

    *tolerance* is how far scores may be apart when the same is read twice.
    """
    empty = reader.read(_QUESTION, ())
    require(not empty.spans and not empty.passages, reader, "no passages, no spans.", empty)
    require(empty.null_score == 0, reader, "no passages, a null score of 0.", empty.null_score)
    for passages in (_PASSAGES, _PASSAGES[::-1], _PASSAGES[1:2], _PASSAGES[2:3], _PASSAGES[:1] * 3):
        reading = reader.read(_QUESTION, passages)
        _check_reading(reader, reading, passages)
        again = reader.read(_QUESTION, passages)
        same = [s.item for s in reading.spans] == [s.item for s in again.spans]
        scores = [[*(s.score for s in r.spans), r.null_score] for r in (reading, again)]
        same = same and _near(scores[0], scores[1], tolerance)
        require(same, reader, "the same call gives the same reading.", (reading.spans[:1], again.spans[:1]))


def _check_reading(reader: Reader, reading: Reading, passages: Sequence[Passage]) -> None:
    require(finite(reading.null_score), reader, "the null score is a finite number.", reading.null_score)
    require(0 <= reading.read <= len(passages), reader, "read counts passages.", reading.read)
    require(reading.windows >= 0 and reading.tokens >= 0, reader, "windows and tokens are counts.")
    require(
        len(reading.spans) == len(reading.passages),
        reader,
        "each span has its passage.",
        (len(reading.spans), len(reading.passages)),
    )
    for scored, index in zip(reading.spans, reading.passages, strict=True):
        span = scored.item
        require(finite(scored.score), reader, "every score is a finite number.", scored)
        require(0 <= index < reading.read, reader, "a span's passage is among those read.", index)
        passage = passages[index]
        require(span.document_id == passage.document_id, reader, "a span is in its passage's document.", span)
        inside = passage.start <= span.start < span.end <= passage.end
        require(inside, reader, "a span lies within its passage and is not empty.", span)
        cut = passage.text[span.start - passage.start : span.end - passage.start]
        require(span.text == cut, reader, "a span is a slice of its passage.", (span, cut))
    scores = [scored.score for scored in reading.spans]
    require(all(a >= b for a, b in pairwise(scores)), reader, "spans are best first.", scores)


def check_expander(expander: Expander, queries: Sequence[Query]) -> None:
    """Raise ``CheckError`` where *expander* does not keep the contract of ``quoth.protocols.Expander``."""
    for query in queries:
        new = expander.expand(query)
        require(new.question == query.question, expander, "the question is never changed.", new.question)
        for kind, before, after in (
            ("phrases", query.phrases, new.phrases),
            ("terms", query.terms, new.terms),
            ("filters", query.filters, new.filters),
        ):
            require(
                all(x in after for x in before), expander, f"{kind} that were there stay.", (before, after)
            )
        additions: tuple[Phrase | Term, ...] = (*new.phrases, *new.terms)
        for added in additions:
            require(bool(added.text.strip()), expander, "what is added is not blank.", added)
            require(bool(added.origin), expander, "what is added says where it is from.", added)
            require(finite(added.weight) and added.weight > 0, expander, "weights are positive.", added)


def check_retriever(retriever: Retriever, queries: Sequence[Query]) -> None:
    """Raise ``CheckError`` where *retriever* does not keep the contract of ``quoth.protocols.Retriever``.

    *queries* should match some of what it holds; at least one must. Filters in them are checked
    against the metadata of the documents found.
    """
    hits = 0
    for query in queries:
        for k in (1, 3, 10):
            hits += _check_found(retriever, query, k)
    require(hits > 0, retriever, "some query must find something, else nothing was checked.")
    impossible = Filter("no-document-has-this-key", ":", "x")
    for query in queries:
        found = retriever.retrieve(Query(query.question, filters=(impossible,)), k=3)
        require(len(found) == 0, retriever, "passages satisfy the filters.", found)
    try:
        retriever.document("no document has this id")
    except InputError:
        return
    require(False, retriever, "an unknown id is an InputError.")


def _check_found(retriever: Retriever, query: Query, k: int) -> int:
    found = retriever.retrieve(query, k=k)
    require(len(found) <= k, retriever, f"there are at most k={k} passages.", len(found))
    for scored in found:
        passage = scored.item
        require(finite(scored.score), retriever, "every score is a finite number.", scored)
        document = retriever.document(passage.document_id)
        require(document.id == passage.document_id, retriever, "document(id) has that id.", document.id)
        require(
            0 <= passage.start < passage.end <= len(document.text)
            and document.text[passage.start : passage.end] == passage.text,
            retriever,
            "a passage's text is the slice of its document.",
            passage,
        )
        for condition in query.filters:
            value = document.metadata.get(condition.key)
            if value is not None:
                held = satisfies(condition, document.metadata)
                require(held, retriever, f"passages satisfy {condition}.", value)
    keys = [(-scored.score, scored.item.document_id, scored.item.start) for scored in found]
    require(keys == sorted(keys), retriever, "best first, ties by (document id, start).", keys)
    require(len(set(keys)) == len(keys), retriever, "no passage is found twice.", keys)
    again = retriever.retrieve(query, k=k)
    require([s.item for s in again] == [s.item for s in found], retriever, "the same query finds the same.")
    return len(found)
