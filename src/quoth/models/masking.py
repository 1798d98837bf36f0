"""A masked language model out of an encoder that has lost its head (extra ``torch``).

A new head, its words tied to the encoder's embeddings, learns with all layers to fill gaps (Devlin et al. 2019:
15% of the tokens are asked for, of which 80% are masked, 10% exchanged, 10% left).
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from torch import Tensor

LENGTH, BATCH = 128, 32
"""Tokens of a block, and blocks of a step."""

SHARE, MASKED, EXCHANGED = 0.15, 0.8, 0.1
HEAD_RATE, LAYERS_RATE, WARM_UP = 1e-3, 1e-4, 0.06
AGREED = (1, 10)
IGNORED = -100

Progress = Callable[[int, int, str], None]
Block = list[int]


@dataclass(frozen=True, slots=True)
class Fit:
    """Cross entropy (nats a token asked for), and the share of tokens among the first so many (``AGREED``)."""

    loss: float
    among: tuple[float, ...]


class NewHead:
    """An encoder with a new head for masked words. Trained and measured on blocks of ``LENGTH`` tokens."""

    def __init__(self, torch: Any, model: Any, tokenizer: Any) -> None:
        """Use ``NewHead.on``."""
        self._torch, self._model, self._tokenizer = torch, model, tokenizer

    @classmethod
    def on(cls, folder: Path, *, seed: int) -> "NewHead":
        """Put a head on the encoder in *folder*. Raise ``InputError`` where there is none."""
        if not (folder / "config.json").is_file():
            raise InputError(f"{folder} holds no model (config.json is missing).")
        try:
            import torch
            import transformers
        except ImportError as problem:
            raise MissingExtraError(
                "Training needs the extra torch.", hint="pip install 'quoth[torch]'"
            ) from problem
        torch.manual_seed(seed)
        options: dict[str, Any] = {"local_files_only": True, "trust_remote_code": False}
        tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
        body = transformers.AutoModel.from_pretrained(
            folder, use_safetensors=True, dtype="float32", **options
        )
        model = transformers.AutoModelForMaskedLM.from_config(body.config)
        model.base_model.load_state_dict(
            body.state_dict(), strict=False
        )  # a pooler, where there is one, is left
        model.tie_weights()
        return cls(torch, model, tokenizer)

    def blocks(self, texts: Sequence[str]) -> list[Block]:
        """Return the texts end to end, cut into blocks with the marks of a sequence around each."""
        first, last = int(self._tokenizer.cls_token_id), int(self._tokenizer.sep_token_id)
        inside = LENGTH - 2
        stream: list[int] = []
        for encoded in self._tokenizer(list(texts), add_special_tokens=False)["input_ids"]:
            stream += encoded
        cuts = range(0, len(stream) - inside + 1, inside)
        return [[first, *stream[at : at + inside], last] for at in cuts]

    def train(self, blocks: Sequence[Block], *, seed: int, progress: Progress) -> None:
        """Go through *blocks* once, in bfloat16 where a product allows it."""
        torch, model = self._torch, self._model
        head = [p for name, p in model.named_parameters() if name.startswith("cls.")]
        layers = [p for name, p in model.named_parameters() if not name.startswith("cls.")]
        optimizer = torch.optim.AdamW(
            [{"params": head, "lr": HEAD_RATE}, {"params": layers, "lr": LAYERS_RATE}], weight_decay=0.01
        )
        order = random.Random(seed).sample(range(len(blocks)), len(blocks))
        steps = max(1, len(order) // BATCH)
        warm = max(1, int(WARM_UP * steps))
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
        )
        generator = torch.Generator().manual_seed(seed)
        model.train()
        for step in range(steps):
            ids = torch.tensor([blocks[i] for i in order[step * BATCH : (step + 1) * BATCH]])
            with torch.autocast("cpu", dtype=torch.bfloat16):
                logits, right = self._logits(*self._asked(ids, generator))
            loss = torch.nn.functional.cross_entropy(logits, right)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            schedule.step()
            optimizer.zero_grad(set_to_none=True)
            progress(step, steps, f"training, cross entropy {loss.item():.2f}")

    def measure(self, blocks: Sequence[Block]) -> Fit:
        """Return how well gaps are filled; the same gaps each time."""
        torch = self._torch
        generator = torch.Generator().manual_seed(0)
        loss, count, among = 0.0, 0, [0] * len(AGREED)
        self._model.eval()
        with torch.inference_mode():
            for begin in range(0, len(blocks), BATCH):
                ids = torch.tensor(blocks[begin : begin + BATCH])
                logits, right = self._logits(*self._asked(ids, generator))
                loss += float(torch.nn.functional.cross_entropy(logits, right, reduction="sum"))
                count += len(right)
                best = logits.topk(max(AGREED), dim=-1).indices == right[:, None]
                for place, k in enumerate(AGREED):
                    among[place] += int(best[:, :k].any(dim=-1).sum())
        return Fit(loss / max(1, count), tuple(a / max(1, count) for a in among))

    def save(self, folder: Path) -> None:
        """Write a checkpoint that ``load_masked`` reads."""
        self._model.save_pretrained(folder, safe_serialization=True)
        self._tokenizer.save_pretrained(folder)

    def _asked(self, ids: "Tensor", generator: Any) -> tuple["Tensor", "Tensor"]:
        """Return (input, wanted), both of shape (batch, length): gaps in the one, what was there in the other."""
        torch, tokenizer = self._torch, self._tokenizer
        special = torch.isin(ids, torch.tensor(sorted(tokenizer.all_special_ids)))
        chosen = (torch.rand(ids.shape, generator=generator) < SHARE) & ~special
        wanted = torch.where(chosen, ids, torch.full_like(ids, IGNORED))
        drawn = torch.rand(ids.shape, generator=generator)
        gap = torch.full_like(ids, int(tokenizer.mask_token_id))
        given = torch.where(chosen & (drawn < MASKED), gap, ids)
        others = torch.randint(len(tokenizer), ids.shape, generator=generator)
        return torch.where(chosen & (drawn >= 1 - EXCHANGED), others, given), wanted

    def _logits(self, given: "Tensor", wanted: "Tensor") -> tuple["Tensor", "Tensor"]:
        """Return the logits where something is asked for, (asked, vocabulary), and what is wanted there, (asked,)."""
        hidden = self._model.base_model(input_ids=given).last_hidden_state
        at = wanted != IGNORED
        return self._model.cls(hidden[at]).float(), wanted[at]
