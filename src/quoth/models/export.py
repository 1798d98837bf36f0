"""From a checkpoint to a bundle: the graph by hand, int8, and nothing published that does not compute the same."""

import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from quoth.errors import CheckError, InputError, ModelError
from quoth.models.card import (
    GRAPH,
    REFERENCE,
    TOKENIZER,
    WEIGHTS,
    Architecture,
    Card,
    read_card,
    record_of,
    verify,
    write_card,
)
from quoth.models.families import read_checkpoint, read_config
from quoth.models.graph import OUTPUT, build
from quoth.models.quantize import dequantize, quantize, tap_names
from quoth.models.samples import sample_windows
from quoth.models.tensors import read_tensors, write_tensors
from quoth.models.vocabulary import open_tokenizer, probe_layout
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Tensors = Mapping[str, NDArray[Any]]
    Floats = NDArray[np.float32]

Precision = Literal["int8", "fp32"]
Step = Callable[[str], None]

EXACT = 1e-3  # largest logit difference between our fp32 graph and torch
ROUGH = 0.10  # root mean square of int8's differences, over the standard deviation of the logits
ABOUT = ("summary", "language", "licence", "training_data", "figures")


@dataclass(frozen=True, slots=True)
class Parity:
    """How far some logits are from others, on the fixed windows."""

    largest: float
    rms: float
    deviation: float
    same_spans: float

    @property
    def relative(self) -> float:
        """The root mean square of the differences, in standard deviations of the logits."""
        return self.rms / self.deviation


def compare(got: "Sequence[Floats]", exact: "Sequence[Floats]") -> Parity:
    """Return how far logits (n, 2) are from the exact ones; ``same_spans``: the share with equal best start and end."""
    differences = np.concatenate([(a - b).ravel() for a, b in zip(got, exact, strict=True)])
    same = [bool((a.argmax(axis=0) == b.argmax(axis=0)).all()) for a, b in zip(got, exact, strict=True)]
    spread = np.concatenate([b.ravel() for b in exact]).std()
    if not np.isfinite(differences).all():
        return Parity(float("inf"), float("inf"), float(spread), float(np.mean(same)))
    rms = float(np.sqrt(np.mean(differences.astype(np.float64) ** 2)))
    return Parity(float(np.abs(differences).max()), rms, float(spread), float(np.mean(same)))


def export(
    checkpoint: Path,
    out: Path,
    *,
    precision: Precision = "int8",
    about: Mapping[str, Any] | None = None,
    step: Step = lambda what: None,
) -> Card:
    """Write the bundle of a Hugging Face checkpoint folder to *out*, a new folder, and return its card.

    *about* may hold summary, language, licence, training_data and figures. On 32 fixed windows the fp32
    graph must give torch's logits within 1e-3 and the same spans, and int8 stay within 10% of the logits'
    standard deviation; else ``CheckError``, and nothing is written. Needs the extra ``export``.
    """
    from quoth.models.checkpoint import open_checkpoint

    _must_be_new(out)
    step("reading the checkpoint")
    architecture, tensors = read_checkpoint(checkpoint)
    tokenizer = open_tokenizer(checkpoint / TOKENIZER)
    layout = probe_layout(tokenizer, segments=architecture.types > 1, cls=None)
    windows = sample_windows(tokenizer, layout, longest=architecture.positions)
    step("comparing the graph with torch")
    exact = _logits(architecture, tensors, windows)
    torch_rows = open_checkpoint(checkpoint).logits(windows)
    parity = compare(exact, [np.stack(row, axis=1) for row in torch_rows])
    if not (parity.largest <= EXACT and parity.same_spans == 1):
        raise CheckError(
            f"The graph's logits differ from torch's by {parity.largest:.2g} (at most {EXACT:g}), the same spans in "
            f"{parity.same_spans:.0%} of the windows: nothing was written.",
            code="parity",
        )
    card = Card(
        name=out.name, precision="fp32", architecture=architecture, layout=layout,
        max_length=min(architecture.positions, 512), pad=int(read_config(checkpoint).get("pad_token_id") or 0),
        files={}, **_about(about, parity),
    )  # fmt: skip
    draft = _Draft(card, tensors, windows, exact, checkpoint / TOKENIZER)
    return _publish(_quantised(draft, step) if precision == "int8" else draft, out)


def quantize_bundle(bundle: Path, out: Path, *, step: Step = lambda what: None) -> Card:
    """Write the int8 form of an fp32 bundle to *out*, a new folder, and return its card. Checks as ``export``."""
    _must_be_new(out)
    card = read_card(bundle)
    verify(bundle, card)
    if card.precision != "fp32":
        raise InputError(f"{bundle} is {card.precision} already; only an fp32 bundle can be quantised.")
    windows, exact = read_reference(bundle)
    tensors = read_tensors(bundle / WEIGHTS)
    draft = _Draft(replace(card, name=out.name), tensors, windows, exact, bundle / TOKENIZER)
    return _publish(_quantised(draft, step), out)


def read_reference(bundle: Path) -> "tuple[list[Window], list[Floats]]":
    """Return the fixed windows of a bundle and the fp32 logits (n, 2) of each."""
    stored = read_tensors(bundle / REFERENCE)
    try:
        ends = np.cumsum(stored["lengths"])
        cuts = list(zip(ends - stored["lengths"], ends, strict=True))
        ids, types, logits = (np.asarray(stored[n]) for n in ("ids", "types", "logits"))
    except KeyError as problem:
        raise ModelError(f"{bundle / REFERENCE} lacks {problem}.", code="model_damaged") from problem
    windows = [Window(ids[a:b].astype(np.int64), types[a:b].astype(np.int64)) for a, b in cuts]
    return windows, [logits[a:b] for a, b in cuts]


@dataclass(frozen=True, slots=True)
class _Draft:
    """A bundle that is not written yet."""

    card: Card
    tensors: "Tensors"
    windows: list[Window]
    exact: "list[Floats]"
    tokenizer: Path


def _quantised(draft: _Draft, step: Step) -> _Draft:
    from quoth.models.onnx_engine import available_threads, open_session

    step("quantising to int8")
    architecture = draft.card.architecture
    names = tap_names(architecture)
    session = open_session(build(architecture, draft.tensors, taps=names), threads=available_threads())

    def run(window: Window) -> "Mapping[str, Floats]":
        rows = session.run(names, {"ids": window.ids[None], "types": window.types[None]})
        return {name: row[0] for name, row in zip(names, rows, strict=True)}

    tensors = quantize(architecture, draft.tensors, draft.windows, run)
    step("comparing int8 with fp32")
    parity = compare(_logits(architecture, tensors, draft.windows), draft.exact)
    if not parity.relative <= ROUGH:
        raise CheckError(
            f"int8 changes the logits by {parity.relative:.1%} of their standard deviation (at most {ROUGH:.0%}): "
            "nothing was written.",
            hint="Export it as it is: --precision fp32.",
            code="parity",
        )
    figures = {**draft.card.figures, "int8 against fp32, 32 fixed windows": _told(parity)}
    return replace(draft, card=replace(draft.card, precision="int8", figures=figures), tensors=tensors)


def _publish(draft: _Draft, out: Path) -> Card:
    """Write a bundle beside its place, then put it there in one move."""
    out.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=out.parent, prefix=f".{out.name}-") as beside:
        folder = Path(beside) / out.name
        folder.mkdir()
        places = write_tensors(folder / WEIGHTS, draft.tensors)
        (folder / GRAPH).write_bytes(build(draft.card.architecture, draft.tensors, places=places))
        shutil.copyfile(draft.tokenizer, folder / TOKENIZER)
        _write_reference(folder / REFERENCE, draft)
        names = (GRAPH, WEIGHTS, TOKENIZER, REFERENCE)
        card = replace(draft.card, files={name: record_of(folder / name) for name in names})
        write_card(folder, card)
        folder.replace(out)
    return card


def _write_reference(path: Path, draft: _Draft) -> None:
    write_tensors(
        path,
        {
            "lengths": np.array([len(w.ids) for w in draft.windows], np.int32),
            "ids": np.concatenate([w.ids for w in draft.windows]).astype(np.int32),
            "types": np.concatenate([w.types for w in draft.windows]).astype(np.int8),
            "logits": np.concatenate(draft.exact).astype(np.float32),
        },
    )


def _logits(architecture: Architecture, tensors: "Tensors", windows: Sequence[Window]) -> "list[Floats]":
    from quoth.models.onnx_engine import available_threads, open_session

    session = open_session(build(architecture, tensors), threads=available_threads())
    feeds = [{"ids": w.ids[None], "types": w.types[None]} for w in windows]
    return [np.asarray(session.run([OUTPUT], feed)[0][0], np.float32) for feed in feeds]


def _about(about: Mapping[str, Any] | None, parity: Parity) -> dict[str, Any]:
    told = dict(about or {})
    unknown = sorted(set(told) - set(ABOUT))
    if unknown:
        raise InputError(f"A card has no {unknown[0]!r}.", hint=f"It has: {', '.join(ABOUT)}.")
    told["figures"] = {**told.get("figures", {}), "fp32 graph against torch, 32 fixed windows": _told(parity)}
    return told


def _told(parity: Parity) -> dict[str, float]:
    return {
        "largest_difference": round(parity.largest, 6),
        "rms": round(parity.rms, 6),
        "logit_deviation": round(parity.deviation, 4),
        "same_spans": round(parity.same_spans, 4),
    }


def _must_be_new(out: Path) -> None:
    if out.exists():
        raise InputError(f"{out} exists already.", hint="Name a new folder.")


__all__ = ["Parity", "Precision", "compare", "dequantize", "export", "quantize_bundle", "read_reference"]
