"""Answers by features, without a network: the baseline of the time before neural readers.

Candidates are what has the shape of the expected answer type; for other types names, numbers and runs of
words between function words. The features are those of feature-based answer extraction (Jurafsky and Martin,
Speech and Language Processing, Question Answering): the answer type, how many of the question's keywords the
sentence has and how near they are, punctuation around, words that the question does not have.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoth import text
from quoth.errors import InputError
from quoth.text.mentions import TYPED, mentions, names
from quoth.types import Passage, Reading, Scored, Span

FEATURES = ("bias", "type", "keywords", "near", "punctuation", "new", "name", "number", "first", "words")
"""Of a candidate: 1; has the type; share of the question's keywords in its sentence; their nearness; a mark beside
it; share of its words that are new; a name; a number; 1 / rank of its passage; how many words it has."""

WEIGHTS: Mapping[str, float] = {
    "bias": -7.8,
    "type": 1.85,
    "keywords": 1.93,
    "near": 3.26,
    "punctuation": 0.25,
    "new": 1.67,
    "name": 0.32,
    "number": 0.19,
    "first": 0.5,
    "words": -0.04,
}
"""Fitted by logistic regression to the candidates of 2,500 SQuAD 2.0 train questions in their own paragraphs; the
weight of ``first``, which is the same there for all, is set by hand and taken from the bias."""

LONGEST = 6
"""Words of the longest run that is a candidate."""

NEAR = 10
"""Words from which on a keyword is not near."""

_SMALL = text.STOP_WORDS | frozenset(
    text.words(
        "who what which when where why how whom whose did does do is was were has had have he she his her its from "
        "can could would may also than been being"
    )
)


@dataclass(frozen=True, slots=True)
class Found:
    """A candidate (offsets into its passage's text) and its features, in the order of ``FEATURES``."""

    start: int
    end: int
    features: tuple[float, ...]


class FeatureReader:
    """Reads by features (the protocol ``Reader``): a floor for readers, not meant for use.

    A span's score is its log odds of being right, as the weights have it; the null score is 0.
    """

    def __init__(self, *, weights: Mapping[str, float] = WEIGHTS, n_best: int = 20) -> None:
        """Raise ``InputError`` for an *n_best* below 1."""
        if n_best < 1:
            raise InputError(f"n_best is {n_best}; it must be at least 1.")
        self._weights = tuple(weights.get(name, 0.0) for name in FEATURES)
        self._n_best = n_best

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Read all *passages*; each counts as a window."""
        scored = [
            (-sum(w * f for w, f in zip(self._weights, found.features, strict=True)), index, found)
            for index, passage in enumerate(passages)
            for found in candidates(question, passage.text, rank=index)
        ]
        scored.sort(key=lambda row: (row[0], row[1], row[2].start, row[2].end))
        best = scored[: self._n_best]
        return Reading(
            spans=tuple(Scored(_span(passages[index], found), -score) for score, index, found in best),
            passages=tuple(index for _, index, _ in best),
            null_score=0.0,
            read=len(passages),
            windows=len(passages),
            tokens=sum(text.estimate_tokens(passage.text) for passage in passages),
        )


def candidates(question: str, passage: str, *, rank: int = 0) -> Iterator[Found]:
    """Yield what may be the answer in the text of the *rank*-th passage (from 0), with its features."""
    kind = text.answer_type(question)
    asked = set(text.words(question))
    wanted = asked - _SMALL
    for start, end in text.sentences(passage):
        sentence = passage[start:end]
        spans = text.word_spans(sentence)
        folded = [text.fold(sentence[a:b]) for a, b in spans]
        hits = [i for i, word in enumerate(folded) if word in wanted]
        share = len({folded[i] for i in hits}) / len(wanted) if wanted else 0.0
        for (a, b), marks in _shapes(sentence, kind, spans, folded):
            inside = [i for i, (c, d) in enumerate(spans) if c < b and a < d]
            fresh = sum(folded[i] not in asked for i in inside)
            if not fresh:
                continue
            gaps = [max(inside[0] - i, i - inside[-1], 0) for i in hits]
            near = sum(1 - gap / NEAR for gap in gaps if gap < NEAR) / max(len(wanted), 1)
            what = [float(mark in marks) for mark in ("type", "name", "number")]
            beside = float(_marked(sentence, a, b))
            values = (1.0, what[0], share, near, beside, fresh / len(inside), what[1], what[2], 1 / (1 + rank),
                      float(len(inside)))  # fmt: skip
            yield Found(start + a, start + b, values)


def _shapes(
    sentence: str, kind: str, spans: Sequence[tuple[int, int]], folded: Sequence[str]
) -> list[tuple[tuple[int, int], set[str]]]:
    """Return each candidate span once, with what it is: of the expected type, a name, a number."""
    marks: dict[tuple[int, int], set[str]] = {}
    for what, listed in (
        ("type", mentions(sentence, kind)),
        ("name", names(sentence)),
        ("number", mentions(sentence, "number")),
    ):
        for span in listed:
            marks.setdefault(span, set()).add(what)
    if kind not in TYPED:
        for span in _runs(sentence, spans, folded):
            marks.setdefault(span, set())
    return sorted(marks.items())


def _runs(
    sentence: str, spans: Sequence[tuple[int, int]], folded: Sequence[str]
) -> Iterator[tuple[int, int]]:
    """Yield the runs of words without a function word or a mark between them."""
    run: list[tuple[int, int]] = []
    for span, word in [*zip(spans, folded, strict=True), ((len(sentence), len(sentence)), "the")]:
        if run and (word in _SMALL or sentence[run[-1][1] : span[0]].strip(" -")):
            if len(run) <= LONGEST:
                yield run[0][0], run[-1][1]
            run = []
        if word not in _SMALL:
            run.append(span)


def _marked(sentence: str, start: int, end: int) -> bool:
    """Say whether a mark stands directly before or behind a span."""
    before, behind = sentence[:start].rstrip()[-1:], sentence[end:].lstrip()[:1]
    return bool((before and before in ",(:;\"“'") or (behind and behind in ",);:.\"”'"))


def _span(passage: Passage, found: Found) -> Span:
    start, end = passage.start + found.start, passage.start + found.end
    return Span(passage.document_id, start, end, passage.text[found.start : found.end])
