"""Readers' networks: the shipped ones, any other, and what runs them.

A bundle is a folder with ``card.json``, ``model.onnx``, ``weights.safetensors`` and ``tokenizer.json``:
JSON, ONNX and safetensors, never a pickle, each file held to the SHA-256 in the card.
"""

from quoth.models.card import Architecture, Card, Record
from quoth.models.loading import load_reader
from quoth.models.places import check_shipped, folder, shipped

__all__ = ["Architecture", "Card", "Record", "check_shipped", "folder", "load_reader", "shipped"]
