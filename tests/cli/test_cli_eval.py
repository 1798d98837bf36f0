"""``quoth eval`` and ``quoth compare``: the contract's keys, samples, reports, resuming, parts of one's own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from quoth.models import shipped

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
TIMES = ("median_ms", "p95_ms", "mean_ms", "peak_memory_mb")

TOWNS = ("Turin", "Oslo", "Lima", "Kyoto", "Accra", "Quito", "Delhi", "Porto")
PLUG = '''
"""Parts of a researcher's own: a ranker that counts letters, and a reader that quotes numbers, slowly."""
import os, re, time
from pathlib import Path
from quoth.types import Reading, Scored, Span

class Letters:
    def score(self, question, candidates):
        return [float(len(set(question.lower()) & set(c.text.lower()))) for c in candidates]

class Numbers:
    def read(self, question, passages):
        log = os.environ.get("PLUG_LOG")
        if log:
            with Path(log).open("a") as file:
                file.write(question + "\\\\n")
        time.sleep(float(os.environ.get("PLUG_SLEEP", "0")))
        spans, places = [], []
        for i, p in enumerate(passages):
            for m in re.finditer(r"\\\\d+", p.text):
                span = Span(p.document_id, p.start + m.start(), p.start + m.end(), m[0])
                spans.append(Scored(span, float(len(m[0]))))
                places.append(i)
        return Reading(tuple(spans), tuple(places), 1.0, len(passages), len(passages), 10)
'''.replace("\\\\", "\\")

needs_readers = pytest.mark.skipif(not shipped(), reason="no reader is shipped in this checkout")


def squad(path: Path, questions: int = 24) -> Path:
    """Write a set in SQuAD 2.0's form: every third question has no answer, two articles a town."""
    articles = []
    for number, town in enumerate(TOWNS):
        paragraphs = []
        for part in range(2):
            year = 1500 + 10 * number + part
            text = f"The tower of {town} was built in {year} by the guild of masons. Its bell weighs {number + 2} tons."
            qas = []
            for at in range(questions // (2 * len(TOWNS)) + 1):
                id = f"{town}-{part}-{at}"
                none = at % 3 == 2
                asked = (
                    f"Who painted the tower of {town}?" if none else f"When was the tower of {town} built?"
                )
                answers = [] if none else [{"text": str(year), "answer_start": text.index(str(year))}]
                qas.append({"id": id, "question": asked, "is_impossible": none, "answers": answers})
            paragraphs.append({"context": text, "qas": qas})
        articles.append({"title": town, "paragraphs": paragraphs})
    path.write_text(json.dumps({"version": "v2.0", "data": articles}), encoding="utf-8")
    return path


def wikiqa(path: Path) -> Path:
    """Write a question a town with three sentences; every fourth question has no answer."""
    lines = []
    for number, town in enumerate(TOWNS):
        answered = int(number % 4 != 3)
        rows = [
            ("It rains a lot there.", 0),
            (f"The tower of {town} was built in 15{number}0.", answered),
            ("Bread is good.", 0),
        ]
        for at, (text, label) in enumerate(rows):
            lines.append(
                f"Q{number}\twhen was the tower of {town} built\tD{number}\t{town}\tS{number}-{at}\t{text}\t{label}\n"
            )
    path.write_text(HEADER + "".join(lines), encoding="utf-8")
    return path


def figures(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metrics but for times."""
    return {name: value for name, value in body["metrics"].items() if name not in TIMES}


@pytest.fixture
def plug(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder on the path with an installed package that plugs in a ranker and a reader."""
    site = tmp_path / "site"
    info = site / "ownparts-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "ownparts.py").write_text(PLUG, encoding="utf-8")
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ownparts\nVersion: 1.0\n", encoding="utf-8")
    entries = "[quoth.rankers]\nletters = ownparts:Letters\n\n[quoth.readers]\nnumbers = ownparts:Numbers\n"
    (info / "entry_points.txt").write_text(entries, encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))
    return site


def test_a_reader_of_ones_own_is_evaluated_as_ours(
    quoth: Callable[..., Any], plug: Path, tmp_path: Path
) -> None:
    """A reader plugged in by entry point gets the official figures, intervals, conventions and a manifest."""
    data = squad(tmp_path / "towns-dev.json", 48)
    done = quoth("eval", "reader", "--data", data, "--reader", "numbers", "--json")
    assert done.code == 0, done.err
    body = done.json
    assert body["schema"] == "quoth.eval-reader/1"
    assert {"metrics", "intervals", "conventions", "manifest"} <= set(body)
    metrics = body["metrics"]
    assert (metrics["HasAns_exact"], metrics["HasAns_f1"]) == (100, 100)
    assert metrics["total"] == 64
    assert (
        metrics["best_exact"] == 100 * metrics["HasAns_total"] / metrics["total"]
        or metrics["NoAns_total"] == 0
    )
    assert body["intervals"]["exact"]["n"] == 64
    assert body["manifest"]["system"]["parts"]["reader"] == "numbers"
    assert body["manifest"]["data"]["split"] == "dev"


def test_a_sample_is_the_seeds_own(quoth: Callable[..., Any], plug: Path, tmp_path: Path) -> None:
    """--limit takes a random sample that --seed decides, and the manifest says so."""
    data = squad(tmp_path / "towns-dev.json", 96)
    ids = []
    for number, seed in enumerate(("1", "1", "2")):
        report = tmp_path / f"r{number}"
        done = quoth("eval", "reader", "--data", data, "--reader", "numbers", "--limit", "10", "--seed", seed,
                     "--report", report, "--json")  # fmt: skip
        assert done.json["metrics"]["total"] == 10
        assert "sample" in done.json["manifest"]["data"]["note"]
        ids.append(set(json.loads((report / "predictions.json").read_text(encoding="utf-8"))))
    assert ids[0] == ids[1] != ids[2]


def test_a_report_holds_all_that_is_promised(quoth: Callable[..., Any], plug: Path, tmp_path: Path) -> None:
    """--report writes page, manifest, figures, predictions, null odds, n-best, tables and plots."""
    report = tmp_path / "report"
    done = quoth(
        "eval",
        "reader",
        "--data",
        squad(tmp_path / "towns-dev.json"),
        "--reader",
        "numbers",
        "--report",
        report,
    )
    assert done.code == 0, done.err
    names = {str(p.relative_to(report)) for p in report.rglob("*") if p.is_file()}
    wanted = "report.html manifest.json metrics.json questions.csv predictions.json null-odds.json nbest.json"
    assert set(wanted.split()) <= names
    assert {Path(n).suffix for n in names if n.startswith("tables/")} == {".csv", ".tex"}
    assert ".svg" in {Path(n).suffix for n in names if n.startswith("plots/")}
    page = (report / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page
    assert "http://" not in page.replace("http://www.w3.org", "")
    assert "report.html" in done.err
    assert "exact" in done.out
    again = quoth(
        "score",
        "spans",
        "--gold",
        tmp_path / "towns-dev.json",
        "--predictions",
        report / "predictions.json",
        "--json",
    )
    assert (
        again.json["f1"] == json.loads((report / "metrics.json").read_text(encoding="utf-8"))["metrics"]["f1"]
    )


def start(arguments: list[str], environment: Mapping[str, str]) -> "subprocess.Popen[str]":
    code = "import sys; from quoth.cli import main; sys.argv[0] = 'quoth'; main()"
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments], env={**os.environ, **environment}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip


def test_killed_and_run_again_it_ends_with_the_same_figures(
    quoth: Callable[..., Any], plug: Path, tmp_path: Path
) -> None:
    """After kill -9 in the middle the same command goes on where it was, and ends as an uninterrupted one."""
    data = squad(tmp_path / "towns-dev.json", 96)
    log = tmp_path / "read.log"
    arguments = ["eval", "reader", "--data", str(data), "--reader", "numbers", "--json"]
    environment = {
        "PYTHONPATH": str(plug), "PLUG_LOG": str(log), "PLUG_SLEEP": "0.03", "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    process = start(arguments, environment)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and (not log.exists() or len(log.read_text().splitlines()) < 50):
        time.sleep(0.02)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    before = len(log.read_text().splitlines())
    again = start(arguments, environment | {"PLUG_SLEEP": "0"})
    out, err = again.communicate(timeout=120)
    assert again.returncode == 0, err
    assert "interrupted run" in err
    resumed = json.loads(out)
    total = resumed["metrics"]["total"]
    assert 50 <= before < total
    assert len(log.read_text().splitlines()) < before + total
    whole = quoth(*arguments).json
    assert figures(resumed) == figures(whole)
    assert resumed["intervals"] == whole["intervals"]
    assert not list((tmp_path / "cache/quoth/eval").iterdir())


def test_terminated_it_says_so(plug: Path, tmp_path: Path) -> None:
    """SIGTERM ends a run with 143, and nothing on stdout."""
    data = squad(tmp_path / "towns-dev.json", 96)
    log = tmp_path / "read.log"
    environment = {
        "PYTHONPATH": str(plug), "PLUG_LOG": str(log), "PLUG_SLEEP": "0.05", "XDG_CACHE_HOME": str(tmp_path / "cache"),
    }  # fmt: skip
    process = start(["eval", "reader", "--data", str(data), "--reader", "numbers", "--json"], environment)
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not log.exists():
        time.sleep(0.02)
    process.terminate()
    out, _ = process.communicate(timeout=60)
    assert (process.returncode, out) == (143, "")


def test_a_retriever_has_two_kinds_of_recall(quoth: Callable[..., Any], tmp_path: Path) -> None:
    """recall@k by answer string and by gold passage are two figures; the data set's own passages are indexed."""
    data = squad(tmp_path / "towns-dev.json")
    done = quoth("eval", "retriever", "--data", data, "-k", "5", "--json")
    assert done.code == 0, done.err
    metrics = done.json["metrics"]
    assert {
        "recall@3/answer",
        "recall@3/passage",
        "mAP@3/answer",
        "recall@5/any-answer",
        "nDCG@5/passage",
    } <= set(metrics)
    assert not any("@10" in name for name in metrics)
    assert metrics["recall@3/answer"] == 1
    assert done.json["manifest"]["system"]["parts"]["index analyzer"] == "english"
    other = quoth("eval", "retriever", "--data", data, "--analyzer", "standard", "--json").json
    assert other["manifest"]["system"]["parts"]["index analyzer"] == "standard"


def test_an_index_of_ones_own_is_searched(quoth: Callable[..., Any], tmp_path: Path) -> None:
    """--index names an index; without one there, it is a mistake with a way out."""
    data = squad(tmp_path / "towns-dev.json")
    (tmp_path / "texts").mkdir()
    for town in TOWNS:
        (tmp_path / "texts" / f"{town}.txt").write_text(
            f"The tower of {town} was built in 1500.", encoding="utf-8"
        )
    assert quoth("index", tmp_path / "texts", "--vectors", "none").code == 0
    found = quoth("eval", "retriever", "--data", data, "--index", tmp_path, "--json")
    assert found.code == 0, found.err
    assert found.json["metrics"]["recall@20/answer"] < 1
    missing = quoth("eval", "retriever", "--data", data, "--index", tmp_path / "nowhere", "--json")
    assert missing.code == 2
    assert missing.json["error"]["code"] == "no_index"


@needs_readers
def test_the_whole_system_stands_beside_its_reader(quoth: Callable[..., Any], tmp_path: Path) -> None:
    """eval system has EM and F1, any of the top k, the reader alone, what was read, and times."""
    data = squad(tmp_path / "towns-dev.json")
    done = quoth("eval", "system", "--data", data, "--profile", "fast", "--limit", "8", "--json")
    assert done.code == 0, done.err
    metrics = done.json["metrics"]
    wanted = {"exact", "f1", "any_of_top_1_exact", "any_of_top_10_f1", "reader_alone_exact", "answer in what was read",
              "median_ms", "median_tokens"}  # fmt: skip
    assert wanted <= set(metrics)
    assert metrics["any_of_top_10_f1"] >= metrics["any_of_top_1_f1"]


@needs_readers
def test_the_shipped_reader_reads_real_questions(quoth: Callable[..., Any]) -> None:
    """On a few questions of SQuAD 2.0 dev the small reader is right far more often than not."""
    data = DATA / "squad/dev-v2.0.reconstructed.json.gz"
    if not data.exists():
        pytest.skip("SQuAD is not beside the checkout")
    done = quoth(
        "eval", "reader", "--data", data, "--reader", "small", "--limit", "30", "--seed", "3", "--json"
    )
    assert done.code == 0, done.err
    assert done.json["metrics"]["total"] == 30
    assert done.json["metrics"]["f1"] > 45


def test_a_ranker_of_ones_own_stands_beside_the_floors(
    quoth: Callable[..., Any], plug: Path, tmp_path: Path
) -> None:
    """A ranker plugged in by entry point is judged by the same command, under both conventions."""
    data = wikiqa(tmp_path / "WikiQA-dev.tsv")
    done = quoth("eval", "sentences", "--data", data, "--ranker", "letters", "--json")
    assert done.code == 0, done.err
    body = done.json
    assert body["metrics"]["n/has-positive"] == 6
    assert body["metrics"]["MAP/has-positive"] == 1
    assert {"MAP/clean", "MRR/clean", "P@1/clean", "expected_MAP/clean"} <= set(body["metrics"])
    assert {"MAP/has-positive", "MAP/clean"} <= set(body["intervals"])
    shown = quoth("eval", "sentences", "--data", data, "--ranker", "letters").out
    for floor in ("constant", "count", "bm25", "expected MAP"):
        assert floor in shown
    unknown = quoth("eval", "sentences", "--data", data, "--ranker", "nosuch", "--json")
    assert unknown.code == 2
    assert "letters" in unknown.json["error"]["hint"]


def test_a_constant_ranker_gets_what_chance_gives(quoth: Callable[..., Any], tmp_path: Path) -> None:
    """The constant ranker's expected MAP is that of a random order, not 1 and not 0."""
    done = quoth(
        "eval", "sentences", "--data", wikiqa(tmp_path / "WikiQA-dev.tsv"), "--ranker", "constant", "--json"
    )
    metrics = done.json["metrics"]
    assert metrics["expected_MAP/has-positive"] == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    assert metrics["MAP/has-positive"] == pytest.approx(1 / 2)


def test_selqa_dev_and_its_floor(quoth: Callable[..., Any]) -> None:
    """SelQA dev has 785 questions, and BM25 over their candidates gives a MAP of about .84."""
    data = DATA / "selqa/ass/selqa-ass-dev.json"
    if not data.exists():
        pytest.skip("SelQA is not beside the checkout")
    metrics = quoth("eval", "sentences", "--data", data, "--ranker", "bm25", "--json").json["metrics"]
    assert metrics["n/has-positive"] == 785
    assert metrics["MAP/has-positive"] == pytest.approx(0.85, abs=0.03)


def test_triggering_is_tuned_elsewhere(quoth: Callable[..., Any], tmp_path: Path) -> None:
    """The threshold comes from another set, whose name stands by the figure; a test split is refused."""
    dev, test = wikiqa(tmp_path / "WikiQA-dev.tsv"), wikiqa(tmp_path / "WikiQA-test.tsv")
    done = quoth("eval", "triggering", "--data", test, "--ranker", "bm25", "--tune-on", dev, "--json")
    assert done.code == 0, done.err
    metrics = done.json["metrics"]
    assert (metrics["tuned_on"], metrics["n"]) == ("WikiQA-dev.tsv", 8)
    assert metrics["precision"] == pytest.approx(6 / 8)
    assert metrics["recall"] == 1
    refused = quoth("eval", "triggering", "--data", dev, "--ranker", "bm25", "--tune-on", test, "--json")
    assert refused.code == 2
    assert refused.json["error"]["code"] == "test_split"
    allowed = quoth("eval", "triggering", "--data", dev, "--ranker", "bm25", "--tune-on", test,
                    "--i-know-this-is-test", "--json").json  # fmt: skip
    assert any("test split" in remark for remark in allowed["notes"])
    both = quoth(
        "eval", "triggering", "--data", dev, "--ranker", "bm25", "--tune-on", dev, "--threshold", "1"
    )
    assert both.code == 2
    own = quoth("eval", "triggering", "--data", dev, "--ranker", "bm25", "--tune-on", dev, "--json").json
    assert own["metrics"]["tuned_on"] == "tuned on this set"


def test_a_task_is_not_taken_for_another(quoth: Callable[..., Any], tmp_path: Path) -> None:
    """Spans are no candidates, candidates no spans: each command refuses the other's data, with exit 2."""
    spans, sentences = squad(tmp_path / "towns-dev.json"), wikiqa(tmp_path / "WikiQA-dev.tsv")
    assert quoth("eval", "sentences", "--data", spans).code == 2
    assert quoth("eval", "reader", "--data", sentences).code == 2
    assert quoth("eval", "retriever", "--data", sentences).code == 2
    assert quoth("eval", "reader", "--data", tmp_path / "none.json").code == 2


def test_two_runs_are_compared_question_by_question(
    quoth: Callable[..., Any], plug: Path, tmp_path: Path
) -> None:
    """compare gives differences with intervals, Holm's p, and the questions that changed."""
    data = wikiqa(tmp_path / "WikiQA-dev.tsv")
    for ranker, folder in (("letters", "a/run"), ("constant", "b/run"), ("count", "c/run")):
        assert (
            quoth("eval", "sentences", "--data", data, "--ranker", ranker, "--report", tmp_path / folder).code
            == 0
        )
    done = quoth(
        "compare", tmp_path / "a/run", tmp_path / "b/run", tmp_path / "c/run", "--json", "--metric", "AP"
    )
    assert done.code == 0, done.err
    pairs = done.json["pairs"]
    assert len(pairs) == 3
    first = pairs[0]
    assert first["difference"] == pytest.approx(first["mean_b"] - first["mean_a"])
    assert first["difference"] == pytest.approx(-0.5)
    assert first["low"] <= first["difference"] <= first["high"]
    assert first["p"] <= first["p_holm"] <= 1
    assert (first["better"], first["worse"], len(first["changed"])) == (0, 6, 6)
    report = tmp_path / "both"
    shown = quoth("compare", tmp_path / "a/run", tmp_path / "b/run", "--report", report)
    assert "questions changed" in shown.out
    assert (report / "report.html").exists()
    assert quoth("compare", tmp_path / "a/run").code == 2


def test_models_stand_side_by_side_and_one_question_at_a_time(
    quoth: Callable[..., Any], plug: Path, tmp_path: Path
) -> None:
    """compare shows each run's own figures, and with --question what each says to that one, beside the gold."""
    data = squad(tmp_path / "towns-dev.json", 48)
    for threshold, folder in (("0", "eager"), ("-100", "silent")):
        done = quoth("eval", "reader", "--data", data, "--reader", "numbers", "--null-threshold", threshold,
                     "--report", tmp_path / folder)  # fmt: skip
        assert done.code == 0, done.err
    runs = (tmp_path / "eager", tmp_path / "silent")
    body = quoth("compare", *runs, "--json").json
    assert body["systems"]["eager"]["HasAns_exact"] == 100
    assert body["systems"]["silent"]["NoAns_exact"] == 100
    shown = quoth("compare", *runs).out
    assert "HasAns_f1" in shown.splitlines()[0]
    assert "median_ms" in shown.splitlines()[0]
    one = quoth("compare", *runs, "--question", "Lima-0-0", "--data", data, "--json").json
    assert one["gold"] == ["1520"]
    assert (one["systems"]["eager"]["said"], one["systems"]["silent"]["said"]) == ("1520", "")
    assert one["systems"]["silent"]["best_span"] == "1520"
    assert one["systems"]["silent"]["scores"]["exact"] == 0
    words = quoth("compare", *runs, "--question", "Lima-0-0", "--data", data).out
    assert "When was the tower of Lima built?" in words
    assert "(no answer)" in words
    assert quoth("compare", *runs, "--question", "nosuch").code == 2


def test_nothing_but_results_reaches_stdout(quoth: Callable[..., Any], plug: Path, tmp_path: Path) -> None:
    """With --json stdout is one object; with --quiet stderr is empty; no bar is drawn off a terminal."""
    data = squad(tmp_path / "towns-dev.json")
    done = quoth(
        "eval",
        "reader",
        "--data",
        data,
        "--reader",
        "numbers",
        "--json",
        "--quiet",
        "--report",
        tmp_path / "r",
    )
    assert len(done.out.splitlines()) == 1
    assert done.err == ""
    loud = quoth("eval", "reader", "--data", data, "--reader", "numbers")
    assert "\r" not in loud.err
    assert "\x1b" not in loud.err + loud.out
