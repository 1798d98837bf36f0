"""``masked-lm``: a masked language model for synonyms, out of an encoder that has lost its head.

Where no fill-mask checkpoint can be had, one is made: a new head, its words tied to the encoder's
embeddings, learns with all layers to fill gaps in SQuAD's train paragraphs (Devlin et al. 2019: 15% of the
tokens are asked for, of which 80% are masked, 10% exchanged, 10% left), measured on the dev paragraphs. What
comes out is left in the work folder, where ``blog-expansion`` finds it.
"""

import random
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from quoth.errors import InputError, MissingExtraError
from quoth.models.encoder import installed_encoders
from quoth.reproduce.corpus import Corpus, load_corpus
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row

if TYPE_CHECKING:
    from torch import Tensor

FOLDER = "masked-lm"
"""The checkpoint's folder below the work folder."""

LENGTH, BATCH = 128, 32
SHARE, MASKED, EXCHANGED = 0.15, 0.8, 0.1
HEAD_RATE, LAYERS_RATE, WARM_UP = 1e-3, 1e-4, 0.06
HELD_OUT = 400
AGREED = (1, 10)
IGNORED = -100


@dataclass(frozen=True, slots=True)
class Fit:
    """Cross entropy (nats a token asked for), and the share of tokens that are among the first so many."""

    loss: float
    among: tuple[float, ...]


def run(inputs: Inputs) -> Outcome:
    """Train on the train paragraphs (``--limit``: so many), measure on the dev paragraphs, keep the checkpoint."""
    source = _source(str(inputs.settings["vectors"].value))
    torch, model, tokenizer = _open(source, seed=inputs.seed)
    corpus = load_corpus(inputs)
    texts = {split: _paragraphs(corpus, split) for split in ("train", "dev")}
    drawn = random.Random(inputs.seed)
    learned = drawn.sample(texts["train"], min(inputs.limit or len(texts["train"]), len(texts["train"])))
    blocks = _blocks(tokenizer, learned)
    held = _blocks(tokenizer, texts["dev"])
    held = drawn.sample(held, min(HELD_OUT, len(held)))
    before = _measure(torch, model, tokenizer, held)
    began = time.perf_counter()
    _train(torch, model, tokenizer, blocks, inputs)
    seconds = time.perf_counter() - began
    after = _measure(torch, model, tokenizer, held)
    folder = inputs.work / FOLDER
    model.save_pretrained(folder, safe_serialization=True)
    tokenizer.save_pretrained(folder)
    how = f"{len(held)} blocks of {LENGTH} tokens of dev paragraphs, {SHARE:.0%} asked for"
    rows = [
        row
        for name, fit in (("new head", before), ("trained", after))
        for row in (
            Row(f"{name}: cross entropy, nats", "", fit.loss, how),
            *(Row(f"{name}: right among the first {k}", "", a, how) for k, a in zip(AGREED, fit.among, strict=True)),
        )
    ]  # fmt: skip
    count = len(blocks) * LENGTH
    rows.append(
        Row("training, s", "", seconds, f"{count:,} tokens once, batches of {BATCH} blocks, bfloat16")
    )
    return Outcome(
        rows=tuple(rows),
        differences=(
            "The blog used a published BERT; this is a sentence encoder's body with a head of some minutes.",
            f"The checkpoint is {FOLDER} in the work folder; `blog-expansion` with the same work folder uses it.",
        ),
    )


# -- the model


def _source(name: str) -> Path:
    """Return the folder of the encoder to begin with: the one that the setting ``vectors`` names."""
    if name in ("auto", "none") or name in installed_encoders():
        raise InputError(
            "No encoder with safetensors is named.",
            hint="QUOTH_VECTORS=FOLDER names one: a sentence-transformers folder of BERT's family.",
        )
    folder = Path(name)
    if not (folder / "config.json").is_file():
        raise InputError(f"{folder} holds no model (config.json is missing).")
    return folder


def _open(folder: Path, *, seed: int) -> tuple[Any, Any, Any]:
    try:
        import torch
        import transformers
    except ImportError as problem:
        raise MissingExtraError(
            "Training needs the extra torch.", hint="pip install 'quoth[torch]'"
        ) from problem
    torch.manual_seed(seed)
    options = {"local_files_only": True, "trust_remote_code": False}
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder, **options)
    body = transformers.AutoModel.from_pretrained(folder, use_safetensors=True, dtype="float32", **options)
    model = transformers.AutoModelForMaskedLM.from_config(body.config)
    model.base_model.load_state_dict(body.state_dict(), strict=False)  # a pooler, where there is one, is left
    model.tie_weights()
    return torch, model, tokenizer


# -- the data


def _paragraphs(corpus: Corpus, split: str) -> list[str]:
    names = {case.gold.document_id for case in corpus.cases(split) if case.gold is not None}
    return [d.text[a:b] for d in corpus.documents if d.id in names for a, b in d.paragraphs]


def _blocks(tokenizer: Any, texts: Sequence[str]) -> list[list[int]]:
    """Return the texts end to end, in blocks of ``LENGTH`` tokens with the marks of a sequence around each."""
    first, last, inside = int(tokenizer.cls_token_id), int(tokenizer.sep_token_id), LENGTH - 2
    stream: list[int] = []
    for encoded in tokenizer(list(texts), add_special_tokens=False)["input_ids"]:
        stream += encoded
    cuts = range(0, len(stream) - inside + 1, inside)
    return [[first, *stream[at : at + inside], last] for at in cuts]


def _asked(torch: Any, tokenizer: Any, ids: "Tensor", generator: Any) -> tuple["Tensor", "Tensor"]:
    """Return (input, wanted), both of shape (batch, length): gaps in the one, what was there in the other."""
    special = torch.isin(ids, torch.tensor(sorted(tokenizer.all_special_ids)))
    chosen = (torch.rand(ids.shape, generator=generator) < SHARE) & ~special
    wanted = torch.where(chosen, ids, torch.full_like(ids, IGNORED))
    drawn = torch.rand(ids.shape, generator=generator)
    given = torch.where(chosen & (drawn < MASKED), torch.full_like(ids, int(tokenizer.mask_token_id)), ids)
    others = torch.randint(len(tokenizer), ids.shape, generator=generator)
    return torch.where(chosen & (drawn >= 1 - EXCHANGED), others, given), wanted


# -- learning and measuring


def _logits(model: Any, given: "Tensor", wanted: "Tensor") -> tuple["Tensor", "Tensor"]:
    """Return the logits where something is asked for, (asked, vocabulary), and what is wanted there, (asked,)."""
    hidden = model.base_model(input_ids=given).last_hidden_state
    at = wanted != IGNORED
    return model.cls(hidden[at]).float(), wanted[at]


def _train(torch: Any, model: Any, tokenizer: Any, blocks: Sequence[list[int]], inputs: Inputs) -> None:
    head = [p for name, p in model.named_parameters() if name.startswith("cls.")]
    layers = [p for name, p in model.named_parameters() if not name.startswith("cls.")]
    optimizer = torch.optim.AdamW(
        [{"params": head, "lr": HEAD_RATE}, {"params": layers, "lr": LAYERS_RATE}], weight_decay=0.01
    )
    order = random.Random(inputs.seed).sample(range(len(blocks)), len(blocks))
    steps = max(1, len(order) // BATCH)
    warm = max(1, int(WARM_UP * steps))
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min((step + 1) / warm, (steps - step) / max(1, steps - warm))
    )
    generator = torch.Generator().manual_seed(inputs.seed)
    model.train()
    for step in range(steps):
        ids = torch.tensor([blocks[i] for i in order[step * BATCH : (step + 1) * BATCH]])
        given, wanted = _asked(torch, tokenizer, ids, generator)
        with torch.autocast("cpu", dtype=torch.bfloat16):
            logits, right = _logits(model, given, wanted)
        loss = torch.nn.functional.cross_entropy(logits, right)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad(set_to_none=True)
        inputs.progress(step, steps, f"training, cross entropy {loss.item():.2f}")


def _measure(torch: Any, model: Any, tokenizer: Any, blocks: Sequence[list[int]]) -> Fit:
    """Return how well gaps are filled; the same gaps each time."""
    generator = torch.Generator().manual_seed(0)
    loss, count, among = 0.0, 0, [0] * len(AGREED)
    model.eval()
    with torch.inference_mode():
        for begin in range(0, len(blocks), BATCH):
            ids = torch.tensor(blocks[begin : begin + BATCH])
            logits, right = _logits(model, *_asked(torch, tokenizer, ids, generator))
            loss += float(torch.nn.functional.cross_entropy(logits, right, reduction="sum"))
            count += len(right)
            best = logits.topk(max(AGREED), dim=-1).indices == right[:, None]
            for place, k in enumerate(AGREED):
                among[place] += int(best[:, :k].any(dim=-1).sum())
    return Fit(loss / max(1, count), tuple(a / max(1, count) for a in among))


RECIPES = (
    Recipe(
        "masked-lm", "a masked language model for synonyms, trained here on SQuAD's paragraphs", "ours", run
    ),
)
