"""Which checkpoints are BERT-shaped encoders, and under which names they keep their tensors.

A family is a row of ``FAMILIES``. Anything else is read through the extra ``torch``.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import ModelError
from quoth.models.card import Architecture
from quoth.models.tensors import read_tensors

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = dict[str, NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Family:
    """Where a model family keeps what we need. ``offset``: positions start behind the padding id + 1."""

    prefix: str
    layer: str
    parts: Mapping[str, str]
    sizes: Mapping[str, str]
    segments: bool = True
    offset: bool = False
    head: str = "qa_outputs"


_BERT_PARTS = {
    "query": "attention.self.query", "key": "attention.self.key", "value": "attention.self.value",
    "output": "attention.output.dense", "attention.norm": "attention.output.LayerNorm",
    "up": "intermediate.dense", "down": "output.dense", "norm": "output.LayerNorm",
}  # fmt: skip
_BERT_SIZES = {
    "layers": "num_hidden_layers", "hidden": "hidden_size", "heads": "num_attention_heads",
    "inner": "intermediate_size", "activation": "hidden_act",
}  # fmt: skip
_DISTIL_PARTS = {
    "query": "attention.q_lin", "key": "attention.k_lin", "value": "attention.v_lin",
    "output": "attention.out_lin", "attention.norm": "sa_layer_norm",
    "up": "ffn.lin1", "down": "ffn.lin2", "norm": "output_layer_norm",
}  # fmt: skip
_DISTIL_SIZES = {
    "layers": "n_layers", "hidden": "dim", "heads": "n_heads", "inner": "hidden_dim", "activation": "activation",
}  # fmt: skip

FAMILIES: Mapping[str, Family] = {
    "bert": Family("bert.", "encoder.layer", _BERT_PARTS, _BERT_SIZES),
    "roberta": Family("roberta.", "encoder.layer", _BERT_PARTS, _BERT_SIZES, offset=True),
    "distilbert": Family("distilbert.", "transformer.layer", _DISTIL_PARTS, _DISTIL_SIZES, segments=False),
}


def read_checkpoint(folder: Path, *, head: bool = True) -> "tuple[Architecture, Tensors]":
    """Return the sizes and the fp32 tensors, under our names, of a Hugging Face checkpoint folder.

    Without *head* it may be any encoder, else it is a span reader. Matrices are (in, out).
    Raises ``ModelError`` for a family, an activation or a file that we do not know.
    """
    config = read_config(folder)
    kind = str(config.get("model_type"))
    family = FAMILIES.get(kind)
    if family is None:
        raise ModelError(
            f"{folder} holds a model of the family {kind!r}; only {', '.join(FAMILIES)} can be exported.",
            hint="It can be read as it is, with the extra torch: --reader FOLDER.",
            code="model_architecture",
        )
    if (
        config.get(family.sizes["activation"]) != "gelu"
        or config.get("position_embedding_type", "absolute") != "absolute"
    ):
        raise ModelError(
            f"{folder} uses another activation or position embedding than BERT's.",
            hint="It can be read as it is, with the extra torch: --reader FOLDER.",
            code="model_architecture",
        )
    raw = read_tensors(folder / "model.safetensors")
    try:
        if not any(name.startswith(family.prefix) for name in raw):  # saved without what stands above it
            family = replace(family, prefix="")
        return _named(family, config, raw, head=head)
    except (KeyError, TypeError) as problem:
        what = "span reader" if head else "encoder"
        raise ModelError(f"{folder} lacks {problem}; it is no {what} of the family {kind}.",
                         code="model_architecture") from problem  # fmt: skip


def read_config(folder: Path) -> dict[str, Any]:
    """Return a checkpoint's ``config.json``."""
    path = folder / "config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise ModelError(f"{path} cannot be read: {problem.strerror}.", code="model_missing") from problem
    except ValueError as problem:
        raise ModelError(f"{path} is not JSON: {problem}.", code="model_damaged") from problem
    if not isinstance(config, dict):
        raise ModelError(f"{path} is not a JSON object.", code="model_damaged")
    return config


def _named(
    family: Family, config: dict[str, Any], raw: "Mapping[str, NDArray[Any]]", *, head: bool
) -> "tuple[Architecture, Tensors]":
    def get(name: str) -> "NDArray[np.float32]":
        return np.ascontiguousarray(raw[name], np.float32)

    start = int(config["pad_token_id"]) + 1 if family.offset else 0
    stem = f"{family.prefix}embeddings."
    made: Tensors = {
        "embeddings.word": get(f"{stem}word_embeddings.weight"),
        "embeddings.position": get(f"{stem}position_embeddings.weight")[start:],
        "embeddings.norm.weight": get(f"{stem}LayerNorm.weight"),
        "embeddings.norm.bias": get(f"{stem}LayerNorm.bias"),
    }
    if head:
        made["span.weight"] = np.ascontiguousarray(get(f"{family.head}.weight").T)
        made["span.bias"] = get(f"{family.head}.bias")
    width = made["embeddings.word"].shape[1]
    segments = (
        get(f"{stem}token_type_embeddings.weight") if family.segments else np.zeros((1, width), np.float32)
    )
    made["embeddings.type"] = segments
    sizes = {name: config[key] for name, key in family.sizes.items() if name != "activation"}
    for layer in range(int(sizes["layers"])):
        made |= _layer(family, layer, get)
    architecture = Architecture(
        **{name: int(value) for name, value in sizes.items()},
        vocabulary=len(made["embeddings.word"]),
        positions=len(made["embeddings.position"]),
        types=len(segments),
        epsilon=float(config.get("layer_norm_eps", 1e-12)),
    )
    return architecture, made


def _layer(family: Family, layer: int, get: Any) -> "Tensors":
    made: Tensors = {}
    biases = []
    for ours, theirs in family.parts.items():
        name = f"{family.prefix}{family.layer}.{layer}.{theirs}"
        weight, bias = get(f"{name}.weight"), get(f"{name}.bias")
        made[f"layer.{layer}.{ours}.weight"] = np.ascontiguousarray(weight.T)
        if ours in ("query", "key", "value"):
            biases.append(bias)
        else:
            made[f"layer.{layer}.{ours}.bias"] = bias
    made[f"layer.{layer}.attention.bias"] = np.concatenate(biases)
    return made
