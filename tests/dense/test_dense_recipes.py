"""What the recipes for fusion and scale are made of."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dense_encoder import HashEncoder

from quoth.evaluate.cases import Case
from quoth.evaluate.retrieval import GoldPassage
from quoth.reproduce import copies, fusion, scale
from quoth.retrieve.dense import Place, open_vectors, sync
from quoth.retrieve.fuse import Fusion, fit_linear
from quoth.retrieve.store import Index
from quoth.types import Document, Passage, Reading, Scored, Source, Span

TEXTS = [
    ("Lions", "The lion sleeps in the shade of a tall tree."),
    ("Owls", "An owl hunts mice at night over fields."),
]


def test_copies_are_the_same_for_everyone() -> None:
    """A size's texts begin a larger size's, and a copy differs from its original in a fifth of its words."""
    small, large = list(copies.passages(TEXTS, 5)), list(copies.passages(TEXTS, 9))
    assert small == large[:5]
    assert small[:2] == TEXTS
    one, other = TEXTS[0][1].split(" "), large[2][1].split(" ")
    assert len(one) == len(other)
    assert 0 < sum(a != b for a, b in zip(one, other, strict=True)) <= 2


def test_documents_hold_every_passage_once() -> None:
    """Passages come back out of the documents in order, whole, and no document mixes titles."""
    made = list(copies.documents(TEXTS, 7, each=2))
    held = [(d.title, d.text[a:b]) for d in made for a, b in d.paragraphs]
    assert held == list(copies.passages(TEXTS, 7))
    assert all(len(d.paragraphs) <= 2 for d in made)
    assert sum(len(batch) for batch in copies.batches(TEXTS, 7)) == len(
        {d.id for d in copies.documents(TEXTS, 7)}
    )


def test_each_step_measures_what_it_says(tmp_path: Path) -> None:
    """Built, asked and searched at a small size: sizes and times above nothing, and the graph agrees with the scan."""
    pytest.importorskip("usearch", reason="the extra `dense` is not installed")
    built = scale._build(tmp_path / "index", TEXTS, 40)
    asked = scale._query(tmp_path / "index", ["Who hunts mice?"])
    made = scale._embed(tmp_path / "vectors", 300)
    searched = scale._search(tmp_path / "vectors")
    compared = scale._compare(tmp_path / "vectors", 300)
    assert built.seconds > 0
    assert built.bytes > 0
    assert asked.times.n == 1
    assert made.bytes >= 300 * scale.DIMENSION * 2
    assert searched.times.n == scale.QUESTIONS
    assert compared.recall == (1.0, 1.0)
    assert compared.graph_recall > 0.97
    assert compared.graph_bytes > compared.graph_seconds > 0


def test_a_server_is_measured_and_left_as_it_was(opensearch_place: str) -> None:
    """The same passages on OpenSearch: built, asked, and the indexes removed."""
    from quoth.retrieve.opensearch import Address
    from quoth.retrieve.opensearch.admin import exists
    from quoth.retrieve.opensearch.wire import Wire

    built, asked = scale._on_server(f"opensearch://{opensearch_place}", TEXTS, 40, ["Who hunts mice?"])
    assert built.seconds > 0
    assert built.bytes > 0
    assert asked.times.n == 1
    assert asked.peak > 0
    wire = Wire(Address.parse(f"opensearch://{opensearch_place}/quoth-scale-40"))
    assert not exists(wire)
    wire.close()


def test_the_linear_order_is_learned() -> None:
    """Where one feature tells right from wrong and the other does not, the first gets the weight."""
    drawn = np.random.default_rng(1)
    features, right = [], []
    for _ in range(60):
        told = drawn.random((8, 2)) * [1.0, 100.0]
        features.append(told)
        right.append(told[:, 0] == told[:, 0].max())
    weights, size = fit_linear(features, right)
    ranked = [((f / size) @ weights).argmax() == r.argmax() for f, r in zip(features, right, strict=True)]
    assert np.mean(ranked) > 0.9
    assert weights[0] > 5 * abs(weights[1])
    nothing, _ = fit_linear([features[0]], [np.zeros(8, bool)])
    assert not nothing.any()


class CountingReader:
    """Finds a span in each passage, as good as the passage is long."""

    def __init__(self) -> None:
        self.read: list[str] = []

    def read_many(self, items: Sequence[tuple[str, Sequence[Passage]]]) -> list[Reading]:
        self.read += [passages[0].text for _, passages in items]
        return [
            Reading(
                (Scored(Span(p.document_id, p.start, p.end, p.text), float(len(p.text))),),
                (0,),
                1.0,
                1,
                1,
                100,
            )
            for _, (p,) in items
        ]


def test_reading_stops_at_the_budget_and_is_remembered(tmp_path: Path) -> None:
    """No more passages are read than the tokens hold, and a second run reads none."""
    case = Case("q1", "Who?", ("x",))
    passages = [Passage("a", i, i + 1, "x" * (i + 1)) for i in range(20)]
    reader = CountingReader()
    read = fusion._remembering(reader, tmp_path / "read.jsonl", tokens=650)  # type: ignore[arg-type]
    found, _ = read(case, passages)
    assert len(found) == 6
    assert found[2] == (3.0, 1.0)
    again = CountingReader()
    assert fusion._remembering(again, tmp_path / "read.jsonl", tokens=650)(case, passages)[0] == found  # type: ignore[arg-type]
    assert not again.read


@pytest.fixture
def parts(tmp_path: Path) -> Any:
    encoder = HashEncoder()
    with Index.create(tmp_path / ".quoth") as index:
        index.put([(Source(t, sha256=t), (Document(t, text, title=t),)) for t, text in TEXTS])
        place = Place(folder=index.folder)
        sync(index, encoder, place=place)
        passages = {fusion._key(p): p for _, p in index.passages()}
        yield fusion.Parts(index, open_vectors(place, encoder), encoder, passages)


def test_a_question_gets_both_lists_and_its_gold(parts: fusion.Parts) -> None:
    """Every lexical hit has its cosine, the gold passage is found by its place, and the figures follow."""
    gold = GoldPassage("Owls", 9, 14, TEXTS[1][1])
    case = Case("q1", "Who hunts mice?", ("owl",), group="Owls", gold=gold)
    asked = fusion._asked(parts, case)
    assert set(asked.lexical) <= set(asked.cosines)
    assert {key[0] for key in asked.gold} == {"Owls"}
    order = [fusion._fused(asked, Fusion(weight=0.0))]
    rows, points = fusion._figures(parts, "words", [asked], order)
    measured = {row.name: row.measured for row in rows}
    assert measured["words: recall@1/answer"] == 1.0
    assert measured["words: recall@1/passage"] == 1.0
    assert points[0] == (1.0, 1.0)
    times = fusion._times(parts, [case] * 8, Fusion("ranks"), Fusion())
    assert [len(spent) for spent in times] == [3, 3, 3, 3]


def test_what_was_not_read_is_not_preferred(parts: fusion.Parts) -> None:
    """A passage beyond the budget has the worst scores of those that were read."""
    asked = fusion._asked(parts, Case("q1", "lion owl", ("owl",)))
    listed = fusion._listed(parts, asked, Fusion(), lambda case, passages: ([(4.0, 1.0)], 2.0))
    assert listed.features[:, 1].tolist() == [4.0, 4.0]
    assert fusion._reordered(listed, np.array([0.0, 1.0])) == [listed.keys[1], listed.keys[0]]
