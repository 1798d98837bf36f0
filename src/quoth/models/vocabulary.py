"""Tokens and their offsets, and how a model family joins a question and a passage."""

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quoth.errors import ModelError
from quoth.protocols import Layout, Tokens

log = logging.getLogger(__name__)


def open_tokenizer(path: Path) -> Any:
    """Return the tokenizer of a ``tokenizer.json``, with truncation and padding switched off."""
    from tokenizers import Tokenizer

    if not path.is_file():
        raise ModelError(
            f"{path} is missing: without it tokens have no offsets, and nothing can be quoted.",
            hint="Take a checkpoint with a fast tokenizer, or save one with `save_pretrained`.",
            code="model_missing",
        )
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as problem:  # the library raises bare Exception for whatever is wrong in the file
        raise ModelError(f"{path} is not a tokenizer: {problem}.", code="model_damaged") from problem
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def tokenize(tokenizer: Any, texts: Sequence[str]) -> list[Tokens]:
    """Return ids and code point offsets of each text, no special tokens, nothing cut off."""
    return [
        Tokens(np.array(row.ids, np.int64), np.array(row.offsets, np.int64).reshape(-1, 2))
        for row in tokenizer.encode_batch(list(texts), add_special_tokens=False)
    ]


def probe_layout(tokenizer: Any, *, segments: bool, cls: int | None) -> Layout:
    """Return the layout that the tokenizer gives to a pair of texts.

    *segments* says whether the model has segment ids, *cls* which id is its null position. The pair is
    encoded and looked at, so that no family need be known by name.
    """
    pair = tokenizer.encode("word", "text")
    sides = [
        None if special else side
        for side, special in zip(pair.sequence_ids, pair.special_tokens_mask, strict=True)
    ]
    question = [i for i, side in enumerate(sides) if side == 0]
    passage = [i for i, side in enumerate(sides) if side == 1]
    if not question or not passage or question[-1] > passage[0]:
        raise ModelError(
            "The tokenizer does not put a question before a passage.",
            hint="Only encoders that read question and passage as one input can be used.",
            code="model_architecture",
        )
    ids, types = pair.ids, pair.type_ids if segments else [0] * len(pair.ids)
    after = tuple(ids[passage[-1] + 1 :])
    null_last = cls is not None and cls in after and cls not in ids[: question[0]]
    passage_type = types[passage[0]]
    return Layout(
        before=tuple(ids[: question[0]]),
        between=tuple(ids[question[-1] + 1 : passage[0]]),
        after=after,
        question_type=types[question[0]],
        passage_type=passage_type,
        cls_type=types[-1] if null_last and types[-1] != passage_type else None,
        null_last=null_last,
    )
