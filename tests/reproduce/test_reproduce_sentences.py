"""The recipes on sentences: SelQA selection and triggering, WikiQA triggering."""

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quoth import settings
from quoth.cli import run
from quoth.evaluate import GoldRanking, TriggerCase
from quoth.models import shipped
from quoth.rank import RANKERS
from quoth.reproduce import Inputs, recipe, recipes
from quoth.reproduce.corpus import DEV
from quoth.reproduce.selection import SAMPLES, SELQA
from quoth.reproduce.triggering import WIKIQA_DEV, WIKIQA_TEST, Decided, ratio_rows, section_rows
from quoth.types import Candidate

HEADER = "QuestionID\tQuestion\tDocumentID\tDocumentTitle\tSentenceID\tSentence\tLabel\n"
TOWNS = ("Turin", "Oslo", "Lima", "Kyoto", "Accra", "Quito", "Delhi", "Porto")

needs_readers = pytest.mark.skipif(not shipped(), reason="no reader is shipped in this checkout")


def selqa() -> list[dict[str, Any]]:
    return [
        {
            "question": f"When was the tower of {town} built?", "article": town, "section": "1", "topic": "ART",
            "is_paraphrase": bool(n % 2),
            "candidates": ["It rains.", f"The tower of {town} was built in 15{n}0.", "Bread is good.", ""],
            "answers": [1],
        }
        for n, town in enumerate(TOWNS)
    ]  # fmt: skip


def triggering() -> list[dict[str, Any]]:
    out = []
    for n, town in enumerate(TOWNS):
        sections = [
            {"article": town, "section": f"{town}-1", "candidates": ["It rains."], "answers": []},
            {
                "article": town, "section": f"{town}-2",
                "candidates": ["Bread.", f"The tower of {town} was built in 15{n}0."], "answers": [1] if n % 2 else [],
            },
        ]  # fmt: skip
        out.append(
            {"question": f"When was the tower of {town} built?", "article": town, "candidate_list": sections}
        )
    return out


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """Return a folder laid out as the data sets are, with small ones in it."""
    root = tmp_path / "data"
    for folder in ("selqa/ass", "selqa/samples", "wikiqa", "squad"):
        (root / folder).mkdir(parents=True)
    (root / SELQA).write_text(json.dumps(selqa()), encoding="utf-8")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for split in ("train", "dev", "test"):
            archive.writestr(f"dummy_data/selqa-at-{split}.json", json.dumps(triggering()))
    (root / SAMPLES).write_bytes(buffer.getvalue())
    lines = []
    for n, town in enumerate(TOWNS):
        rows = [
            ("It rains there.", 0),
            (f"The tower of {town} was built in 15{n}0.", int(n % 4 != 3)),
            ("Bread.", 0),
        ]
        for at, (text, label) in enumerate(rows):
            asked = f"Q{n}\twhen was the tower of {town} built"
            lines.append(f"{asked}\tD{n}\t{town}\tS{n}-{at}\t{text}\t{label}\n")
    for name in (WIKIQA_DEV, WIKIQA_TEST):
        (root / name).write_text(HEADER + "".join(lines), encoding="utf-8")
    articles = []
    for n, town in enumerate(TOWNS):
        texts = [
            f"The tower of {town} was built in 15{n}{i}. Nobody knows why. It has {i + 2} bells."
            for i in range(6)
        ]
        paragraphs = [
            {
                "context": text,
                "qas": [
                    {
                        "id": f"{town}{i}", "question": f"When was the tower of {town} built?", "is_impossible": False,
                        "answers": [{"text": f"15{n}{i}", "answer_start": text.index(f"15{n}{i}")}],
                    }
                ],
            }
            for i, text in enumerate(texts)
        ]  # fmt: skip
        articles.append({"title": town, "paragraphs": paragraphs})
    (root / DEV).write_text(json.dumps({"version": "v2.0", "data": articles}), encoding="utf-8")
    return root


@needs_readers
def test_selqa_has_every_ranker_bins_and_triggering(data: Path, tmp_path: Path) -> None:
    """Selection under three conventions with ties, by every way of grouping; sections at both levels; the card's F1."""
    (tmp_path / "work").mkdir()
    at = Inputs(data, tmp_path / "work", settings.load(options={"reader": "small"}, environment={}), limit=6)
    outcome = recipe("selqa").run(at)
    rows = {row.name: row for row in outcome.rows}
    for name in (*RANKERS, "reader (small)"):
        assert {
            f"{name}: MAP",
            f"{name}: MRR",
            f"{name}: P@1",
            f"{name}: MAP/clean",
            f"{name}: MRR/card",
        } <= set(rows)
        assert f"SQuAD 2.0 dev, five sections, {name}, section level: f1" in rows
        assert f"SQuAD 2.0 dev, five sections, {name}, question level: f1" in rows
    assert rows["constant: MAP"].measured == pytest.approx(0.5)
    assert "expected over ties 0.52" in rows["constant: MAP"].how
    assert rows["bm25: MAP"].measured == 1
    assert "(expected about .84)" in rows["bm25: MAP"].published
    assert rows["format sample, bm25, section level: f1"].low is not None
    ways = " ".join(text.splitlines()[0] for text in outcome.examples)
    for way in ("question type", "word overlap", "candidates", "topic", "paraphrase"):
        assert way in ways
    assert any("no final result" in text for text in outcome.differences)


@needs_readers
def test_wikiqa_thresholds_come_from_dev(
    data: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Precision, recall and F1 of every ranker stand beside the published; the command prints one object."""
    arguments = ["reproduce", "wikiqa-triggering", "--data", str(data), "--work", str(tmp_path / "work")]
    assert run([*arguments, "--reader", "small", "--json", "--out", str(tmp_path / "o.json")]) == 0
    body = json.loads(capsys.readouterr().out)
    rows = {row["name"]: row for row in body["rows"]}
    for name in (*RANKERS, "reader (small)"):
        assert rows[f"{name}: precision"]["published"] == "26.09 (CNN-Cnt)"
        assert rows[f"{name}: f1"]["published"] == "30.61 (CNN-Cnt)"
        assert "tuned on dev" in rows[f"{name}: recall"]["how"]
    assert rows["bm25: recall"]["measured"] == 100
    assert rows["bm25: precision"]["measured"] == 75
    assert body["differences"]
    assert body["charts"][0]["curves"]
    assert json.loads((tmp_path / "o.json").read_text(encoding="utf-8"))["rows"] == body["rows"]
    assert run(arguments) == 0
    assert "differs:" in capsys.readouterr().out


def test_a_missing_file_is_named_with_the_way_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A data set that is not there ends with exit 2 and its name; so does an unknown recipe."""
    assert run(["reproduce", "selqa", "--data", str(tmp_path), "--work", str(tmp_path / "w"), "--json"]) == 2
    error = json.loads(capsys.readouterr().out)["error"]
    assert error["code"] == "missing_data"
    assert "selqa-ass-dev.json" in error["message"]
    assert run(["reproduce", "nosuch", "--data", str(tmp_path), "--work", str(tmp_path / "w")]) == 2


def test_every_recipe_of_these_rooms_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """``quoth reproduce`` without a name lists them with title and source."""
    assert run(["reproduce", "--json"]) == 0
    listed = {r["name"]: r for r in json.loads(capsys.readouterr().out)["recipes"]}
    wanted = {"blog-reader-metrics", "blog-retriever", "blog-combine", "blog-topk", "blog-system"}
    wanted |= {"selqa", "wikiqa-triggering"}
    assert wanted <= set(listed) == set(recipes())
    assert all(r["title"] and r["source"] for r in listed.values())


class Longest:
    """Scores a text by its length."""

    def score(self, question: str, candidates: Any) -> list[float]:
        return [float(len(c.text)) for c in candidates]


def trigger_case(id: str, lengths: tuple[int, ...], right: int, group: str) -> TriggerCase:
    names = tuple(f"{id}/{i}" for i in range(len(lengths)))
    gold = GoldRanking(id, names, tuple(i == right for i in range(len(lengths))))
    return TriggerCase(gold, "?", tuple((Candidate("x" * n),) for n in lengths), group=group)


def test_sections_are_counted_by_hand() -> None:
    """At the threshold of another set, section and question level and the card's F1 are what counting gives."""
    tune = [trigger_case("t", (1, 9), 1, "g")]
    cases = [
        trigger_case("a", (9, 10), 0, "g"),
        trigger_case("b", (2, 9), 1, "h"),
        trigger_case("c", (1, 2), -1, "i"),
    ]
    rows = {row.name: row.measured for row in section_rows("x", Longest(), cases, how="", tune_on=tune)}
    assert rows["x, section level: precision"] == pytest.approx(200 / 3)
    assert rows["x, section level: recall"] == 100
    assert rows["x: F1/card"] == rows["x, section level: f1"] == pytest.approx(80)
    assert rows["x, question level: precision"] == 50
    assert rows["x, question level: recall"] == 50


def test_nothing_triggered_is_zero() -> None:
    """No trigger at all gives 0 without a division, and no interval."""
    nothing = Decided(np.zeros(2), np.zeros(2), np.ones(2), ("a", "b"), (9.0,))
    rows = {row.name: row for row in ratio_rows("x", nothing, "")}
    assert rows["x: precision"].measured == 0
    assert rows["x: precision"].low is None
    assert rows["x: f1"].measured == 0
