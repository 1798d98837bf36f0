"""From an encoder's fp32 tensors to a bundle of ours: int8 by our own graph, held to the fp32 vectors."""

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import CheckError, InputError
from quoth.models.card import CARD, GRAPH, TOKENIZER, WEIGHTS, Architecture, Card, record_of
from quoth.models.encoder import Recipe, TextEncoder
from quoth.models.graph import build
from quoth.models.onnx_engine import ENCODER, Runner, available_threads
from quoth.models.quantize import quantize, tap_names
from quoth.models.tensors import write_tensors
from quoth.models.vocabulary import open_tokenizer, probe_layout
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[Any]]
    Floats = NDArray[np.float32]

NEAR = 0.97  # the least mean cosine of int8's vectors and the fp32 ones


def export_encoder(
    architecture: Architecture,
    tensors: "Tensors",
    out: Path,
    *,
    tokenizer: Path,
    recipe: Recipe,
    texts: Sequence[str],
    about: Mapping[str, Any],
) -> Card:
    """Write the int8 bundle of an encoder to *out*, a new folder, and return its card.

    *texts*, with their prefixes, are what the matrices are rounded for (64 and more; the last quarter is kept
    for the check). *about* may hold name, summary, language, licence, training_data and figures. Where the mean
    cosine of int8's vectors with the fp32 ones is below 0.97, ``CheckError``, and nothing is written.
    """
    if out.exists():
        raise InputError(f"{out} exists already.", hint="Name a new folder.")
    if len(texts) < 8:
        raise InputError(f"{len(texts)} sample texts are too few; 64 are advised.")
    exact = Runner(build(architecture, tensors, head=recipe.pooling), threads=0, ports=ENCODER)
    words = open_tokenizer(tokenizer)
    plain = replace(recipe, query="", passage="")
    windows = TextEncoder("fp32", architecture.hidden, words, exact, plain).windows(texts)
    cut = len(windows) * 3 // 4
    made = quantize(architecture, tensors, windows[:cut], _taps(architecture, tensors))
    small = Runner(build(architecture, made, head=recipe.pooling), threads=0, ports=ENCODER)
    cosines = _cosines(exact.run(windows[cut:]), small.run(windows[cut:]))
    if not float(cosines.mean()) >= NEAR:
        raise CheckError(
            f"int8's vectors have a mean cosine of {cosines.mean():.3f} with the fp32 ones (at least {NEAR}): "
            "nothing was written.",
            code="parity",
        )
    told = {"mean_cosine": round(float(cosines.mean()), 5), "least_cosine": round(float(cosines.min()), 5)}
    figures = {**about.get("figures", {}), f"int8 against fp32, {len(cosines)} texts": told}
    card = Card(
        name=str(about.get("name", out.name)), precision="int8", architecture=architecture,
        layout=probe_layout(words, segments=architecture.types > 1, cls=None), max_length=recipe.max_length,
        pad=0, files={}, **{k: v for k, v in about.items() if k not in ("name", "figures")}, figures=figures,
    )  # fmt: skip
    return _write(card, made, recipe, tokenizer, out)


def _taps(architecture: Architecture, tensors: "Tensors") -> Any:
    from quoth.models.onnx_engine import open_session

    names = tap_names(architecture)
    graph = build(architecture, tensors, taps=names, head="mean")
    session = open_session(graph, threads=available_threads(), ports=ENCODER)

    def run(window: Window) -> "dict[str, Floats]":
        rows = session.run(names, ENCODER.feed(window))
        return {name: row[0] for name, row in zip(names, rows, strict=True)}

    return run


def _cosines(one: "Sequence[Floats]", other: "Sequence[Floats]") -> "Floats":
    a, b = np.stack(one), np.stack(other)
    return np.asarray((a * b).sum(1) / (np.linalg.norm(a, axis=1) * np.linalg.norm(b, axis=1)), np.float32)


def _write(card: Card, tensors: "Tensors", recipe: Recipe, tokenizer: Path, out: Path) -> Card:
    """Write a bundle beside its place, then put it there in one move."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as beside:
        folder = Path(beside) / out.name
        folder.mkdir()
        places = write_tensors(folder / WEIGHTS, tensors)
        graph = build(card.architecture, tensors, places=places, head=recipe.pooling)
        (folder / GRAPH).write_bytes(graph)
        shutil.copyfile(tokenizer, folder / TOKENIZER)
        card = replace(card, files={n: record_of(folder / n) for n in (GRAPH, WEIGHTS, TOKENIZER)})
        encoder = {
            "pooling": recipe.pooling, "query": recipe.query, "passage": recipe.passage, "lower": recipe.lower,
            "fusion": dict(recipe.fusion),
        }  # fmt: skip
        body = json.dumps({**card.as_json(), "encoder": encoder}, indent=1, ensure_ascii=False)
        (folder / CARD).write_text(body + "\n", encoding="utf-8")
        folder.replace(out)
    return card
