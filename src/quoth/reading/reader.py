"""The span reader: a question and passages in, one ``Reading`` out."""

import logging
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import accumulate
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import InputError, ModelError
from quoth.protocols import SpanModel, Window
from quoth.reading import spans, windows
from quoth.reading.windows import Placed, Text
from quoth.types import Passage, Reading, ReadMode, Scored, Span

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]
    Logits = list[tuple[Floats, Floats]]

log = logging.getLogger(__name__)

_TITLE_TOKENS = 24
_TOGETHER = 8  # passages tokenized, or read against the clock, in one go


@dataclass(frozen=True, slots=True)
class ReadSettings:
    """How a reader reads. Lengths are in the model's tokens.

    ``max_tokens``: passages are read in the order given until they would need more (windows
    added up, question and special tokens included; 0: no limit); the first is read anyhow.
    ``budget_ms``: read until this time is used instead (0: off); the reading says so.
    ``window`` and ``stride``: length of a window, and how much further the next begins
    (run_squad's ``max_seq_length`` and ``doc_stride``). ``title``: put a passage's title
    before each of its windows (``concatenate`` does not); it is never part of an answer.
    """

    max_tokens: int = 0
    budget_ms: int = 0
    n_best: int = 20
    max_answer_tokens: int = 30
    window: int = 384
    stride: int = 128
    question_tokens: int = 64
    title: bool = False

    def __post_init__(self) -> None:
        least = {"max_tokens": 0, "budget_ms": 0, "window": 8}
        for name in (
            "max_tokens",
            "budget_ms",
            "n_best",
            "max_answer_tokens",
            "window",
            "stride",
            "question_tokens",
        ):
            value, floor = getattr(self, name), least.get(name, 1)
            if value < floor:
                raise InputError(f"{name} is {value}; it must be at least {floor}.")


@dataclass(frozen=True, slots=True)
class _Plan:
    """All that is to be read for one question; ``reads`` passages fit the budget."""

    passages: Sequence[Passage]
    texts: Sequence[Text]
    placed: Sequence[Placed]
    reads: int
    notes: tuple[str, ...] = ()


class SpanReader:
    """Finds answer spans with a ``SpanModel``. Holds no state of its own; safe to share between threads.

    Three ways to combine passages:

    * ``joint``: every passage has its own windows; all spans stand on one scale (the sum of the
      start and end logits), and the null score is the smallest of all windows.
    * ``each``: every passage is read alone, and a span's score is its logits less the null score
      of *its own* passage: the log odds of the span against "no answer" there. The null score
      is 0. So ``null_odds`` is the smallest of the passages' own null odds, and "no answer
      when ``null_odds > threshold``" is the rule "null only if every passage's best is null, else
      the best non-null", at every threshold.
    * ``concatenate``: the passages are joined, in their order, into one text that windows run
      over, so that one window may see the end of one passage and the beginning of the next;
      still no span crosses a passage. Scores depend on which other passages there are.

    In ``joint`` and ``each`` a span's score does not depend on the other passages nor on their
    order, beyond the model's own tolerance for batches.
    """

    def __init__(
        self,
        model: SpanModel,
        *,
        mode: ReadMode = "joint",
        settings: ReadSettings | None = None,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if mode not in ("joint", "concatenate", "each"):
            raise InputError(f"The mode is {mode!r}; it must be joint, concatenate or each.")
        self.model = model
        self.mode = mode
        self.settings = settings or ReadSettings()
        self._clock = clock

    def read(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Return the n-best spans of *passages*, read in the order given as far as the budget goes.

        Raises ``InputError`` for a blank question, and ``ModelError`` (``reader_nonfinite``)
        where the model gives no finite number for any window. A question of more tokens than
        its budget is cut, with a note.
        """
        return self.read_many([(question, passages)])[0]

    def read_many(self, items: Sequence[tuple[str, Sequence[Passage]]]) -> list[Reading]:
        """Return a reading for each question and its passages, in order.

        All windows go to the model together, which is faster than one question at a time. With
        a time budget each question has its own, one after the other.
        """
        if self.settings.budget_ms:
            return [self._read_by_clock(question, passages) for question, passages in items]
        plans = [self._plan(question, passages, self.settings.max_tokens) for question, passages in items]
        logits = list(self.model.logits([p.window for plan in plans for p in plan.placed]))
        ends = list(accumulate(len(plan.placed) for plan in plans))
        return [
            self._decode(plan, logits[end - len(plan.placed) : end])
            for plan, end in zip(plans, ends, strict=True)
        ]

    def _plan(self, question: str, passages: Sequence[Passage], max_tokens: int) -> _Plan:
        """Return the windows of all passages that fit *max_tokens* (0: of all)."""
        asked, notes = self._question(question)
        if self.mode == "concatenate":
            held = self._fitting(asked, passages, max_tokens)
            whole = windows.chain(held)
            return _Plan(passages, [whole], self._place([whole], asked), len(held), notes)
        texts: list[Text] = []
        placed: list[Placed] = []
        used = 0
        for index, (text, title) in enumerate(self._texts(passages)):
            own = self._place([text], asked, title)
            cost = sum(len(p.window.ids) for p in own)
            if max_tokens and index and used + cost > max_tokens:
                break
            used += cost
            texts.append(text)
            placed += [replace(p, text=index) for p in own]
        return _Plan(passages, texts, placed, len(texts), notes)

    def _question(self, question: str) -> tuple["Ints", tuple[str, ...]]:
        """Return the question's token ids within their budget, and a note where it was cut."""
        if not question.strip():
            raise InputError(
                "The question is empty.", hint="Write a question in words.", code="empty_question"
            )
        ids = self.model.tokenize([question])[0].ids
        layout = self.model.layout
        special = len(layout.before) + len(layout.between) + len(layout.after)
        budget = max(1, min(self.settings.question_tokens, (self._window - special) // 2))
        if len(ids) <= budget:
            return ids, ()
        return ids[:budget], (f"The question has {len(ids)} tokens; the first {budget} were read.",)

    @property
    def _window(self) -> int:
        return min(self.settings.window, self.model.max_length)

    def _place(self, texts: Sequence[Text], asked: "Ints", title: "Ints | None" = None) -> list[Placed]:
        return windows.place(
            texts,
            asked,
            self.model.layout,
            window=self._window,
            stride=self.settings.stride,
            prefixes=() if title is None else [title],
        )

    def _texts(self, passages: Sequence[Passage]) -> "Iterator[tuple[Text, Ints | None]]":
        """Yield each passage's tokens and its title's; few more are tokenized than are taken."""
        for low in range(0, len(passages), _TOGETHER):
            some = passages[low : low + _TOGETHER]
            titles: list[Ints | None] = [None] * len(some)
            if self.settings.title:
                named = self.model.tokenize([f"{p.title}." if p.title else "" for p in some])
                titles = [t.ids[: min(_TITLE_TOKENS, self._window // 8)] for t in named]
            for i, tokens in enumerate(self.model.tokenize([p.text for p in some])):
                yield windows.of_passage(tokens, low + i), titles[i]

    def _fitting(self, asked: "Ints", passages: Sequence[Passage], max_tokens: int) -> list[Text]:
        """Return the passages that fit *max_tokens* when they are joined."""
        free = windows.room(self.model.layout, window=self._window, question=len(asked))
        held: list[Text] = []
        count = 0
        for index, (text, _) in enumerate(self._texts(passages)):
            count += len(text.ids)
            lengths = [n for _, n in windows.cuts(count, room=free, stride=self.settings.stride)]
            cost = sum(lengths) + len(lengths) * (self._window - free)
            if max_tokens and index and cost > max_tokens:
                break
            held.append(text)
        return held

    def _read_by_clock(self, question: str, passages: Sequence[Passage]) -> Reading:
        """Read in rounds; another begins only if, at the speed so far, it ends in time."""
        deadline = self._clock() + self.settings.budget_ms / 1000
        plan = self._plan(question, passages, 0)
        steps = self._steps(plan.placed)
        logits: Logits = []
        spent, tokens = 0.0, 0
        while len(logits) < len(plan.placed):
            affordable = (deadline - self._clock()) * tokens / spent if spent > 0 else 0.0
            batch = _round(plan.placed, steps, len(logits), affordable, first=not logits)
            if not batch:
                break
            begun = self._clock()
            logits += list(self.model.logits(batch))
            spent += self._clock() - begun
            tokens += sum(len(window.ids) for window in batch)
        reads = self._covered(plan, len(logits))
        note = f"{reads} of {len(passages)} passages were read within {self.settings.budget_ms} ms."
        taken = plan.placed[: len(logits)]
        return self._decode(replace(plan, placed=taken, reads=reads, notes=(*plan.notes, note)), logits)

    def _steps(self, placed: Sequence[Placed]) -> list[int]:
        """Return after how many windows reading may stop: a passage's last one, or any of a joined text."""
        if self.mode == "concatenate":
            return list(range(1, len(placed) + 1))
        return [i + 1 for i, p in enumerate(placed) if i + 1 == len(placed) or placed[i + 1].text != p.text]

    def _covered(self, plan: _Plan, count: int) -> int:
        """Return how many passages the first *count* windows hold (of joined ones, the last perhaps in part)."""
        if count == len(plan.placed):
            return plan.reads
        if self.mode != "concatenate":
            return plan.placed[count].text
        last = plan.placed[count - 1]
        return int(plan.texts[0].owners[last.first + last.length - 1]) + 1

    def _decode(self, plan: _Plan, logits: "Logits") -> Reading:
        """Return the reading of a plan's windows."""
        tokens = sum(len(p.window.ids) for p in plan.placed)
        kept, notes = _finite(plan.placed, logits)
        if not kept:
            return Reading((), (), 0.0, plan.reads, 0, 0, plan.notes)
        passages = plan.passages
        # Equal scores are listed in the order of (document id, start): so that is how they are stacked.
        if self.mode != "concatenate":
            kept.sort(key=lambda pair: _place_of(passages[pair[0].text]))
        placed, pairs = [p for p, _ in kept], [pair for _, pair in kept]
        nulls = spans.null_scores(placed, pairs)
        own = _own_nulls(placed, nulls)
        shifts = [own[p.text] for p in placed] if self.mode == "each" else ()
        stacked = spans.stack(
            placed,
            pairs,
            plan.texts,
            bases=np.array([p.start for p in passages], dtype=np.int64),
            groups=_groups(passages),
            breaks=[spans.paragraph_breaks(p.text) for p in passages],
            shifts=shifts,
        )
        found = spans.n_best(
            stacked,
            n=self.settings.n_best,
            max_tokens=self.settings.max_answer_tokens,
            snap=partial(_snap, passages),
        )
        return Reading(
            spans=tuple(Scored(_quote(passages[f.passage], f), f.score) for f in found),
            passages=tuple(f.passage for f in found),
            null_score=0.0 if self.mode == "each" else float(nulls.min()),
            read=plan.reads,
            windows=len(plan.placed),
            tokens=tokens,
            notes=plan.notes + notes,
            nulls=self._nulls(found, own),
        )

    def _nulls(self, found: Sequence[spans.Found], own: Mapping[int, float]) -> tuple[float, ...]:
        """Return the null score of each span's own passage."""
        if self.mode == "each":
            return (0.0,) * len(found)
        if self.mode == "concatenate":
            return (min(own.values()),) * len(found)
        return tuple(own[f.passage] for f in found)


def _round(
    placed: Sequence[Placed], steps: Sequence[int], done: int, affordable: float, *, first: bool
) -> list[Window]:
    """Return the windows of the next round: what *affordable* tokens pay for; in the first, one step."""
    upto, cost = done, 0
    for taken, step in enumerate(s for s in steps if s > done):
        cost += sum(len(p.window.ids) for p in placed[upto:step])
        if not (first and taken == 0) and (first or cost > affordable or taken == _TOGETHER):
            break
        upto = step
    return [p.window for p in placed[done:upto]]


def _finite(
    placed: Sequence[Placed], logits: "Logits"
) -> tuple[list[tuple[Placed, tuple["Floats", "Floats"]]], tuple[str, ...]]:
    """Return the windows whose logits are numbers, with them, and a note on the others."""
    kept = [
        (p, (s, e))
        for p, (s, e) in zip(placed, logits, strict=True)
        if np.isfinite(s).all() and np.isfinite(e).all()
    ]
    lost = len(placed) - len(kept)
    if not lost:
        return kept, ()
    if not kept:
        raise ModelError(
            f"The reader gave no finite number in any of {lost} windows.",
            hint="Check the model's files (`quoth doctor`), or take another --engine.",
            code="reader_nonfinite",
        )
    log.warning("The reader gave numbers that are not finite in %d of %d windows.", lost, len(placed))
    return kept, (f"{lost} of {len(placed)} windows were left out: the reader gave no finite numbers.",)


def _place_of(passage: Passage) -> tuple[str, int]:
    return passage.document_id, passage.start


def _own_nulls(placed: Sequence[Placed], nulls: "Floats") -> dict[int, float]:
    """Return by text (passage, or the whole when concatenated) its null score: the smallest of its windows."""
    least: dict[int, float] = {}
    for p, null in zip(placed, nulls.tolist(), strict=True):
        least[p.text] = min(null, least.get(p.text, null))
    return least


def _groups(passages: Sequence[Passage]) -> "Ints":
    """Number the documents; passages without a document id are each their own."""
    numbers: dict[str, int] = {}
    return np.array(
        [
            numbers.setdefault(p.document_id, len(numbers)) if p.document_id else -1 - i
            for i, p in enumerate(passages)
        ],
        dtype=np.int64,
    )


def _snap(passages: Sequence[Passage], index: int, start: int, end: int) -> tuple[int, int]:
    passage = passages[index]
    low, high = spans.whole_words(passage.text, start - passage.start, end - passage.start)
    return low + passage.start, high + passage.start


def _quote(passage: Passage, found: spans.Found) -> Span:
    text = passage.text[found.start - passage.start : found.end - passage.start]
    return Span(passage.document_id, found.start, found.end, text)
