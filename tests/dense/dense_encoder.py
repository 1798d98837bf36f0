"""An encoder for tests: deterministic, without a network."""

import hashlib
from collections.abc import Sequence

import numpy as np

DIMENSION = 32


class HashEncoder:
    """Texts that share words get vectors that point the same way."""

    name = "hash"
    dimension = DIMENSION

    def __init__(self) -> None:
        self.encoded: list[str] = []

    def encode_queries(self, texts: Sequence[str]) -> np.ndarray:
        return np.stack([self._vector(t) for t in texts])

    def encode_passages(self, texts: Sequence[str]) -> np.ndarray:
        self.encoded += texts
        return self.encode_queries(texts)

    def _vector(self, text: str) -> np.ndarray:
        total = np.zeros(DIMENSION, dtype=np.float32)
        for word in text.lower().replace(".", " ").split() or ["empty"]:
            seed = int.from_bytes(hashlib.sha256(word.encode()).digest()[:4], "big")
            total += np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
        return total / np.linalg.norm(total)
