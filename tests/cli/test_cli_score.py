"""``quoth score``: official figures, named conventions, thresholds from elsewhere."""

import gzip
import json
import time
from pathlib import Path
from typing import Any

import pytest

from quoth.cli import run

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"


def told(capsys: pytest.CaptureFixture[str], *arguments: str | Path, code: int = 0) -> dict[str, Any]:
    """Run a command with --json; return the one object that stdout holds."""
    assert run([*map(str, arguments), "--json"]) == code
    out = capsys.readouterr().out
    assert len(out.splitlines()) == 1
    found: dict[str, Any] = json.loads(out)
    return found


def squad(path: Path) -> Path:
    """Write three questions in SQuAD 2.0's form: two with an answer, one without."""
    text = "Ada wrote notes in 1843. The engine was never built."
    asked = [
        ("q1", "When?", [("1843", 19)]),
        ("q2", "Who wrote?", [("Ada", 0), ("Ada wrote", 0)]),
        ("q3", "Where?", []),
    ]
    qas = [
        {
            "id": id,
            "question": question,
            "is_impossible": not answers,
            "answers": [{"text": t, "answer_start": s} for t, s in answers],
        }
        for id, question, answers in asked
    ]
    data = {"version": "v2.0", "data": [{"title": "Ada", "paragraphs": [{"context": text, "qas": qas}]}]}
    path.write_bytes(gzip.compress(json.dumps(data).encode()))
    return path


def written(path: Path, data: object) -> Path:
    path.write_text(json.dumps(data), encoding="utf-8")
    return path


def wikiqa(path: Path) -> Path:
    """Write four questions: one positive of three, one of two, one without, and the first one's words again."""
    rows = [
        ("Q1", "who built it", "D1", "s1-0", "Nobody did.", 0),
        ("Q1", "who built it", "D1", "s1-1", "Ada built it.", 1),
        ("Q1", "who built it", "D1", "s1-2", "It rained.", 0),
        ("Q2", "where is it", "D2", "s2-0", "It is in Turin.", 1),
        ("Q2", "where is it", "D2", "s2-1", "It is big.", 0),
        ("Q3", "why is it", "D3", "s3-0", "It is.", 0),
        ("Q3", "why is it", "D3", "s3-1", "It was.", 0),
        ("Q4", "who built it", "D4", "s4-0", "Someone built it.", 0),
        ("Q4", "who built it", "D4", "s4-1", "Bob did.", 1),
    ]
    lines = [f"{q}\t{t}\t{d}\tTitle {d}\t{s}\t{x}\t{y}\n" for q, t, d, s, x, y in rows]
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return path


def trec(path: Path, scores: dict[str, dict[str, float]]) -> Path:
    lines = [f"{q} Q0 {c} 1 {s} run\n" for q, found in scores.items() for c, s in found.items()]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def constant(gold: Path) -> dict[str, dict[str, float]]:
    rows = [line.split("\t") for line in gold.read_text(encoding="utf-8").splitlines()[1:]]
    out: dict[str, dict[str, float]] = {}
    for row in rows:
        out.setdefault(row[0], {})[row[4]] = 0.0
    return out


def test_the_official_figures_to_the_last_digit(capsys: pytest.CaptureFixture[str]) -> None:
    """The published predictions give the published figures exactly, in about two seconds."""
    gold = DATA / "squad/dev-v2.0.reconstructed.json.gz"
    predictions = DATA / "squad/predictions-distilbert/predictions_.json"
    if not predictions.exists():
        pytest.skip("the prediction file is not beside the checkout")
    began = time.process_time()
    found = told(capsys, "score", "spans", "--gold", gold, "--predictions", predictions)
    assert time.process_time() - began < 5
    assert (found["exact"], found["f1"]) == (66.25958056093658, 69.66994428499025)
    assert (found["HasAns_exact"], found["HasAns_f1"]) == (68.91025641025641, 75.74076391627662)
    assert (found["NoAns_exact"], found["NoAns_f1"]) == (63.61648444070648, 63.61648444070648)
    assert (found["total"], found["HasAns_total"], found["NoAns_total"], found["missing"]) == (
        11873,
        5928,
        5945,
        0,
    )


def test_span_keys_are_flat_and_in_the_official_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The official keys stand at the top level; null odds bring the best thresholds."""
    gold = squad(tmp_path / "dev.json.gz")
    said = written(tmp_path / "p.json", {"q1": "1843", "q2": "Ada wrote it", "q3": "here"})
    found = told(capsys, "score", "spans", "--gold", gold, "--predictions", said)
    official = ["exact", "f1", "total", "HasAns_exact", "HasAns_f1", "HasAns_total"]
    official += ["NoAns_exact", "NoAns_f1", "NoAns_total", "missing"]
    assert [key for key in found if key in official] == official
    assert found["schema"] == "quoth.score-spans/1"
    assert found["exact"] == pytest.approx(100 / 3)
    assert found["f1"] == pytest.approx(100 * (1 + 0.8) / 3)
    assert found["NoAns_exact"] == 0
    assert "best_exact" not in found
    odds = written(tmp_path / "n.json", {"q1": -3.0, "q2": -1.0, "q3": 2.0})
    more = told(capsys, "score", "spans", "--gold", gold, "--predictions", said, "--null-odds", odds,
                "--null-threshold", "0")  # fmt: skip
    assert more["NoAns_exact"] == 100
    assert more["best_exact"] == pytest.approx(200 / 3)
    assert more["best_f1_thresh"] == -1.0
    assert "oracle" in more["conventions"]["best_*"]


def test_a_missing_prediction_costs_unless_it_is_said_not_to(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Missing predictions are wrong and counted; ``skip`` leaves them out, and says so."""
    gold = squad(tmp_path / "dev.json.gz")
    said = written(tmp_path / "p.json", {"q1": "1843", "q3": ""})
    wrong = told(capsys, "score", "spans", "--gold", gold, "--predictions", said)
    assert (wrong["exact"], wrong["total"], wrong["missing"]) == (pytest.approx(200 / 3), 3, 1)
    assert run(["score", "spans", "--gold", str(gold), "--predictions", str(said)]) == 0
    assert "questions have no prediction and count as wrong" in capsys.readouterr().err
    assert run(["score", "spans", "--gold", str(gold), "--predictions", str(said), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    skipped = told(capsys, "score", "spans", "--gold", gold, "--predictions", said, "--missing", "skip")
    assert (skipped["exact"], skipped["total"], skipped["missing"]) == (100.0, 2, 1)


def test_mistakes_are_one_line_and_exit_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A wrong choice, a file that is not there and a threshold without odds are the user's mistakes."""
    gold = squad(tmp_path / "dev.json.gz")
    said = written(tmp_path / "p.json", {"q1": "1843"})
    base = ["score", "spans", "--gold", str(gold), "--predictions"]
    for arguments in (
        [*base, str(said), "--missing", "maybe"],
        [*base, str(tmp_path / "none.json")],
        [*base, str(said), "--null-threshold", "1"],
        ["score", "triggering", "--gold", str(gold), "--run", str(said)],
    ):
        assert run(arguments) == 2
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith("quoth: ")
        assert captured.err.count("\n") == 1
    absent = ("--gold", tmp_path / "none.json", "--predictions", said)
    error = told(capsys, "score", "spans", *absent, code=2)["error"]
    assert set(error) == {"code", "message", "hint"}
    assert error["code"] == "missing_file"


def test_a_constant_run_gets_what_chance_gives(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Ties stand in document order, with the expectation over all orders beside them; questions go by id."""
    gold = wikiqa(tmp_path / "WikiQA-dev.tsv")
    same = trec(tmp_path / "c.trec", constant(gold))
    found = told(capsys, "score", "ranking", "--gold", gold, "--run", same)
    assert found["n"] == 3
    assert found["metrics"]["MAP"] == pytest.approx((1 / 2 + 1 + 1 / 2) / 3)
    assert found["ties"]["expected_MAP"] == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3 + 0.75 + 0.75) / 3)
    assert found["ties"]["expected_P@1"] == pytest.approx((1 / 3 + 1 / 2 + 1 / 2) / 3)
    assert {"MAP", "MRR", "P@1", "hit@5"} <= set(found["metrics"])
    every = told(capsys, "score", "ranking", "--gold", gold, "--run", same, "--convention", "all")
    assert every["n"] == 4
    assert every["metrics"]["MAP"] == pytest.approx(2 / 4)


def test_the_card_drops_what_it_cannot_find_and_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The card's recipe leaves a question out whose gold is not ranked; the other conventions count it 0."""
    gold = wikiqa(tmp_path / "WikiQA-dev.tsv")
    run_ = trec(tmp_path / "r.trec", {"Q1": {"s1-1": 2.0, "s1-0": 1.0}, "Q2": {"s2-1": 1.0}})
    card = told(capsys, "score", "ranking", "--gold", gold, "--run", run_, "--convention", "card")
    assert (card["n"], card["metrics"]["MRR"]) == (1, 1.0)
    assert "never report this figure alone" in card["conventions"]["dropped"]
    clean = told(capsys, "score", "ranking", "--gold", gold, "--run", run_)
    assert (clean["n"], clean["metrics"]["MRR"]) == (3, pytest.approx(1 / 3))


def test_the_table_shows_two_conventions_side_by_side(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without --json, has-positive and clean stand in one table, with the tie rule under it."""
    gold = wikiqa(tmp_path / "WikiQA-dev.tsv")
    same = trec(tmp_path / "c.trec", constant(gold))
    assert run(["score", "ranking", "--gold", str(gold), "--run", str(same)]) == 0
    out = capsys.readouterr().out
    assert "has-positive" in out
    assert "clean" in out
    assert "expected over ties" in out
    assert "document order" in out


def test_qrels_are_scored_as_trec_eval_does(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A qrels file as gold gives MAP and nDCG@10 over its topics."""
    gold = tmp_path / "qrels.txt"
    gold.write_text("1 0 d1 1\n1 0 d2 0\n1 0 d3 1\n2 0 d1 1\n", encoding="utf-8")
    run_ = trec(tmp_path / "r.trec", {"1": {"d1": 3.0, "d2": 2.0, "d3": 1.0}, "2": {"d9": 1.0, "d1": 0.5}})
    found = told(capsys, "score", "ranking", "--gold", gold, "--run", run_)
    assert found["n"] == 2
    assert found["metrics"]["MAP"] == pytest.approx(((1 + 2 / 3) / 2 + 1 / 2) / 2)


def test_triggering_counts_wrong_sentences_against_precision(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A trigger on the wrong sentence or on a question without an answer is a false positive."""
    gold = wikiqa(tmp_path / "WikiQA-dev.tsv")
    scores = {
        "Q1": {"s1-1": 0.9, "s1-0": 0.1},
        "Q2": {"s2-1": 0.8, "s2-0": 0.2},
        "Q3": {"s3-0": 0.7},
        "Q4": {"s4-1": 0.1},
    }
    run_ = trec(tmp_path / "r.trec", scores)
    base = ("score", "triggering", "--gold", gold, "--run", run_)
    found = told(capsys, *base, "--threshold", "0.5")
    assert (found["precision"], found["recall"]) == (pytest.approx(1 / 3), pytest.approx(1 / 3))
    assert (found["f1"], found["threshold"], found["n"], found["tuned_on"]) == (
        pytest.approx(1 / 3),
        0.5,
        4,
        "",
    )
    nothing = told(capsys, *base, "--threshold", "5")
    assert (nothing["precision"], nothing["recall"], nothing["f1"]) == (0, 0, 0)


def test_a_threshold_is_tuned_on_dev_and_never_unsaid_on_test(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tuning on a test split is refused; with the flag it is done; one's own set is named as such."""
    dev, test = wikiqa(tmp_path / "WikiQA-dev.tsv"), wikiqa(tmp_path / "WikiQA-test.tsv")
    run_ = trec(
        tmp_path / "r.trec", {"Q1": {"s1-1": 0.9}, "Q2": {"s2-1": 0.3, "s2-0": 0.2}, "Q3": {"s3-0": 0.7}}
    )
    base = ("score", "triggering", "--gold", test, "--run", run_, "--tune-on")
    tuned = told(capsys, *base, dev, run_)
    assert (tuned["threshold"], tuned["tuned_on"]) == (0.9, "WikiQA-dev.tsv")
    refused = told(capsys, *base, test, run_, code=2)
    assert refused["error"]["code"] == "test_split"
    allowed = told(capsys, *base, test, run_, "--i-know-this-is-test")
    assert allowed["tuned_on"] == "tuned on this set"
    here = told(capsys, "score", "triggering", "--gold", dev, "--run", run_, "--tune-on", dev, run_)
    assert here["tuned_on"] == "tuned on this set"


def test_two_files_of_one_name_are_not_taken_for_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A threshold tuned on another folder's file of the same name is not "tuned on this set"."""
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    one, other = wikiqa(tmp_path / "a/x-dev.tsv"), wikiqa(tmp_path / "b/x-dev.tsv")
    run_ = trec(tmp_path / "r.trec", {"Q1": {"s1-1": 0.9}})
    found = told(capsys, "score", "triggering", "--gold", one, "--run", run_, "--tune-on", other, run_)
    assert found["tuned_on"] == str(other.resolve())


def test_sections_are_decided_one_by_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At section level each of a question's sections is a decision of its own."""
    sections = [
        {"article": "A", "section": "A-1", "candidates": ["It rained.", "Ada built it."], "answers": [1]},
        {"article": "A", "section": "A-2", "candidates": ["Nothing."], "answers": []},
    ]
    entry = {"question": "Who built it?", "article": "A", "section": "1", "candidate_list": sections}
    gold = written(tmp_path / "selqa-at-dev.json", [entry])
    run_ = trec(tmp_path / "r.trec", {"1": {"1/A-1": 0.9, "1/A-2": 0.8}})
    found = told(
        capsys,
        "score",
        "triggering",
        "--gold",
        gold,
        "--run",
        run_,
        "--level",
        "section",
        "--threshold",
        "0.5",
    )
    assert (found["n"], found["precision"], found["recall"]) == (2, 0.5, 1.0)


@pytest.mark.parametrize(("convention", "n"), [("has-positive", 243), ("clean", 237), ("all", 633)])
def test_wikiqa_counts(convention: str, n: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """WikiQA test has 243 questions with a positive, 237 with a negative too, and 633 in all."""
    gold = DATA / "wikiqa/WikiQA-test.tsv"
    if not gold.exists():
        pytest.skip("WikiQA is not beside the checkout")
    same = trec(tmp_path / "c.trec", constant(gold))
    found = told(capsys, "score", "ranking", "--gold", gold, "--run", same, "--convention", convention)
    assert found["n"] == n
    assert 0 < found["ties"]["expected_MAP"] < found["ties"]["highest_MAP"] <= 1
