"""Conversions keep offsets and labels; formats are recognised; what is written is read back."""

import gzip
import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.datasets import (
    FORMATS,
    HOMES,
    Context,
    GoldAnswer,
    OpenDataset,
    SelectionDataset,
    SpanDataset,
    SpanQuestion,
    describe,
    format_of,
    iter_selection,
    iter_triggering,
    load,
    load_selqa,
    load_selqa_triggering,
    load_squad,
    load_wikiqa,
    selection_to_squad,
    squad_to_selection,
    squad_to_triggering,
    where_to_get,
    write_selection,
    write_squad,
    write_triggering,
)
from quoth.datasets.files import split_of, stem_of
from quoth.datasets.profile import lengths
from quoth.errors import InputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout")

TEXT = "Ada wrote notes. They were long. Ada met Babbage. He built engines."


def by_stops(text: str) -> tuple[tuple[int, int], ...]:
    """Cut at full stops: a splitter whose result can be read off."""
    spans, start = [], 0
    while (stop := text.find(".", start)) >= 0:
        spans.append((start, stop + 1))
        start = stop + 2
    return tuple(spans)


def dataset(*answers: tuple[GoldAnswer, ...], text: str = TEXT, paragraphs: int = 8) -> SpanDataset:
    contexts = {
        f"T/{n}": Context(f"T/{n}", "Title", text if n == 0 else f"Other {n}. And more.", "T")
        for n in range(paragraphs)
    }
    questions = tuple(
        SpanQuestion(f"q{n}", "Who wrote?", each, not each, "T/0", "Title", "dev")
        for n, each in enumerate(answers)
    )
    return SpanDataset("made", "dev", contexts, questions)


def test_an_answer_is_labelled_by_its_offset() -> None:
    """Only the sentence at the answer's offset is positive, not another with the same words."""
    data = dataset((GoldAnswer("Ada", TEXT.index("Ada met")),))
    question = squad_to_selection(data, split_sentences=by_stops).questions[0]
    assert [c.label for c in question.candidates] == [0, 0, 1, 0]
    assert [c.id for c in question.candidates] == ["q0-0", "q0-1", "q0-2", "q0-3"]
    assert (question.candidates[2].previous, question.candidates[2].next) == (
        "They were long.",
        "He built engines.",
    )
    assert (question.document, question.title, question.split) == (TEXT, "Title", "dev")


def test_an_answer_across_a_boundary_joins_sentences() -> None:
    """Sentences that one answer crosses are one candidate, for that question alone."""
    crossing = GoldAnswer("long. Ada met", TEXT.index("long."))
    data = dataset((crossing, GoldAnswer("engines", TEXT.index("engines"))), (GoldAnswer("Ada", 0),))
    first, second = squad_to_selection(data, split_sentences=by_stops).questions
    assert [(c.text, c.label) for c in first.candidates] == [
        ("Ada wrote notes.", 0),
        ("They were long. Ada met Babbage.", 1),
        ("He built engines.", 1),
    ]
    assert [c.label for c in second.candidates] == [1, 0, 0, 0]


def test_impossible_questions_and_whole_articles() -> None:
    """Unanswerable questions come only when asked for; the article can be the document."""
    data = dataset((), (GoldAnswer("Ada", 0),), paragraphs=2)
    assert [q.id for q in iter_selection(data)] == ["q1"]
    everything = list(iter_selection(data, impossible=True, document="article"))
    assert [q.positives for q in everything] == [0, 1]
    assert everything[0].document == f"{TEXT}\n\nOther 1. And more."


@given(st.lists(st.tuples(st.integers(0, len(TEXT) - 1), st.integers(1, 30)), min_size=1, max_size=4))
def test_selection_keeps_the_text(places: Sequence[tuple[int, int]]) -> None:
    """Every candidate is a slice of the paragraph in order, and every visible answer is in a positive one."""
    answers = tuple(GoldAnswer(TEXT[a : a + n], a) for a, n in places if TEXT[a : a + n].strip())
    question = next(iter_selection(dataset(answers), impossible=True, split_sentences=by_stops))
    position = 0
    for candidate in question.candidates:
        position = TEXT.index(candidate.text, position) + len(candidate.text)
    positive = [c.text for c in question.candidates if c.label]
    assert all(any(answer.text.strip(" ") in text for text in positive) for answer in answers)
    assert bool(positive) == bool(answers)


def test_selection_and_back() -> None:
    """Selection data come back as spans whose answers are the positive sentences, at their offsets."""
    data = dataset((GoldAnswer("Ada", 0),), (GoldAnswer("engines", TEXT.index("engines")),), ())
    back = selection_to_squad(squad_to_selection(data, impossible=True, split_sentences=by_stops))
    assert [[a.text for a in q.answers] for q in back.questions] == [
        ["Ada wrote notes."],
        ["He built engines."],
        [],
    ]
    assert [q.impossible for q in back.questions] == [False, False, True]
    assert len(back.contexts) == 1
    assert all(back.context(q).text[a.start : a.end] == a.text for q in back.questions for a in q.answers)


@needs_data
def test_wikiqa_comes_over_and_trecqa_does_not() -> None:
    """WikiQA's sentences have places in their summary; TREC-QA's have no document, and that is reported."""
    wikiqa = load(DATA / "wikiqa/WikiQA-dev.tsv")
    trecqa = load(DATA / "trecqa/dev.xml")
    assert isinstance(wikiqa, SelectionDataset)
    assert isinstance(trecqa, SelectionDataset)
    spans = selection_to_squad(wikiqa)
    assert (len(spans.questions), sum(not q.impossible for q in spans.questions)) == (296, 126)
    assert all(spans.context(q).text[a.start : a.end] == a.text for q in spans.questions for a in q.answers)
    none = selection_to_squad(trecqa)
    assert (none.questions, {p.kind for p in none.problems}, len(none.problems)) == ((), {"no_offsets"}, 82)


@needs_data
def test_squad_as_selection() -> None:
    """SQuAD 1.1 dev becomes 10,570 questions, each with a positive; pairs are near the paper's 5.1 a question."""
    data = load_squad(DATA / "squad/dev-v1.1.json.gz")
    questions = list(iter_selection(data))
    assert len(questions) == 10_570
    assert all(question.positives for question in questions)
    assert 4.9 < sum(len(question.candidates) for question in questions) / len(questions) < 5.3


def test_triggering_sections() -> None:
    """A question gets its own paragraph and four others, only its own answered, in a stable random order."""
    data = dataset((GoldAnswer("Ada", 0),), (), paragraphs=9)
    first, second = squad_to_triggering(data, split_sentences=by_stops).questions
    assert (first.answerable, second.answerable) == (True, False)
    assert [len({s.section for s in q.sections}) for q in (first, second)] == [5, 5]
    assert [s.section for s in first.sections if s.answered] == ["T/0"]
    again = list(iter_triggering(data, split_sentences=by_stops))
    assert again == [first, second]
    alone = SpanDataset("made", "dev", data.contexts, data.questions[1:])
    assert next(iter_triggering(alone, split_sentences=by_stops)) == second
    orders = {
        tuple(s.section for s in next(iter_triggering(data, seed=n, split_sentences=by_stops)).sections)
        for n in range(20)
    }
    assert len(orders) > 10


def test_triggering_from_a_retriever() -> None:
    """Paragraphs that a retriever names are taken in its order, the question's own never twice."""
    data = dataset((GoldAnswer("Ada", 0),))
    ranked = ["T/3", "T/0", "T/3", "T/1", "T/2"]
    question = next(iter_triggering(data, sections=3, others=lambda question: ranked))
    assert {s.section for s in question.sections} == {"T/0", "T/3", "T/1"}
    with pytest.raises(InputError, match="no context"):
        list(iter_triggering(data, others=lambda question: ["X"]))
    with pytest.raises(InputError, match="at least 1"):
        list(iter_triggering(data, sections=0))


def test_triggering_fills_up_from_other_articles() -> None:
    """An article with too few paragraphs is filled up from the others; a small set gives what it has."""
    small = dataset((GoldAnswer("Ada", 0),), paragraphs=2)
    others = {f"U/{n}": Context(f"U/{n}", "U", "Elsewhere.", "U") for n in range(2)}
    data = SpanDataset("made", "dev", {**small.contexts, **others}, small.questions)
    question = next(iter_triggering(data))
    assert {s.section for s in question.sections} == {"T/0", "T/1", "U/0", "U/1"}


def test_written_squad_is_read_back(tmp_path: Path) -> None:
    """Spans that are written and read again are the same, gzipped too."""
    data = dataset((GoldAnswer("Ada", 0),), ())
    for name in ("made.dev.json", "made.dev.json.gz"):
        assert write_squad(data, tmp_path / name) == 2
        back = load_squad(tmp_path / name)
        assert (dict(back.contexts), back.questions, back.problems) == (
            dict(data.contexts),
            data.questions,
            (),
        )
    assert sorted(p.name for p in tmp_path.iterdir()) == ["made.dev.json", "made.dev.json.gz"]


def test_written_selection_is_read_back(tmp_path: Path) -> None:
    """Selection is the same after JSON, with its documents; TSV keeps ids, sentences and labels."""
    data = squad_to_selection(dataset((GoldAnswer("Ada", 0),), ()), impossible=True, split_sentences=by_stops)
    assert write_selection(data.questions, tmp_path / "dev.json") == 2
    assert load_selqa(tmp_path / "dev.json").questions == data.questions
    assert write_selection(data.questions, tmp_path / "dev.tsv.gz") == 2
    rows = load_wikiqa(tmp_path / "dev.tsv.gz")
    assert [q.candidates for q in rows.questions] == [q.candidates for q in data.questions]


def test_written_triggering_is_read_back(tmp_path: Path) -> None:
    """Triggering sets are the same after a round trip."""
    data = squad_to_triggering(dataset((GoldAnswer("Ada", 0),), ()), split_sentences=by_stops)
    assert write_triggering(data.questions, tmp_path / "dev.json") == 2
    assert load_selqa_triggering(tmp_path / "dev.json").questions == data.questions


def test_a_failed_writing_leaves_the_old_file(tmp_path: Path) -> None:
    """Where writing stops half-way the old file stays whole and no other is left."""
    path = tmp_path / "dev.json"
    path.write_text("old", encoding="utf-8")
    with pytest.raises(InputError, match="no context"):
        write_triggering(iter_triggering(dataset(()), others=lambda q: ["X"]), path)
    assert [p.read_text(encoding="utf-8") for p in tmp_path.iterdir()] == ["old"]
    with pytest.raises(InputError, match="cannot be written"):
        write_squad(dataset(), tmp_path / "none" / "x.json")


FILES = {
    "squad/dev-v1.1.json.gz": "squad",
    "covidqa/200423_covidQA.json": "squad",
    "bioasq/bio_electra.bioasq.dev.json": "squad",
    "bioasq/bio_electra.bioasq_reranker.dev.tsv": "bioasq-pairs",
    "policyqa/dev.json": "squad",
    "multispanqa/valid.json": "multispanqa",
    "selqa/ass/selqa-ass-dev.json": "selqa",
    "selqa/ass/selqa-ass-dev.tsv": "selqa-tsv",
    "wikiqa/WikiQA-dev.tsv": "wikiqa",
    "wikiqa/WikiQA-dev.txt": "selqa-tsv",
    "wikiqa/WikiQA-dev.ref": "qrels",
    "trecqa/dev.xml": "trecqa",
    "nq/NQ-open.dev.jsonl": "nq-open",
    "subjqa/electronics/splits/dev.csv": "subjqa",
    "cmu-qa/S08/question_answer_pairs.txt": "cmu-qa",
    "cranfield/cran.all.1400": "documents",
    "cranfield/cran.qry.xml": "topics",
    "cranfield/cranqrel.trec.txt": "qrels",
}


@needs_data
@pytest.mark.parametrize(("file", "name"), FILES.items())
def test_formats_are_recognised(file: str, name: str) -> None:
    """Every public file is recognised by its content, and its record is the one that the table states."""
    row = format_of(DATA / file)
    assert row.name == name
    assert type(load(DATA / file)).__name__ == row.record


def test_formats_of_small_files(tmp_path: Path) -> None:
    """ASNQ is told from pairs by its labels, and flat SQuAD from open questions by its context."""
    cases = {
        "asnq": "who\tsentence\t1\nwho\tsentence\t4\n",
        "selqa-tsv": "who\tsentence\t1\nwho\tsentence\t0\n",
        "squad-flat": json.dumps(
            {"context": "x", "question": "q", "answers": {"text": [], "answer_start": []}}
        ),
        "nq-open": json.dumps({"question": "q", "answers": ["a"]}),
        "selqa-triggering": json.dumps([{"question": "q", "candidate_list": []}]),
    }
    for name, text in cases.items():
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()))
        assert format_of(path).name == name
    open_questions = load(tmp_path / "nq-open", split="train")
    assert isinstance(open_questions, OpenDataset)
    assert open_questions.questions[0].split == "train"


@pytest.mark.parametrize("content", [b"", b"\x00\x01", b"plain text\n", b"{}", b"[]", b"%PDF-1.4", b"\t\t\n"])
def test_unknown_formats(content: bytes, tmp_path: Path) -> None:
    """A file of no known format is refused, and the formats are listed."""
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(InputError, match="none of the formats") as caught:
        load(path)
    assert (caught.value.code, "squad" in caught.value.hint) == ("unknown_format", True)


def test_a_wrong_format_name(tmp_path: Path) -> None:
    """A name that is no format is refused with the list of names."""
    with pytest.raises(InputError, match="is no format"):
        load(tmp_path / "x", format="squid")


def test_a_missing_data_set_says_where_to_get_it() -> None:
    """The message for a missing file of a known data set names its home."""
    for name in ("WikiQA-test.tsv", "some/folder/wikiqa-test.tsv"):
        with pytest.raises(InputError) as caught:
            load(name)
        assert "microsoft.com" in caught.value.hint
    assert "multi-span" in where_to_get("MultiSpanQA_data/train.json")
    assert where_to_get("notes.txt") == ""
    assert {home.format for home in HOMES} <= set(FORMATS)


@pytest.mark.parametrize(
    ("name", "split"),
    [
        ("dev-v1.1.json", "dev"),
        ("WikiQA-train.reconstructed.tsv", "train"),
        ("valid.json", "dev"),
        ("bio_electra.bioasq.dev.json", "dev"),
        ("selqa-ass-test.json.gz", "test"),
        ("NQ-open.efficientqa.test.1.1.jsonl", "test"),
        ("train-v1.1.du-test-part.json", "train"),
        ("contest.json", "unknown"),
        ("device.json", "unknown"),
        ("200423_covidQA.json", "unknown"),
    ],
)
def test_splits_from_names(name: str, split: str) -> None:
    """The split is the first that the name states as a word of its own; parts of words are none."""
    assert split_of(f"train/{name}") == split


def test_names_from_files() -> None:
    """A data set is called by its file's name without the endings."""
    assert [stem_of(name) for name in ("x/dev-v1.1.json.gz", "dev-v1.1.json", "x/topics")] == [
        "dev-v1.1",
        "dev-v1.1",
        "topics",
    ]


def test_profile_of_spans() -> None:
    """A profile counts types, lengths, answers and what is unanswerable, with and without model tokens."""
    data = dataset((GoldAnswer("Ada", 0), GoldAnswer("Ada wrote", 0)), (), paragraphs=2)
    found = describe(data, tokens=len)
    assert (found.task, found.split, found.questions, found.texts, found.documents) == (
        "spans",
        "dev",
        2,
        2,
        1,
    )
    assert (found.unanswerable, found.question_types["who"]) == (0.5, 2)
    assert (found.answers.n, found.answers.mean, found.answer_words.mean) == (1, 2.0, 1.5)
    assert found.answer_words.short == 1.0
    assert found.text_tokens is not None
    assert found.text_tokens.maximum == len(TEXT)
    assert describe(data).text_tokens is None


@given(st.lists(st.integers(0, 50), max_size=40))
def test_lengths(values: list[int]) -> None:
    """Minimum, median, mean, 95th percentile and maximum are ordered and right by definition."""
    found = lengths(values)
    if not values:
        assert found.n == 0
        return
    assert found.minimum <= found.median <= found.maximum
    assert found.minimum <= found.mean <= found.maximum
    assert sum(value <= found.p95 for value in values) >= 0.95 * len(values)
    assert sum(value < found.p95 for value in values) < 0.95 * len(values)


@needs_data
@pytest.mark.parametrize(
    ("file", "task", "questions", "texts", "pairs", "positives"),
    [
        ("wikiqa/WikiQA-test.tsv", "selection", 633, 6165, 6165, 293),
        ("cranfield", "retrieval", 225, 1400, 1837, 1612),
        ("multispanqa/valid.json", "evidence", 653, 648, 0, 0),
        ("cmu-qa/S08/question_answer_pairs.txt", "open", 1032, 37, 0, 0),
        ("covidqa/200423_covidQA.json", "spans", 1380, 98, 0, 0),
    ],
)
def test_profiles(file: str, task: str, questions: int, texts: int, pairs: int, positives: int) -> None:
    """Every task has a profile, with its own counts."""
    found = describe(load(DATA / file))
    counts = (found.questions, found.texts, found.pairs, found.positives)
    assert (found.task, counts) == (task, (questions, texts, pairs, positives))
    assert sum(found.question_types.values()) == questions


@needs_data
def test_the_published_profile_of_covidqa() -> None:
    """COVID-QA's answers are as published: a third under 5 words, about 14 on average, the longest 144."""
    words = describe(load(DATA / "covidqa/200423_covidQA.json")).answer_words
    assert words.maximum == 144
    assert 13 < words.mean < 16
    assert 0.30 < words.short < 0.40


def test_the_documentation_names_every_home_and_format() -> None:
    """The page on data sets lists every format and every home of the tables."""
    page = (Path(__file__).resolve().parents[2] / "docs" / "datasets.md").read_text(encoding="utf-8")
    assert [home.name for home in HOMES if f"| {home.name} | <{home.homepage}> |" not in page] == []
    assert [name for name in FORMATS if f"`{name}`" not in page] == []
