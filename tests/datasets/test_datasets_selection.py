"""Sentence selection, triggering and pairs: counts, ids, neighbours, and rows that do not fit."""

import io
import json
import zipfile
from pathlib import Path

import pytest

from quoth.datasets import (
    SelectionDataset,
    TriggeringDataset,
    iter_asnq,
    load_asnq,
    load_bioasq_pairs,
    load_selqa,
    load_selqa_triggering,
    load_selqa_tsv,
    load_trecqa,
    load_wikiqa,
)
from quoth.datasets.wikiqa import COLUMNS, once
from quoth.errors import InputError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout")


def counts(data: SelectionDataset) -> tuple[int, int, int, int, int]:
    """Questions, pairs, positives, questions with a positive, and those with a negative too."""
    sizes = [(question.positives, len(question.candidates)) for question in data.questions]
    return (
        len(sizes),
        sum(size for _, size in sizes),
        sum(positive for positive, _ in sizes),
        sum(positive > 0 for positive, _ in sizes),
        sum(0 < positive < size for positive, size in sizes),
    )


@needs_data
@pytest.mark.parametrize(
    ("file", "split", "expected"),
    [
        ("WikiQA-train.reconstructed.tsv", "train", (2118, 20360, 1040, 873, 857)),
        ("WikiQA-dev.tsv", "dev", (296, 2733, 140, 126, 122)),
        ("WikiQA-test.tsv", "test", (633, 6165, 293, 243, 237)),
    ],
)
def test_wikiqa_counts(file: str, split: str, expected: tuple[int, ...]) -> None:
    """WikiQA has its published questions, pairs and positives, and every problem is repaired."""
    data = load_wikiqa(DATA / "wikiqa" / file)
    assert (counts(data), data.split) == (expected, split)
    assert all(problem.repaired for problem in data.problems)
    tokenised = load_selqa_tsv(DATA / "wikiqa" / f"WikiQA-{split}.txt")
    assert counts(tokenised) == expected


@needs_data
def test_wikiqa_titles_and_neighbours() -> None:
    """A title that was encoded twice is repaired, and neighbours are the sentences beside it."""
    data = load_wikiqa(DATA / "wikiqa/WikiQA-dev.tsv")
    question = next(q for q in data.questions if q.id == "Q2718")
    assert question.title == "Jägerbomb"
    assert [p.id for p in data.problems if p.kind == "double_encoded"] == ["D2533"]
    texts = [c.text for c in question.candidates]
    assert [c.previous for c in question.candidates] == ["", *texts[:-1]]
    assert [c.next for c in question.candidates] == [*texts[1:], ""]
    assert question.document == " ".join(texts)
    assert question.candidates[1].id == "D2533-1"


@needs_data
def test_selqa_dev_counts() -> None:
    """SelQA dev has 785 questions; the JSON holds 42 empty candidates that the TSV lacks."""
    analysis = load_selqa(DATA / "selqa/ass/selqa-ass-dev.json")
    rows = load_selqa_tsv(DATA / "selqa/ass/selqa-ass-dev.tsv")
    assert counts(analysis) == (785, 9419, 893, 785, 785)
    assert counts(rows) == (785, 9377, 893, 785, 785)
    assert len([p for p in analysis.problems if p.kind == "empty_candidate"]) == 42
    assert (
        [q.id for q in analysis.questions]
        == [q.id for q in rows.questions]
        == [str(i) for i in range(1, 786)]
    )
    assert analysis.questions[0].candidates[5].id == "1-5"
    assert {q.kind for q in analysis.questions} == {"original", "paraphrase"}
    assert len({q.topic for q in analysis.questions}) == 10


def members(path: Path) -> dict[str, str]:
    with zipfile.ZipFile(io.BytesIO(path.read_bytes())) as archive:
        return {Path(name).name: archive.read(name).decode("utf-8") for name in archive.namelist()}


@needs_data
def test_selqa_triggering_samples(tmp_path: Path) -> None:
    """The published triggering samples have five sections a question, in a type of their own."""
    samples = members(DATA / "selqa/samples/answer_triggering_analysis.zip")
    for name in ("selqa-at-train.json", "selqa-at-dev.json", "selqa-at-test.json"):
        path = tmp_path / name
        path.write_text(samples[name], encoding="utf-8")
        data = load_selqa_triggering(path)
        assert isinstance(data, TriggeringDataset)
        assert (len(data.questions), data.split) == (5, name.split("-")[2].split(".")[0])
        assert all(len(question.sections) == 5 for question in data.questions)
        assert any(question.answerable for question in data.questions)
        with pytest.raises(InputError, match="candidates"):
            load_selqa(path)
    dev = load_selqa_triggering(tmp_path / "selqa-at-dev.json").questions[0]
    assert [s.answered for s in dev.sections] == [False, True, False, False, False]
    assert dev.sections[1].id == "1/Israel-Museums"
    assert dev.sections[1].candidates[5].id == "1-1-5"


@needs_data
@pytest.mark.parametrize(
    ("split", "expected"), [("train", (94, 4718, 348, 83, 78)), ("dev", (82, 1148, 222, 78, 65))]
)
def test_trecqa_counts(split: str, expected: tuple[int, ...]) -> None:
    """TREC-QA has its published counts, with bare ampersands kept."""
    data = load_trecqa(DATA / f"trecqa/{split}.xml")
    assert (counts(data), data.split, data.problems) == (expected, split, ())


@needs_data
def test_bioasq_pairs_counts() -> None:
    """BioASQ's re-ranking rows are put together by question."""
    assert counts(load_bioasq_pairs(DATA / "bioasq/bio_electra.bioasq_reranker.dev.tsv"))[:3] == (
        100,
        9064,
        117,
    )


ASNQ = """\
who wrote it\tAda wrote it in 1843 .\t4
who wrote it\tIt was long .\t3
who wrote it\tAda was born in London .\t2
when was it\tNothing here .\t1
broken row
when was it\tIn 1843 .\t4
when was it\tBad label .\t7
who wrote it\tUnrelated .\t1
"""


def test_asnq(tmp_path: Path) -> None:
    """Only label 4 is positive, the label is kept, and rows that do not fit are left out by number."""
    path = tmp_path / "asnq-dev.tsv"
    path.write_text(ASNQ, encoding="utf-8")
    data = load_asnq(path)
    assert [(q.id, [(c.label, c.grade) for c in q.candidates]) for q in data.questions] == [
        ("1", [(1, 4), (0, 3), (0, 2), (0, 1)]),
        ("2", [(0, 1), (1, 4)]),
    ]
    assert [(p.id, p.kind) for p in data.problems] == [("line 5", "bad_row"), ("line 7", "bad_row")]
    streamed = list(iter_asnq(path))
    assert [(q.id, q.question, len(q.candidates)) for q in streamed] == [
        ("1", "who wrote it", 3),
        ("2", "when was it", 2),
        ("3", "who wrote it", 1),
    ]


def test_asnq_streams(tmp_path: Path) -> None:
    """The first questions are there before the file has been read to its end."""
    path = tmp_path / "train.tsv"
    path.write_bytes(ASNQ.encode() + b"\xff\xfe\xfd\tnot utf-8\t1\n" * 100_000)
    stream = iter_asnq(path)
    assert next(stream).question == "who wrote it"
    assert next(stream).split == "train"


def test_wikiqa_rows_that_do_not_fit(tmp_path: Path) -> None:
    """A short row, a label of a wrong kind and a second use of a sentence id cost only themselves."""
    rows = [
        "\t".join(COLUMNS),
        "Q1\tWho?\tD1\tT\tD1-0\tAda.\t1",
        "Q1\tWho?\tD1\tT",
        "Q1\tWho?\tD1\tT\tD1-1\tBob.\tyes",
        "Q1\tWho?\tD1\tT\tD1-0\tEve.\t0",
    ]
    path = tmp_path / "w.tsv"
    path.write_bytes("\r\n".join(rows).encode())
    data = load_wikiqa(path)
    assert [c.id for c in data.questions[0].candidates] == ["D1-0", "D1-0#2"]
    assert [(p.id, p.kind) for p in data.problems] == [
        ("line 3", "bad_row"),
        ("line 4", "bad_row"),
        ("D1-0", "duplicate_id"),
    ]
    path.write_text("a\tb\n", encoding="utf-8")
    with pytest.raises(InputError, match="header"):
        load_wikiqa(path)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("JÃ¤gerbomb", "Jägerbomb"),
        ("PokÃ©mon", "Pokémon"),
        ("Jägerbomb", "Jägerbomb"),
        ("plain", "plain"),
        ("日本", "日本"),
        ("Ã", "Ã"),
        ("naïve Ã©", "naïve Ã©"),
        ("â€“", "–"),
    ],
)
def test_double_encoding(text: str, expected: str) -> None:
    """Text that was encoded twice is decoded once more; any other is left as it is."""
    assert once(text) == expected


def test_every_latin_title_survives_a_second_encoding() -> None:
    """Undoing a second encoding through Latin-1 gives back what was encoded, whatever the letter."""
    for point in range(0xA0, 0x2000):
        text = chr(point)
        assert once(text.encode().decode("latin-1")) == text


def test_questions_of_the_same_words_are_kept_apart(tmp_path: Path) -> None:
    """Rows that repeat a whole question are two questions, so that later positions hold."""
    row = "Who ?\tAda .\t1\nWho ?\tBob .\t0\n"
    path = tmp_path / "x.tsv"
    path.write_text(row + row + "Why ?\tSo .\t1\n", encoding="utf-8")
    data = load_selqa_tsv(path)
    assert [(q.id, q.question, len(q.candidates)) for q in data.questions] == [
        ("1", "Who ?", 2),
        ("2", "Who ?", 2),
        ("3", "Why ?", 1),
    ]


def test_selqa_labels_out_of_range_are_reported(tmp_path: Path) -> None:
    """An answer index that names no candidate is reported; the question stays, and positions hold."""
    entries = [
        {"question": "", "candidates": ["a"], "answers": [0]},
        {"question": "Who?", "candidates": ["a", "b"], "answers": [1, 2, "x"]},
        {"question": "No list?"},
    ]
    path = tmp_path / "s.json"
    path.write_text(json.dumps(entries), encoding="utf-8")
    data = load_selqa(path)
    assert [(q.id, q.positives) for q in data.questions] == [("2", 1)]
    assert [(p.id, p.kind) for p in data.problems] == [
        ("1", "empty_question"),
        ("2", "bad_label"),
        ("2", "bad_label"),
        ("3", "bad_row"),
    ]


def test_trecqa_never_resolves_entities(tmp_path: Path) -> None:
    """An entity declaration is text like any other, and an unclosed question is left out."""
    path = tmp_path / "t.xml"
    path.write_text(
        '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>\n'
        "<QApairs id='1'>\n<question>\nWho\t&e;\t?\nWP\n</question>\n<positive>\nA\t&\tB\nNN\n</positive>\n</QApairs>\n"
        "<QApairs id='2'>\n<question>\nWhy\t?\n</question>\n",
        encoding="utf-8",
    )
    data = load_trecqa(path)
    assert data.questions[0].question == "Who &e; ?"
    assert data.questions[0].candidates[0].text == "A & B"
    assert [(p.id, p.kind) for p in data.problems] == [("2", "unclosed")]
    path.write_text("<x/>", encoding="utf-8")
    with pytest.raises(InputError, match="QApairs"):
        load_trecqa(path)
