"""A model's card: what it is, where it comes from, how good it is, and the SHA-256 of each of its files."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from quoth.errors import ModelError
from quoth.protocols import Layout

FORMAT = 1
CARD = "card.json"
GRAPH, WEIGHTS, TOKENIZER, REFERENCE = (
    "model.onnx",
    "weights.safetensors",
    "tokenizer.json",
    "reference.safetensors",
)


@dataclass(frozen=True, slots=True)
class Architecture:
    """The sizes of a BERT-shaped encoder with a span head on top."""

    layers: int
    hidden: int
    heads: int
    inner: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True, slots=True)
class Record:
    """A file of a model: its size in bytes and its SHA-256."""

    bytes: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Card:
    """What a bundle says of itself. ``figures`` are measurements, each with its conditions in its name."""

    name: str
    precision: str
    architecture: Architecture
    layout: Layout
    max_length: int
    pad: int
    files: Mapping[str, Record]
    summary: str = ""
    language: str = ""
    licence: str = ""
    training_data: str = ""
    figures: Mapping[str, Any] = field(default_factory=dict, hash=False)

    @property
    def sha256(self) -> str:
        """One hash for all files: it changes whenever an answer could."""
        lines = "".join(f"{name} {record.sha256}\n" for name, record in sorted(self.files.items()))
        return hashlib.sha256(lines.encode()).hexdigest()

    @property
    def size(self) -> int:
        """Bytes of all files together."""
        return sum(record.bytes for record in self.files.values())

    def as_json(self) -> dict[str, Any]:
        """Return the card as it is written to ``card.json``."""
        return {"format": FORMAT, **asdict(self)}


def record_of(path: Path) -> Record:
    """Return the size and SHA-256 of a file."""
    with path.open("rb") as file:
        return Record(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def write_card(folder: Path, card: Card) -> None:
    """Write ``card.json`` into a bundle's folder."""
    text = json.dumps(card.as_json(), indent=1, ensure_ascii=False)
    (folder / CARD).write_text(text + "\n", encoding="utf-8")


def read_card(folder: Path) -> Card:
    """Return the card in a bundle's folder.

    Raises ``ModelError``: ``model_missing`` without a card, ``model_newer`` for a format that a
    later release wrote, ``model_damaged`` for anything that cannot be understood.
    """
    path = folder / CARD
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror}.", code="model_missing") from problem
    except ValueError as problem:
        raise ModelError(f"{path} is not JSON: {problem}.", code="model_damaged") from problem
    number = raw.get("format") if isinstance(raw, dict) else None
    if isinstance(number, int) and number > FORMAT:
        raise ModelError(
            f"{path} has format {number}; this release reads up to {FORMAT}.",
            hint="Upgrade quoth, or export the model again.",
            code="model_newer",
        )
    if number != FORMAT:
        raise ModelError(f"{path} has no format number that is known.", code="model_damaged")
    try:
        return _card(raw)
    except (KeyError, TypeError, ValueError, AttributeError) as problem:
        raise ModelError(f"{path} is not a model's card: {problem!r}.", code="model_damaged") from problem


def _card(raw: dict[str, Any]) -> Card:
    known = {k: v for k, v in raw.items() if k in Card.__dataclass_fields__}
    layout: dict[str, Any] = {k: tuple(v) if isinstance(v, list) else v for k, v in raw["layout"].items()}
    files = {name: Record(**row) for name, row in raw["files"].items()}
    for name in files:
        if Path(name).name != name or name in ("", ".", ".."):
            raise ValueError(f"{name!r} lies outside the folder")
    made = {"architecture": Architecture(**raw["architecture"]), "layout": Layout(**layout), "files": files}
    return Card(**(known | made))


def verify(folder: Path, card: Card) -> None:
    """Compare every file of a bundle with its card.

    Raises ``ModelError`` for the first that is missing (``model_missing``), of another size or of
    another SHA-256 (``model_damaged``): the message names the file, what was expected and what is there.
    """
    for name, expected in card.files.items():
        path = folder / name
        hint = "Install quoth again." if _is_ours(folder) else "Copy or export the model again."
        if not path.is_file():
            raise ModelError(f"{path} is missing.", hint=hint, code="model_missing")
        size = path.stat().st_size
        if size != expected.bytes:
            what = f"{path} has {size} bytes, its card says {expected.bytes}."
            raise ModelError(what, hint=hint, code="model_damaged")
        actual = record_of(path).sha256
        if actual != expected.sha256:
            what = f"{path} has the SHA-256 {actual}, its card says {expected.sha256}."
            raise ModelError(what, hint=hint, code="model_damaged")


def _is_ours(folder: Path) -> bool:
    return folder.parent == Path(__file__).parent / "weights"
