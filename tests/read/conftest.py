"""A small reader to test with: a real tokenizer of its own, and logits that depend on the window alone."""

import re
import zlib
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest

from quoth.protocols import Layout, Tokens, Window

BERT = Layout(before=(101,), between=(102,), after=(102,), passage_type=1)
XLNET = Layout(
    before=(),
    between=(4,),
    after=(4, 3),
    question_type=1,
    passage_type=0,
    cls_type=2,
    null_last=True,
    passage_first=True,
)


class Toy:
    """Words, cut into pieces of four letters, are tokens; the logits are noise seeded by the window.

    ``marks`` raises the logits of words: ``{"Paris": (6, 6)}`` adds to its start and its end.
    """

    def __init__(
        self,
        layout: Layout = BERT,
        *,
        max_length: int = 64,
        noise: float = 1.0,
        null: float = 0.0,
        marks: Mapping[str, tuple[float, float]] | None = None,
    ) -> None:
        self.name = "toy"
        self.layout = layout
        self.max_length = max_length
        self.noise = noise
        self.null = null
        self.marks = {self.id(w): m for w, m in (marks or {}).items()}
        self.seen: list[Window] = []
        self.batches: list[int] = []

    @staticmethod
    def id(piece: str) -> int:
        return 1000 + zlib.crc32(piece.encode()) % 1_000_000

    def tokenize(self, texts: Sequence[str]) -> list[Tokens]:
        found = []
        for text in texts:
            spans = [
                (at, min(at + 4, m.end()))
                for m in re.finditer(r"\w+|[^\w\s]", text)
                for at in range(m.start(), m.end(), 4)
            ]
            ids = [self.id(text[a:b]) for a, b in spans]
            found.append(Tokens(np.array(ids, np.int64), np.array(spans, np.int64).reshape(-1, 2)))
        return found

    def logits(self, windows: Sequence[Window]) -> list[tuple[np.ndarray, np.ndarray]]:
        self.seen += windows
        self.batches.append(len(windows))
        return [self._one(window) for window in windows]

    def _one(self, window: Window) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng(zlib.crc32(window.ids.tobytes()))
        both = random.normal(scale=self.noise, size=(2, len(window.ids))).astype(np.float32)
        for id, (start, end) in self.marks.items():
            both[0, window.ids == id] += start
            both[1, window.ids == id] += end
        both[:, -1 if self.layout.null_last else 0] += self.null
        return both[0], both[1]


@pytest.fixture(scope="session")
def toy() -> Callable[..., Toy]:
    """Return the maker of small readers."""
    return Toy


@pytest.fixture(scope="session")
def layouts() -> dict[str, Layout]:
    """Return the two layouts by name: BERT's, and XLNet's with the null at the end."""
    return {"bert": BERT, "xlnet": XLNET}
