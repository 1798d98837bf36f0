"""Lists, feedback, keywords, and names to expanders."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.retrieve.expand import (
    EXPANDERS,
    FocusExpander,
    KeywordExpander,
    ListExpander,
    NgramExpander,
    Rm3Expander,
    focus,
    load_list,
    open_expanders,
    parse_list,
)
from quoth.retrieve.expand.lexicon import CLOSED, stem
from quoth.retrieve.expand.rm3 import relevance_model
from quoth.retrieve.store import Index
from quoth.testing.fakes import FakeRetriever
from quoth.testing.parts import check_expander
from quoth.text import words
from quoth.types import Document, Passage, Phrase, Query, Scored, Source, Term

QUERIES = [
    Query("When did the siege of Vienna begin?"),
    Query("?"),
    Query("Who is it?"),
    Query("vienna " * 60),
]
DOCUMENTS = [
    Document("v", "The siege of Vienna began in 1529. Ottoman troops stood before Vienna."),
    Document("w", "Vienna saw Ottoman troops again in 1683, when the siege was broken by cavalry."),
    Document("x", "Apples are red. Pears are green."),
]


def test_lists_expand_words_and_phrases() -> None:
    """Words become terms and phrases phrases, each naming its line; the longest match wins; nothing comes twice."""
    rules = parse_list(
        "# ours\nPTO = paid time off, vacation  # people\nmotor car == automobile\ncar = vehicle\nIT = computing\n"
    )
    expander = ListExpander(rules, name="list ours.txt", weight=0.8)
    check_expander(
        expander, [*QUERIES, Query("how much pto is there for a motor car?", terms=(Term("vacation"),))]
    )
    new = expander.expand(Query("How much PTO is there for a Motor Car?"))
    assert new.phrases == (Phrase("paid time off", 0.8, "list ours.txt:2: PTO"),)
    assert new.terms == (
        Term("vacation", 0.8, "list ours.txt:2: PTO"),
        Term("automobile", 0.8, "list ours.txt:3: motor car"),
    )
    assert [p.text for p in expander.expand(Query("an automobile?")).phrases] == ["motor car"]
    assert expander.expand(Query("is it there?")) == Query("is it there?")
    assert [t.text for t in expander.expand(Query("what does IT do?")).terms] == ["computing"]


@pytest.mark.parametrize("line", ["word", "= other", "word =", "word = ,", "!! = other"])
def test_a_bad_line_is_named(line: str, tmp_path: Path) -> None:
    """A line that is no rule is refused with its number and what a rule looks like."""
    path = tmp_path / "list.txt"
    path.write_text(f"good = better\n{line}\n")
    with pytest.raises(InputError, match=r"list\.txt, line 2.*word = other") as caught:
        load_list(path)
    assert "both directions" in caught.value.hint


def test_lists_are_read_again_when_they_change(tmp_path: Path) -> None:
    """A changed file counts at once; one that is missing or not UTF-8 is refused."""
    path = tmp_path / "list.txt"
    path.write_text("a1 = b1\n")
    assert load_list(path)[0].right == ("b1",)
    path.write_text("a1 = b1, c1\n")
    assert load_list(path)[0].right == ("b1", "c1")
    path.write_bytes(b"\xff\xfe\x00 = x")
    with pytest.raises(InputError, match="not UTF-8"):
        load_list(path)
    with pytest.raises(InputError, match="cannot be read"):
        load_list(tmp_path / "missing")


@given(st.lists(st.tuples(*[st.sampled_from(["rose", "flower", "tea", "IT", "new york"])] * 2), max_size=5))
def test_both_directions_hold(pairs: list[tuple[str, str]]) -> None:
    """Of ``a == b`` each side brings the other."""
    for left, right in pairs:
        expander = ListExpander(parse_list(f"{left} == {right}"))
        for asked, wanted in ((left, right), (right, left)):
            new = expander.expand(Query(f"about {asked}?"))
            assert [x.text for x in (*new.terms, *new.phrases)] == [wanted]


def test_feedback_is_what_the_formula_says() -> None:
    """P(w | hits) is the score-weighted mean of relative counts, over stems, without function words."""
    hits = [
        Scored(Passage("a", 0, 9, "Ottoman troops, the troop", "Vienna"), 3.0),
        Scored(Passage("b", 0, 9, "Ottoman Vienna", ""), 1.0),
    ]
    model = relevance_model(hits, n=10)
    shares = {stem(word): (share, held) for word, share, held in model}
    assert shares["troop"] == (pytest.approx(0.75 * 2 / 4), 1)
    assert shares["ottoman"] == (pytest.approx(0.75 / 4 + 0.25 / 2), 2)
    assert sum(share for _, share, _ in model) == pytest.approx(1.0)
    assert not CLOSED & {word for word, _, _ in model}
    even = relevance_model([Scored(hit.item, 0.0) for hit in hits], n=1)
    assert even[0][1] == pytest.approx(0.5 / 4 + 0.5 / 2)
    assert relevance_model([], n=3) == []


@pytest.mark.parametrize("original", [0.25, 0.5, 1.0])
def test_feedback_keeps_the_questions_share(original: float) -> None:
    """What is added weighs (1 - original) / original of the question's own words, and says in how many hits it was."""
    expander = Rm3Expander(FakeRetriever(DOCUMENTS), docs=2, terms=4, original=original)
    check_expander(expander, QUERIES)
    query = Query("When did the siege of Vienna begin?")
    terms = expander.expand(query).terms
    assert sum(term.weight for term in terms) == pytest.approx(3 * (1 - original) / original)
    assert len(terms) == (0 if original == 1 else 4)
    assert all(term.origin in ("rm3: in 1 of 2 hits", "rm3: in 2 of 2 hits") for term in terms)
    assert Rm3Expander(FakeRetriever(DOCUMENTS)).expand(Query("zebra")).terms == ()
    with pytest.raises(InputError, match="original"):
        Rm3Expander(FakeRetriever(DOCUMENTS), original=0.0)


def test_keywords_ngrams_and_focus() -> None:
    """Stop and asking words go, neighbours become phrases, and the focus is what the answer replaces."""
    query = Query("Name the German city that hosted the 1972 Summer Olympics?")
    assert KeywordExpander().expand(query).search == "German city hosted 1972 Summer Olympics"
    assert KeywordExpander().expand(Query("Who is it?")).search == ""
    assert "WHO" in KeywordExpander().expand(Query("what does the WHO do?")).search
    grams = NgramExpander(longest=2, weight=0.3).expand(query).phrases
    assert [g.text for g in grams] == ["German city", "1972 Summer", "Summer Olympics"]
    assert {g.origin for g in grams} == {"ngrams: 2"}
    assert [t.text for t in FocusExpander().expand(Query("What German city was it?")).terms] == [
        "German",
        "city",
    ]
    for expander in (KeywordExpander(), NgramExpander(), FocusExpander()):
        check_expander(expander, [*QUERIES, query])
    with pytest.raises(InputError):
        NgramExpander(shortest=1)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("What German city was bombed?", "German city"),
        ("How many rose species are there?", "rose species"),
        ("What is the name of the river in Paris?", "river"),
        ("In which year did it end?", "year"),
        ("Who was it?", ""),
        ("What is it?", ""),
    ],
)
def test_focus(question: str, expected: str) -> None:
    """The focus is the noun phrase behind the asking word; who, when and where have none."""
    assert focus(question) == expected


@given(st.text(max_size=80))
def test_any_question_can_be_processed(question: str) -> None:
    """No text breaks a step; keywords are words of the question, n-grams slices of it."""
    query = Query(question)
    kept = KeywordExpander().expand(query).search
    assert set(words(kept)) <= {
        part for word in words(question) for part in (word, *words(word.replace("'", " ")))
    }
    assert all(phrase.text in question for phrase in NgramExpander().expand(query).phrases)
    assert focus(question) in question


def test_expanders_by_name(tmp_path: Path) -> None:
    """Names, with what they need behind a colon, and files of lists become expanders, in the order given."""
    (tmp_path / "ours.txt").write_text("siege = blockade\n")
    (tmp_path / "v.txt").write_text("siege 1 0\nattack 1 0.1\n")
    with Index.create(tmp_path / "ix") as index:
        index.put([(Source(d.id, "0"), (d,)) for d in DOCUMENTS])
        names = "entities, ours.txt,vectors:v.txt,ngrams,focus,rm3:0.9,keywords"
        query = Query("When did the siege of Vienna begin?")
        for expander in open_expanders(names, index, folder=tmp_path):
            query = expander.expand(query)
        origins = {x.origin.split(":")[0] for x in (*query.terms, *query.phrases)}
        assert origins >= {"entities", "list ours.txt", "vectors", "rm3"}
        assert query.search == "siege Vienna begin"
        assert index.retrieve(query, k=1)[0].item.document_id in ("v", "w")
        assert open_expanders("none", index) == open_expanders("", index) == ()
        _refused(index, tmp_path)
    assert [row.name for row in EXPANDERS.values()] == list(EXPANDERS)


def _refused(index: Index, folder: Path) -> None:
    cases: Sequence[tuple[str, str]] = [
        ("synonyms", "no expander 'synonyms'"),
        ("vectors", "Write vectors:FILE"),
        ("mlm:", "Write mlm:MODEL"),
        ("keywords:x", "Write keywords"),
        ("rm3:often", "number above 0"),
        ("rm3:2", "at most 1"),
        ("list:missing.txt", "cannot be read"),
        ("wordnet:.", "wordnet-base"),
    ]
    for name, message in cases:
        with pytest.raises(InputError, match=message):
            open_expanders(name, index, folder=folder)
