"""Whole articles with questions about them: what expansion and passage ranking are measured on."""

import hashlib
import os
import random
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from quoth import text
from quoth.datasets import load_cmuqa, load_selqa
from quoth.evaluate.retrieval import KS
from quoth.reproduce.corpus import load_corpus
from quoth.reproduce.recipe import Inputs
from quoth.retrieve.store import Index
from quoth.types import Document, Passage, Source

SHORT = 5
"""Words of the longest answer that the blog kept of Natural Questions."""

YEARS = ("S08", "S09", "S10")


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, the strings that answer it, and the document that it is about."""

    question: str
    answers: tuple[str, ...]
    document_id: str


@dataclass(frozen=True, slots=True)
class Articles:
    """Documents and questions about them; ``about`` says what they are and which questions were kept."""

    name: str
    documents: tuple[Document, ...]
    questions: tuple[Asked, ...]
    about: str

    def limited(self, limit: int, seed: int) -> "Articles":
        """Return the same articles with at most *limit* of the questions (0: all), drawn by *seed*."""
        if not limit or limit >= len(self.questions):
            return self
        kept = tuple(random.Random(seed).sample(self.questions, limit))
        return replace(self, questions=kept, about=f"{self.about}; {limit} of them drawn")


def squad_articles(inputs: Inputs, *, split: str = "dev") -> Articles:
    """Return SQuAD 2.0's articles, train and dev, and the answerable questions of one half with a short answer."""
    corpus = load_corpus(inputs)
    asked = [
        Asked(c.question, short, c.group) for c in corpus.cases(split) if (short := short_answers(c.answers))
    ]
    about = (
        f"{len(corpus.documents)} SQuAD 2.0 articles (train and dev), {len(asked)} {split} questions with an "
        f"answer of at most {SHORT} words"
    )
    return Articles("SQuAD", corpus.documents, tuple(asked), about)


def cmu_articles(inputs: Inputs) -> Articles:
    """Return the CMU/Pitt articles, and the questions about them with a short answer that is not yes or no."""
    documents: dict[str, Document] = {}
    asked: list[Asked] = []
    for year in YEARS:
        data = load_cmuqa(inputs.file(f"cmu-qa/{year}/question_answer_pairs.txt"))
        documents |= {id: _document(id, d.text, d.title) for id, d in data.documents.items()}
        for question in data.questions:
            short = short_answers(question.answers)
            if short and question.document_id in data.documents:
                asked.append(Asked(question.question, short, question.document_id))
    about = (
        f"{len(documents)} of the 135 CMU/Pitt Wikipedia articles, {len(asked)} questions about them with an answer of "
        f"at most {SHORT} words, no yes or no"
    )
    return Articles("CMU", tuple(documents.values()), tuple(asked), about)


def selqa_sections(inputs: Inputs) -> Articles:
    """Return the sections of SelQA's dev questions; a question's answers are its positive sentences."""
    data = load_selqa(inputs.file("selqa/ass/selqa-ass-dev.json"))
    documents: dict[str, Document] = {}
    asked: list[Asked] = []
    for question in data.questions:
        id = f"{question.title}/{question.section}"
        documents.setdefault(id, _document(id, question.document, question.title))
        answers = tuple(c.text for c in question.candidates if c.label and c.text in documents[id].text)
        if answers:
            asked.append(Asked(question.question, answers, id))
    about = f"{len(documents)} sections of SelQA dev, {len(asked)} questions answered by a sentence of theirs"
    return Articles("SelQA", tuple(documents.values()), tuple(asked), about)


def short_answers(answers: Iterable[str]) -> tuple[str, ...]:
    """Return the answers of one to five words, without a full stop at the end, that are not yes or no."""
    kept = [answer.strip().rstrip(".").strip() for answer in answers]
    return tuple(a for a in kept if 0 < len(text.words(a)) <= SHORT and text.words(a)[0] not in ("yes", "no"))


def article_index(
    inputs: Inputs, articles: Articles, *, split: str = "document", analyzer: str = "english"
) -> Index:
    """Return an index of the articles in the work folder, made where it is not there yet, for reading."""
    content = hashlib.sha256("\n".join(f"{d.id} {d.sha256}" for d in articles.documents).encode())
    folder = inputs.work / f"{articles.name.lower()}-{split}-{analyzer}-{content.hexdigest()[:12]}"
    if not (folder / "catalog.sqlite").exists():
        making = folder.with_name(f"{folder.name}.{os.getpid()}")
        with Index.create(making, analyzer=analyzer, split=split) as index:
            index.put([(Source(d.id, d.sha256), (replace(d, source=d.id),)) for d in articles.documents])
        making.rename(folder)
    return Index.open(folder)


class Holds:
    """Says which passages hold an answer: a lower-cased substring of title and text, texts lower-cased once."""

    def __init__(self) -> None:
        self._lowered: dict[tuple[str, int, int], str] = {}

    def __call__(self, passage: Passage, answers: Sequence[str]) -> bool:
        key = (passage.document_id, passage.start, passage.end)
        held = self._lowered.get(key)
        if held is None:
            held = self._lowered[key] = f"{passage.title} {passage.text}".lower()
        return any(answer.lower() in held for answer in answers)


def first_hits(articles: Articles, retrieve: Callable[[str], Sequence[Passage]], holds: Holds) -> list[int]:
    """Return, for each question, the rank (from 1) of the first passage that holds an answer; 0 for none."""
    ranks = []
    for asked in articles.questions:
        found = (
            rank for rank, passage in enumerate(retrieve(asked.question), 1) if holds(passage, asked.answers)
        )
        ranks.append(next(found, 0))
    return ranks


def recalled(ranks: Sequence[int], k: int) -> list[float]:
    """Return 1 for each question with an answer among the first *k*, else 0."""
    return [float(0 < rank <= k) for rank in ranks]


def _document(id: str, content: str, title: str) -> Document:
    digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
    return Document(id=id, text=content, title=title, sha256=digest)


__all__ = [
    "KS",
    "Articles",
    "Asked",
    "Holds",
    "article_index",
    "cmu_articles",
    "first_hits",
    "recalled",
    "selqa_sections",
    "short_answers",
    "squad_articles",
]
