"""The blog's post on the retriever: two analyzers, recall by number of passages and by size of the corpus."""

import hashlib
import random
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from quoth.evaluate import Case, GoldPassage, Retrieved, span_documents
from quoth.evaluate.resume import run_rows
from quoth.evaluate.retrieval import KS, RetrievalScores, hit_flags, query_times, score_hits
from quoth.protocols import Retriever
from quoth.reproduce.corpus import DEV, TRAIN, Corpus, load_corpus, open_index
from quoth.reproduce.measuring import file_facts, keeping, mean_row, sampled
from quoth.reproduce.recipe import Chart, Curve, Inputs, Outcome, Recipe, Row
from quoth.retrieve.store.analysis import analyzer
from quoth.types import Document, Query

if TYPE_CHECKING:
    from quoth.datasets import SpanDataset

ANALYZERS = {"standard": ("0.8226", "0.7524", "3.06"), "english": ("0.8501", "0.7801", "0.77")}
"""Recall@3, mAP@3 and milliseconds a query, as published: the standard analyzer; stop words and Snowball."""

RULES = ("answer", "passage")
TIMED = 2_000
SIZES = (1_000, 2_500, 5_000, 10_000)
ASKED_BY_SIZE = 2_000
DEEPEST = max(KS)
SENTENCE = "I'm in the mood for drinking semi-dry red wine!"


def run(inputs: Inputs) -> Outcome:
    """Ask every answerable question of both indexes; then of corpora of several sizes."""
    corpus = load_corpus(inputs)
    cases = sampled([*answerable(corpus.train), *answerable(corpus.dev)], inputs)
    facts = file_facts(inputs.file(TRAIN), inputs.file(DEV))
    rows: list[Row] = []
    by_k: list[Curve] = []
    by_size: list[Curve] = []
    for name, published in ANALYZERS.items():
        index = open_index(inputs.work / f"squad-{name}", corpus.documents, analyzer=name)
        with index:
            running = keeping(
                inputs, f"retriever-{name}", {**facts, "analyzer": name, "k": str(DEEPEST)}, batch=1_000
            )
            found = run_rows(cases, id_of=_id, work=partial(hits, index), running=running)
            scores = _scores(found)
            rows += _rows(name, scores, cases, published, corpus.passages)
            rows.append(_timed(name, index, cases, published[2]))
        by_k += [_curve(name, rule, scores[rule]) for rule in scores]
        more, curves = _by_size(inputs, corpus, name)
        rows += more
        by_size += curves
    return Outcome(
        tuple(rows),
        (
            f"{corpus.passages:,} paragraphs (SQuAD 2.0 train and dev, put together from public pieces) where the blog "
            f"had 20,239; {len(cases):,} of its answerable questions of train and dev are asked",
            "the blog's retriever was Elasticsearch with its defaults; ours is quoth's own index: the same two ideas "
            "(lower case alone; stop words and Snowball), another tokenizer, and words that follow each other in the "
            "question count more where they do so in a passage; the title is searched with the text in both",
            "times are of this machine, in process, without a server; the blog's are a server's own ('took')",
            "the blog's figure by size of the corpus has no numbers in its text; which questions and sizes it took is "
            "not said: ours are nested random parts of the corpus, all asked the same questions",
        ),
        (
            Chart("Recall by number of passages", "passages retrieved (k)", "recall@k", tuple(by_k)),
            Chart("Recall by size of the corpus", "paragraphs in the index", "recall@k", tuple(by_size)),
        ),
        (analysed(SENTENCE),),
    )


def answerable(dataset: "SpanDataset") -> list[Case]:
    """Return the questions that have an answer, with where it stands and no bins."""
    _, starts = span_documents(dataset)
    out = []
    for q in dataset.questions:
        if not q.answers:
            continue
        context, first = dataset.context(q), q.answers[0]
        start = starts[context.id]
        gold = GoldPassage(context.document_id, start + first.start, start + first.end, context.text)
        texts = tuple(answer.text for answer in q.answers)
        out.append(Case(q.id, q.question, texts, group=context.document_id, gold=gold))
    return out


def hits(retriever: Retriever, case: Case) -> dict[str, Any]:
    """Return at which ranks the first answer, and the gold paragraph, were found, and how many passages came."""
    found = tuple(s.item for s in retriever.retrieve(Query(case.question), k=DEEPEST))
    flags = hit_flags(Retrieved(case.id, case.answers, case.gold, found), DEEPEST)
    return {"n": len(found), **{rule: [i for i, hit in enumerate(flags[rule]) if hit] for rule in RULES}}


def _id(case: Case) -> str:
    return case.id


def _scores(rows: Sequence[Mapping[str, Any]]) -> dict[str, RetrievalScores]:
    ids = [row["id"] for row in rows]
    out = {}
    for rule in RULES:
        flags = [[i in set(row[rule]) for i in range(row["n"])] for row in rows]
        out[rule] = score_hits(ids, flags, ks=KS, rule=rule)
    return out


def _rows(
    name: str,
    scores: Mapping[str, RetrievalScores],
    cases: Sequence[Case],
    published: tuple[str, str, str],
    passages: int,
) -> list[Row]:
    groups = [case.group for case in cases]
    out = []
    for rule, found in scores.items():
        how = "first gold answer in title or text" if rule == "answer" else "the annotated paragraph"
        how += f"; {name} analyzer, {passages:,} paragraphs"
        for metric in ("recall", "mAP"):
            for k in KS:
                if metric == "mAP" and k != 3:
                    continue
                given = published[0 if metric == "recall" else 1] if k == 3 and rule == "answer" else ""
                column = found.columns[f"{metric}@{k}"]
                out.append(mean_row(f"{name}: {metric}@{k}/{rule}", given, column, groups, how))
    return out


def _timed(name: str, retriever: Retriever, cases: Sequence[Case], published: str) -> Row:
    """Return the mean time of a query for three passages (the blog's figure), median and tail beside it."""
    asked = random.Random(0).sample(list(cases), min(TIMED, len(cases)))
    times = []
    for case in asked:
        began = time.perf_counter()
        retriever.retrieve(Query(case.question), k=3)
        times.append((time.perf_counter() - began) * 1000)
    found = query_times(times)
    how = f"n={found.n:,}, k=3; median {found.median_ms:.2f}, 95th percentile {found.p95_ms:.2f}"
    return Row(f"{name}: mean ms a query", published, found.mean_ms, how)


def _curve(name: str, rule: str, scores: RetrievalScores) -> Curve:
    points = tuple((float(k), float(scores.columns[f"recall@{k}"].mean())) for k in KS)
    return Curve(f"{name}, {'first answer' if rule == 'answer' else 'gold paragraph'}", points)


def _by_size(inputs: Inputs, corpus: Corpus, name: str) -> tuple[list[Row], list[Curve]]:
    """Return recall by the size of nested random parts of the corpus, the same questions asked of each."""
    paragraphs = _paragraphs(corpus)
    random.Random(inputs.seed).shuffle(paragraphs)
    smallest = min(SIZES[0], len(paragraphs))
    there = {document.text for document in paragraphs[:smallest]}
    able = [*answerable(corpus.train), *answerable(corpus.dev)]
    cases = sampled(
        [c for c in able if c.gold and c.gold.paragraph in there], inputs, otherwise=ASKED_BY_SIZE
    )
    groups = [case.group for case in cases]
    points: dict[int, list[tuple[float, float]]] = {k: [] for k in KS}
    rows = []
    for size in [*(s for s in SIZES if s < len(paragraphs)), len(paragraphs)]:
        folder = inputs.work / f"squad-{name}-{size}-{inputs.seed}"
        with open_index(folder, paragraphs[:size], analyzer=name) as index:
            found = [{"id": c.id, **hits(index, c)} for c in cases]
        inputs.progress(size, len(paragraphs), f"{size:,} paragraphs, {name}")
        scores = _scores(found)["answer"]
        for k in KS:
            points[k].append((float(size), float(scores.columns[f"recall@{k}"].mean())))
        how = f"first gold answer; {name} analyzer, questions of {smallest:,} paragraphs that are in each corpus"
        column = scores.columns["recall@3"]
        rows.append(mean_row(f"{name}, {size:,} paragraphs: recall@3/answer", "", column, groups, how))
    return rows, [Curve(f"{name}, k = {k}", tuple(p)) for k, p in points.items()]


def _paragraphs(corpus: Corpus) -> list[Document]:
    """Return each paragraph as a document of its own, in the order of the data."""
    out = []
    for document in corpus.documents:
        for number, (start, end) in enumerate(document.paragraphs):
            text = document.text[start:end]
            digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
            out.append(
                replace(
                    document,
                    id=f"{document.id}/{number}",
                    text=text,
                    sha256=digest,
                    paragraphs=((0, len(text)),),
                )
            )
    return out


def analysed(sentence: str) -> str:
    """Return what each part of the two analyzers makes of a sentence, as lines of text."""
    standard, english = analyzer("standard"), analyzer("english")

    def shown(tokens: Sequence[Any]) -> str:
        return " ".join(f"[{token.text}]" for token in tokens)

    return "\n".join(
        (
            f"the analyzer's parts on: {sentence}",
            f"  character filter (NFKC, accents and case folded): {standard.prepare(sentence)}",
            f"  tokenizer, lower case (standard): {shown(standard.terms(sentence))}",
            f"  and Snowball stems (english, as the index has them): {shown(english.terms(sentence))}",
            f"  and no stop words (english, as a question is searched for): {shown(english.content_terms(sentence))}",
        )
    )


RECIPES = (
    Recipe(
        "blog-retriever",
        "standard analyzer against stop words and stemming; recall by passages and by size of the corpus",
        "blog: Evaluating QA: the Retriever & the Full QA System (2020)",
        run,
    ),
)
