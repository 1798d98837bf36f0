"""From spans to sentences and back: SQuAD -> AS2, AS2 -> SQuAD, SQuAD -> answer triggering."""

from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Literal

from quoth.datasets.candidates import Row, candidates_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import (
    Context,
    GoldAnswer,
    SelectionDataset,
    SelectionQuestion,
    SpanDataset,
    SpanQuestion,
    TriggeringDataset,
    TriggeringQuestion,
    TriggeringSection,
)
from quoth.errors import InputError
from quoth.text import sentences

Spans = tuple[tuple[int, int], ...]
Splitter = Callable[[str], Spans]

PUBLISHED_AS2 = (87_355, 448_108)
"""Questions and pairs of SQuAD 1.1 as sentence selection, in the paper on contextual AS2
(Lauriola and Moschitti, 2021), cut by another sentence splitter."""


def iter_selection(
    data: SpanDataset,
    *,
    impossible: bool = False,
    document: Literal["paragraph", "article"] = "paragraph",
    split_sentences: Splitter = sentences,
) -> Iterator[SelectionQuestion]:
    """Yield each question with the sentences of its paragraph as candidates, one at a time.

    A sentence is positive where it holds an annotated answer, by its offset (any annotator's);
    the same words elsewhere in the paragraph are not. Sentences that one answer crosses are
    joined into one candidate, for that question. ``previous`` and ``next`` are the
    neighbours in the paragraph, and *document* is kept whole: the paragraph, or all the
    paragraphs of the article joined by blank lines. Unanswerable questions are left out
    unless *impossible* is set; they have no positive candidate. Garg et al. (2020) is the
    procedure; a candidate's id is the question's id and its index from 0.
    """
    cut: dict[str, Spans] = {}
    articles = _articles(data) if document == "article" else {}
    for question in data.questions:
        if question.impossible and not impossible:
            continue
        context = data.context(question)
        spans = cut.get(context.id)
        if spans is None:
            spans = cut[context.id] = split_sentences(context.text)
        rows = _labelled(question.id, context.text, spans, question.answers)
        yield SelectionQuestion(
            question.id,
            question.question,
            candidates_of(rows, ordered=True),
            title=question.title,
            document=articles.get(context.document_id, context.text),
            document_id=context.document_id,
            split=question.split,
        )


def squad_to_selection(
    data: SpanDataset,
    *,
    impossible: bool = False,
    document: Literal["paragraph", "article"] = "paragraph",
    split_sentences: Splitter = sentences,
) -> SelectionDataset:
    """Return all questions of ``iter_selection``, with the problems of *data*."""
    questions = iter_selection(
        data, impossible=impossible, document=document, split_sentences=split_sentences
    )
    return SelectionDataset(data.name, data.split, tuple(questions), data.problems)


def selection_to_squad(data: SelectionDataset) -> SpanDataset:
    """Return selection data as spans: the answers are whole sentences.

    A question comes over where its document is known and every candidate is found in it, in
    order; the others are reported (kind ``no_offsets``) and left out. A question without a
    positive is impossible. Questions about the same text share a context.
    """
    ledger = Ledger()
    contexts: dict[tuple[str, str], Context] = {}
    counts: dict[str, int] = {}
    questions = []
    for question in data.questions:
        places = _places(question)
        if places is None:
            detail = "its document is not known, or does not hold its sentences in order"
            ledger.note(question.id, "no_offsets", detail, repaired=False)
            continue
        id = question.document_id or question.id
        context = contexts.get((id, question.document))
        if context is None:
            at = counts[id] = counts.get(id, -1) + 1
            context = Context(f"{id}/{at}", question.title, question.document, id)
            contexts[id, question.document] = context
        answers = tuple(
            GoldAnswer(candidate.text, start)
            for candidate, start in zip(question.candidates, places, strict=True)
            if candidate.label and candidate.text
        )
        questions.append(
            SpanQuestion(
                question.id,
                question.question,
                answers,
                not answers,
                context.id,
                question.title,
                question.split,
            )
        )
    held = {context.id: context for context in contexts.values()}
    return SpanDataset(data.name, data.split, held, tuple(questions), data.problems + ledger.problems)


def iter_triggering(
    data: SpanDataset,
    *,
    sections: int = 5,
    seed: int = 0,
    others: Callable[[SpanQuestion], Sequence[str]] | None = None,
    split_sentences: Splitter = sentences,
) -> Iterator[TriggeringQuestion]:
    """Yield each question with its own paragraph and others, as SelQA's triggering sets have them.

    The other paragraphs are drawn from the same article (from the rest where it has too few), or
    are the first of what *others* returns for the question: ids of contexts, best first, say
    a retriever's. Sections are put in a random order. Draws depend on *seed* and the
    question's id alone, so that a part of a set is the same as in the whole. Only the
    question's own paragraph can be positive; of an unanswerable question none is.

    Raises ``InputError`` where *sections* is below 1, or *others* names an unknown context.
    """
    if sections < 1:
        raise InputError(f"{sections} sections: at least 1 is needed.", hint="SelQA has 5.")
    cut: dict[str, Spans] = {}
    everything = list(data.contexts)
    articles: dict[str, list[str]] = {}
    for context in data.contexts.values():
        articles.setdefault(context.document_id, []).append(context.id)
    for question in data.questions:
        own = data.context(question)
        random = Random(f"{seed}/{question.id}")
        wanted = sections - 1
        if others is None:
            chosen = _drawn(random, articles[own.document_id], {own.id}, wanted)
            chosen += _drawn(random, everything, {own.id, *chosen}, wanted - len(chosen))
        else:
            chosen = [id for id in dict.fromkeys(others(question)) if id != own.id][:wanted]
        names = [own.id, *chosen]
        random.shuffle(names)
        parts = []
        for number, name in enumerate(names):
            context = _known(data, name)
            if name not in cut:
                cut[name] = split_sentences(context.text)
            answers = question.answers if name == own.id else ()
            rows = _labelled(f"{question.id}-{number}", context.text, cut[name], answers)
            candidates = candidates_of(rows, ordered=True)
            parts.append(TriggeringSection(f"{question.id}/{name}", context.title, name, candidates))
        yield TriggeringQuestion(
            question.id,
            question.question,
            tuple(parts),
            question.title,
            own.document_id,
            split=question.split,
        )


def squad_to_triggering(
    data: SpanDataset,
    *,
    sections: int = 5,
    seed: int = 0,
    others: Callable[[SpanQuestion], Sequence[str]] | None = None,
    split_sentences: Splitter = sentences,
) -> TriggeringDataset:
    """Return all questions of ``iter_triggering``, with the problems of *data*."""
    questions = iter_triggering(
        data, sections=sections, seed=seed, others=others, split_sentences=split_sentences
    )
    return TriggeringDataset(data.name, data.split, tuple(questions), data.problems)


def _labelled(id: str, text: str, spans: Spans, answers: tuple[GoldAnswer, ...]) -> list[Row]:
    """Return the sentences with their labels; those that one answer crosses are one."""
    joined, positive = _joined(spans, answers)
    return [
        Row(f"{id}-{at}", text[start:end], int((start, end) in positive))
        for at, (start, end) in enumerate(joined)
    ]


def _joined(
    spans: Spans, answers: tuple[GoldAnswer, ...]
) -> tuple[list[tuple[int, int]], set[tuple[int, int]]]:
    """Return the sentences, joined where an answer crosses them, and the ones that hold an answer."""
    touched = [
        [at for at, (start, end) in enumerate(spans) if start < answer.end and end > answer.start]
        for answer in answers
    ]
    glued = {at for places in touched for at in places[:-1]}
    joined: list[tuple[int, int]] = []
    index: list[int] = []
    for at, (start, end) in enumerate(spans):
        if at - 1 in glued:
            joined[-1] = (joined[-1][0], end)
        else:
            joined.append((start, end))
        index.append(len(joined) - 1)
    return joined, {joined[index[places[0]]] for places in touched if places}


def _articles(data: SpanDataset) -> dict[str, str]:
    parts: dict[str, list[str]] = {}
    for context in data.contexts.values():
        parts.setdefault(context.document_id, []).append(context.text)
    return {id: "\n\n".join(texts) for id, texts in parts.items()}


def _places(question: SelectionQuestion) -> list[int] | None:
    """Return where each candidate starts in the document, or None where one is not there."""
    places: list[int] = []
    position = 0
    for candidate in question.candidates:
        start = question.document.find(candidate.text, position)
        if start < 0:
            return None
        places.append(start)
        position = start + len(candidate.text)
    return places if question.document else None


def _drawn(random: Random, ids: list[str], taken: set[str], count: int) -> list[str]:
    """Draw *count* of *ids* that are not taken, or all of them where there are fewer."""
    if count <= 0:
        return []
    if len(ids) > 10 * (count + len(taken)):
        drawn: dict[str, None] = {}
        while len(drawn) < count:
            id = ids[random.randrange(len(ids))]
            if id not in taken:
                drawn[id] = None
        return list(drawn)
    free = [id for id in ids if id not in taken]
    return random.sample(free, min(count, len(free)))


def _known(data: SpanDataset, id: str) -> Context:
    try:
        return data.contexts[id]
    except KeyError as error:
        raise InputError(
            f"{id!r} is no context of {data.name}.", hint="Ids of contexts are needed (DOCUMENT/N)."
        ) from error
