"""From a pickled checkpoint to safetensors, without running anything that is in it."""

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from quoth.errors import InputError, MissingExtraError, ModelError

NAMES = ("pytorch_model.bin", "model.bin", "model.pt", "pytorch_model.pt", "model.pth")
KEPT = (
    "config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json",
    "merges.txt", "README.md", "LICENSE",
)  # fmt: skip


def convert(checkpoint: Path, out: Path | None = None) -> Path:
    """Write ``model.safetensors`` from a checkpoint's pickle, and return the folder that holds it.

    The pickle is opened with ``weights_only``: tensors are read, anything else is refused. *out* is a new
    folder, which gets the tokenizer and config too; without it the file is put beside the pickle.
    Raises ``ModelError`` (``model_pickle``) for a pickle that holds more than tensors.
    """
    source = _pickle(checkpoint)
    target = out or source.parent
    if (target / "model.safetensors").exists():
        raise InputError(
            f"{target / 'model.safetensors'} exists already.", hint="Name another folder with --out."
        )
    try:
        import torch
        from safetensors.torch import save_file
    except ImportError as problem:
        raise MissingExtraError(
            "Converting needs the extra torch.", hint="pip install 'quoth[torch]'"
        ) from problem
    tensors = _tensors(source, torch)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        for name in KEPT:
            if (source.parent / name).is_file():
                shutil.copyfile(source.parent / name, out / name)
    save_file(tensors, target / "model.safetensors", metadata={"format": "pt"})
    return target


def _pickle(checkpoint: Path) -> Path:
    if checkpoint.is_file():
        return checkpoint
    found = [checkpoint / name for name in NAMES if (checkpoint / name).is_file()]
    if not found:
        raise InputError(f"{checkpoint} holds none of {', '.join(NAMES)}.", hint="Name the file itself.")
    return found[0]


def _tensors(source: Path, torch: Any) -> Mapping[str, Any]:
    try:
        raw = torch.load(source, map_location="cpu", weights_only=True)
    except Exception as problem:  # the unpickler raises whatever the file makes it raise
        raise ModelError(
            f"{source} cannot be read as tensors alone: {str(problem).splitlines()[0]}",
            hint="It is damaged, or holds code; get the model from another place.",
            code="model_pickle",
        ) from problem
    raw = raw.get("state_dict", raw) if isinstance(raw, dict) else raw
    if not isinstance(raw, dict) or not raw or not all(isinstance(t, torch.Tensor) for t in raw.values()):
        raise ModelError(f"{source} holds no named tensors.", code="model_pickle")
    # Tied tensors share memory, which the format does not allow: each gets its own.
    return {str(name): tensor.detach().clone().contiguous() for name, tensor in raw.items()}
