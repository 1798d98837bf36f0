"""Sentences: exact spans that hold everything and survive what real documents hold."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.text import sentence_at, sentences, sentences_of
from quoth.text.sentence import LONGEST, _by_rule
from quoth.types import Passage

# Each case is a text with a bar where a sentence is expected to end.
CASES = [
    "Dr. Smith arrived.¦ He sat down.",
    "Mr. J. R. R. Tolkien wrote it.¦ Nobody knew.",
    "J. K. Rowling and George R.R. Martin met.¦ They talked.",
    "John F. Kennedy was shot.¦ It was in Dallas.",
    "It weighs approx. 3.5 kg.¦ That is a lot.",
    "Use fruit, e.g. apples, i.e. red ones.¦ Wash them.",
    "He lives in the U.S. and works there.¦ She does not.",
    "The U.S. Army came.¦ It left.",
    "He lives in the U.S.¦ She lives in France.",
    "Founded in 1990 by Apple Inc. in California.¦ It grew.",
    "St. Paul's is in London.¦ It is old.",
    "Smith et al. (2010) found it.¦ Others did not.",
    "See Fig. 3 for details.¦ Table 2 shows more.",
    "She got a Ph.D. in physics.¦ She taught.",
    "He was born on Jan. 5, 1900.¦ He died in Dec. 1990.",
    "At 5 p.m. he left.¦ At 6 a.m. he came back.",
    "Wait... what?¦ Nothing.",
    "What?!¦ No way!¦ Really.",
    'He said "Stop. Go home." and left.¦ She stayed.',
    '"Is it true?" she asked.¦ "Yes."',
    'He said: "It is done."¦ Then he left.',
    "“I know.”¦ She smiled.",
    "(It was late.)¦ They slept.",
    "It was late (very late. Too late.) and dark.¦ They slept.",
    "See https://example.com/a.b?c=d!e for more.¦ Then stop.",
    "Write to a.b@example.com.¦ Thanks.",
    "Version 2.0.1 is out.¦ Get it.",
    "Section 3.2 applies.¦ See Sec. 4.",
    "The temperature was -5.5 °C.¦ It rose.",
    "It ended in 1945.[3]¦ The next year was better.[4][5]¦ Good.",
    "今日は晴れです。¦明日は雨です！¦本当？¦はい。",
    "彼は「行こう。早く。」と言った。¦そして去った。",
    "他说：“我来了。你呢？”¦然后他走了。",
    "مرحبا بالعالم.¦ كيف حالك؟¦ أنا بخير.",
    "שלום עולם.¦ מה שלומך?¦ הכול טוב.",
    "यह एक वाक्य है।¦ यह दूसरा है।",
    "¿Cómo estás?¦ ¡Muy bien!¦ Gracias.",
    # structure
    "# A heading¦\nText that follows. ¦ More of it.",
    "2.1 Scope of work¦\nThis part says what is done.",
    "Steps:¦\n- item one¦\n- item two. ¦Second sentence.¦\n- three",
    "1. First¦\n2. Second¦\r\n3. Third",
    "1) One thing is this.¦\n2) Another is that.",
    "• alpha¦\n• beta, wrapped\nover two lines¦\n• gamma",
    "| Name | Age |¦\n|---|---|¦\n| Dr. No | 40 |",
    "Name\tAge¦\nAnn Lee\t40",
    "12 Long Street¦\nOld Town¦\nEngland",
    "The quick brown fox that was\nwrapped by an editor at some\nwidth.¦ It ran on and on until\nEaster came.",
    "It was signed by the\nUnited Nations and by all of the members that were there at the time.",
    "No full stop here¦\n\nnor here",
    "One line.¦\rAnother line.¦\u2029A third.",
    "A page ends here.¦\fA new one begins.",
    "A sentence that goes on over the\fpage break and ends there.",
]


def spans_of(text: str, language: str = "en") -> list[str]:
    return [text[a:b] for a, b in sentences(text, language=language)]


@pytest.mark.parametrize("case", CASES)
def test_boundaries_are_where_a_person_puts_them(case: str) -> None:
    """Abbreviations, quotations, lists, tables, headings, wrapped lines and other scripts survive."""
    assert spans_of(case.replace("¦", "")) == [part.strip() for part in case.split("¦")]


def test_language_chooses_the_abbreviations() -> None:
    """A German ordinal does not end a German sentence."""
    text = "Am 3. Oktober kam Dr. Müller z. B. nach Berlin. Er blieb."
    assert spans_of(text, "de") == ["Am 3. Oktober kam Dr. Müller z. B. nach Berlin.", "Er blieb."]


def test_long_quotation_is_cut_inside() -> None:
    """A quotation of over 400 characters does not stay one sentence."""
    text = "“" + "This is one more sentence of the speech. " * 20 + "The end.”"
    assert len(spans_of(text)) == 21


PIECES = st.sampled_from(
    [
        "Hello there. ",
        "Dr. ",
        "e.g. ",
        "A.",
        "\n",
        "\r\n",
        "\r",
        "\n\n",
        "\x0c",
        "\u2028",
        "\u2029",
        "\x85",
        "- ",
        "1. ",
        "| a | b |",
        "\t",
        "“",
        "”",
        '"',
        "(",
        ")",
        "。",
        "今日",
        "שלום",
        "é",
        "👩🏽",
        "🇩🇪",
        "\u200d",
        "? ",
        "\xa0",
        "\u3000",
        " ",
        "x" * 50,
        "# ",
        "[1]",
        "...",
    ]
)
TEXTS = st.one_of(st.text(max_size=120), st.lists(PIECES, max_size=40).map("".join))


@given(TEXTS)
def test_sentences_hold_every_visible_character(text: str) -> None:
    """Spans are ordered, trimmed, not empty, at most 2,000 long, and leave out only white space."""
    position = 0
    for start, end in sentences(text):
        assert position <= start < end
        assert not text[position:start].strip()
        assert text[start:end] == text[start:end].strip()
        assert end - start <= LONGEST
        position = end
    assert not text[position:].strip()


@given(TEXTS, st.integers(0, 120), st.integers(0, 120))
def test_sentence_at_holds_the_span(text: str, a: int, b: int) -> None:
    """What is found around a span holds its visible part and is made of whole sentences."""
    start, end = sorted((min(a, len(text)), min(b, len(text))))
    first, last = sentence_at(text, start, end)
    if text[start:end].strip():
        visible = start + len(text[start:end]) - len(text[start:end].lstrip())
        assert first <= visible
        assert not text[last:end].strip()
        assert last in {e for _, e in sentences(text)}


def test_sentence_at_joins_what_a_span_crosses() -> None:
    """A span over a boundary gets both sentences; one in a gap gets the sentence behind it."""
    text = "One is here. Two is there. Three."
    assert text[slice(*sentence_at(text, 4, 6))] == "One is here."
    assert text[slice(*sentence_at(text, 8, 16))] == "One is here. Two is there."
    assert text[slice(*sentence_at(text, 12, 13))] == "Two is there."
    assert text[slice(*sentence_at(text, len(text), len(text)))] == "Three."
    assert sentence_at("   ", 1, 2) == (1, 2)


def test_sentence_at_in_a_whole_document_agrees_with_sentences() -> None:
    """Only the neighbourhood is looked at, and the answer is the same as over all of a long text."""
    paragraph = "The first is short. The second, e.g. this one, is a little longer. A third!\n\n"
    text = paragraph * 4000
    known = sentences(text)
    begun = time.perf_counter()
    for start, end in known[5000:5050]:
        assert sentence_at(text, start + 2, start + 5) == (start, end)
    assert time.perf_counter() - begun < 5


def test_sentences_of_a_passage_have_offsets_into_its_document() -> None:
    """A passage that does not begin at 0 shifts its sentences."""
    text = "Skip this.\n\nOne. Two."
    found = sentences_of(Passage("d", 12, 21, text[12:21]))
    assert [(s.start, s.end, s.text, s.document_id) for s in found] == [
        (12, 16, "One.", "d"),
        (17, 21, "Two.", "d"),
    ]


PANICS = ["We met A.\u2028Bob went.", "J.\u2029K. is here", "A.\xa0B. C.\u3000D.", "a\ud800. B. C"]


@pytest.mark.parametrize("text", PANICS)
def test_what_the_segmenter_panics_at_is_cut_all_the_same(text: str) -> None:
    """White space beyond ASCII behind an initial, and lone surrogates, do not end the process."""
    assert _same(text, sentences(text))


def test_a_panic_falls_back_on_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    """When the segmenter fails on a piece, the rule cuts it; any other error is not hidden."""
    import quoth.text.sentence as module

    class PanicException(BaseException):
        pass

    def broken(language: str, text: str) -> list[str]:
        raise PanicException

    monkeypatch.setattr(module, "_segmenter", lambda: broken)
    assert spans_of("Dr. No came. He left.") == ["Dr. No came.", "He left."]
    monkeypatch.setattr(module, "_segmenter", lambda: lambda language, text: ["short"])
    assert spans_of("Dr. No came. He left.") == ["Dr. No came.", "He left."]
    monkeypatch.setattr(module, "_segmenter", lambda: lambda language, text: [][0])
    with pytest.raises(IndexError):
        spans_of("Dr. No came.")


@pytest.mark.parametrize(
    "text",
    [
        "\n" * 10**6,
        "?!" * 250000,
        "a. " * 100000,
        "(" * 300000,
        '"a ' * 100000,
        "x" * 10**6,
        "- a\n" * 50000,
        "(Hello there. How are you. " * 10000,
        "[1]" * 100000,
        ". " * 100000,
        "e" + "́" * 300000,
        "\r" * 10**6,
        "。" * 300000,
        "a,b,c\n" * 50000,
        " " * 10**6 + "x",
        "\u200d" * 300000,
        "A.\n" * 100000,
    ],
    ids=lambda text: repr(text[:8]),
)
def test_hostile_text_takes_time_in_proportion(text: str) -> None:
    """A million line feeds, unclosed brackets or marks without end cost a few seconds at the most."""
    begun = time.perf_counter()
    found = sentences(text)
    assert time.perf_counter() - begun < 20
    assert _same(text, found)


def _same(text: str, found: tuple[tuple[int, int], ...]) -> bool:
    return "".join("".join(text[a:b] for a, b in found).split()) == "".join(text.split())


def test_no_cut_inside_a_grapheme() -> None:
    """A sentence without spaces is cut before a base character, not before its marks or inside an emoji."""
    for cluster in ("e\u0301\u0323", "👩🏽\u200d🚀", "🇩🇪", "각"):
        text = "x" + cluster * 3000
        starts = {1 + i * len(cluster) for i in range(3000)} | {0}
        assert {a for a, _ in sentences(text)} <= starts


def test_rule_alone_is_a_fair_splitter() -> None:
    """The fallback knows abbreviations, initials, decimals and wide full stops."""
    text = "Dr. J. Smith paid 3.5 dollars, e.g. for tea. He left! 今日は。明日は。 etc. and so on."
    cut = [text[a:b].strip() for a, b in _by_rule(text, 0, len(text))]
    assert cut == [
        "Dr. J. Smith paid 3.5 dollars, e.g. for tea.",
        "He left!",
        "今日は。",
        "明日は。",
        "etc. and so on.",
    ]
