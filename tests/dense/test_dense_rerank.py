"""A second judge over the first hits: weighed in, never out of order."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from quoth.errors import InputError
from quoth.retrieve.rerank import RerankedRetriever
from quoth.retrieve.store import Index
from quoth.testing import check_retriever
from quoth.types import Candidate, Document, Query, Source

TEXTS = {f"d{i}": f"The lion number {i} sleeps {'soundly ' * i}in the shade." for i in range(8)}


class Longest:
    """A ranker that likes long texts."""

    def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
        return [float(len(c.text)) for c in candidates]


@pytest.fixture
def index(tmp_path: Path) -> Any:
    with Index.create(tmp_path / ".quoth") as made:
        made.put([(Source(f"{n}.txt", sha256=n), (Document(n, t),)) for n, t in TEXTS.items()])
        yield made


def test_the_judges_scores_are_weighed_in(index: Index) -> None:
    """With a large weight the judge's order wins, with none the retriever's stays."""
    query = Query("lion shade")
    assert [
        h.item.document_id for h in RerankedRetriever(index, Longest(), weight=9.0).retrieve(query, k=3)
    ] == [
        "d7",
        "d6",
        "d5",
    ]
    plain = index.retrieve(query, k=5)
    assert [h.item for h in RerankedRetriever(index, Longest(), weight=0.0).retrieve(query, k=5)] == [
        h.item for h in plain
    ]


@pytest.mark.parametrize("weight", [-3.0, 0.5])
@pytest.mark.parametrize("depth", [1, 3, 20])
def test_it_is_a_retriever(index: Index, weight: float, depth: int) -> None:
    """Whatever the judge says, the contract of retrievers holds, beyond the depth as well."""
    check_retriever(
        RerankedRetriever(index, Longest(), weight=weight, depth=depth), [Query("lion shade"), Query("d")]
    )


def test_only_the_first_are_judged(index: Index) -> None:
    """What stands behind the depth stays behind, in its order."""
    query = Query("lion shade")
    plain = [h.item.document_id for h in index.retrieve(query, k=8)]
    found = [
        h.item.document_id
        for h in RerankedRetriever(index, Longest(), weight=9.0, depth=2).retrieve(query, k=8)
    ]
    assert found[:2] == sorted(plain[:2], reverse=True)
    assert found[2:] == plain[2:]


def test_a_ranker_that_loses_candidates_is_an_error(index: Index) -> None:
    """A score too few is named, not guessed."""

    class Lazy:
        def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
            return [1.0]

    with pytest.raises(InputError, match="1 scores for 8"):
        RerankedRetriever(index, Lazy(), weight=1.0).retrieve(Query("lion"), k=8)
    with pytest.raises(InputError, match="depth is 0"):
        RerankedRetriever(index, Lazy(), weight=1.0, depth=0)


def test_a_cross_encoder_fits_the_seam(index: Index) -> None:
    """A model of pairs becomes a judge in three lines."""

    class Pairs:
        def score(self, question: str, candidates: Sequence[Candidate]) -> Sequence[float]:
            return [10.0 if "number 4" in c.text else 0.0 for c in candidates]

    hits = RerankedRetriever(index, Pairs(), weight=1.0).retrieve(Query("lion"), k=1)
    assert hits[0].item.document_id == "d4"
