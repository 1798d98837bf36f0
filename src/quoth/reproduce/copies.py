"""As many texts as are wanted: real paragraphs, then copies with a fifth of their words exchanged."""

from collections.abc import Iterator, Sequence

import numpy as np

from quoth.datasets import load_cmuqa
from quoth.errors import InputError
from quoth.reproduce.corpus import load_corpus
from quoth.reproduce.recipe import Inputs
from quoth.types import Document, Source

YEARS = ("S08", "S09", "S10")
EXCHANGED = 0.2
BATCH = 5_000


def base_texts(inputs: Inputs) -> list[tuple[str, str]]:
    """Return (title, paragraph) of all real text: SQuAD's paragraphs, then what CMU's articles hold."""
    corpus = load_corpus(inputs)
    texts = [(d.title, d.text[a:b]) for d in corpus.documents for a, b in d.paragraphs]
    for year in YEARS:
        try:
            pairs = inputs.file(f"cmu-qa/{year}/question_answer_pairs.txt")
        except InputError:
            continue
        for article in load_cmuqa(pairs).documents.values():
            texts += [(article.title, p) for p in article.text.split("\n\n") if len(p.split()) >= 40]
    return texts


def passages(texts: Sequence[tuple[str, str]], size: int) -> Iterator[tuple[str, str]]:
    """Yield *size* (title, text): the real ones, then copies with words exchanged for others of the corpus."""
    yield from texts[:size]
    words = [text.split(" ") for _, text in texts]
    vocabulary = sorted({word for row in words for word in row})
    for number in range(len(texts), size):
        base = words[number % len(texts)]
        drawn = np.random.default_rng(number)
        count = max(1, int(len(base) * EXCHANGED))
        row = list(base)
        places = drawn.integers(0, len(base), count)
        for place, word in zip(
            places.tolist(), drawn.integers(0, len(vocabulary), count).tolist(), strict=True
        ):
            row[place] = vocabulary[word]
        yield texts[number % len(texts)][0], " ".join(row)


def documents(texts: Sequence[tuple[str, str]], size: int, *, each: int = 50) -> Iterator[Document]:
    """Yield documents of *each* passages; their paragraphs are the passages."""
    held: list[str] = []
    title, number = "", 0

    def made() -> Document:
        spans, at = [], 0
        for text in held:
            spans.append((at, at + len(text)))
            at += len(text) + 2
        whole = "\n\n".join(held)
        return Document(f"d{number:07}", whole, title=title, sha256=f"{number}", paragraphs=tuple(spans))

    for one, text in passages(texts, size):
        if held and (one != title or len(held) == each):
            yield made()
            held, number = [], number + 1
        title = one
        held.append(text)
    if held:
        yield made()


def batches(
    texts: Sequence[tuple[str, str]], size: int
) -> Iterator[list[tuple[Source, tuple[Document, ...]]]]:
    """Yield the documents as a store takes them, about ``BATCH`` passages at a time."""
    batch: list[tuple[Source, tuple[Document, ...]]] = []
    count = 0
    for document in documents(texts, size):
        batch.append((Source(document.id, document.sha256), (document,)))
        count += len(document.paragraphs)
        if count >= BATCH:
            yield batch
            batch, count = [], 0
    if batch:
        yield batch
