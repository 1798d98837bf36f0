"""The yardstick of every speed ratio: a checkpoint read one window at a time, padded, as the old pipeline did."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import InputError
from quoth.models.checkpoint import CheckpointReader
from quoth.protocols import SpanModel, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

PADDED = 384
"""Tokens to which each window is padded (Transformers 4's ``max_seq_len``)."""


def one_by_one(model: SpanModel) -> SpanModel:
    """Return *model*, which must be a checkpoint in torch, without batches and padded to ``PADDED`` tokens."""
    if not isinstance(model, CheckpointReader):
        raise InputError(f"{model.name} does not run in torch.", hint="Name a checkpoint's folder.")
    return _OneByOne(model)


class _OneByOne:
    """A ``SpanModel`` that runs every window alone."""

    def __init__(self, model: CheckpointReader) -> None:
        self._inner = model
        self._network: Any = model.network
        self.name = f"{model.name}, one by one"
        self.layout = model.layout
        self.max_length = model.max_length

    def tokenize(self, texts: Sequence[str]) -> Any:
        """Tokenize as the checkpoint does."""
        return self._inner.tokenize(texts)

    def logits(self, windows: Sequence[Window]) -> "Sequence[tuple[Floats, Floats]]":
        """Return (start, end) logits of each window, in order."""
        import torch

        found = []
        with torch.inference_mode():
            for window in windows:
                n = len(window.ids)
                ids, types, mask = (np.zeros((1, max(PADDED, n)), dtype=np.int64) for _ in range(3))
                ids[0, :n], types[0, :n], mask[0, :n] = window.ids, window.types, 1
                out = self._network(
                    input_ids=torch.from_numpy(ids),
                    token_type_ids=torch.from_numpy(types),
                    attention_mask=torch.from_numpy(mask),
                )
                found.append((out.start_logits[0, :n].numpy(), out.end_logits[0, :n].numpy()))
        return found
