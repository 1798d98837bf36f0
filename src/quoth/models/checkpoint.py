"""Any extractive reader in a Hugging Face checkpoint, through the extra ``torch``: fp32, on the CPU, offline."""

import json
import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import MissingExtraError, ModelError
from quoth.models.batches import Batch, pad, plan, span
from quoth.models.families import read_config
from quoth.models.vocabulary import open_tokenizer, probe_layout, tokenize
from quoth.protocols import Layout, Tokens, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

BUDGET, MULTIPLE = 3072, 16
_LONGEST = 512


class CheckpointReader:
    """A span reader from a checkpoint (the protocol ``SpanModel``). Safe to share between threads.

    Windows are batched by length; fp32, so a window's logits depend on its batch by less than 1e-4.
    """

    def __init__(self, name: str, tokenizer: Any, model: Any, layout: Layout, *, threads: int) -> None:
        self._name, self._tokenizer, self._model, self._layout = name, tokenizer, model, layout
        self._threads = threads
        self._segments = takes_segments(model)
        self._pad = int(model.config.pad_token_id or 0)
        self._vocabulary = int(model.get_input_embeddings().num_embeddings)
        self._longest = longest_input(model)
        self._lock = threading.Lock()

    @property
    def name(self) -> str:
        return self._name

    @property
    def network(self) -> Any:
        """The torch module itself, for those who measure against it."""
        return self._model

    @property
    def layout(self) -> Layout:
        return self._layout

    @property
    def max_length(self) -> int:
        return self._longest

    def tokenize(self, texts: Sequence[str]) -> Sequence[Tokens]:
        """Return ids (n,) and code point offsets (n, 2) of each text, no special tokens, nothing cut off."""
        return tokenize(self._tokenizer, texts)

    def logits(self, windows: Sequence[Window]) -> "Sequence[tuple[Floats, Floats]]":
        """Return (start, end) logits, (n,) each, for each window, in the order given.

        Raises ``ModelError`` (``window_length``) for a window of no tokens or of more than ``max_length``.
        """
        import torch

        lengths = [len(window.ids) for window in windows]
        for length in lengths:
            if not 0 < length <= self._longest:
                raise ModelError(
                    f"A window of {length} tokens was given; {self._name} reads 1 to {self._longest}.",
                    code="window_length",
                )
        rows: dict[int, tuple[Floats, Floats]] = {}
        with self._lock, _torch_threads(self._threads), torch.inference_mode():
            for batch in plan(lengths, budget=BUDGET, multiple=MULTIPLE, longest=self._longest):
                start, end = self._run(windows, batch)
                for row, member in enumerate(batch.members):
                    place = span(lengths[member], batch.length, left=self._layout.null_last)
                    rows[member] = (start[row, place], end[row, place])
        return [rows[i] for i in range(len(windows))]

    def _run(self, windows: Sequence[Window], batch: Batch) -> "tuple[Floats, Floats]":
        import torch

        left = self._layout.null_last
        padded = pad(windows, batch, pad_id=self._pad, pad_type=3 if left else 0, left=left)
        ids = np.clip(padded.ids, 0, self._vocabulary - 1)
        inputs = {"input_ids": torch.from_numpy(ids), "attention_mask": torch.from_numpy(padded.mask)}
        if self._segments:
            inputs["token_type_ids"] = torch.from_numpy(padded.types)
        result = self._model(**inputs)
        return result.start_logits.float().numpy(), result.end_logits.float().numpy()


def open_checkpoint(folder: Path, *, name: str = "", threads: int = 0) -> CheckpointReader:
    """Return the reader in a Hugging Face checkpoint folder.

    Raises ``MissingExtraError`` without torch, ``ModelError`` for a tokenizer without offsets, a model that
    is no span reader, or files that cannot be read. Code in a checkpoint is never run.
    """
    config = read_config(folder)
    _quiet_threads()
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as problem:
        raise MissingExtraError(
            f"{name or folder} is a Hugging Face checkpoint; reading one needs the extra torch.",
            hint="pip install 'quoth[torch]'",
        ) from problem
    _check_family(folder, config)
    tokenizer = open_tokenizer(folder / "tokenizer.json")
    model = _open_model(folder, transformers)
    layout = probe_layout(tokenizer, segments=takes_segments(model), cls=_cls_id(folder, tokenizer))
    return CheckpointReader(name or folder.name, tokenizer, model, layout, threads=threads)


def takes_segments(model: Any) -> bool:
    """Tell whether a model has more than one segment id (RoBERTa has a table of one, DistilBERT none)."""
    config = model.config
    table = getattr(config, "type_vocab_size", None)
    return config.model_type == "xlnet" or (table is not None and int(table) > 1)


def longest_input(model: Any) -> int:
    """Return how many tokens a model's position table holds, at most 512.

    RoBERTa and its kin start counting behind the padding id, which their table knows.
    """
    for path, module in model.named_modules():
        if path.endswith("position_embeddings") and hasattr(module, "num_embeddings"):
            skipped = 0 if module.padding_idx is None else module.padding_idx + 1
            return min(_LONGEST, int(module.num_embeddings) - skipped)
    table = getattr(model.config, "max_position_embeddings", None)
    return min(_LONGEST, int(table)) if table and int(table) > 0 else _LONGEST


def _check_family(folder: Path, config: dict[str, Any]) -> None:
    """Refuse what is no span reader before its weights are read: a fresh random head would answer nonsense."""
    names = [str(n) for n in config.get("architectures") or []]
    if "auto_map" in config or not any("ForQuestionAnswering" in n for n in names):
        what = f"its config names {', '.join(names) or 'no architecture'}"
        raise ModelError(
            f"{folder} is no extractive reader that can be loaded without its own code: {what}.",
            hint="Take a checkpoint whose architecture is ...ForQuestionAnswering.",
            code="model_architecture",
        )


def _open_model(folder: Path, transformers: Any) -> Any:
    bars = transformers.utils.logging.is_progress_bar_enabled()
    transformers.utils.logging.disable_progress_bar()
    try:
        model, report = transformers.AutoModelForQuestionAnswering.from_pretrained(
            folder, local_files_only=True, use_safetensors=True, trust_remote_code=False, output_loading_info=True,
            dtype="float32",
        )  # fmt: skip
    except Exception as problem:  # safetensors' own error has no base class but Exception
        raise ModelError(f"{folder} cannot be loaded: {problem}", code="model_damaged") from problem
    finally:
        if bars:
            transformers.utils.logging.enable_progress_bar()
    missing = sorted(name for name in report["missing_keys"] if "position_ids" not in name)
    if missing:
        raise ModelError(
            f"{folder} lacks {len(missing)} of the network's tensors, {missing[0]} among them.",
            code="model_architecture",
        )
    return model.eval()


def _cls_id(folder: Path, tokenizer: Any) -> int | None:
    """Return the id of the token that the model's config or tokenizer calls its classification token."""
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        if (folder / name).is_file():
            token = json.loads((folder / name).read_text(encoding="utf-8")).get("cls_token")
            token = token.get("content") if isinstance(token, dict) else token
            if token is not None:
                found = tokenizer.token_to_id(token)
                return None if found is None else int(found)
    return None


def _quiet_threads() -> None:
    """Keep torch's idle threads from spinning, which slows everything else; torch reads it at its import."""
    os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@contextmanager
def _torch_threads(threads: int) -> Iterator[None]:
    """Give torch this many threads for a while; 0 leaves it as it is."""
    import torch

    before = torch.get_num_threads()
    if threads:
        torch.set_num_threads(threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
