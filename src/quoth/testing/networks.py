"""Checks of what runs a network: span models, encoders, pair models."""

from typing import TYPE_CHECKING

import numpy as np

from quoth.protocols import Encoder, PairModel, SpanModel, Tokens, Window
from quoth.testing.rule import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_TEXTS = (
    "The siege of Vienna began in 1529.",
    "",
    "Größe e\u0301 👩🏽‍🚀 今日は晴れです。 שלום",
    "  spaces\r\n and\ttabs  ",
    "The king ended the siege, and went home. " * 60,
    "The siege of Vienna began in 1529.",
)


def check_span_model(model: SpanModel, *, tolerance: float = 1e-3) -> None:
    """Raise ``CheckError`` where *model* does not keep the contract of ``quoth.protocols.SpanModel``.

    *tolerance* is how far logits of a window may be apart when others are in the call: the
    engine's stated tolerance.
    """
    require(bool(model.name), model, "it has a name.")
    layout = model.layout
    special = {*layout.before, *layout.between, *layout.after}
    room = model.max_length - len(layout.before) - len(layout.between) - len(layout.after)
    require(room >= 2, model, "an input has room for a question and a passage.", model.max_length)
    tokens = model.tokenize(_TEXTS)
    require(len(tokens) == len(_TEXTS), model, "there are tokens for each text.", len(tokens))
    for text, found in zip(_TEXTS, tokens, strict=True):
        _check_tokens(model, text, found, special)
        alone = model.tokenize([text])[0]
        require(_same(alone, found), model, "a text's tokens do not depend on the others.", text)
    require(len(tokens[4].ids) >= 480, model, "long texts are not truncated.", len(tokens[4].ids))
    question = tokens[0].ids[: room // 2]
    windows = [_window(model, question, tokens[i].ids[: room - len(question)]) for i in (0, 2, 4, 1, 3, 0)]
    _check_logits(model, windows, tolerance)


def _check_tokens(model: SpanModel, text: str, found: Tokens, special: set[int]) -> None:
    n = len(found.ids)
    shapes = (found.ids.shape, found.offsets.shape)
    require(shapes == ((n,), (n, 2)), model, "ids have shape (n,) and offsets (n, 2).", shapes)
    kinds = (found.ids.dtype, found.offsets.dtype)
    require(all(kind == np.int64 for kind in kinds), model, "ids and offsets are int64.", kinds)
    require(n > 0 or not text.strip(), model, "a text has tokens.", text)
    require(not special & set(found.ids.tolist()), model, "there are no special tokens.", text)
    if not n:
        return
    starts, ends = found.offsets[:, 0], found.offsets[:, 1]
    good = bool((starts >= 0).all() and (starts <= ends).all() and (ends <= len(text)).all())
    require(good, model, "offsets are code points of the text.", found.offsets[:5].tolist())
    require(bool((np.diff(starts) >= 0).all()), model, "tokens are in order.", text)
    held = np.zeros(len(text), dtype=bool)
    for start, end in found.offsets.tolist():
        held[start:end] = True
    missing = [c for i, c in enumerate(text) if c.isascii() and c.isalnum() and not held[i]]
    require(not missing, model, "every letter is in a token.", "".join(missing))


def _same(one: Tokens, other: Tokens) -> bool:
    return np.array_equal(one.ids, other.ids) and np.array_equal(one.offsets, other.offsets)


def _window(model: SpanModel, question: "NDArray[np.int64]", passage: "NDArray[np.int64]") -> Window:
    """Return one input, joined as the layout says."""
    layout = model.layout
    first, second = (passage, question) if layout.passage_first else (question, passage)
    types = (layout.question_type, layout.passage_type)
    before, behind = types[::-1] if layout.passage_first else types
    head = [*layout.before, *first.tolist(), *layout.between]
    tail = [*second.tolist(), *layout.after]
    kinds = [before] * len(head) + [behind] * len(tail)
    if layout.cls_type is not None:
        kinds[-1 if layout.null_last else 0] = layout.cls_type
    return Window(np.array(head + tail, dtype=np.int64), np.array(kinds, dtype=np.int64))


def _check_logits(model: SpanModel, windows: list[Window], tolerance: float) -> None:
    require(len(model.logits([])) == 0, model, "no windows, no logits.")
    found = model.logits(windows)
    require(len(found) == len(windows), model, "there are logits for each window.", len(found))
    for index, (window, pair) in enumerate(zip(windows, found, strict=True)):
        for logits in pair:
            shape = (len(window.ids),)
            require(logits.shape == shape, model, "logits have the window's length.", logits.shape)
            require(bool(np.isfinite(logits).all()), model, "logits are finite numbers.", index)
        alone = model.logits([window])[0]
        apart = max(float(np.abs(a - b).max()) for a, b in zip(pair, alone, strict=True))
        require(apart <= tolerance, model, f"a window's logits depend on it alone ({tolerance:g}).", apart)


def check_encoder(encoder: Encoder, *, tolerance: float = 1e-3) -> None:
    """Raise ``CheckError`` where *encoder* does not keep the contract of ``quoth.protocols.Encoder``.

    *tolerance* is how far a component may be from what it is when the text is encoded alone.
    """
    require(bool(encoder.name), encoder, "it has a name.")
    require(encoder.dimension > 0, encoder, "the dimension is positive.", encoder.dimension)
    for encode in (encoder.encode_queries, encoder.encode_passages):
        _check_vectors(encoder, encode([]), 0)
        vectors = encode(_TEXTS)
        _check_vectors(encoder, vectors, len(_TEXTS))
        for row, text in enumerate(_TEXTS):
            apart = float(np.abs(vectors[row] - encode([text])[0]).max())
            require(apart <= tolerance, encoder, "a vector depends on its text alone.", (text[:40], apart))
        require(
            float(np.abs(vectors[0] - vectors[2]).max()) > tolerance,
            encoder,
            "different texts have different vectors.",
        )


def _check_vectors(encoder: Encoder, vectors: "Floats", count: int) -> None:
    shape = (count, encoder.dimension)
    require(vectors.shape == shape, encoder, f"vectors have shape {shape}.", vectors.shape)
    require(vectors.dtype == np.float32, encoder, "vectors are float32.", vectors.dtype)
    lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    require(bool((np.abs(lengths - 1) <= 1e-3).all()), encoder, "vectors have length 1.", lengths.tolist())


def check_pair_model(model: PairModel, *, tolerance: float = 1e-3) -> None:
    """Raise ``CheckError`` where *model* does not keep the contract of ``quoth.protocols.PairModel``."""
    pairs = [(_TEXTS[0], text) for text in _TEXTS]
    require(len(model.score_pairs([])) == 0, model, "no pairs, no scores.")
    scores = model.score_pairs(iter(pairs))
    require(scores.shape == (len(pairs),), model, "there is a score for each pair.", scores.shape)
    require(bool(np.isfinite(scores).all()), model, "scores are finite numbers.", scores.tolist())
    alone = np.array([float(model.score_pairs([pair])[0]) for pair in pairs])
    apart = float(np.abs(scores - alone).max())
    require(apart <= tolerance, model, "a score depends on its pair alone.", apart)
