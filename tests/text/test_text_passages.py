"""Passages: whole paragraphs packed to a size, with nothing lost and nothing cut."""

import itertools
import resource
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_text_sentences import TEXTS

from quoth.text import cut, estimate_tokens, passages, sentences
from quoth.types import Document, Passage


def pack(text: str, target: int = 180) -> list[str]:
    return [p.text for p in passages(Document("d", text), target=target)]


@given(TEXTS, st.sampled_from([1, 5, 20, 180]))
def test_passages_hold_every_visible_character_and_no_part_of_a_sentence(text: str, target: int) -> None:
    """Slices hold, order holds, only white space is left out, and no passage begins or ends in a sentence."""
    document = Document("d", text, title="T")
    found = passages(document, target=target)
    position = 0
    for passage in found:
        assert position <= passage.start < passage.end
        assert not text[position : passage.start].strip()
        assert passage.text == text[passage.start : passage.end] == passage.text.strip()
        assert (passage.document_id, passage.title) == ("d", "T")
        position = passage.end
    assert not text[position:].strip()
    edges = {p.start for p in found} | {p.end for p in found}
    assert not any(a < edge < b for a, b in sentences(text) for edge in edges)
    assert passages(document, target=target) == found


@given(TEXTS, st.integers(0, 50))
def test_cut_is_passages_with_the_offsets_of_the_document(text: str, base: int) -> None:
    """A whole document as a passage is cut exactly as the document would be, shifted by its start."""
    whole = Passage("d", base, base + len(text), text, "T")
    expected = passages(Document("d", text, title="T"), target=20)
    assert [(p.start - base, p.end - base, p.text, p.title) for p in cut(whole, target=20)] == [
        (p.start, p.end, p.text, p.title) for p in expected
    ]


def test_paragraphs_are_packed_to_the_target() -> None:
    """Short paragraphs share a passage, and no two neighbours would have fitted into one."""
    text = "\n\n".join(f"Paragraph number {i} says something short." for i in range(60))
    found = pack(text, 60)
    sizes = [estimate_tokens(t) for t in found]
    assert max(sizes) <= 63
    assert all(a + b > 60 for a, b in itertools.pairwise(sizes))


def test_given_paragraphs_are_the_passages() -> None:
    """Boundaries that came with the data are kept as they are, blank ones left out."""
    text = "One. Two.   Three is long " + "very " * 500
    document = Document("d", text, paragraphs=((0, 9), (9, 12), (12, len(text))))
    assert [(p.start, p.end) for p in passages(document, target=5)] == [(0, 9), (12, len(text))]


@pytest.mark.parametrize(
    "heading", ["# Terms", "2.1 Terms of use", "Terms of use", "Terms\n=====", "The terms are:", "Chapter 2"]
)
def test_heading_stays_with_what_follows(heading: str) -> None:
    """A passage never ends with a heading that something follows."""
    body = "This sentence stands before the heading and fills the first passage nearly up to its end."
    found = pack(f"{body}\n\n{heading}\n\n{body} {body}", 45)
    assert found[0] == body
    assert found[1].startswith(heading)
    assert len(found[1]) > len(heading) + 20


def test_heading_opens_a_passage_when_half_is_full() -> None:
    """Sections are not mixed where there is no need."""
    body = "Plain words that fill some room in here. " * 3
    found = pack(f"{body}\n\n# Next\n\n{body}", 50)
    assert [t.startswith("# Next") for t in found] == [False, True]


def test_only_headings_do_not_pile_up() -> None:
    """A document of nothing but short lines is still packed to the target."""
    found = pack("\n\n".join(f"Short line {i}" for i in range(500)), 60)
    assert max(map(estimate_tokens, found)) <= 100


def test_long_paragraph_is_cut_between_sentences() -> None:
    """Each piece of a paragraph over the target ends with a full stop and none is over the target."""
    text = "This is a sentence of a long paragraph. " * 200
    found = pack(text, 60)
    assert len(found) > 20
    assert all(t.endswith(".") and estimate_tokens(t) <= 60 for t in found)


def test_list_and_table_stay_whole_where_they_fit() -> None:
    """A list that fits is not cut, and one that does not is cut between items."""
    items = "\n".join(f"- item number {i}" for i in range(8))
    assert pack(f"Before it.\n\n{items}\n\nAfter it.") == [f"Before it.\n\n{items}\n\nAfter it."]
    rows = "\n".join(f"| row {i} | value {i} |" for i in range(100))
    assert all(part.startswith("| row") and part.endswith("|") for part in pack(rows, 60))


def test_overlong_sentence_is_cut_at_a_word() -> None:
    """A sentence of over 2,000 characters gives pieces of at most that, none cutting a word."""
    text = "word " * 3000
    found = pack(text, 10_000)
    assert " ".join(found) == text.strip()
    for piece in pack(text, 180):
        assert len(piece) <= 2000
        assert set(piece.split()) == {"word"}


@pytest.mark.parametrize("text", ["", " ", "\n" * 1000, "\u3000\u2028\f"])
def test_nothing_visible_gives_no_passage(text: str) -> None:
    """An empty text has no passages."""
    assert pack(text) == []


@pytest.mark.parametrize(
    "text",
    ["x" * 2_000_000, "Hello there, world. " * 100_000, "\n" * 10**6 + "x", "ab cd " * 300_000],
    ids=len,
)
def test_one_huge_line_is_cut_in_linear_time(text: str) -> None:
    """Two megabytes take seconds and not more than some multiples of their size in memory."""
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    begun = time.perf_counter()
    assert pack(text)
    assert time.perf_counter() - begun < 10
    if sys.platform == "linux":
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("Dr. Smith paid $3.5 million for it in 1998, e.g. the house.", 20),
        ("今日は天気がいいので、公園へ散歩に行きます。", 22),
        ("Сегодня хорошая погода, и мы пойдём гулять в парк вечером.", 49),
        ("", 0),
    ],
)
def test_estimate_is_near_the_tokenizer(text: str, tokens: int) -> None:
    """The estimate is within a quarter of what the shipped tokenizer counts."""
    assert abs(estimate_tokens(text) - tokens) <= max(1, tokens * 0.25)
