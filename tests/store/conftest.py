"""Indexes for tests: every one is verified to the last byte when its test ends."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from quoth.retrieve.store import Index

Make = Callable[..., Index]


@pytest.fixture
def make_index(tmp_path: Path) -> Iterator[Make]:
    """Return a maker of indexes (name, analyzer, split); at the end each is opened again and verified."""
    made: dict[Path, Index] = {}

    def make(name: str = "one", *, analyzer: str = "english", split: str = "passage") -> Index:
        folder = tmp_path / name / ".quoth"
        made[folder] = Index.create(folder, analyzer=analyzer, split=split)
        return made[folder]

    yield make
    for folder, index in made.items():
        index.close()
        with Index.open(folder) as again:
            assert again.verify(full=True) == []
            for number, passage in again.passages():
                assert number > 0
                assert again.document(passage.document_id).text[passage.start : passage.end] == passage.text


@pytest.fixture
def index(make_index: Make) -> Index:
    """Return one empty English index."""
    return make_index()
