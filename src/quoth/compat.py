"""The drop-in for the question-answering pipeline that Transformers 5 removed.

    from quoth import question_answering
    question_answering(question="Who wrote it?", context="Mary Shelley wrote it in 1816.")

Arguments, errors, result dictionaries and the way of scoring are those of the pipeline as it last
stood in Transformers 4 (4.57). That way is not ours: a score is a probability within one window,
windows are compared all the same, and a "no answer" competes only when it is asked for.
``quoth.reading`` has one scale and one null score for all of a text.
"""

import unicodedata
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, TypedDict, cast

from quoth.errors import InputError
from quoth.protocols import SpanModel

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from quoth.reading.windows import Placed

    Doubles = NDArray[np.float64]
    Ints = NDArray[np.int64]

_WINDOWS_AT_ONCE = 64


class AnswerDict(TypedDict):
    """One answer: a probability, offsets into the context, and the slice between them."""

    score: float
    start: int
    end: int
    answer: str


Answers = AnswerDict | list[AnswerDict]
Inputs = Mapping[str, object] | Iterable[object] | str


@dataclass(frozen=True, slots=True)
class _Choice:
    """The pipeline's parameters, checked and with their defaults filled in."""

    top_k: int
    doc_stride: int
    max_answer_len: int
    max_seq_len: int
    max_question_len: int
    handle_impossible_answer: bool
    align_to_words: bool


class QuestionAnswering:
    """What ``pipeline("question-answering", ...)`` returned: call it with questions and contexts.

    *model* is a shipped reader (``small``, ``large``), a local folder, a Hugging Face name, or
    a ``SpanModel``. Safe to share between threads.
    """

    def __init__(self, model: str | SpanModel = "small", *, engine: str = "auto", threads: int = 0) -> None:
        self.model: SpanModel = _load(model, engine, threads) if isinstance(model, str) else model

    def __call__(
        self,
        *inputs: Inputs,
        question: object = None,
        context: object = None,
        top_k: int | None = None,
        doc_stride: int | None = None,
        max_answer_len: int = 15,
        max_seq_len: int | None = None,
        max_question_len: int = 64,
        handle_impossible_answer: bool = False,
        align_to_words: bool = True,
        topk: int | None = None,
        batch_size: int | None = None,
        padding: object = None,
    ) -> Answers | list[Answers]:
        """Answer one question or many from their contexts.

        One input gives a dictionary (``score``, ``start``, ``end``, ``answer``), or a list of them
        where ``top_k`` asks for several and there are several; many inputs give a list of those.
        *inputs* may be a question and a context, one mapping with these two keys, or a list of
        such mappings. One context serves a list of questions.

        * ``top_k`` (1): how many answers; ``topk`` is its old name.
        * ``doc_stride`` (128, at most half of ``max_seq_len``): how many tokens two neighbouring
          windows of a long context *share*.
        * ``max_answer_len`` (15), ``max_seq_len`` (384), ``max_question_len`` (64): in tokens.
        * ``handle_impossible_answer``: let an empty answer compete.
        * ``align_to_words``: widen answers to whole words.
        * ``batch_size`` and ``padding`` change nothing: batches are planned inside.

        Raises ``KeyError`` for a mapping without a question or a context, and ``ValueError`` for
        empty ones, lists of different lengths and numbers that cannot be.
        """
        if topk is not None and top_k is None:
            warnings.warn("topk is the old name of top_k.", UserWarning, stacklevel=2)
            top_k = topk
        pairs = _pairs(inputs, question, context)
        longest = min(max_seq_len or 384, self.model.max_length)
        choice = _Choice(
            top_k=1 if top_k is None else top_k,
            doc_stride=min(longest // 2, 128) if doc_stride is None else doc_stride,
            max_answer_len=max_answer_len,
            max_seq_len=longest,
            max_question_len=max_question_len,
            handle_impossible_answer=handle_impossible_answer,
            align_to_words=align_to_words,
        )
        _check(choice)
        answers = _answer(self.model, pairs, choice)
        return answers[0] if len(pairs) == 1 else answers


def question_answering(
    *inputs: Inputs,
    question: object = None,
    context: object = None,
    model: str | SpanModel = "small",
    top_k: int | None = None,
    doc_stride: int | None = None,
    max_answer_len: int = 15,
    max_seq_len: int | None = None,
    max_question_len: int = 64,
    handle_impossible_answer: bool = False,
    align_to_words: bool = True,
) -> Answers | list[Answers]:
    """Answer one question or many from their contexts, as the pipeline did.

    ``QuestionAnswering.__call__`` says what the arguments mean and what comes back. A model
    that is named is loaded once and kept.
    """
    return QuestionAnswering(model)(
        *inputs,
        question=question,
        context=context,
        top_k=top_k,
        doc_stride=doc_stride,
        max_answer_len=max_answer_len,
        max_seq_len=max_seq_len,
        max_question_len=max_question_len,
        handle_impossible_answer=handle_impossible_answer,
        align_to_words=align_to_words,
    )


def pipeline(task: str = "question-answering", model: str | SpanModel = "small") -> QuestionAnswering:
    """Return the question-answering pipeline: ``transformers.pipeline`` for this one task.

    Raises ``KeyError`` for any other task, as Transformers did for one that it did not know.
    """
    if task != "question-answering":
        raise KeyError(f"Unknown task {task!r}; the only one here is 'question-answering'.")
    return QuestionAnswering(model)


@lru_cache(maxsize=4)
def _load(name: str, engine: str, threads: int) -> SpanModel:
    from quoth.models import load_reader

    return load_reader(name, engine=engine, threads=threads)


def _pairs(inputs: Sequence[Inputs], question: object, context: object) -> list[tuple[str, str]]:
    """Return (question, context) for every input, from all the ways to say them."""
    if len(inputs) == 2 and all(isinstance(one, str) for one in inputs):
        return [_pair({"question": inputs[0], "context": inputs[1]})]
    if inputs:
        given: object = inputs[0] if len(inputs) == 1 else list(inputs)
        if isinstance(given, Mapping):
            return [_pair(given)]
        if isinstance(given, str) or not isinstance(given, Iterable):
            raise InputError(
                f"{given!r} is neither a mapping with a question and a context nor a list of such."
            )
        return [_pair(item) for item in given]
    if isinstance(question, list) and isinstance(context, list):
        if len(question) != len(context):
            raise InputError(f"There are {len(question)} questions for {len(context)} contexts.")
        return [_pair({"question": q, "context": c}) for q, c in zip(question, context, strict=True)]
    if isinstance(question, list):
        return [_pair({"question": q, "context": context}) for q in question]
    return [_pair({"question": question, "context": context})]


def _pair(item: object) -> tuple[str, str]:
    if not isinstance(item, Mapping):
        raise InputError(f"{item!r} is no mapping with the keys question and context.")
    for key in ("question", "context"):
        if key not in item:
            raise KeyError(f"A mapping with the keys question and context is needed; {key} is missing.")
        if not isinstance(item[key], str):
            raise InputError(f"The {key} is {item[key]!r}; it must be a text.")
        if not item[key]:
            raise InputError(f"The {key} is empty.")
    return cast(str, item["question"]), cast(str, item["context"])


def _check(choice: _Choice) -> None:
    for name in ("top_k", "max_answer_len", "max_question_len"):
        if getattr(choice, name) < 1:
            raise InputError(f"{name} is {getattr(choice, name)}; it must be at least 1.")
    if not 0 <= choice.doc_stride <= choice.max_seq_len:
        raise InputError(
            f"doc_stride is {choice.doc_stride}; it must be from 0 to max_seq_len ({choice.max_seq_len})."
        )


def _answer(model: SpanModel, pairs: Sequence[tuple[str, str]], choice: _Choice) -> list[Answers]:
    """Return the answers of each pair; the windows of all go to the model together."""
    from quoth.reading import windows

    asked = model.tokenize([question for question, _ in pairs])
    told = [windows.of_passage(t, 0) for t in model.tokenize([context for _, context in pairs])]
    placed: list[list[Placed]] = []
    for question, text in zip(asked, told, strict=True):
        ids = question.ids[: choice.max_question_len]
        room = windows.room(model.layout, window=choice.max_seq_len, question=len(ids))
        if choice.doc_stride >= room and len(text.ids) > room:
            raise InputError(
                f"doc_stride is {choice.doc_stride}, but beside the question only {room} tokens fit.",
                hint="Take a smaller doc_stride or a larger max_seq_len.",
            )
        placed.append(
            windows.place(
                [text],
                ids,
                model.layout,
                window=choice.max_seq_len,
                stride=max(1, room - choice.doc_stride),
            )
        )
    flat = [p.window for one in placed for p in one]
    logits = [
        pair
        for low in range(0, len(flat), _WINDOWS_AT_ONCE)
        for pair in model.logits(flat[low : low + _WINDOWS_AT_ONCE])
    ]
    found: list[Answers] = []
    used = 0
    for (_, context), text, own in zip(pairs, told, placed, strict=True):
        offsets = (text.starts, text.ends)
        found.append(_best(context, offsets, own, logits[used : used + len(own)], choice))
        used += len(own)
    return found


def _best(
    context: str,
    offsets: "tuple[Ints, Ints]",
    placed: "Sequence[Placed]",
    logits: "Sequence[tuple[NDArray[np.float32], NDArray[np.float32]]]",
    choice: _Choice,
) -> Answers:
    """Return the answers of one context.

    Those that read the same (case aside) are one, with their scores added up, as in the last
    releases of Transformers 4; of several windows' null scores the smallest counts.
    """
    null = 1.0
    answers: dict[str, AnswerDict] = {}
    many = choice.top_k * 2 + 10 if choice.align_to_words else choice.top_k
    for p, (start_logits, end_logits) in zip(placed, logits, strict=True):
        inside = slice(p.at, p.at + p.length)
        starts, no_start = _shares(start_logits[inside], start_logits[p.null])
        ends, no_end = _shares(end_logits[inside], end_logits[p.null])
        null = min(null, no_start * no_end)
        for i, j, score in _spans(starts, ends, many, choice.max_answer_len):
            start, end = int(offsets[0][p.first + i]), int(offsets[1][p.first + j])
            if choice.align_to_words:
                start, end = _words(context, start, end)
            text = context[start:end]
            held = answers.setdefault(text.lower(), AnswerDict(score=0.0, start=start, end=end, answer=text))
            held["score"] += score
    listed = list(answers.values())
    if choice.handle_impossible_answer:
        listed.append(AnswerDict(score=null, start=0, end=0, answer=""))
    listed.sort(key=lambda answer: -answer["score"])
    del listed[choice.top_k :]
    return listed[0] if len(listed) == 1 else listed


def _words(text: str, start: int, end: int) -> tuple[int, int]:
    """Return *start* and *end* moved to the ends of the words they cut, as BERT's tokenizers part them."""
    while 0 < start < len(text) and _wordy(text[start - 1]) and _wordy(text[start]):
        start -= 1
    while 0 < end < len(text) and _wordy(text[end - 1]) and _wordy(text[end]):
        end += 1
    return start, end


def _wordy(character: str) -> bool:
    """Say whether BERT keeps *character* together with its neighbours: no space, sign or ideograph."""
    if character.isascii():
        return character.isalnum()
    name = unicodedata.name(character, "")
    category = unicodedata.category(character)[0]
    return category not in "PZ" and not name.startswith(("CJK UNIFIED", "CJK COMPATIBILITY IDEOGRAPH"))


def _shares(text: "NDArray[np.float32]", null: float) -> "tuple[Doubles, float]":
    """Return a softmax over the context's logits and the null's: the context's shares, and the null's."""
    import numpy as np

    both = np.append(text, null).astype(np.float64)
    raised = np.exp(both - both.max())
    raised /= raised.sum()
    return raised[:-1], float(raised[-1])


def _spans(starts: "Doubles", ends: "Doubles", many: int, longest: int) -> list[tuple[int, int, float]]:
    """Return the *many* best (start, end, probability) of one window: products of shares, as DrQA has it."""
    import numpy as np

    table = np.tril(np.triu(np.outer(starts, ends)), longest - 1)
    flat = table.ravel()
    many = min(many, len(flat))
    order = np.argpartition(-flat, many - 1)[:many] if many else np.zeros(0, dtype=np.int64)
    order = order[np.argsort(-flat[order], kind="stable")]
    rows, columns = np.unravel_index(order, table.shape)
    kept = [(int(i), int(j), float(table[i, j])) for i, j in zip(rows, columns, strict=True)]
    return [(i, j, score) for i, j, score in kept if i <= j < i + longest]
