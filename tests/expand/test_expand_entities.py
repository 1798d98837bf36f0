"""What a question names, and the phrases that it becomes."""

import itertools
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError, MissingExtraError
from quoth.retrieve.expand import (
    EntityExpander,
    Gazetteer,
    IndexNames,
    Parts,
    RuleRecogniser,
    SpacyRecogniser,
)
from quoth.retrieve.store import Index
from quoth.testing.parts import check_expander
from quoth.types import Document, Phrase, Query, Segment, Source

NAMES = Gazetteer(
    ["Montreal Botanical Garden", "Mercury (planet)", "Simon_and_Garfunkel", "The", "May 1968", "Rose"]
)


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Who is the bad guy in The Hunger Games?", ["The Hunger Games"]),
        ("what is Thomas Middleditch's popular tv show?", ["Thomas Middleditch"]),
        ("how many trees are found in the montreal botanical garden?", ["montreal botanical garden"]),
        ("When did the Apollo 11 mission land on 20 July 1969?", ["Apollo 11"]),
        ("Where did simon and garfunkel's last tour end?", ["simon and garfunkel"]),
        ('Who wrote "crazy in love"?', ["crazy in love"]),
        ("Who sang “Halo” for Beyoncé?", ["Halo", "Beyoncé"]),
        ("WHO WROTE HAMLET?", []),
        ("In What Year Did Queen Victoria Die And Where", []),
        ("Apples grow where?", []),
        ("Beyoncé's first album?", ["Beyoncé"]),
        ("Name the University of the West of England's rector", ["University of the West of England"]),
        ("What does the U.S. Supreme Court do?", ["U.S. Supreme Court"]),
        ("Between France and Germany, which is larger?", ["France", "Germany"]),
        ("The Beatles were from where?", ["Beatles"]),
        ("How hot is mercury in May?", ["mercury"]),
        ("", []),
    ],
)
def test_rules_find_names(question: str, expected: list[str]) -> None:
    """Quoted, capitalised and known names are found; asking words, dates and title case are none."""
    found = RuleRecogniser(lambda: NAMES).entities(question)
    assert [entity.text for entity in found] == expected


@given(st.text(alphabet=st.sampled_from("Aa Bb'’\"“”of the 19.-é\n?"), max_size=60))
def test_entities_are_slices_apart(question: str) -> None:
    """Entities are slices of the question, from left to right, and overlap nowhere."""
    found = RuleRecogniser(lambda: NAMES).entities(question)
    assert all(question[e.start : e.end] == e.text and e.text for e in found)
    assert all(a.end <= b.start for a, b in itertools.pairwise(found))


def test_expander_adds_phrases_once() -> None:
    """Each entity is one phrase with its weight and origin; again it adds nothing; single words may be left out."""
    recogniser = RuleRecogniser(lambda: NAMES)
    query = Query("Is the Rose Garden in Paris, or the rose garden?", phrases=(Phrase("old", 2.0, "me"),))
    expander = EntityExpander(recogniser, weight=0.7)
    check_expander(expander, [query, Query("what?"), Query("Is it Rome?")])
    new = expander.expand(query)
    assert new.phrases == (
        Phrase("old", 2.0, "me"),
        Phrase("Rose Garden", 0.7, "entities: capitalised"),
        Phrase("Paris", 0.7, "entities: capitalised"),
        Phrase("rose", 0.7, "entities: index"),
    )
    assert expander.expand(new) == new
    assert [p.text for p in EntityExpander(recogniser, singles=False).expand(query).phrases] == [
        "old",
        "Rose Garden",
    ]
    with pytest.raises(InputError, match="above 0"):
        EntityExpander(recogniser, weight=0.0)


def test_gazetteer_takes_the_longest_name() -> None:
    """The longest name wins at each place; brackets, case and accents do not count; function words are no names."""
    names = Gazetteer(["New York", "New York City Ballet", "Björk", "The", "2001", "A B", "of the"])
    question = "did bjork see the new york city ballet in new york?"
    assert [question[a:b] for a, b in names.find(question)] == ["bjork", "new york city ballet", "new york"]
    assert names.knows("BJÖRK")
    assert not names.knows("the")
    assert not names.knows("2001")
    assert len(Gazetteer(["word " * 9])) == 0


def _index(folder: Path, documents: Sequence[Document]) -> Index:
    index = Index.create(folder)
    index.put([(Source(d.source, "0"), (d,)) for d in documents])
    return index


def test_index_names_are_titles_and_headings_and_follow_the_index(tmp_path: Path) -> None:
    """An index's titles and headings are its names, and new ones count as soon as they are put."""
    first = Document(
        "a",
        "# Deep Sea Vents\n\nHot water.\n\nMore.",
        title="Oceans",
        source="a.md",
        segments=(Segment(0, 10, label="Black Smokers"),),
    )
    with _index(tmp_path / "ix", [first]) as index:
        names = IndexNames(index)
        assert all(names().knows(name) for name in ("oceans", "deep sea vents", "black smokers"))
        made = names()
        assert names() is made
        index.put([(Source("b.md", "0"), (Document("b", "Text.", title="Tidal Pools", source="b.md"),))])
        assert names().knows("tidal pools")
        phrases = EntityExpander(Parts(index).recogniser).expand(Query("how deep are tidal pools?")).phrases
        assert [p.text for p in phrases] == ["tidal pools"]


def test_a_phrase_brings_what_has_the_words_together(tmp_path: Path) -> None:
    """A document with the name whole comes before one with its words scattered, once the name is a phrase."""
    together = Document("z", "Black rivers hold a sea. The hunger games took place there.", source="z")
    apart = Document("a", "Games of hunger: hunger and games, games and more hunger.", source="a")
    with _index(tmp_path / "ix", [together, apart]) as index:
        query = Query("Who won The Hunger Games?")
        assert index.retrieve(query, k=2)[0].item.document_id == "a"
        expanded = EntityExpander(RuleRecogniser(), weight=3.0).expand(query)
        assert index.retrieve(expanded, k=2)[0].item.document_id == "z"


def test_spacy_is_optional() -> None:
    """Without spaCy, or without the model, the message says what to do."""
    with pytest.raises((MissingExtraError, InputError), match="no-such-model"):
        SpacyRecogniser("no-such-model")
