"""SQuAD-format loading: counts, repairs, and bad examples that do not stop the rest."""

import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.datasets import SpanDataset, load_flat_squad, load_squad
from quoth.datasets.labels import place_answer
from quoth.errors import DocumentError, InputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout")


def holds(data: SpanDataset) -> bool:
    return all(
        data.context(question).text[answer.start : answer.end] == answer.text
        for question in data.questions
        for answer in question.answers
    )


def write(path: Path, *paragraphs: dict[str, object], title: str | None = "T") -> Path:
    article: dict[str, object] = {"paragraphs": list(paragraphs)}
    if title is not None:
        article["title"] = title
    path.write_text(json.dumps({"version": "v2.0", "data": [article]}), encoding="utf-8")
    return path


def qa(id: object, question: str, *answers: tuple[str, int]) -> dict[str, object]:
    return {
        "id": id,
        "question": question,
        "answers": [{"text": text, "answer_start": start} for text, start in answers],
    }


@needs_data
@pytest.mark.parametrize(
    ("file", "split", "contexts", "questions", "impossible"),
    [
        ("squad/dev-v1.1.json.gz", "dev", 2067, 10570, 0),
        ("squad/dev-v2.0.reconstructed.json.gz", "dev", 1204, 11873, 5945),
        ("squad/train-v2.0.reconstructed.json.gz", "train", 18896, 130463, 42864),
        ("squad/train-v1.1.reconstructed.json.gz", "train", 18896, 87599, 0),
        ("squad/xquad.en.json", "unknown", 240, 1190, 0),
        ("bioasq/bio_electra.bioasq.dev.json", "dev", 1809, 1809, 0),
        ("policyqa/dev.json", "dev", 574, 3809, 0),
        ("covidqa/200423_covidQA.json", "unknown", 98, 1380, 0),
    ],
)
def test_counts(file: str, split: str, contexts: int, questions: int, impossible: int) -> None:
    """Every file has its published counts, and every answer is a slice of its context."""
    data = load_squad(DATA / file)
    counts = (
        data.split,
        len(data.contexts),
        len(data.questions),
        sum(q.impossible for q in data.questions),
    )
    assert counts == (split, contexts, questions, impossible)
    assert holds(data)
    assert len({q.id for q in data.questions}) == questions


@needs_data
def test_covidqa_offsets_are_repaired() -> None:
    """The 234 offsets of COVID-QA that are off by 1 to 3 are repaired, and named by question."""
    data = load_squad(DATA / "covidqa/200423_covidQA.json")
    assert {(p.kind, p.repaired) for p in data.problems} == {("offset", True)}
    assert len(data.problems) == 234
    assert {p.id for p in data.problems} <= {q.id for q in data.questions}


@needs_data
def test_bioasq_is_grouped_by_question() -> None:
    """Snippets of one BioASQ question belong to one document, so that folds do not share questions."""
    data = load_squad(DATA / "bioasq/bio_electra.bioasq.dev.json")
    groups: dict[str, set[str]] = {}
    for question in data.questions:
        groups.setdefault(data.context(question).document_id, set()).add(question.question)
    assert len(groups) == 214
    assert all(len(questions) == 1 for questions in groups.values())


def test_deepset_export(tmp_path: Path) -> None:
    """An export without title and version, with integer ids, keeps its document_id."""
    path = write(
        tmp_path / "a.json",
        {"context": "Lyon is a city.", "document_id": 630, "qas": [qa(262, "What is Lyon?", ("a city", 8))]},
        title=None,
    )
    data = load_squad(path)
    assert data.questions[0].id == "262"
    assert data.context(data.questions[0]).document_id == "630"
    assert data.questions[0].context_id == "630/0"


def test_bad_examples_are_left_out_and_the_rest_goes_on(tmp_path: Path) -> None:
    """A lost answer, an empty question, a missing context and a row of a wrong kind cost only themselves."""
    path = write(
        tmp_path / "a.json",
        {
            "context": "Ada wrote it.",
            "qas": [
                qa("a", "Who?", ("Bob", 0)),
                qa("b", " ", ("Ada", 0)),
                "nonsense",  # type: ignore[dict-item, list-item]
                qa("c", "Who?", ("Ada", 0)),
            ],
        },
        {"qas": [qa("d", "Who?")]},
        {"context": "More.", "qas": [qa("e", "Which?")]},
    )
    data = load_squad(path)
    assert [q.id for q in data.questions] == ["c", "e"]
    assert [q.impossible for q in data.questions] == [False, True]
    kinds = [(p.id, p.kind) for p in data.problems if not p.repaired]
    assert kinds == [
        ("a", "answer_missing"),
        ("a", "no_answer_left"),
        ("b", "empty_question"),
        ("T/0/q2", "empty_question"),
        ("T/1", "no_context"),
    ]


def test_duplicate_ids_are_kept_apart(tmp_path: Path) -> None:
    """A second question of the same id is kept under the id with a suffix that nobody uses."""
    path = write(
        tmp_path / "a.json",
        {"context": "Ada.", "qas": [qa("x", "A?"), qa("x#2", "B?"), qa("x", "C?"), qa("x", "D?")]},
    )
    data = load_squad(path)
    assert [q.id for q in data.questions] == ["x", "x#2", "x#3", "x#4"]
    assert [p.kind for p in data.problems] == ["duplicate_id", "duplicate_id"]


def test_contradicting_flags_are_reported(tmp_path: Path) -> None:
    """Where is_impossible and the answers disagree, the answers decide, as in the official script."""
    first = {**qa("a", "Who?", ("Ada", 0)), "is_impossible": True}
    second = {**qa("b", "Who?"), "is_impossible": False}
    data = load_squad(write(tmp_path / "a.json", {"context": "Ada.", "qas": [first, second]}))
    assert [q.impossible for q in data.questions] == [False, True]
    assert [(p.id, p.kind, p.repaired) for p in data.problems] == [
        ("a", "contradiction", False),
        ("b", "contradiction", False),
    ]


def test_titles_that_repeat_are_kept_apart(tmp_path: Path) -> None:
    """Two articles of one title stay two documents, and their paragraphs have different ids."""
    path = tmp_path / "a.json"
    article = {"title": "T", "paragraphs": [{"context": "One.", "qas": []}]}
    path.write_text(json.dumps({"data": [article, article]}), encoding="utf-8")
    assert [c.document_id for c in load_squad(path).contexts.values()] == ["T", "T#2"]


def test_flat_answers_and_flat_rows(tmp_path: Path) -> None:
    """Parallel lists of texts and starts are read, in nested files and in JSON lines."""
    answers = {"text": ["Ada", "Ada"], "answer_start": [0, 0]}
    nested = write(
        tmp_path / "a.json", {"context": "Ada.", "qas": [{"id": "1", "question": "Who?", "answers": answers}]}
    )
    assert len(load_squad(nested).questions[0].answers) == 2
    row = {"id": "1", "title": "T", "context": "Ada.", "question": "Who?", "answers": answers}
    flat = tmp_path / "dev.jsonl"
    lines = [json.dumps(row), "{broken", "", json.dumps({**row, "id": "2"}), "[1]"]
    flat.write_text("\n".join(lines), encoding="utf-8")
    data = load_flat_squad(flat)
    assert ([q.id for q in data.questions], len(data.contexts), data.split) == (["1", "2"], 1, "dev")
    assert [(p.id, p.kind) for p in data.problems] == [("line 2", "bad_json"), ("line 5", "bad_row")]


def test_gzip_by_content(tmp_path: Path) -> None:
    """A gzipped file is read whatever its name; a cut one is an error that says so."""
    body = gzip.compress(json.dumps({"data": []}).encode())
    (tmp_path / "whole.json").write_bytes(body)
    assert load_squad(tmp_path / "whole.json").questions == ()
    (tmp_path / "cut.json.gz").write_bytes(body[:-9])
    with pytest.raises(DocumentError, match="cut off"):
        load_squad(tmp_path / "cut.json.gz")


@pytest.mark.parametrize(
    ("content", "match"),
    [(b"{", "not JSON"), (b"[]", "no list"), (b'\xff\xfe{"data"', "not JSON"), (b"[" * 200_000, "not JSON")],
)
def test_what_is_not_squad_is_named(tmp_path: Path, content: bytes, match: str) -> None:
    """A file of another kind is refused with a message that names it, never with a foreign error."""
    path = tmp_path / "x.json"
    path.write_bytes(content)
    with pytest.raises(InputError, match=match):
        load_squad(path)


def test_missing_file_and_folder(tmp_path: Path) -> None:
    """A missing file and a folder are mistakes of the user's, with exit code 2."""
    for path in (tmp_path / "none.json", tmp_path):
        with pytest.raises(InputError) as caught:
            load_squad(path)
        assert caught.value.exit_code == 2


def test_crlf_and_spaces_are_repaired() -> None:
    """An answer that differs from its context in white space only takes the context's own text."""
    context = "One\r\ntwo  three."
    answer, problem = place_answer(context, "One\ntwo three", 0)
    assert answer is not None
    assert context[answer.start : answer.end] == answer.text == "One\r\ntwo  three"
    assert problem is not None
    assert (problem.kind, problem.repaired) == ("whitespace", True)


def test_ambiguous_repairs_are_not_called_certain() -> None:
    """Two places at the same distance, or far away, are kept but reported as not repaired."""
    tie = place_answer("ab..ab", "ab", 2)
    far = place_answer("ab" + "." * 200 + "ab", "ab", 90)
    near = place_answer("ab" + "." * 200 + "ab", "ab", 3)
    assert [p[1].kind for p in (tie, far, near) if p[1]] == ["offset_ambiguous", "offset_ambiguous", "offset"]
    assert [p[1].repaired for p in (tie, far, near) if p[1]] == [False, False, True]


@given(st.text(max_size=60), st.text(min_size=1, max_size=5), st.integers(-5, 80))
def test_a_placed_answer_is_a_slice(context: str, text: str, start: int) -> None:
    """Whatever the text and the offset, a placed answer is a slice, and the exact text where it occurs."""
    answer, problem = place_answer(context, text, start)
    if answer is None:
        assert text not in context
        assert problem is not None
        return
    assert context[answer.start : answer.end] == answer.text
    assert (text in context) == (answer.text == text)
    assert (problem is None) == (start >= 0 and context.startswith(text, start))
