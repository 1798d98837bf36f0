"""``quoth index``, ``ask`` and ``search`` as a person and a program use them."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

import quoth as package

QUESTION = "Who drew the plans of the lighthouse?"
ANSWER_KEYS = {
    "text", "start", "end", "document", "document_sha256", "title", "source", "page", "line", "sentence", "confidence",
    "evidence",
}  # fmt: skip
REPLY_KEYS = {
    "schema", "question", "answer", "answers", "null_score", "null_odds", "threshold", "stale", "partial", "timings_ms",
    "tokens_read",
}  # fmt: skip


@pytest.fixture
def here(indexed_samples: Path, monkeypatch: pytest.MonkeyPatch, quoth) -> Path:
    monkeypatch.chdir(indexed_samples)
    return indexed_samples


def test_the_first_answer(here, quoth) -> None:
    """A question is answered by an exact quotation in its sentence, with its place and hash."""
    done = quoth("ask", QUESTION)
    assert done.code == 0
    assert done.out.splitlines()[0] == "Augusta Merriweather"
    assert "»Augusta Merriweather«" in done.out
    assert "history-of-skerrow-point.md" in done.out
    assert "sha256" in done.out


def test_the_reply_as_json(here, quoth) -> None:
    """The JSON has the contract's keys, and the answer is a slice of the stored document."""
    reply = quoth("ask", QUESTION, "--json").json
    assert reply.keys() >= REPLY_KEYS
    assert "trace" not in reply
    answer = reply["answer"]
    assert answer.keys() >= ANSWER_KEYS
    document = quoth("show", answer["document"], "--json").json
    assert document["text"][answer["start"] : answer["end"]] == answer["text"] == "Augusta Merriweather"
    assert document["sha256"] == answer["document_sha256"]
    sentence = answer["sentence"]
    assert document["text"][sentence["start"] : sentence["end"]] == sentence["text"]
    assert 0 <= answer["confidence"] <= 1


def test_no_answer_is_said_and_exits_with_0(here, quoth) -> None:
    """What the documents do not hold is answered by saying so."""
    done = quoth("ask", "What is the wifi password of the boat shed?")
    assert done.code == 0
    assert done.out.startswith("No answer in these documents.")
    reply = quoth("ask", "What is the wifi password of the boat shed?", "--json").json
    assert reply["answer"] is None
    assert reply["null_odds"] > reply["threshold"]


def test_a_threshold_that_is_given_decides(here, quoth) -> None:
    """--null-threshold overrides the reader's own, with the official sign."""
    assert quoth("ask", QUESTION, "--null-threshold", "-1000", "--json").json["answer"] is None
    assert (
        quoth(
            "ask", "What is the wifi password of the boat shed?", "--null-threshold", "1000", "--json"
        ).json["answer"]
        is not None
    )
    refused = quoth("ask", QUESTION, "--null-threshold", "high")
    assert refused.code == 2
    assert "must be a number or auto" in refused.err


def test_explain_shows_every_stage(here, quoth) -> None:
    """--explain says what was found, read and scored, and what each stage cost."""
    trace = quoth("ask", QUESTION, "--explain", "--json").json["trace"]
    assert trace["candidates"]
    assert trace["passages_read"] >= 1
    assert trace["spans"][0]["text"] == "Augusta Merriweather"
    shown = quoth("ask", QUESTION, "--explain").out
    assert "null odds" in shown
    assert "retrieve" in shown


def test_filters_narrow_the_documents(here, quoth) -> None:
    """--where keeps to the documents that satisfy every condition."""
    reply = quoth("ask", QUESTION, "--where", "type:docx", "--json").json
    assert all(a["source"].endswith(".docx") for a in reply["answers"])
    assert quoth("ask", QUESTION, "--where", "nonsense").code == 2


@pytest.mark.parametrize(
    ("question", "says"),
    [
        ("", "empty"),
        ("   ", "empty"),
        ("word " * 10_000, "at most 2,000"),
    ],
)
def test_bad_questions_are_refused_in_one_line(here, quoth, question: str, says: str) -> None:
    """An empty or over-long question is exit 2 and one line; with --json an error object too."""
    done = quoth("ask", question, "--json")
    assert done.code == 2
    assert says in done.err
    assert len(done.err.splitlines()) == 1
    assert done.json["error"]["code"] in ("empty_question", "question_too_long")


@pytest.mark.parametrize(
    "question",
    ["the of and", 'AND OR ( " *', "???", "🙂🙂", "c++ NOT -x ^2 ~", "(" * 1000, "a\x00b", "\u202eevil"],
)
def test_odd_questions_are_answered_or_not(here, quoth, question: str) -> None:
    """Stop words, query syntax, marks and emoji are text like any other: exit 0, never a crash."""
    done = quoth("ask", question, "--json")
    assert done.code == 0
    assert done.json["question"] == question


def test_control_characters_never_reach_the_terminal(here, quoth) -> None:
    """What a question or a document holds is shown, not obeyed."""
    done = quoth("ask", "\x1b[31mred\x1b[0m \u202e lighthouse plans?")
    assert "\x1b" not in done.out + done.err
    assert "\u202e" not in done.out + done.err


def test_there_must_be_an_index(quoth) -> None:
    """Without an index the reply says how to make one."""
    done = quoth("ask", QUESTION)
    assert done.code == 2
    assert "`quoth index PATH` makes one" in done.err


def test_the_index_is_found_from_below(here, quoth, monkeypatch: pytest.MonkeyPatch) -> None:
    """An index above the current folder is found, as git finds its own."""
    (here / "deep" / "er").mkdir(parents=True, exist_ok=True)
    monkeypatch.chdir(here / "deep" / "er")
    assert quoth("search", "lighthouse").code == 0


def test_search_lists_what_matched(here, quoth) -> None:
    """search shows hits, their scores, and the words that matched; nothing found is exit 1."""
    found = quoth("search", "lighthouse plans", "-k", "3", "--json")
    assert found.code == 0
    hits = found.json["hits"]
    assert 1 <= len(hits) <= 3
    assert hits == sorted(hits, key=lambda h: -h["score"])
    assert any("lighthous" in word for word in hits[0]["matched"])
    nothing = quoth("search", "zyxwv")
    assert nothing.code == 1
    assert nothing.out == ""


def test_profiles_read_so_many_tokens(here, quoth) -> None:
    """A bigger profile reads at least as much, and the reply says how much."""
    read = [
        quoth("ask", QUESTION, "--profile", p, "--json").json["tokens_read"] for p in ("fast", "thorough")
    ]
    assert 0 < read[0] <= read[1]


def test_python_and_command_agree(here, quoth) -> None:
    """The library gives the answer that the command prints."""
    with package.open(here) as library:
        trace = library.ask(QUESTION)
    reply = quoth("ask", QUESTION, "--json").json
    assert trace.answer is not None
    assert (trace.answer.span.text, trace.answer.span.start) == (
        reply["answer"]["text"],
        reply["answer"]["start"],
    )


def test_texts_at_hand(quoth) -> None:
    """quoth.read answers from texts with no index at all."""
    trace = package.read(
        "Where does the cat sleep?", {"a": "The dog barks all day.", "b": "The cat sleeps in the barn."}
    )
    assert trace.answer is not None
    assert "barn" in trace.answer.span.text
    assert trace.answer.span.document_id == trace.answer.evidence[0].span.document_id


# -- many questions


def batch(folder: Path, name: str, body: str) -> Path:
    path = folder / name
    path.write_text(body, encoding="utf-8")
    return path


def test_batch_writes_one_row_a_question(here, quoth, tmp_path: Path) -> None:
    """A file of questions becomes a file of replies, in order; a refused one is a row with its reason."""
    questions = batch(
        tmp_path,
        "q.jsonl",
        '{"id": "a", "question": "Who drew the plans of the lighthouse?"}\n{"id": "b", "question": ""}\n',
    )
    out = tmp_path / "answers.jsonl"
    done = quoth("ask", "--batch", questions, "--out", out, "--json")
    assert done.code == 0
    assert (done.json["asked"], done.json["refused"]) == (2, 1)
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    assert [row["id"] for row in rows] == ["a", "b"]
    assert rows[0]["answer"]["text"] == "Augusta Merriweather"
    assert "empty" in rows[1]["error"]
    assert not list(tmp_path.glob("*.partial*"))


def test_batch_resumes(here, quoth, tmp_path: Path) -> None:
    """A run that was interrupted goes on behind the last whole row, and ends with the same file."""
    questions = batch(
        tmp_path, "q.txt", "Who drew the plans of the lighthouse?\n\nHow often is the bearing greased?\n"
    )
    whole, resumed = tmp_path / "whole.jsonl", tmp_path / "resumed.jsonl"
    quoth("ask", "--batch", questions, "--out", whole)
    first = whole.read_text(encoding="utf-8").splitlines()[0]
    (tmp_path / "resumed.jsonl.partial.jsonl").write_text(first + '\n{"id": "3", "ques', encoding="utf-8")
    done = quoth("ask", "--batch", questions, "--out", resumed, "--json").json
    assert (done["asked"], done["resumed"]) == (1, 1)

    def answers(path: Path) -> list[object]:
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        return [(r["id"], r["answer"] and r["answer"]["text"]) for r in rows]

    assert answers(whole) == answers(resumed)


def test_batch_refuses_anothers_rest(here, quoth, tmp_path: Path) -> None:
    """A partial file of other questions is never mixed into this run."""
    questions = batch(tmp_path, "q.txt", "One?\n")
    (tmp_path / "o.jsonl.partial.jsonl").write_text('{"id": "1", "question": "Two?"}\n', encoding="utf-8")
    done = quoth("ask", "--batch", questions, "--out", tmp_path / "o.jsonl")
    assert done.code == 2
    assert "other questions" in done.err


def test_batch_to_a_spreadsheet(here, quoth, tmp_path: Path) -> None:
    """CSV and XLSX have one line for each question, and no cell is a formula."""
    questions = batch(
        tmp_path, "q.csv", "id,question\n1,=cmd|' /C calc'!A0 lighthouse\n2,Who drew the plans?\n"
    )
    quoth("ask", "--batch", questions, "--out", tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["id"] for row in rows] == ["1", "2"]
    assert rows[0]["question"].startswith("'=")
    assert quoth("ask", "--batch", questions, "--out", tmp_path / "a.xlsx").code == 0
    from openpyxl import load_workbook

    sheet = load_workbook(tmp_path / "a.xlsx").active
    assert sheet is not None
    assert sheet.max_row == 3


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("ask",), "Give a question"),
        (("ask", "a", "--batch", "b"), "Give a question"),
        (("ask", "--batch", "nowhere.txt", "--out", "x.jsonl"), "cannot be read"),
        (("ask", "--batch", "nowhere.txt"), "needs --out"),
        (("ask", "--batch", "nowhere.txt", "--out", "x.doc"), "must end in"),
        (("ask", "q", "--profile", "slow"), "one of fast, balanced, thorough"),
        (("ask", "q", "--k", "many"), "valid integer"),
        (("ask", "q", "--index", "nowhere"), "nowhere"),
        (("nonsense",), "nonsense"),
    ],
)
def test_mistakes_exit_with_2_and_one_line(here, quoth, arguments: tuple[str, ...], says: str) -> None:
    """Every mistake of the user's is one line that names it, exit 2."""
    done = quoth(*arguments)
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert says in done.err


def test_a_broken_pipe_is_no_error(here) -> None:
    """`quoth show … | head -1` ends quietly."""
    command = f"{sys.executable} -m quoth show history-of-skerrow-point.md | head -1"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, cwd=here)
    assert "Traceback" not in done.stderr
    assert len(done.stdout.splitlines()) == 1


def test_a_missing_model_is_exit_5(here, quoth, tmp_path: Path) -> None:
    """A reader that is not there is said with its name, exit 5 or 2, and searching still works."""
    (tmp_path / "empty").mkdir()
    done = quoth("ask", QUESTION, "--reader", str(tmp_path / "empty"))
    assert done.code in (2, 5)
    assert "empty" in done.err
    assert quoth("search", "lighthouse").code == 0
