"""The sample documents' traces, as they were when somebody last looked at them.

`QUOTH_GOLDEN=write pytest tests/golden` writes them anew; read the difference before you commit it. Scores may move in
their last digits from machine to machine, so numbers are compared with a tolerance and everything else exactly.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

import quoth
from quoth.schema import trace_json

GOLDEN = Path(__file__).with_name("traces.json")
QUESTIONS = (
    "Who drew the plans of the lighthouse?",
    "How much notice must the tenant give?",
    "What caused the fire in the kiln room?",
    "Why did the fire in the kiln room start?",
    "How often does the lens bearing have to be greased?",
    "What is the wifi password of the boat shed?",
)
VOLATILE = {"timings_ms", "settings", "document_sha256"}


def now(folder: Path) -> list[dict[str, Any]]:
    with quoth.open(
        folder, retriever="lexical", profile="fast", engine="onnxruntime", reader="small"
    ) as library:
        return [kept(trace_json(library.ask(question), explain=True)) for question in QUESTIONS]


def kept(reply: Any) -> Any:
    """Return *reply* without what changes from run to run, and with short lists."""
    if isinstance(reply, dict):
        return {key: kept(value) for key, value in reply.items() if key not in VOLATILE}
    if isinstance(reply, list):
        return [kept(value) for value in reply[:3]]
    return reply


def differences(old: Any, new: Any, where: str = "") -> list[str]:
    if isinstance(old, dict) and isinstance(new, dict):
        keys = sorted({*old, *new})
        return [d for key in keys for d in differences(old.get(key), new.get(key), f"{where}/{key}")]
    if isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        return [
            d
            for i, (a, b) in enumerate(zip(old, new, strict=True))
            for d in differences(a, b, f"{where}/{i}")
        ]
    if isinstance(old, float) and isinstance(new, int | float):
        return [] if new == pytest.approx(old, abs=0.05, rel=0.02) else [f"{where}: {old} -> {new}"]
    return [] if old == new else [f"{where}: {old!r} -> {new!r}"]


def test_the_traces_are_as_they_were(indexed_samples: Path) -> None:
    """Nothing that a person sees of an answer changes unnoticed: passages, spans, places, notes, odds."""
    found = now(indexed_samples)
    if os.environ.get("QUOTH_GOLDEN") == "write":
        GOLDEN.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    written = json.loads(GOLDEN.read_text(encoding="utf-8"))
    assert differences(written, json.loads(json.dumps(found))) == []


def test_the_comparison_can_fail() -> None:
    """A moved span, a lost key and a changed text are each told."""
    assert differences({"a": 1.0, "b": [1]}, {"a": 1.01, "b": [1]}) == []
    assert differences({"a": 1.0}, {"a": 2.0}) == ["/a: 1.0 -> 2.0"]
    assert differences({"a": {"text": "x"}}, {"a": {}}) == ["/a/text: 'x' -> None"]
    assert differences({"b": [1]}, {"b": [1, 2]}) == ["/b: [1] -> [1, 2]"]
