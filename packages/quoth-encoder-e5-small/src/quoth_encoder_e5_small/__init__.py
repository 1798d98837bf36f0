"""The folder of an encoder, for quoth's entry point group ``quoth.encoders``."""

from pathlib import Path

__all__ = ["folder"]


def folder() -> Path:
    """Return the folder with the encoder's card, graph, weights and tokenizer."""
    return Path(__file__).parent / "model"
