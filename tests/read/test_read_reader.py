from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import InputError, ModelError
from quoth.protocols import Layout, Reader, SpanModel
from quoth.reading import ReadSettings, SpanReader
from quoth.testing import FakeSpanModel
from quoth.types import Passage, Reading

Maker = Callable[..., Any]

WORDS = "oxygen first appeared in the oceans about 2.7 billion years ago; Cyanobacteria (blue-green) made 10% of it."
words = st.lists(st.sampled_from(WORDS.split()), min_size=1, max_size=60).map(" ".join)


def passages_of(*texts: str) -> list[Passage]:
    """Return each text as a passage from the middle of a document of its own."""
    return [Passage(f"d{i}", 100 * i, 100 * i + len(t), t) for i, t in enumerate(texts)]


def check(reading: Reading, passages: list[Passage]) -> None:
    """Assert what every reading must hold."""
    scores = [s.score for s in reading.spans]
    assert scores == sorted(scores, reverse=True)
    assert len(reading.passages) == len(reading.spans)
    for scored, index in zip(reading.spans, reading.passages, strict=True):
        span, passage = scored.item, passages[index]
        assert index < reading.read
        assert span.document_id == passage.document_id
        assert passage.start <= span.start < span.end <= passage.end
        assert passage.text[span.start - passage.start : span.end - passage.start] == span.text
        assert span.text == span.text.strip()
    for i, one in enumerate(reading.spans):
        for two in reading.spans[:i]:
            apart = one.item.start >= two.item.end or two.item.start >= one.item.end
            assert one.item.document_id != two.item.document_id or apart


def test_it_keeps_the_seams(toy: Maker) -> None:
    """The reader is a Reader, and the toy a SpanModel, for the type checker too."""
    model: SpanModel = toy()
    reader: Reader = SpanReader(model)
    assert reader.read("who?", []) == Reading((), (), 0.0, 0, 0, 0)


@pytest.mark.parametrize("mode", ["joint", "concatenate", "each"])
@pytest.mark.parametrize("family", ["bert", "xlnet"])
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(words, max_size=5), n=st.integers(1, 25), longest=st.integers(1, 12))
def test_every_span_is_a_slice_of_its_passage(
    toy: Maker, layouts: dict[str, Layout], family: str, mode: Any, texts: list[str], n: int, longest: int
) -> None:
    """In every mode and layout: spans are slices, best first, whole, apart, within what was read."""
    passages = passages_of(*texts)
    choice = ReadSettings(n_best=n, max_answer_tokens=longest, window=40, stride=12)
    reading = SpanReader(toy(layouts[family]), mode=mode, settings=choice).read("when was oxygen?", passages)
    check(reading, passages)
    assert len(reading.spans) <= n
    assert reading.read == len(passages)
    assert bool(reading.spans) == bool(passages)


@pytest.mark.parametrize("mode", ["joint", "each"])
@settings(max_examples=40, deadline=None)
@given(texts=st.lists(words, min_size=1, max_size=5), data=st.data())
def test_a_score_does_not_depend_on_the_other_passages(
    toy: Maker, mode: Any, texts: list[str], data: st.DataObject
) -> None:
    """Passages read in another order, or one alone, give the same spans with the same scores."""
    passages = passages_of(*texts)
    choice = ReadSettings(n_best=1000, window=40, stride=12)
    reader = SpanReader(toy(), mode=mode, settings=choice)
    straight = reader.read("when?", passages)
    shuffled = reader.read("when?", data.draw(st.permutations(passages)))
    assert shuffled.spans == straight.spans
    assert shuffled.null_score == straight.null_score
    alone = [reader.read("when?", [p]) for p in passages]
    assert {s for r in alone for s in r.spans} == set(straight.spans)
    assert straight.null_score == min(r.null_score for r in alone)
    together = reader.read_many([("when?", [p]) for p in passages])
    assert together == alone


def test_the_null_score_is_the_smallest_of_all_windows(toy: Maker, layouts: dict[str, Layout]) -> None:
    """One null score for the question: the minimum over the windows, at each layout's null position."""
    for layout in layouts.values():
        model = toy(layout)
        reading = SpanReader(model, settings=ReadSettings(window=40, stride=12)).read(
            "when?", passages_of(WORDS * 3, WORDS)
        )
        at = -1 if layout.null_last else 0
        seen = list(model.seen)
        pairs = model.logits(seen)
        assert reading.windows == len(seen) > 3
        assert reading.null_score == pytest.approx(min(float(s[at] + e[at]) for s, e in pairs), abs=1e-5)
        assert reading.tokens == sum(len(w.ids) for w in seen)


def test_the_trick_question_is_answered_only_above_the_threshold(toy: Maker) -> None:
    """The turned numbers of a question without an answer: the best span loses against the null."""
    text = (
        "Oxygen gas hardly existed before bacteria that live on light evolved, some 3.5 billion years ago. "
        "Then the oceans gave off oxygen, 3-2.7 billion years ago."
    )
    marks = {"the": (3.0, 0.0), "gas": (0.0, -4.0), "oxyg": (1.0, 0.0), "en": (0.0, 3.5)}
    model = toy(max_length=384, noise=0.01, null=4.0, marks=marks)
    reading = SpanReader(model).read("What happened 3.7-2 billion years ago?", passages_of(text))
    assert reading.spans[0].item.text == "the oceans gave off oxygen"
    assert reading.spans[0].score == pytest.approx(6.5, abs=0.2)
    assert reading.null_odds == pytest.approx(8.0 - 6.5, abs=0.2)
    question = {"What", "happened"}
    assert not any(question & set(s.item.text.split()) for s in reading.spans)


def test_no_span_ends_before_it_starts_or_runs_too_long(toy: Maker) -> None:
    """The best start stands behind the best end: no span joins them, and none is over the limit."""
    model = toy(max_length=384, noise=0.01, marks={"two": (9.0, 0.0), "one": (0.0, 9.0), "far": (0.0, 8.0)})
    text = "one a b two c d e f g h far"
    reading = SpanReader(model, settings=ReadSettings(max_answer_tokens=4)).read("q", passages_of(text))
    assert reading.spans[0].score < 9.2
    assert all(len(s.item.text.split()) <= 4 for s in reading.spans)
    longer = SpanReader(model, settings=ReadSettings(max_answer_tokens=8)).read("q", passages_of(text))
    assert longer.spans[0].item.text == "two c d e f g h far"


def test_a_cut_word_is_completed(toy: Maker) -> None:
    """A span that the model starts and ends inside words is quoted in whole words."""
    model = toy(max_length=384, noise=0.01, marks={"obac": (9.0, 0.0), "eoti": (0.0, 9.0)})
    text = "Free oxygen: Cyanobacteria and nucleotides, mostly."
    reading = SpanReader(model).read("who?", passages_of(text))
    assert reading.spans[0].item.text == "Cyanobacteria and nucleotides"


@pytest.mark.parametrize(
    ("first", "second", "threshold", "answered"),
    [
        (-1.0, -2.0, 0.0, True),
        (-1.0, 2.0, 0.0, True),
        (1.0, -2.0, 0.0, True),
        (1.0, 2.0, 0.0, False),
        (1.0, 2.0, 1.5, True),
        (-1.0, -2.0, -3.0, False),
        (-1.0, -2.0, -1.5, True),
    ],
)
def test_each_is_null_only_if_every_passage_is(
    toy: Maker, first: float, second: float, threshold: float, answered: bool
) -> None:
    """``null_odds > threshold`` says null exactly when every passage's own best is null, at any threshold."""
    model = toy(max_length=384, noise=0.0)
    nulls = {id_of(model, "one"): 20.0, id_of(model, "two"): 60.0}
    odds = {id_of(model, "one"): first, id_of(model, "two"): second}

    def scripted(window: Any) -> tuple[np.ndarray, np.ndarray]:
        word = next(int(i) for i in window.ids if int(i) in nulls)
        start = np.zeros(len(window.ids), dtype=np.float32)
        start[0] = nulls[word]
        start[window.ids == word] = nulls[word] - odds[word]
        return start, np.zeros_like(start)

    model._one = scripted
    passages = passages_of("one", "two")
    reading = SpanReader(model, mode="each").read("q", passages)
    own = [SpanReader(model, mode="joint").read("q", [p]).null_odds for p in passages]
    assert own == pytest.approx([first, second], abs=1e-4)
    assert (not reading.null_odds > threshold) is answered
    assert (not all(one > threshold for one in own)) is answered
    assert reading.spans[0].item.text == ("one", "two")[int(np.argmin(own))]


def id_of(model: Any, word: str) -> int:
    """Return a word's token id."""
    return int(model.tokenize([word])[0].ids[0])


def test_concatenated_passages_share_windows_but_no_span(toy: Maker) -> None:
    """Short passages are read in one window, and a span that would join two is not found."""
    model = toy(max_length=384, noise=0.01, marks={"left": (9.0, 0.0), "next": (0.0, 9.0)})
    passages = passages_of("up or left", "next or down")
    reading = SpanReader(model, mode="concatenate").read("q", passages)
    assert reading.windows == 1
    check(reading, passages)
    assert reading.spans[0].score < 9.2
    apart = SpanReader(model, mode="joint").read("q", passages)
    assert apart.windows == 2


def test_passages_are_read_until_the_tokens_are_used(toy: Maker) -> None:
    """The budget counts whole windows in the order given; the first passage is read at any price."""
    passages = passages_of(*["a b c d e f"] * 9)
    for mode in ("joint", "each", "concatenate"):
        model = toy(max_length=384)
        reading = SpanReader(model, mode=mode, settings=ReadSettings(max_tokens=35)).read("q", passages)
        assert reading.tokens <= 35
        assert reading.read == (3 if mode != "concatenate" else 5)
        check(reading, passages)
        little = SpanReader(model, mode=mode, settings=ReadSettings(max_tokens=1)).read("q", passages)
        assert (little.read, little.tokens) == (1, 10)
    whole = SpanReader(toy(max_length=384)).read("q", passages)
    assert (whole.read, whole.tokens) == (9, 90)


@pytest.mark.parametrize(("mode", "read"), [("joint", 5), ("each", 5), ("concatenate", 6)])
def test_reading_by_the_clock_stops_in_time_and_says_so(toy: Maker, mode: Any, read: int) -> None:
    """At one millisecond a token, passages are read in order while another round fits, with a note."""
    model = toy(max_length=17)
    passages = passages_of(*["a b c d e f"] * 9)
    now = [0.0]
    plain = model.logits

    def timed(windows: Any) -> Any:
        now[0] += sum(len(w.ids) for w in windows) / 1000
        return plain(windows)

    model.logits = timed
    choice = ReadSettings(budget_ms=59, max_tokens=1, stride=9)
    reading = SpanReader(model, mode=mode, settings=choice, clock=lambda: now[0]).read("q", passages)
    assert now[0] <= 0.059
    assert 17 < reading.tokens <= 59
    assert reading.tokens == sum(len(w.ids) for w in model.seen)
    assert reading.read == read
    assert reading.notes == (f"{reading.read} of 9 passages were read within 59 ms.",)
    assert model.batches[0] == 1
    check(reading, passages_of(*["a b c d e f"] * 9))


def test_a_time_budget_that_is_gone_at_once_still_reads_one_passage(toy: Maker) -> None:
    """However little time there is, the first passage is read; with enough, all are."""
    passages = passages_of("a b", "c d")
    times = iter(range(10**6))
    short = SpanReader(toy(), settings=ReadSettings(budget_ms=1), clock=lambda: float(next(times)))
    assert short.read("q", passages).read == 1
    still = SpanReader(toy(), settings=ReadSettings(budget_ms=1), clock=lambda: 0.0).read("q", passages)
    assert still.read in (1, 2)
    assert SpanReader(toy(), settings=ReadSettings(budget_ms=60_000)).read("q", passages).read == 2


def test_a_long_question_is_cut_and_said(toy: Maker) -> None:
    """A question beyond its token budget is cut to it, and the reading's notes say so."""
    model = toy(max_length=384)
    reading = SpanReader(model).read("why " * 100, passages_of("because of rain"))
    assert reading.notes == ("The question has 100 tokens; the first 64 were read.",)
    assert len(model.seen[0].ids) == 64 + 3 + 4
    small = toy(max_length=16)
    SpanReader(small).read("why " * 100, passages_of("because of rain"))
    assert all(len(w.ids) <= 16 for w in small.seen)


@pytest.mark.parametrize("question", ["", "  \n"])
def test_a_blank_question_is_refused(toy: Maker, question: str) -> None:
    """There is nothing to look for without a question."""
    with pytest.raises(InputError, match="empty"):
        SpanReader(toy()).read(question, passages_of("a"))


@pytest.mark.parametrize("mode", ["joint", "concatenate", "each"])
def test_passages_without_tokens_are_read_and_give_nothing(toy: Maker, mode: Any) -> None:
    """Empty and blank passages count as read, beside others or alone."""
    reader = SpanReader(toy(), mode=mode)
    assert reader.read("q", passages_of("", "  \n")) == Reading((), (), 0.0, 2, 0, 0)
    passages = passages_of(" ", "hello there", "")
    mixed = reader.read("q", passages)
    assert (mixed.read, mixed.windows) == (3, 1)
    check(mixed, passages)


def test_overlapping_passages_of_one_document_give_a_span_once(toy: Maker) -> None:
    """The same place, shown by two passages of a document, is one span; in two documents it is two."""
    model = toy(max_length=384, noise=0.01, marks={"Pari": (9.0, 0.0), "s": (0.0, 9.0)})
    text = "It lies in Paris today."
    twice = [Passage("d", 0, len(text), text), Passage("d", 3, len(text), text[3:])]
    reading = SpanReader(model).read("where?", twice)
    assert [s.item.text for s in reading.spans].count("Paris") == 1
    unnamed = [Passage("", 0, len(text), text), Passage("", 0, len(text), text)]
    assert [s.item.text for s in SpanReader(model).read("where?", unnamed).spans].count("Paris") == 2


def test_equal_scores_are_in_order_of_document_and_start(toy: Maker) -> None:
    """The same text in several documents: ties go by document id, whatever the order of reading."""
    text = "Paris it is"
    passages = [Passage(i, 0, len(text), text) for i in ("c", "a", "b")]
    reading = SpanReader(toy(), settings=ReadSettings(n_best=3, max_answer_tokens=9)).read("where?", passages)
    best = [s for s in reading.spans if s.score == reading.spans[0].score]
    assert [s.item.document_id for s in best] == ["a", "b", "c"][: len(best)]
    assert len(best) >= 2
    assert reading.passages[0] == 1


def test_a_window_without_finite_numbers_is_left_out(toy: Maker) -> None:
    """One bad window is passed over with a note; if all are bad there is no reading at all."""
    model = toy(max_length=384)
    plain = model._one

    def broken(window: Any) -> Any:
        start, end = plain(window)
        if id_of(model, "bad") in window.ids:
            start[3] = np.nan
        return start, end

    model._one = broken
    reading = SpanReader(model).read("q", passages_of("bad one", "good one"))
    assert set(reading.passages) == {1}
    assert reading.notes == ("1 of 2 windows were left out: the reader gave no finite numbers.",)
    with pytest.raises(ModelError) as caught:
        SpanReader(model).read("q", passages_of("bad one"))
    assert caught.value.code == "reader_nonfinite"


def test_titles_are_seen_but_never_quoted(toy: Maker) -> None:
    """With titles on, the title's tokens are in every window, and no span comes from them."""
    model = toy(max_length=48, noise=0.01, marks={"Rome": (9.0, 9.0)})
    text = "the city of " * 30
    passages = [Passage("d", 0, len(text), text, title="Rome")]
    reading = SpanReader(model, settings=ReadSettings(title=True)).read("where?", passages)
    assert all(id_of(model, "Rome") in w.ids for w in model.seen)
    assert len(model.seen) > 1
    assert all("Rome" not in s.item.text for s in reading.spans)
    check(reading, passages)


@pytest.mark.parametrize("wrong", [{"n_best": 0}, {"window": 3}, {"stride": 0}, {"budget_ms": -1}])
def test_settings_out_of_range_are_refused(wrong: dict[str, int]) -> None:
    """A setting that cannot work is named with its limit."""
    with pytest.raises(InputError, match="must be at least"):
        ReadSettings(**wrong)


def test_an_unknown_mode_is_refused(toy: Maker) -> None:
    """The three modes are all there are."""
    with pytest.raises(InputError, match="joint, concatenate or each"):
        SpanReader(toy(), mode="both")  # type: ignore[arg-type]


@pytest.mark.parametrize("gap", ["\n\n", "\r\n \t\r\n", "\f", "\n  \n"])
def test_no_span_crosses_a_paragraph(gap: str) -> None:
    """A blank line or a page's end is a wall: of the words on both sides only one side is quoted."""

    def best(between: str) -> str:
        text = f"the red fox{between}jumps over"
        reader = SpanReader(FakeSpanModel({f"red fox{between}jumps": 9.0}))
        return reader.read("what is it", passages_of(text)).spans[0].item.text

    assert best("\n") == "red fox\njumps"
    assert best(gap) in ("red", "jumps")
