"""What a person meets on the first day: wrong paths, pipes, spreadsheets, and messages that must help."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import quoth as package
from quoth.cli import ask
from quoth.errors import QuothError
from quoth.types import Place


@pytest.fixture
def here(indexed_samples: Path, monkeypatch: pytest.MonkeyPatch, quoth) -> Path:
    monkeypatch.chdir(indexed_samples)
    return indexed_samples


def test_the_version_is_told(quoth) -> None:
    """`quoth --version` prints name and version, and nothing else."""
    done = quoth("--version")
    assert (done.code, done.out) == (0, f"quoth {package.__version__}\n")


def test_a_misspelt_command_gets_a_suggestion(quoth) -> None:
    """The message ends as a sentence does."""
    assert "Did you mean 'ask'? `quoth --help`" in quoth("aks").err


@pytest.mark.skipif(os.name == "nt", reason="pipes break in another way on Windows")
def test_a_pipe_that_breaks_while_a_command_prints_is_exit_0(here: Path) -> None:
    """`quoth config show | head -0` is no failed check, whichever layer sees the pipe break."""
    code = (
        "import os, sys; r, w = os.pipe(); os.close(r); os.dup2(w, 1)\n"
        "sys.stdout = open(1, 'w', buffering=1, closefd=False)\n"
        "from quoth.cli import run; sys.exit(run(['config', 'show']))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=here)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("index", "a.txt", "--password-file", "nowhere"), "--password-file nowhere cannot be read"),
        (("index", "a.txt", "--password-file", "bytes"), "--password-file bytes is not UTF-8"),
        (("reproduce", "selqa", "--work", "a.txt/work"), "a.txt/work cannot be made"),
        (("reproduce", "selqa", "--out", "a.txt/out.json"), "a.txt cannot be made"),
        (("data", "check", "a.txt"), "a.txt is in none of the formats"),
    ],
)
def test_a_bad_path_is_one_line(quoth, arguments: tuple[str, ...], says: str) -> None:
    """A file or folder that cannot be read or made is exit 2 and one line, before any work is done."""
    Path("a.txt").write_text("The cat sleeps.\n", encoding="utf-8")
    Path("bytes").write_bytes(b"\xff\xfe\n")
    done = quoth(*arguments)
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert says in done.err


def test_batch_says_where_it_cannot_write(here: Path, quoth, tmp_path: Path) -> None:
    """A missing folder for --out is exit 2 and one line."""
    (tmp_path / "q.txt").write_text("Who drew the plans?\n", encoding="utf-8")
    done = quoth("ask", "--batch", tmp_path / "q.txt", "--out", tmp_path / "nowhere" / "a.csv")
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert "cannot be written" in done.err


def test_batch_reads_what_spreadsheets_write(tmp_path: Path) -> None:
    """Semicolons, tabs, quoted line ends and a byte order mark are read; a wrong header is told what it holds."""
    from quoth.cli.batch import read_questions

    path = tmp_path / "q.csv"
    for mark in ",;\t":
        path.write_text(
            f'\ufeffid{mark}question\n7{mark}"Who drew\nthe plans, and when; why?"\n', encoding="utf-8"
        )
        assert list(read_questions(path)) == [("7", "Who drew\nthe plans, and when; why?")]
    path.write_text("id,text\n1,x\n", encoding="utf-8")
    with pytest.raises(QuothError, match="no `question`; it has id, text"):
        list(read_questions(path))


def test_the_name_of_a_failed_file_is_said_once(quoth) -> None:
    """index, info --failed and doctor put the name beside the reason, which does not repeat it."""
    Path("bad.docx").write_bytes(b"PK\x03\x04 no zip")
    for command in (("index", "."), ("info", "--failed"), ("doctor",)):
        done = quoth(*command)
        assert (done.out + done.err).count("bad.docx") == 1, command


def test_hints_reach_files_that_did_not_change(quoth) -> None:
    """--encoding and --meta change what is held of the same bytes; said again, --meta changes nothing."""
    Path("alt.txt").write_bytes("Kündigung nach drei Jahren.\n".encode("cp1250"))
    quoth("index", "alt.txt")
    assert quoth("index", "alt.txt", "--encoding", "cp1250").out.startswith("0 added, 1 updated")
    assert quoth("show", "alt.txt", "--json").json["text"] == "Kündigung nach drei Jahren.\n"
    assert quoth("index", "alt.txt", "--meta", "client=Acme").out.startswith("0 added, 1 updated")
    assert quoth("show", "alt.txt", "--json").json["metadata"]["client"] == "Acme"
    assert quoth("index", "alt.txt", "--meta", "client=Acme").out.startswith(
        "0 added, 0 updated, 1 unchanged"
    )


def test_search_says_where(here: Path, quoth) -> None:
    """A hit comes with its file and the place in it, for people and for programs."""
    hit = quoth("search", "lighthouse plans", "--json").json["hits"][0]
    assert hit["source"] == "history-of-skerrow-point.md"
    assert hit["line"] >= 1
    assert "history-of-skerrow-point.md, " in quoth("search", "lighthouse plans").out


def test_nothing_found_is_told_without_infinite_odds(here: Path, quoth) -> None:
    """Where no passage was read there are no odds to show; a filter that may be why is named."""
    done = quoth("ask", "Zyxwv?")
    assert done.out == "No answer in these documents. No passage holds any word of the question.\n"
    assert "--where compares whole values" in quoth("ask", "lighthouse?", "--where", "type:nothing").out
    assert "--where compares whole values" in quoth("search", "lighthouse", "--where", "type:nothing").err


def test_a_warning_comes_with_no_answer_too_unless_quiet(here: Path, quoth) -> None:
    """A German question without an answer is told that the readers are English; --quiet says nothing."""
    question = "Wie lang ist die Kündigungsfrist für den Mieter im lighthouse?"
    asked = ("ask", question, "--null-threshold", "-1000")
    assert "English" in quoth(*asked).err
    assert quoth(*asked, "--quiet").err == ""


def test_info_has_a_line_for_each_hash(here: Path, quoth) -> None:
    """What people read holds no Python dictionary."""
    assert "{" not in quoth("info").out
    assert "reader sha256, weights.safetensors: " in quoth("info").out


@pytest.mark.parametrize("question", [None, 3, b"Who?"])
def test_what_is_no_question_is_our_error(question: object) -> None:
    """Whatever is handed in as a question, the error is one that callers can catch."""
    with pytest.raises(QuothError, match="a question is a string"):
        package.read(question, ["The cat sleeps."])  # type: ignore[arg-type]


def test_settings_that_cannot_be_written_are_one_line(quoth, monkeypatch: pytest.MonkeyPatch) -> None:
    """`quoth models use` names the file and the way out."""
    Path("file").write_text("", encoding="utf-8")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(Path("file").resolve()))
    done = quoth("models", "use", "small")
    assert (done.code, len(done.err.splitlines())) == (2, 1), done.err
    assert "XDG_CONFIG_HOME names another place" in done.err


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        (Place(8, None, 0, "5"), "a, page 8 (labelled 5)"),
        (Place(2, None, 0), "a, page 2"),
        (Place(1, 3, 0, "Prices"), "a, Prices, line 3"),
        (Place(None, 4, 0, "Music"), "a, Music, line 4"),
        (Place(None, None, 0, "2. Term"), "a, 2. Term"),
        (Place(None, 4, 0), "a, line 4"),
        (Place(None, None, 0), "a"),
    ],
)
def test_a_place_is_shown_whole(place: Place, shown: str) -> None:
    """A bare page label, or a sheet without its row, would lead nobody there."""
    assert ask._named("a", place) == shown


def test_the_first_example_is_what_happens(here: Path, quoth) -> None:
    """The README's first answer is the real one; only the probability may move with the calibration."""
    readme = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
    question = "How much notice must the tenant give?"
    shown = readme.partition(f'$ quoth ask "{question}"\n')[2].partition("```")[0]
    got, told = (re.sub(r"0\.\d\d \(cal", "(cal", text) for text in (quoth("ask", question).out, shown))
    assert got == told


def test_runs_over_sentences_are_compared_one_question_at_a_time(quoth) -> None:
    """`compare --question ID --data` shows the words and the positive sentences of a selection set, too."""
    head = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
    row = "Q{n}\tWho wrote book {n}?\tD{n}\tBooks\tD{n}-{m}\t{text}\t{label}\n"
    rows = [
        row.format(n=n, m=m, text=text, label=label)
        for n in (1, 2)
        for m, (text, label) in enumerate([("It is a book.", 0), (f"Ada wrote book {n}.", 1)])
    ]
    Path("tiny-dev.tsv").write_text(head + "".join(rows), encoding="utf-8")
    for ranker in ("constant", "count"):
        done = quoth("eval", "sentences", "--data", "tiny-dev.tsv", "--ranker", ranker, "--report", ranker)
        assert done.code == 0, done.err
    one = quoth("compare", "constant", "count", "--question", "Q2", "--data", "tiny-dev.tsv", "--json").json
    assert (one["text"], one["gold"]) == ("Who wrote book 2?", ["Ada wrote book 2."])
    assert quoth("compare", "constant", "count", "--question", "Q2", "--data", "nowhere.tsv").code == 2
