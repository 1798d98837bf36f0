"""An encoder's network of any architecture, through the extra ``torch``: fp32, on the CPU, offline."""

import os
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from quoth.errors import MissingExtraError, ModelError
from quoth.models.families import read_config
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class TorchNetwork:
    """Runs a checkpoint's transformer on single windows, so that a text's vector depends on it alone."""

    def __init__(self, path: Path, *, threads: int) -> None:
        """Open the checkpoint in *path*. Code in it is never run. Raises ``MissingExtraError`` without torch."""
        os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")  # torch reads it at its import
        try:
            import torch  # noqa: F401
            import transformers
            from safetensors import SafetensorError
        except ImportError as problem:
            raise MissingExtraError(
                f"{path} holds an encoder that only the extra torch can run.",
                hint="pip install 'quoth[torch]'",
            ) from problem
        if "auto_map" in read_config(path):
            raise ModelError(f"{path} needs code of its own, which is never run.", code="model_architecture")
        try:
            model = transformers.AutoModel.from_pretrained(
                path, local_files_only=True, use_safetensors=True, trust_remote_code=False, dtype="float32"
            )
        except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as problem:
            raise ModelError(f"{path} cannot be loaded: {problem}", code="model_damaged") from problem
        self._model = model.eval()
        self._threads = threads
        self._lock = threading.Lock()

    def run(self, windows: Sequence[Window]) -> "list[Floats]":
        """Return the tokens' vectors (n, d) for each window."""
        import torch

        with self._lock, torch.inference_mode():
            before = torch.get_num_threads()
            torch.set_num_threads(self._threads or before)
            try:
                return [self._one(torch.from_numpy(window.ids[None])) for window in windows]
            finally:
                torch.set_num_threads(before)

    def _one(self, ids: object) -> "Floats":
        output = self._model(input_ids=ids, attention_mask=ids.new_ones(ids.shape))  # type: ignore[attr-defined]
        return np.asarray(output.last_hidden_state[0].numpy(), np.float32)
