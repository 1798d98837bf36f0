"""Retrieval collections, open questions, reviews and several-span answers."""

import csv
import json
from pathlib import Path

import pytest

from quoth.datasets import (
    iter_nq_open,
    load_cmuqa,
    load_collection,
    load_documents,
    load_judgments,
    load_multispanqa,
    load_nq_open,
    load_subjqa,
    load_topics,
)
from quoth.errors import InputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout")


@needs_data
def test_cranfield() -> None:
    """Cranfield is 1,400 documents, 225 topics and 1,837 judgments; topics are called by position."""
    data = load_collection(DATA / "cranfield")
    assert (len(data.documents), len(data.topics), len(data.judgments)) == (1400, 225, 1837)
    assert [topic.id for topic in data.topics] == [str(n) for n in range(1, 226)]
    assert (data.topics[2].number, data.topics[-1].number) == ("4", "365")
    assert {j.topic_id for j in data.judgments} == {topic.id for topic in data.topics}
    assert {j.document_id for j in data.judgments} <= {document.id for document in data.documents}
    assert [sum(j.grade == grade for j in data.judgments) for grade in (0, 1, 3)] == [225, 1611, 1]
    assert [(p.id, p.kind) for p in data.problems] == [
        ("471", "empty_document"),
        ("995", "empty_document"),
        ("1401", "no_fields"),
    ]
    first = data.documents[0]
    assert first.title == "experimental investigation of the aerodynamics of a wing in a slipstream ."
    assert first.metadata["author"] == "brenckman,m."
    assert first.text.startswith("experimental investigation")


@pytest.mark.parametrize(
    ("file", "count", "split"),
    [
        ("NQ-open.dev.jsonl", 3610, "dev"),
        ("NQ-open.efficientqa.dev.1.1.jsonl", 1800, "dev"),
        ("NQ-open.efficientqa.test.1.1.jsonl", 1769, "test"),
    ],
)
@needs_data
def test_nq_open_counts(file: str, count: int, split: str) -> None:
    """NQ-open and EfficientQA have their published counts, and every question an answer."""
    data = load_nq_open(DATA / "nq" / file)
    assert (len(data.questions), data.split, data.problems) == (count, split, ())
    assert all(question.answers for question in data.questions)


@needs_data
def test_multispanqa_counts() -> None:
    """MultiSpanQA has 653 questions; spans are slices, and the marked words are the spans' words."""
    data = load_multispanqa(DATA / "multispanqa/valid.json")
    assert (len(data.questions), sum(len(q.spans) for q in data.questions), data.problems) == (653, 1911, ())
    assert sum(len(q.words) for q in data.questions) == 1911 + 4009
    for question in data.questions:
        assert all(question.text[s.start : s.end] == s.text for s in question.spans)
        words = question.text.split()
        assert [words[at] for at in question.words] == " ".join(s.text for s in question.spans).split()


@needs_data
@pytest.mark.parametrize(
    ("split", "questions", "impossible"), [("train", 1295, 602), ("dev", 255, 156), ("test", 358, 123)]
)
def test_subjqa_counts(split: str, questions: int, impossible: int) -> None:
    """SubjQA's electronics has the published 1,295, 255 and 358 questions, each once."""
    data = load_subjqa(DATA / f"subjqa/electronics/splits/{split}.csv")
    assert (len(data.questions), sum(q.impossible for q in data.questions)) == (questions, impossible)
    assert data.split == split
    for question in data.questions:
        text = data.context(question).text
        assert "ANSWERNOTFOUND" not in text
        assert all(text[a.start : a.end] == a.text for a in question.answers)


@needs_data
def test_cmuqa_counts() -> None:
    """The three years have 3,997 rows with 576 null answers, and 114 articles are held."""
    years = [load_cmuqa(DATA / f"cmu-qa/{year}/question_answer_pairs.txt") for year in ("S08", "S09", "S10")]
    assert [len(year.questions) for year in years] == [1032, 598, 831]
    assert sum(len(year.documents) for year in years) == 114
    problems = [p for year in years for p in year.problems]
    assert sum(p.kind in ("null_answer", "bad_row") for p in problems) == 576
    held = [q.document_id in year.documents for year in years for q in year.questions]
    assert sum(held) == 1032 + 394 + 674
    assert all(question.answers != ("NULL",) for year in years for question in year.questions)


@needs_data
def test_cmuqa_latin_1_lines() -> None:
    """Lines that are not UTF-8 are read as Windows-1252, and the rest of the file as UTF-8."""
    data = load_cmuqa(DATA / "cmu-qa/S10/question_answer_pairs.txt")
    answers = [answer for question in data.questions for answer in question.answers]
    assert "Felicita Mazzé was Avogadro's wife." in answers
    assert not any("\ufffd" in answer for answer in answers)


def test_cmuqa_follows_only_paths_of_its_own_form(tmp_path: Path) -> None:
    """A path that leads out of the folder is not followed, and the question is kept."""
    (tmp_path / "secret.txt").write_text("secret", encoding="utf-8")
    folder = tmp_path / "S08"
    folder.mkdir()
    header = "ArticleTitle\tQuestion\tAnswer\tDifficultyFromQuestioner\tDifficultyFromAnswerer\tArticleFile"
    row = "A_b\tIs it?\tyes\teasy\teasy\t../secret"
    (folder / "q.txt").write_text(f"{header}\n{row}\n", encoding="utf-8")
    data = load_cmuqa(folder / "q.txt")
    assert (data.documents, data.questions[0].document_id, data.questions[0].title) == ({}, "", "A b")
    assert [p.kind for p in data.problems] == ["no_article"]


def test_trec_files_of_other_shapes(tmp_path: Path) -> None:
    """Old TREC topics without closing tags, SGML documents and SMART queries are read."""
    (tmp_path / "docs.sgml").write_text(
        "<DOC>\n<DOCNO> A-1 </DOCNO>\n<HEAD>One &amp; all</HEAD>\n"
        "<TEXT>\nFirst.\n</TEXT>\n<TEXT>\nSecond.\n</TEXT>\n</DOC>\n"
        "<DOC>\n<DOCNO>A-2</DOCNO>\n<TEXT></TEXT>\n</DOC>\n",
        encoding="utf-8",
    )
    (tmp_path / "topics").write_text(
        "<top>\n<num> Number: 301\n<title> Organized Crime\n<desc> Description:\nWho?\n</top>\n"
        "<top>\n<num> Number: 302\n<title>\n<desc> Description:\nIs polio\ngone?\n</top>\n",
        encoding="utf-8",
    )
    (tmp_path / "qrels").write_text("301 0 A-1 2\n301 0 A-1 0\n302 0 A-9 1\nnonsense\n", encoding="utf-8")
    data = load_collection(tmp_path)
    assert [(d.id, d.title, d.text.split()) for d in data.documents] == [
        ("A-1", "One & all", ["First.", "Second."]),
        ("A-2", "", []),
    ]
    assert [(t.id, t.question) for t in data.topics] == [
        ("301", "Organized Crime"),
        ("302", "Is polio gone?"),
    ]
    assert [(j.topic_id, j.document_id, j.grade) for j in data.judgments] == [
        ("301", "A-1", 2),
        ("302", "A-9", 1),
    ]
    assert sorted(p.kind for p in data.problems) == [
        "bad_row",
        "contradiction",
        "empty_document",
        "unknown_document",
    ]
    (tmp_path / "smart").write_text(".I 1\n.W\nwhat is\nit\n.N\n 1. x\n.I 2\n.W\n\n", encoding="utf-8")
    smart = load_topics(tmp_path / "smart")
    assert ([(t.id, t.question) for t in smart.topics], smart.problems[0].id) == ([("1", "what is it")], "2")


@pytest.mark.parametrize(
    "load", [load_documents, load_topics, load_judgments, load_nq_open, load_subjqa, load_cmuqa]
)
def test_missing_files(load: object, tmp_path: Path) -> None:
    """Every loader says that a file is missing in our own words."""
    assert callable(load)
    with pytest.raises(InputError, match="no such file"):
        load(tmp_path / "none")


@pytest.mark.parametrize("load", [load_documents, load_topics, load_judgments, load_subjqa, load_cmuqa])
def test_files_of_another_kind(load: object, tmp_path: Path) -> None:
    """A file of another kind is refused, with the file named."""
    assert callable(load)
    path = tmp_path / "x"
    path.write_text("something else\n", encoding="utf-8")
    with pytest.raises(InputError, match="x: "):
        load(path)


def test_a_folder_without_a_collection(tmp_path: Path) -> None:
    """A folder that holds no collection is refused."""
    with pytest.raises(InputError, match="collection"):
        load_collection(tmp_path)


def test_nq_open_bad_lines(tmp_path: Path) -> None:
    """Broken lines, missing questions and missing answers are reported by line; the stream goes on."""
    lines = ["{", '{"question": ""}', '{"question": "who"}', '{"question": "who", "answer": "ada"}', "[]"]
    path = tmp_path / "x.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")
    data = load_nq_open(path)
    assert [(q.id, q.answers) for q in data.questions] == [("4", ("ada",))]
    kinds = [p.kind for p in data.problems]
    assert kinds == ["bad_json", "empty_question", "no_answer_left", "empty_question"]
    assert [q.id for q in iter_nq_open(path)] == ["4"]


def subjqa(path: Path, *rows: tuple[str, str, str, str]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(
            ["item_id", "question", "review", "human_ans_spans", "human_ans_indices", "q_review_id"]
        )
        for id, review, span, indices in rows:
            writer.writerow(["B1", "Is it good?", f"{review} ANSWERNOTFOUND", span, indices, id])
    return path


def test_subjqa_annotators(tmp_path: Path) -> None:
    """Annotations of one question come together; spans into the marker and gaps are reported."""
    path = subjqa(
        tmp_path / "dev.csv",
        ("a", "It is $50, good.", "$ 50", "(6, 9)"),
        ("a", "It is $50, good.", "ANSWERNOTFOUND", "(17, 31)"),
        ("b", "Not very good at all.", "Not good", "(0, 13)"),
        ("c", "Fine.", "Fine. ANSWERNOTFOUND", "(0, 20)"),
        ("d", "Fine.", "Fine.", "nonsense"),
    )
    data = load_subjqa(path)
    assert [(q.id, [a.text for a in q.answers]) for q in data.questions] == [
        ("a", ["$50"]),
        ("b", ["Not very good"]),
        ("c", []),
        ("d", []),
    ]
    assert [(p.id, p.kind, p.repaired) for p in data.problems] == [
        ("a", "disagreement", False),
        ("b", "gap", True),
        ("c", "bad_label", False),
        ("d", "bad_label", False),
    ]
    assert len(data.contexts) == 3


def test_multispanqa_labels(tmp_path: Path) -> None:
    """An I after O starts a span and is reported; labels of another length leave the question out."""
    entries = [
        {"id": "a", "question": ["who"], "context": ["x", "y", "z"], "label": ["I", "O", "B"], "num_span": 3},
        {"id": "b", "question": ["who"], "context": ["x", "y"], "label": ["B"]},
        {"id": "c", "question": "who", "context": ["x", "y y"], "label": ["O", "O"]},
        {"id": "d", "question": "who", "context": ["x"]},
    ]
    path = tmp_path / "m.json"
    path.write_text(json.dumps({"data": entries}), encoding="utf-8")
    data = load_multispanqa(path)
    assert [(q.id, [s.text for s in q.spans]) for q in data.questions] == [("a", ["x", "z"]), ("d", [])]
    assert [(p.id, p.kind) for p in data.problems] == [
        ("a", "bio"),
        ("a", "contradiction"),
        ("b", "bad_label"),
        ("c", "bad_label"),
    ]
