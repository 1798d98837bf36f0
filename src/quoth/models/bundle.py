"""A reader from a bundle: ``card.json``, ``model.onnx``, ``weights.safetensors``, ``tokenizer.json``."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import ModelError
from quoth.models.card import TOKENIZER, Card, read_card, verify
from quoth.models.engines import Engine, open_engine
from quoth.models.vocabulary import open_tokenizer, tokenize
from quoth.protocols import Layout, Tokens, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class BundledReader:
    """A span reader of ours (the protocol ``SpanModel``). Safe to share between threads.

    With ONNX Runtime a window's logits do not depend on the others at all; with OpenVINO they
    may differ by 1e-4, because windows are padded and batched there.
    """

    def __init__(self, card: Card, tokenizer: Any, engine: Engine) -> None:
        self._card, self._tokenizer, self._engine = card, tokenizer, engine

    @property
    def name(self) -> str:
        return self._card.name

    @property
    def engine(self) -> str:
        """What runs the network."""
        return self._engine.name

    @property
    def layout(self) -> Layout:
        return self._card.layout

    @property
    def max_length(self) -> int:
        return self._card.max_length

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """Return ids (n,) and code point offsets (n, 2) of each text, no special tokens, nothing cut off."""
        return tokenize(self._tokenizer, texts)

    def logits(self, windows: Sequence[Window]) -> "Sequence[tuple[Floats, Floats]]":
        """Return (start, end) logits, (n,) each, for each window, in the order given.

        They are what the network gave: a caller leaves out windows whose numbers are not finite.
        Raises ``ModelError`` (``window_length``) for a window of no tokens or of more than ``max_length``.
        """
        checked = [self._checked(window) for window in windows]
        return [(row[:, 0], row[:, 1]) for row in self._engine.run(checked)] if checked else []

    def _checked(self, window: Window) -> Window:
        """Return the window with ids that the network knows: others would read foreign memory or wrap around."""
        length = len(window.ids)
        if not 0 < length <= self.max_length or length != len(window.types):
            raise ModelError(
                f"A window of {length} tokens was given; {self.name} reads 1 to {self.max_length}.",
                code="window_length",
            )
        sizes = self._card.architecture
        ids = np.clip(window.ids, 0, sizes.vocabulary - 1)
        return Window(ids.astype(np.int64), np.clip(window.types, 0, sizes.types - 1).astype(np.int64))


def open_bundle(folder: Path, *, engine: str, threads: int) -> BundledReader:
    """Return the reader in a bundle's folder, every file checked against its card."""
    card = read_card(folder)
    verify(folder, card)
    return BundledReader(
        card, open_tokenizer(folder / TOKENIZER), open_engine(engine, folder, card, threads=threads)
    )
