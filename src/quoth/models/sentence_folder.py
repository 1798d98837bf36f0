"""Any folder in the layout of sentence-transformers: a transformer, a pooling, and perhaps a normalisation.

What runs it, the first that fits: an ONNX file in the folder; our own graph, for BERT's kin in safetensors
(needs the package onnx); torch.
"""

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import MissingExtraError, ModelError
from quoth.models.card import TOKENIZER, record_of
from quoth.models.encoder import Network, Pooling, Recipe, TextEncoder
from quoth.models.families import FAMILIES, read_checkpoint, read_config
from quoth.models.places import refuse_pickles
from quoth.models.vocabulary import open_tokenizer
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_LONGEST = 512
_KNOWN = ("Transformer", "Pooling", "Normalize")
_TOKENS = ("last_hidden_state", "token_embeddings")
_IDS, _TYPES, _MASK = "input_ids", "token_type_ids", "attention_mask"


def open_folder(path: Path, *, threads: int) -> TextEncoder:
    """Return the encoder in a sentence-transformers folder.

    Raises ``ModelError`` for another pooling than the mean or the first token's, for further modules, and for
    weights that exist only as a pickle; ``MissingExtraError`` where an extra is needed to run it.
    """
    config = read_config(path)
    recipe = _recipe(path, config)
    tokenizer = open_tokenizer(path / TOKENIZER)
    network, weights = _network(path, config, recipe, threads)
    hashes = " ".join(record_of(file).sha256 for file in (weights, path / TOKENIZER))
    stem = "".join(c if c.isalnum() or c in "-_." else "-" for c in path.resolve().name) or "encoder"
    name = f"{stem}-{recipe.fingerprint(hashlib.sha256(hashes.encode()).hexdigest())}"
    return TextEncoder(name, int(config.get("hidden_size") or config["dim"]), tokenizer, network, recipe)


def _recipe(path: Path, config: dict[str, Any]) -> Recipe:
    modules = _json(path / "modules.json")
    kinds = [str(m.get("type", "")).rsplit(".", 1)[-1] for m in modules] if isinstance(modules, list) else []
    strange = [kind for kind in kinds if kind not in _KNOWN]
    if strange or "Pooling" not in kinds:
        raise ModelError(
            f"{path} has the modules {', '.join(kinds) or 'none'}; an encoder of {', '.join(_KNOWN)} can be run.",
            code="model_architecture",
        )
    pooled = _json(path / str(modules[kinds.index("Pooling")].get("path") or "") / "config.json")
    limits, prompts = _json(path / "sentence_bert_config.json"), _prompts(path)
    positions = int(config.get("max_position_embeddings") or _LONGEST)
    if config.get("model_type") in FAMILIES and FAMILIES[str(config["model_type"])].offset:
        positions -= int(config.get("pad_token_id") or 0) + 1
    longest = min(_LONGEST, positions, int(limits.get("max_seq_length") or _LONGEST))
    return Recipe(
        pooling=_pooling(path, pooled),
        max_length=longest,
        query=prompts[0],
        passage=prompts[1],
        lower=bool(limits.get("do_lower_case")),
    )


def _pooling(path: Path, pooled: dict[str, Any]) -> Pooling:
    chosen = {name.removeprefix("pooling_mode_") for name, on in pooled.items() if on is True} & {
        "cls_token",
        "mean_tokens",
        "max_tokens",
        "mean_sqrt_len_tokens",
        "weightedmean_tokens",
        "lasttoken",
    }
    chosen |= {f"{pooled['pooling_mode']}_token"} if isinstance(pooled.get("pooling_mode"), str) else set()
    if len(chosen) == 1:
        one = next(iter(chosen))
        if one in ("mean_tokens", "mean_token"):
            return "mean"
        if one == "cls_token":
            return "first"
    raise ModelError(
        f"{path} pools by {', '.join(sorted(chosen)) or 'nothing'}; the mean or the first token can be run.",
        code="model_architecture",
    )


def _prompts(path: Path) -> tuple[str, str]:
    """Return what stands before a question and before a passage."""
    told = _json(path / "config_sentence_transformers.json")
    prompts = told.get("prompts") or {}
    default = prompts.get(told.get("default_prompt_name") or "", "")
    passage = prompts.get("passage", prompts.get("document", default))
    return str(prompts.get("query", default)), str(passage)


def _network(path: Path, config: dict[str, Any], recipe: Recipe, threads: int) -> tuple[Network, Path]:
    """Return what runs the folder's network, and the file that its weights are in."""
    from quoth.models.onnx_engine import ENCODER, Runner

    graph = _graph_file(path)
    if graph is not None:
        return _FoldersGraph(graph, threads=threads), graph
    refuse_pickles(path)
    weights = path / "model.safetensors"
    if config.get("model_type") in FAMILIES and weights.is_file():
        from quoth.models.graph import build

        try:
            architecture, tensors = read_checkpoint(path, head=False)
            graph_bytes = build(architecture, tensors, head=recipe.pooling)
        except (MissingExtraError, ModelError) as problem:
            if isinstance(problem, ModelError) and problem.code != "model_architecture":
                raise
        else:
            return Runner(graph_bytes, threads=threads, ports=ENCODER), weights
    from quoth.models.torch_encoder import TorchNetwork

    return TorchNetwork(path, threads=threads), next(iter(sorted(path.glob("*.safetensors"))))


def _graph_file(path: Path) -> Path | None:
    for place in (path / "onnx" / "model.onnx", path / "model.onnx"):
        if place.is_file():
            return place
    return next(iter(sorted([*path.glob("onnx/*.onnx"), *path.glob("*.onnx")])), None)


class _FoldersGraph:
    """An ONNX file as the usual exporters write it: ids, mask and perhaps segments in, the tokens' vectors out."""

    def __init__(self, graph: Path, *, threads: int) -> None:
        from quoth.models.onnx_engine import Ports, Runner

        inputs, outputs = _ports(graph)
        given = next((name for name in _TOKENS if name in outputs), "")
        if not given or not {_IDS} <= set(inputs) <= {_IDS, _TYPES, _MASK}:
            raise ModelError(
                f"{graph} takes {sorted(inputs)} and gives {sorted(outputs)}; an encoder takes {_IDS}, {_MASK} and "
                f"{_TYPES}, and gives {' or '.join(_TOKENS)}.",
                code="model_architecture",
            )
        ports = Ports(_IDS, _TYPES if _TYPES in inputs else "", _MASK if _MASK in inputs else "", given)
        self._runner = Runner(graph, threads=threads, ports=ports)

    def run(self, windows: Sequence[Window]) -> "list[Floats]":
        """Return the tokens' vectors (n, d) for each window."""
        return self._runner.run(windows)


def _ports(graph: Path) -> tuple[list[str], list[str]]:
    """Return what an ONNX file takes and what it gives."""
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    try:
        session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's errors share no base class but Exception
        raise ModelError(f"{graph} cannot be loaded: {problem}", code="model_damaged") from problem
    return [i.name for i in session.get_inputs()], [o.name for o in session.get_outputs()]


def _json(path: Path) -> Any:
    """Return a JSON file's content; an empty object where there is none."""
    if not path.is_file():
        return {}
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as problem:
        raise ModelError(f"{path} is not JSON: {problem}.", code="model_damaged") from problem
