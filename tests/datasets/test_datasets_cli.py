"""`quoth data`: what it prints, and the codes that it exits with."""

import json
from pathlib import Path
from typing import Any

import pytest

from quoth.cli.data import app
from quoth.cli.output import fail
from quoth.datasets import load_selqa, load_selqa_triggering, load_squad
from quoth.errors import QuothError

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
needs_data = pytest.mark.skipif(not DATA.is_dir(), reason="the public data sets are not beside the checkout")


def run(*arguments: str) -> int:
    """Run a command as ``quoth.cli.run`` does, and return its exit code."""
    try:
        code = app(list(arguments), standalone_mode=False)
    except QuothError as error:
        fail(error, as_json="--json" in arguments)
        return error.exit_code
    return code if isinstance(code, int) else 0


def squad(path: Path, *, start: int = 0, answer: str = "Ada") -> Path:
    qas = [
        {"id": "1", "question": "Who wrote it?", "answers": [{"text": answer, "answer_start": start}]},
        {"id": "2", "question": "Why?", "answers": []},
    ]
    paragraphs = [{"context": "Ada wrote it. Bob read it.", "qas": qas}, {"context": "Other.", "qas": []}]
    path.write_text(json.dumps({"data": [{"title": "T", "paragraphs": paragraphs}]}), encoding="utf-8")
    return path


def output(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(capsys.readouterr().out)
    return body


def test_describe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A profile is one JSON object, or a table that names the split and the types."""
    path = str(squad(tmp_path / "x-dev.json"))
    assert run("describe", path, "--json") == 0
    body = output(capsys)
    profile = body["profiles"][0]
    assert body["schema"] == "quoth.data-describe/1"
    assert (profile["questions"], profile["split"], profile["unanswerable"]) == (2, "dev", 0.5)
    assert profile["question_types"]["who"] == 1
    assert run("describe", path, path, "--split", "test") == 0
    printed = capsys.readouterr().out
    assert printed.count("split test") == 2
    assert "50.0% unanswerable" in printed


def test_check_exits_with_1_only_for_what_is_not_repaired(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A clean file and a repaired one give 0, a lost answer gives 1, with all problems in the JSON."""
    assert run("check", str(squad(tmp_path / "clean.json"))) == 0
    assert "0 problems" in capsys.readouterr().out
    assert run("check", str(squad(tmp_path / "off.json", start=2)), "--json") == 0
    body = output(capsys)
    assert (body["repaired"], body["unrepaired"], body["problems"][0]["id"]) == (1, 0, "1")
    assert run("check", str(squad(tmp_path / "lost.json", answer="Eve")), "--json") == 1
    body = output(capsys)
    assert body["unrepaired"] == 2
    assert {"kind": "answer_missing", "repaired": False, "count": 1} in body["kinds"]
    assert run("check", str(tmp_path / "lost.json"), "--limit", "1") == 1
    streams = capsys.readouterr()
    assert "1: answer_missing" in streams.out
    assert "1 more" in streams.err


@needs_data
def test_check_covidqa(capsys: pytest.CaptureFixture[str]) -> None:
    """COVID-QA's 234 wrong offsets are all repaired, so the check passes and says how many."""
    assert run("check", str(DATA / "covidqa/200423_covidQA.json"), "--json") == 0
    assert output(capsys)["repaired"] == 234


def test_convert_there_and_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Spans become sentences and five-section sets, and sentences become spans, with counts printed."""
    path = str(squad(tmp_path / "dev.json"))
    as2, trig, back = (str(tmp_path / name) for name in ("as2-dev.json", "at-dev.json", "back-dev.json.gz"))
    assert run("convert", path, as2, "--to", "as2", "--impossible", "--json") == 0
    body = output(capsys)
    assert (body["questions"], body["pairs"], body["positives"]) == (2, 4, 1)
    assert [q.positives for q in load_selqa(as2).questions] == [1, 0]
    assert run("convert", path, trig, "--to", "triggering", "--seed", "3") == 0
    assert "2 questions, 6 question-sentence pairs, 1 of them positive" in capsys.readouterr().out
    assert [q.answerable for q in load_selqa_triggering(trig).questions] == [True, False]
    assert run("convert", as2, back, "--to", "squad") == 0
    assert [[a.text for a in q.answers] for q in load_squad(back).questions] == [["Ada wrote it."], []]


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("describe", "WikiQA-dev.tsv"), "microsoft.com"),
        (("describe", "{file}", "--split", "tset"), "is no split"),
        (("describe", "{file}", "--format", "squid"), "is no format"),
        (("convert", "{file}", "{file}", "--to", "squad"), "is the file that is read"),
        (("convert", "{topics}", "{out}", "--to", "as2"), "cannot be converted"),
    ],
)
def test_mistakes(
    arguments: tuple[str, ...], part: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A mistake is exit code 2 and one line that says what, why and the way out."""
    (tmp_path / "topics").write_text("<top>\n<num>1</num>\n<title>x</title>\n</top>\n", encoding="utf-8")
    paths = {
        "{file}": str(squad(tmp_path / "dev.json")),
        "{topics}": str(tmp_path / "topics"),
        "{out}": str(tmp_path / "out.json"),
    }
    assert run(*(paths.get(argument, argument) for argument in arguments)) == 2
    printed = capsys.readouterr().err
    assert part in printed
    assert printed.count("\n") == 1
