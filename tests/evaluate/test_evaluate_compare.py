"""Bins, comparisons and the files that runs live in."""

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.evaluate.bins import (
    OVERLAP_LABELS,
    by_length,
    by_overlap,
    by_question_type,
    length_labels,
    overlap,
    score_bins,
)
from quoth.evaluate.manifest import DataFacts, SystemFacts, file_sha256, make_manifest
from quoth.evaluate.paired import RunScores, compare
from quoth.evaluate.runs import (
    read_json,
    read_nbest,
    read_null_odds,
    read_predictions,
    read_qrels,
    read_questions,
    read_run,
    write_json,
    write_questions,
    write_run,
)


def run(name: str, values: list[float], groups: tuple[str, ...] = ()) -> RunScores:
    """A run of questions 0, 1, 2, ... with one metric."""
    return RunScores(name, tuple(str(i) for i in range(len(values))), {"f1": np.array(values)}, groups)


def test_bins_add_up_to_the_whole() -> None:
    """Each question is in one bin; sizes and weighted means must give the overall mean."""
    values = np.random.default_rng(0).random(90)
    keys = [("a", "b", "c")[i % 3] for i in range(90)]
    bins = score_bins({"f1": values}, keys, order=("c",))
    assert bins[0].key == "c"
    assert sum(b.n for b in bins) == 90
    assert sum(b.n * b.figures["f1"].value for b in bins) / 90 == pytest.approx(values.mean())
    assert all(b.figures["f1"].low <= b.figures["f1"].value <= b.figures["f1"].high for b in bins)
    with pytest.raises(InputError, match="3 keys"):
        score_bins({"f1": [1.0]}, ["a", "b", "c"])


def test_overlap_looks_at_content_words_alone() -> None:
    """Stop words must not count; case and accents must not matter; the best answer decides the bin."""
    assert overlap("Is it the Café?", "the cafe") == 1.0
    assert overlap("the", "the") == 0.0
    assert by_overlap("red wine", ["white beer", "red"]) == "40-60%"
    assert by_overlap("red wine", ["red wine"]) == OVERLAP_LABELS[-1]
    assert by_overlap("red wine", []) == "no answer"
    assert by_question_type("Who was it?") == "who"


@given(st.integers(0, 60))
def test_lengths_fall_into_the_bin_that_holds_them(length: int) -> None:
    """A bin's label must name a range around the length."""
    edges = (5, 10, 20)
    label = by_length(length, edges)
    assert label in length_labels(edges)
    if label.endswith("+"):
        assert length > 20
    else:
        low, high = map(int, label.split("-"))
        assert low <= length <= high


def test_a_better_run_is_found_better_and_what_changed_is_listed() -> None:
    """Differences must be b less a, with every changed question, the largest first."""
    a = [0.0, 1.0, 0.5, 0.0] * 30
    b = [1.0, 1.0, 0.4, 0.0] * 30
    [pair] = compare([run("old", a), run("new", b)])
    assert (pair.a, pair.b) == ("old", "new")
    assert (
        pair.interval.value == pytest.approx(np.mean(b) - np.mean(a)) == pytest.approx(pair.test.difference)
    )
    assert (pair.better, pair.worse, len(pair.changes)) == (30, 30, 60)
    assert abs(pair.changes[0].b - pair.changes[0].a) == 1.0
    assert pair.test.p_value < 0.01
    assert pair.interval.low > 0


def test_questions_are_paired_by_id_whatever_their_order() -> None:
    """A run with its rows shuffled must compare as the same run."""
    values = [0.1 * i for i in range(10)]
    order = np.random.default_rng(0).permutation(10)
    shuffled = RunScores(
        "b",
        tuple(str(i) for i in order),
        {"f1": np.array([values[i] for i in order])},
        tuple("x" for _ in order),
    )
    [pair] = compare([run("a", values), shuffled])
    assert (pair.interval.value, pair.test.p_value, pair.changes) == (0.0, 1.0, ())


def test_several_systems_are_corrected_for() -> None:
    """With three runs there are three pairs, and no adjusted p-value is below its raw one."""
    random = np.random.default_rng(3)
    runs = [
        run(name, random.random(60).tolist(), tuple("abcdef"[i % 6] for i in range(60))) for name in "xyz"
    ]
    pairs = compare(runs, resamples=499)
    assert [(p.a, p.b) for p in pairs] == [("x", "y"), ("x", "z"), ("y", "z")]
    assert all(p.adjusted >= p.test.p_value for p in pairs)
    assert all(p.interval.clusters == 6 for p in pairs)


@pytest.mark.parametrize(
    ("runs", "message"),
    [
        ([run("a", [1.0])], "two runs"),
        ([run("a", [1.0]), run("a", [1.0])], "different names"),
        ([run("a", [1.0]), run("b", [1.0, 2.0])], "same questions"),
        ([run("a", [1.0]), RunScores("b", ("0",), {"map": np.array([1.0])})], "metric"),
        ([run("a", [1.0]), RunScores("b", ("0", "0"), {"f1": np.array([1.0, 1.0])})], "each question once"),
        ([run("a", [1.0], ("x", "y")), run("b", [1.0])], "groups"),
    ],
)
def test_runs_that_cannot_be_compared_are_refused(runs: list[RunScores], message: str) -> None:
    """Other questions, other metrics and doubled names must end in one clear line."""
    with pytest.raises(InputError, match=message):
        compare(runs)


FLOATS = st.floats(allow_nan=False, allow_infinity=False)
NAMES = st.text(st.characters(codec="utf-8", exclude_categories=["Z", "C"]), min_size=1, max_size=6).filter(
    lambda s: s.split() == [s]
)
RUNS = st.dictionaries(NAMES, st.dictionaries(NAMES, FLOATS, min_size=1, max_size=4), max_size=4)


@given(RUNS)
def test_a_run_file_brings_back_every_score(
    tmp_path_factory: pytest.TempPathFactory, scores: dict[str, dict[str, float]]
) -> None:
    """Writing and reading a TREC run must give the same scores, digit by digit, and the order of ties."""
    path = tmp_path_factory.mktemp("run") / "run.trec"
    write_run(path, scores)
    back = read_run(path)
    assert back == scores
    for qid, given_scores in scores.items():
        assert list(back[qid]) == sorted(given_scores, key=lambda c: -given_scores[c])


def test_a_table_of_questions_comes_back(tmp_path: Path) -> None:
    """Ids with commas and quotes, groups and scores must survive the CSV."""
    scores = RunScores(
        "r", ('a,"b', "c\nd"), {"exact": np.array([1.0, 0.0]), "f1": np.array([1 / 3, 0.1])}, ("x", "y")
    )
    write_questions(tmp_path / "questions.csv", scores)
    back = read_questions(tmp_path, name="r")
    assert (back.ids, back.groups, back.name) == (scores.ids, scores.groups, "r")
    assert {name: column.tolist() for name, column in back.columns.items()} == {
        "exact": [1.0, 0.0],
        "f1": [1 / 3, 0.1],
    }
    assert read_questions(tmp_path).name == tmp_path.name


@pytest.mark.parametrize(
    ("content", "reader", "message"),
    [
        ('{"a": "x", "a": "y"}', read_predictions, "occurs twice"),
        ('{"a": 1}', read_predictions, "answer string"),
        ('["a"]', read_predictions, "answer string"),
        ('{"a": NaN}', read_null_odds, "NaN"),
        ('{"a": true}', read_null_odds, "number"),
        ('{"a": "x"', read_json, "not JSON"),
        ("[" * 200_000, read_json, "nested too deeply"),
        ('{"a": [{}]}', read_nbest, "text"),
        ("q Q0 c 1 1.0", read_run, "line 1: 5 fields"),
        ("q Q0 c 1 one tag", read_run, "not a number"),
        ("q Q0 c 1 1 t\nq Q0 c 2 1 t", read_run, "line 2"),
        ("1 0 d x", read_qrels, "not a number"),
        ("1 0 d 1\n1 0 d 1", read_qrels, "judged twice"),
        ("id,group\n", read_questions, "not a table"),
        ("id,group,f1\na,,x\n", read_questions, "not a number"),
        ("id,group,f1\na,1\n", read_questions, "2 fields"),
    ],
)
def test_a_bad_file_is_named_with_its_line(
    tmp_path: Path, content: str, reader: object, message: str
) -> None:
    """What is wrong with a file must be said with its name, never as a traceback."""
    path = tmp_path / "file"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(InputError, match=message) as refused:
        reader(path)  # type: ignore[operator]
    assert str(path) in str(refused.value)


def test_files_that_are_missing_or_not_utf8_are_refused(tmp_path: Path) -> None:
    """A missing file and foreign bytes must be said in one line."""
    with pytest.raises(InputError, match="cannot be read"):
        read_json(tmp_path / "none")
    (tmp_path / "latin").write_bytes(b'{"a": "\xe9"}')
    with pytest.raises(InputError, match="not UTF-8"):
        read_json(tmp_path / "latin")
    with pytest.raises(InputError, match="cannot be written"):
        write_json(tmp_path / "no" / "folder.json", {})
    with pytest.raises(InputError, match="no spaces"):
        write_run(tmp_path / "run", {"a b": {"c": 1.0}})


def test_json_holds_no_nan(tmp_path: Path) -> None:
    """Numbers that are not finite must become null, arrays and numpy numbers plain ones."""
    write_json(
        tmp_path / "x.json", {"a": float("inf"), "b": np.array([1.5]), "c": np.float64(2), "d": (1, "ü")}
    )
    assert json.loads((tmp_path / "x.json").read_text(encoding="utf-8")) == {
        "a": None,
        "b": [1.5],
        "c": 2,
        "d": [1, "ü"],
    }


def test_qrels_and_nbest_read_as_written(tmp_path: Path) -> None:
    """Grades and n-best lists must come back as they are in the file."""
    (tmp_path / "qrels").write_text("1 0 184 3\n\n1 0 29 0\n", encoding="utf-8")
    assert read_qrels(tmp_path / "qrels") == {"1": {"184": 3, "29": 0}}
    write_json(tmp_path / "nbest", {"q": [{"text": "x", "score": 1.0}]})
    assert read_nbest(tmp_path / "nbest") == {"q": [{"text": "x", "score": 1.0}]}


def test_a_manifest_says_what_is_needed_to_do_it_again(tmp_path: Path) -> None:
    """Data, models, conventions, seed, command and versions must all be there."""
    (tmp_path / "data").write_bytes(b"abc")
    digest = file_sha256(tmp_path / "data")
    assert digest == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    manifest = make_manifest(
        "reader",
        data=DataFacts("squad-v2", "dev", 11873, digest),
        system=SystemFacts({"reader": "large"}, {"large": "ff"}, {"stride": "128"}),
        conventions={"missing": "wrong"},
        seed=7,
        command=["quoth", "eval", "reader"],
    ).as_dict()
    assert manifest["seed"] == 7
    assert {"python", "numpy"} <= set(manifest["versions"])  # type: ignore[call-overload]
    assert manifest["data"]["sha256"] == digest  # type: ignore[index]
    assert manifest["format"] == 1
    write_json(tmp_path / "manifest.json", manifest)
    with pytest.raises(InputError):
        file_sha256(tmp_path / "none")
