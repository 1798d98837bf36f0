"""The fakes do what tests that are built on them expect."""

import numpy as np
import pytest

from quoth import testing
from quoth.errors import CheckError, InputError, QuothError
from quoth.reading import SpanReader
from quoth.testing import FakeEncoder, FakeRanker, FakeReader, FakeRetriever, FakeSpanModel, check_reader
from quoth.types import Candidate, Document, Filter, Passage, Phrase, Query, Term

DOCUMENTS = [
    Document("v", "The siege of Vienna began in 1529.\n\nIt ended soon.", metadata={"year": "2020"}),
    Document("a", "Apples are red.", title="Fruit", metadata={"year": "2024"}),
]


def test_retriever_finds_by_question_phrases_terms_and_title() -> None:
    """What expanders add is searched for too, and a query's search text replaces the question."""
    retriever = FakeRetriever(DOCUMENTS)
    for query in (
        Query("Apples?"),
        Query("?", phrases=(Phrase("red apple"),)),
        Query("?", terms=(Term("fruit"),)),
        Query("Vienna", search="apples"),
    ):
        assert [s.item.document_id for s in retriever.retrieve(query, k=5)] == ["a"]
    assert retriever.retrieve(Query("zebra"), k=5) == []
    with pytest.raises(InputError, match="nobody"):
        retriever.document("nobody")


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (Filter("year", ">=", "2024"), ["a"]),
        (Filter("year", ">", "2020"), ["a"]),
        (Filter("year", "<", "2024"), ["v"]),
        (Filter("year", "<=", "2020"), ["v"]),
        (Filter("year", ":", "2021"), []),
    ],
)
def test_retriever_compares_metadata_as_text(condition: Filter, expected: list[str]) -> None:
    """All five comparisons hold."""
    query = Query("apples siege", filters=(condition,))
    assert [s.item.document_id for s in FakeRetriever(DOCUMENTS).retrieve(query, k=5)] == expected


def test_reader_finds_every_place() -> None:
    """Strings are found in all passages, best first, with offsets into the document."""
    passages = [Passage("d", 10, 16, "a b ab"), Passage("e", 0, 1, "b")]
    reading = FakeReader({"ab": 5.0, "b": 2.0}, null_score=1.0).read("?", passages)
    assert [(s.item.document_id, s.item.start, s.item.end, s.score) for s in reading.spans] == [
        ("d", 14, 16, 5.0),
        ("d", 12, 13, 2.0),
        ("d", 15, 16, 2.0),
        ("e", 0, 1, 2.0),
    ]
    assert reading.passages == (0, 0, 0, 1)
    assert reading.null_odds == -4.0


def test_ranker_takes_the_best_string() -> None:
    """A text scores what the best string in it is worth."""
    texts = [Candidate("x y"), Candidate("y"), Candidate("z")]
    assert FakeRanker({"x": 1.0, "y": 2.0}, default=-1.0).score("?", texts) == [2.0, 2.0, -1.0]


def test_the_real_reader_finds_what_the_model_points_at() -> None:
    """A span reader over the fake model reads the answer, with its score twice (start and end), and null."""
    model = FakeSpanModel({"in 1529": 4.0, "soon": 3.0}, null=1.0)
    text = DOCUMENTS[0].text
    reading = SpanReader(model).read("When did it begin?", [Passage("v", 0, len(text), text)])
    best = reading.spans[0]
    assert (best.item.text, best.score) == ("in 1529", 8.0)
    assert "soon" in [s.item.text for s in reading.spans]
    assert reading.null_score == 2.0


@pytest.mark.parametrize("mode", ["joint", "each", "concatenate"])
def test_the_real_reader_keeps_the_contract(mode: str) -> None:
    """All three modes of the shipped reader pass the check, over windows of 64 tokens."""
    check_reader(SpanReader(FakeSpanModel({"1529": 4.0, "king": 3.0}), mode=mode))  # type: ignore[arg-type]


def test_encoder_sees_shared_words() -> None:
    """Texts that share words are nearer than others, and case does not count."""
    vectors = FakeEncoder().encode_passages(["the red apple", "THE RED pear", "a blue car goes"])
    similarity = vectors @ vectors.T
    assert similarity[0, 1] > similarity[0, 2]
    assert np.allclose(np.diag(similarity), 1, atol=1e-6)


def test_failed_checks_are_errors_of_ours_with_a_code() -> None:
    """A failed check can be told from a crash: it is a QuothError with exit code 1."""
    error = CheckError("x")
    assert isinstance(error, QuothError)
    assert error.exit_code == 1


def test_all_is_exact() -> None:
    """Everything public is listed, and what is listed exists."""
    public = {n for n in vars(testing) if n.startswith(("Fake", "check_"))}
    assert set(testing.__all__) == public
