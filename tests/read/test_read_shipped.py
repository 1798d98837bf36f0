"""The reader over the networks that are shipped, and over the fake that is."""

from typing import Any

import pytest

from quoth.models import load_reader, shipped
from quoth.reading import ReadSettings, SpanReader, merge
from quoth.testing import FakeSpanModel, check_reader
from quoth.types import Passage

TEXTS = (
    "The water mill at Harrow Bridge was built in 1784 by Thomas Fenwick. It ground barley for the brewery "
    "until the flood of 1868 took away the wheel.",
    "Copper melts at 1,085 degrees Celsius. Its price rose by 12.5% in 2006, to about $6,700 a tonne.",
    "Beavers were brought back to the valley by the county in 2009, and their dams now hold the spring water.",
)
QUESTIONS = {
    "Who built the water mill?": "Thomas Fenwick",
    "When was the mill built?": "1784",
    "At what temperature does copper melt?": "1,085 degrees Celsius",
    "What was brought back to the valley in 2009?": "Beavers",
}


@pytest.fixture(scope="module")
def small() -> Any:
    """Return the shipped small reader's network."""
    if "small" not in shipped():
        pytest.skip("this checkout has no shipped weights")
    return load_reader("small", engine="onnxruntime", threads=1)


@pytest.mark.parametrize("mode", ["joint", "concatenate", "each"])
def test_the_reader_keeps_the_contract(mode: Any) -> None:
    """Over the shipped fake, the published contract check passes in every mode."""
    check_reader(SpanReader(FakeSpanModel({"Rollo": 5.0, "1066": 3.0}), mode=mode))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["joint", "concatenate", "each"])
def test_the_shipped_reader_keeps_the_contract(small: Any, mode: Any) -> None:
    """Over the real network too; its int8 sums may differ a little from batch to batch."""
    check_reader(SpanReader(small, mode=mode), tolerance=1e-3)


@pytest.mark.parametrize(("question", "answer"), QUESTIONS.items())
def test_the_shipped_reader_answers(small: Any, question: str, answer: str) -> None:
    """Plain questions about three short passages are answered with the words that say it."""
    passages = [Passage(f"d{i}", 0, len(t), t) for i, t in enumerate(TEXTS)]
    reading = SpanReader(small, settings=ReadSettings(n_best=5)).read(question, passages)
    assert answer in merge(reading)[0].text
    assert reading.null_odds < 0


def test_the_shipped_reader_sees_that_there_is_no_answer(small: Any) -> None:
    """A question whose answer stands nowhere has positive null odds."""
    passages = [Passage(f"d{i}", 0, len(t), t) for i, t in enumerate(TEXTS)]
    reading = SpanReader(small).read("Which emperor signed the treaty of Lisbon?", passages)
    assert reading.null_odds > 0
