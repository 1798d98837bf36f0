"""Any masked language model in a Hugging Face checkpoint, through the extra ``torch``: fp32, on the CPU, offline."""

import threading
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from quoth.errors import MissingExtraError, ModelError
from quoth.models.checkpoint import longest_input, takes_segments
from quoth.models.families import read_config
from quoth.models.places import folder as folder_of
from quoth.models.places import refuse_pickles

BATCH = 32
"""Texts in one batch."""


class MaskedModel:
    """Says which words fit a gap. Safe to share between threads."""

    def __init__(self, name: str, tokenizer: Any, model: Any) -> None:
        """Use ``load_masked``."""
        self._name, self._tokenizer, self._model = name, tokenizer, model
        self._lock = threading.Lock()
        self._longest = longest_input(model)
        self._segments = takes_segments(model)
        probe = tokenizer("a")["input_ids"]
        inside = tokenizer("a", add_special_tokens=False)["input_ids"]
        at = next(i for i in range(len(probe)) if probe[i : i + len(inside)] == inside)
        self._before, self._after = probe[:at], probe[at + len(inside) :]
        second = tokenizer.tokenize("a a")[-1]
        self._mark = second[0] if second[0] in "Ġ▁" else ""

    @property
    def name(self) -> str:
        return self._name

    def fill(self, texts: Sequence[tuple[str, int, int]], *, n: int) -> list[list[tuple[str, float]]]:
        """Return, for each (text, start, end), the *n* likeliest whole words in place of ``text[start:end]``.

        Each word comes with its probability, the likeliest first; pieces of words and special tokens are no
        words. Offsets are code points. A text that is too long is cut down to what stands around its gap.
        """
        found: list[list[tuple[str, float]]] = []
        for at in range(0, len(texts), BATCH):
            found += self._fill(texts[at : at + BATCH], n)
        return found

    def _fill(self, texts: Sequence[tuple[str, int, int]], n: int) -> list[list[tuple[str, float]]]:
        import torch

        mask = self._tokenizer.mask_token_id
        rows = [self._ids(text, start, end) for text, start, end in texts]
        longest = max(map(len, rows))
        ids = torch.full((len(rows), longest), int(self._tokenizer.pad_token_id or 0))
        attention = torch.zeros_like(ids)
        for row, values in enumerate(rows):
            ids[row, : len(values)] = torch.tensor(values)
            attention[row, : len(values)] = 1
        inputs = {"input_ids": ids, "attention_mask": attention}
        if self._segments:
            inputs["token_type_ids"] = torch.zeros_like(ids)
        with self._lock, torch.inference_mode():
            logits = self._model(**inputs).logits
            places = [row.index(mask) for row in rows]
            shares = logits[torch.arange(len(rows)), torch.tensor(places)].float().softmax(dim=-1)
            best = shares.topk(min(4 * n + 8, shares.shape[-1]), dim=-1)
        pairs = zip(best.indices.tolist(), best.values.tolist(), strict=True)
        return [self._words(tokens, values)[:n] for tokens, values in pairs]

    def _ids(self, text: str, start: int, end: int) -> list[int]:
        """Return the input for one gap, the mask in it exactly once."""
        encode = self._tokenizer.encode
        before = encode(text[:start].rstrip(), add_special_tokens=False)
        after = encode(text[end:], add_special_tokens=False)
        mask = self._tokenizer.mask_token_id
        before, after = [i for i in before if i != mask], [i for i in after if i != mask]
        room = self._longest - 1 - len(self._before) - len(self._after)
        half = max(room // 2, room - len(after))
        before = before[max(len(before) - half, 0) :]
        return [*self._before, *before, mask, *after[: room - len(before)], *self._after]

    def _words(self, tokens: Sequence[int], shares: Sequence[float]) -> list[tuple[str, float]]:
        special = set(self._tokenizer.all_special_ids)
        found = []
        for token, share in zip(tokens, shares, strict=True):
            raw = str(self._tokenizer.convert_ids_to_tokens(token))
            word = str(self._tokenizer.decode([token])).strip()
            if token not in special and word and not raw.startswith("##") and raw.startswith(self._mark):
                found.append((word, float(share)))
        return found


@lru_cache(maxsize=2)
def load_masked(name: str) -> MaskedModel:
    """Return the masked language model of a folder, or of a name in the Hugging Face cache. No network is touched.

    Raises ``MissingExtraError`` without torch, ``ModelError`` for what is no masked language model or cannot
    be read. Code in a checkpoint is never run.
    """
    path = folder_of(name)
    config = read_config(path)
    refuse_pickles(path)
    architectures = [str(a) for a in config.get("architectures") or []]
    if "auto_map" in config or not any("MaskedLM" in a or "ForPreTraining" in a for a in architectures):
        raise ModelError(
            f"{path} is no masked language model: its config names {', '.join(architectures) or 'no architecture'}.",
            hint="Take a checkpoint whose architecture is ...ForMaskedLM, such as bert-base-uncased.",
            code="model_architecture",
        )
    try:
        import torch  # noqa: F401
        import transformers
    except ImportError as problem:
        raise MissingExtraError(
            f"{name} is a Hugging Face checkpoint; reading one needs the extra torch.",
            hint="pip install 'quoth[torch]'",
        ) from problem
    tokenizer, model = _open(path, transformers)
    if tokenizer.mask_token_id is None:
        raise ModelError(f"The tokenizer in {path} has no mask token.", code="model_architecture")
    return MaskedModel(path.name, tokenizer, model)


def _open(path: Path, transformers: Any) -> tuple[Any, Any]:
    from safetensors import SafetensorError

    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(
            path, local_files_only=True, trust_remote_code=False
        )
        model, report = transformers.AutoModelForMaskedLM.from_pretrained(
            path, local_files_only=True, use_safetensors=True, trust_remote_code=False, output_loading_info=True,
            dtype="float32",
        )  # fmt: skip
    except (OSError, ValueError, RuntimeError, KeyError, SafetensorError) as problem:
        raise ModelError(f"{path} cannot be loaded: {problem}", code="model_damaged") from problem
    missing = sorted(name for name in report["missing_keys"] if "position_ids" not in name)
    if missing:
        raise ModelError(
            f"{path} lacks {len(missing)} of the network's tensors, {missing[0]} among them.",
            code="model_architecture",
        )
    return tokenizer, model.eval()
