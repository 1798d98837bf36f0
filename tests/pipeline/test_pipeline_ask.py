"""The main path: what it finds, what it refuses, and what it says about it."""

from dataclasses import replace

import pytest

from quoth.errors import InputError
from quoth.pipeline import MAX_QUESTION, Pipeline, without_quoting
from quoth.protocols import Retriever
from quoth.rank import TfidfRanker
from quoth.reading import Calibration
from quoth.schema import trace_json
from quoth.testing import FakeRanker, FakeReader, FakeRetriever
from quoth.types import Document, Phrase, Query, Segment

LEASE = Document(
    "lease",
    "The rent is 900 euros a month.\n\nThe tenant must give three months notice. Pets are allowed.",
    title="Lease",
    source="papers/lease.pdf",
    sha256="ab" * 32,
    segments=(Segment(0, 30, page=1), Segment(30, 95, page=2)),
)
LETTER = Document(
    "letter", "You owe three months rent. Sincerely, the landlord.", title="Letter", source="letter.txt"
)


def pipeline(reader: FakeReader, retriever: Retriever | None = None) -> Pipeline:
    return Pipeline(
        retriever=retriever or FakeRetriever([LEASE, LETTER]), reader=reader, cut_ranker=TfidfRanker()
    )


def test_the_answer_is_a_quotation_with_its_place() -> None:
    """An answer is a slice of its document, inside its sentence, with page, source and hash."""
    trace = pipeline(FakeReader({"three months notice": 5.0})).ask(
        Query("How much notice must the tenant give?")
    )
    answer = trace.answer
    assert answer is not None
    best = answer.evidence[0]
    assert LEASE.text[answer.span.start : answer.span.end] == answer.span.text == "three months notice"
    assert best.sentence.text == "The tenant must give three months notice."
    assert (best.place.page, best.source, best.document_sha256) == (2, "papers/lease.pdf", "ab" * 32)


def test_no_answer_is_an_answer() -> None:
    """Where the null odds exceed the threshold nothing is quoted, and the nearest span is still there to see."""
    asked = Query("How much notice must the tenant give?")
    trace = pipeline(FakeReader({"900 euros": 1.0}, null_score=4.0)).ask(asked)
    assert trace.answer is None
    assert trace.null_odds == pytest.approx(3.0)
    assert trace.answers[0].span.text == "900 euros"
    bold = replace(pipeline(FakeReader({"900 euros": 1.0}, null_score=4.0)), threshold=3.0).ask(asked)
    assert bold.answer is not None


def test_the_same_words_elsewhere_are_more_evidence() -> None:
    """Equal strings in several documents are one answer with all its places."""
    trace = pipeline(FakeReader({"three months": 5.0})).ask(Query("How many months rent or notice?"))
    assert trace.answer is not None
    assert {e.source for e in trace.answer.evidence} == {"papers/lease.pdf", "letter.txt"}
    assert len(trace.answers) == 1
    assert sum(a.probability for a in trace.answers) <= 1.0


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
def test_an_empty_question_is_refused(question: str) -> None:
    """A blank question is the caller's mistake, said in one line."""
    with pytest.raises(InputError, match="empty"):
        pipeline(FakeReader({})).ask(Query(question))


def test_an_over_long_question_is_refused_at_the_limit() -> None:
    """The limit itself is allowed; one character more is not."""
    path = pipeline(FakeReader({}))
    path.ask(Query("a" * MAX_QUESTION))
    with pytest.raises(InputError, match="2,001 characters"):
        path.ask(Query("a" * (MAX_QUESTION + 1)))


def test_nothing_found_is_said_not_raised() -> None:
    """A question that no passage matches gives a trace without an answer, and the reason."""
    trace = pipeline(FakeReader({"x": 1.0})).ask(Query("zebra"))
    assert trace.answer is None
    assert trace.candidates == ()
    assert "No passage holds any word of the question." in trace.notes
    assert trace_json(trace)["null_odds"] is None


@pytest.mark.parametrize("question", ["Why must the tenant give notice?", "Must the tenant give notice?"])
def test_reasons_and_yes_no_quote_the_sentence(question: str) -> None:
    """Why and yes-no questions are answered by the sentence, and the reply says so."""
    path = pipeline(FakeReader({"three months notice": 5.0}))
    trace = path.ask(Query(question))
    assert trace.answer is not None
    assert (trace.answer.kind, trace.answer.text) == ("evidence", "The tenant must give three months notice.")
    assert any("sentence that holds the evidence" in note for note in trace.notes)
    spans_only = without_quoting(path).ask(Query(question))
    assert spans_only.answer is not None
    assert spans_only.answer.kind == "span"


def test_the_retriever_has_its_share() -> None:
    """With a weight, a span of a poorer passage must be better by more than its passage is worse."""
    reader = FakeReader({"900 euros": 5.0, "three months rent": 5.1})
    even = pipeline(reader)
    asked = Query("What is the rent in euros a month?")
    weighed = replace(even, calibration=Calibration(weight=10.0))
    assert even.ask(asked).answers[0].span.text == "three months rent"
    assert weighed.ask(asked).answers[0].span.text == "900 euros"


def test_whole_documents_are_cut_and_ranked() -> None:
    """A retriever of whole documents is read by the passages that match best, with offsets into the document."""
    filler = "\n\n".join(
        f"Paragraph {i} is about the weather in the mountains, and about nothing else." for i in range(150)
    )
    book = Document(
        "book", f"{filler}\n\nThe lighthouse keeper is called Odd.\n\n{filler}", source="book.txt"
    )

    class Whole(FakeRetriever):
        def retrieve(self, query, *, k):  # type: ignore[no-untyped-def]
            from quoth.types import Passage, Scored

            return [Scored(Passage("book", 0, len(book.text), book.text), 1.0)]

    path = replace(pipeline(FakeReader({"Odd": 3.0}), Whole([book])), n_passages=5)
    trace = path.ask(Query("What is the lighthouse keeper called?"))
    assert "lighthouse" in trace.passages[0].item.text
    assert trace.answer is not None
    assert book.text[trace.answer.span.start : trace.answer.span.end] == "Odd"
    assert len(trace.passages) == 5


def test_a_long_paragraph_is_not_taken_for_a_document() -> None:
    """One long paragraph among the hits is read by windows: the retriever's order and scores stay as they are."""
    long = "word " * 740
    novel = Document("novel", f"{long}rent.", paragraphs=((0, len(long) + 5),), source="novel.txt")
    retriever = FakeRetriever([LEASE, LETTER, novel])
    trace = pipeline(FakeReader({"900 euros": 5.0}), retriever).ask(Query("What is the rent?"))
    assert any(len(c.item.text) > 3_700 for c in trace.candidates)
    assert trace.passages == trace.candidates


def test_a_ranker_decides_what_is_read_first() -> None:
    """A ranker that is given reorders what the retriever brought."""
    path = replace(pipeline(FakeReader({})), ranker=FakeRanker({"Sincerely": 9.0}))
    assert path.ask(Query("rent months")).passages[0].item.document_id == "letter"


def test_expanders_add_and_are_seen() -> None:
    """What an expander adds reaches the retriever and is in the trace."""

    class Notice:
        def expand(self, query: Query) -> Query:
            return replace(query, phrases=(*query.phrases, Phrase("three months notice", 2.0, "test")))

    trace = replace(pipeline(FakeReader({})), expanders=(Notice(),)).ask(Query("zebra"))
    assert trace.candidates
    assert trace_json(trace, explain=True)["trace"]["query"]["phrases"][0]["origin"] == "test"


def test_a_document_that_changed_is_not_quoted() -> None:
    """A span that its document no longer holds is left out, and that is said."""

    class Moving(FakeRetriever):
        def document(self, id: str) -> Document:
            return replace(super().document(id), text="Something else entirely.")

    trace = pipeline(FakeReader({"three months notice": 5.0}), Moving([LEASE])).ask(Query("tenant notice"))
    assert trace.answers == ()
    assert trace.answer is None
    assert any("changed while it was read" in note for note in trace.notes)


def test_an_answer_whose_best_place_changed_has_the_score_of_the_place_that_holds() -> None:
    """What is left of it is the evidence that it is ranked by, below an answer that was second."""
    memo = Document("memo", "Three Months is the notice period.", source="memo.txt")

    class Moving(FakeRetriever):
        def document(self, id: str) -> Document:
            found = super().document(id)
            return replace(found, text="Something else entirely.") if id == "memo" else found

    scores = {"Three Months": 9.0, "900 euros": 7.0, "three months": 5.0}
    trace = pipeline(FakeReader(scores), Moving([LEASE, memo])).ask(
        Query("three months rent or notice period")
    )
    assert [(a.span.text, a.score) for a in trace.answers] == [("900 euros", 7.0), ("three months", 5.0)]
    still = pipeline(FakeReader(scores), FakeRetriever([LEASE, memo])).ask(
        Query("three months rent or notice period")
    )
    assert [(a.span.text, a.score) for a in still.answers] == [("Three Months", 9.0), ("900 euros", 7.0)]


def test_stale_files_are_named() -> None:
    """Only the documents that were read are looked at, and those that changed are named."""
    looked: list[str] = []

    def stale(ids):  # type: ignore[no-untyped-def]
        looked.extend(ids)
        return ("papers/lease.pdf",)

    trace = replace(pipeline(FakeReader({})), stale=stale).ask(Query("Pets allowed?"))
    assert trace.stale == ("papers/lease.pdf",)
    assert looked == ["lease"]


def test_other_languages_are_warned_about() -> None:
    """A question that is not English is answered with a warning."""
    notes = pipeline(FakeReader({})).ask(Query("Wie lang ist die Kündigungsfrist für den Mieter?")).notes
    assert any("English" in note for note in notes)


def test_every_stage_is_timed() -> None:
    """The trace says what each stage cost, in the order in which they ran."""
    trace = pipeline(FakeReader({})).ask(Query("rent"))
    assert list(trace.timings_ms) == ["expand", "retrieve", "rank", "read", "combine", "quote", "check"]
