"""The 20,100 paragraphs of SQuAD 2.0 (train and dev) as an index, made once for a work folder."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from quoth.datasets import load_squad
from quoth.evaluate.cases import Case, span_cases, span_documents
from quoth.reproduce.recipe import Inputs
from quoth.retrieve.store import Index
from quoth.types import Document, Source

if TYPE_CHECKING:
    from quoth.datasets import SpanDataset

TRAIN = "squad/train-v2.0.reconstructed.json.gz"
DEV = "squad/dev-v2.0.reconstructed.json.gz"


@dataclass(frozen=True, slots=True)
class Corpus:
    """Both halves of SQuAD 2.0, and the documents (articles; their paragraphs are the passages) of both."""

    train: "SpanDataset"
    dev: "SpanDataset"
    documents: tuple[Document, ...]

    def cases(self, split: str) -> list[Case]:
        """Return the questions of ``train`` or ``dev``."""
        return span_cases(self.train if split == "train" else self.dev)

    @property
    def passages(self) -> int:
        return sum(len(document.paragraphs) for document in self.documents)


def load_corpus(inputs: Inputs) -> Corpus:
    """Read both halves from the data folder."""
    train, dev = load_squad(inputs.file(TRAIN)), load_squad(inputs.file(DEV))
    documents = (*span_documents(train)[0], *span_documents(dev)[0])
    return Corpus(train, dev, documents)


def open_index(folder: Path, documents: Sequence[Document], *, analyzer: str = "english") -> Index:
    """Return an index of *documents* in *folder*, made where it is not there yet, for reading."""
    if not (folder / "catalog.sqlite").exists():
        making = folder.with_name(f"{folder.name}.{os.getpid()}")
        with Index.create(making, analyzer=analyzer) as index:
            index.put([(Source(f"{d.id}", d.sha256), (replace(d, source=d.id),)) for d in documents])
        making.rename(folder)
    return Index.open(folder)
