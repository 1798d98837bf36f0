"""The index on SQuAD: what it finds, and in what time."""

import gzip
import json
import random
import statistics
from pathlib import Path
from time import perf_counter

import pytest

from quoth.retrieve.store import Index
from quoth.types import Document, Query, Source

DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data" / "squad"

pytestmark = pytest.mark.skipif(not DATA.is_dir(), reason="the SQuAD files are not beside the checkout")


def load(split: str) -> tuple[list[Document], list[tuple[str, str]]]:
    """Return a split's articles with their paragraphs, and its answerable questions with their first answer."""
    data = json.loads(gzip.decompress((DATA / f"{split}-v2.0.reconstructed.json.gz").read_bytes()))["data"]
    documents, questions = [], []
    for article in data:
        contexts = [p["context"] for p in article["paragraphs"]]
        starts = [sum(len(c) + 2 for c in contexts[:i]) for i in range(len(contexts))]
        places = tuple((a, a + len(c)) for a, c in zip(starts, contexts, strict=True))
        title = article["title"].replace("_", " ")
        name = f"{split}/{article['title']}"
        documents.append(Document(name, "\n\n".join(contexts), title, name, paragraphs=places))
        questions += [
            (q["question"], q["answers"][0]["text"].lower())
            for p in article["paragraphs"]
            for q in p["qas"]
            if q["answers"]
        ]
    return documents, questions


def measure(index: Index, questions: list[tuple[str, str]]) -> tuple[float, float]:
    """Return recall@3 by answer string (lower-cased, in title and text), and the median time in ms."""
    hits, times = 0, []
    for question, answer in questions:
        start = perf_counter()
        found = index.retrieve(Query(question), k=3)
        times.append(perf_counter() - start)
        hits += any(answer in f"{s.item.title} {s.item.text}".lower() for s in found)
    return hits / len(questions), 1000 * statistics.median(times)


def test_the_dev_paragraphs_are_found(index: Index) -> None:
    """Over the 1,204 dev paragraphs, the answer is in the first three passages for 19 of 20 questions."""
    documents, questions = load("dev")
    index.put([(Source(d.source, "s"), [d]) for d in documents])
    assert index.info()["passages"] == 1204
    recall, _ = measure(index, random.Random(0).sample(questions, 500))
    assert recall >= 0.94


@pytest.mark.slow
def test_all_paragraphs_are_found_as_well_as_published(make_index) -> None:  # type: ignore[no-untyped-def]
    """Over the 20,100 paragraphs, both analyzers find more than the published Elasticsearch figures, in a few ms."""
    train, questions = load("train")
    dev, more = load("dev")
    sample = random.Random(0).sample(questions + more, 3000)
    for name, published in (("standard", 0.8226), ("english", 0.8501)):
        index = make_index(name, analyzer=name)
        index.put([(Source(d.source, "s"), [d]) for d in train + dev])
        assert index.info()["passages"] == 20_100
        recall, median = measure(index, sample)
        assert recall > published
        assert median < 10
