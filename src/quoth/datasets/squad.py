"""SQuAD 1.1 and 2.0, and all that is published in that shape (also gzipped).

COVID-QA (deepset's export: no version and title, ``document_id`` and integer ids), BioASQ,
PolicyQA, XQuAD, SQuADShifts, and the flat ``answers: {"text": [...], "answer_start": [...]}``.
"""

import json
import re
from dataclasses import dataclass, field

from quoth.datasets.files import (
    PathOrStr,
    fields,
    items,
    lines_of,
    read_json,
    split_of,
    stem_of,
    string,
)
from quoth.datasets.labels import Ledger, place_answer
from quoth.datasets.records import Context, GoldAnswer, SpanDataset, SpanQuestion, Split
from quoth.errors import InputError

_BIOASQ = re.compile(r"([0-9a-f]{24})[:_][0-9]+")


@dataclass
class _Build:
    """What has been read so far."""

    split: Split
    ledger: Ledger = field(default_factory=Ledger)
    documents: dict[str, int] = field(default_factory=dict)
    contexts: dict[str, Context] = field(default_factory=dict)
    questions: list[SpanQuestion] = field(default_factory=list)

    def add(self, document: str, title: str, text: str) -> Context:
        """Add a paragraph to a document, numbered within it."""
        at = self.documents.get(document, 0)
        self.documents[document] = at + 1
        context = Context(f"{document}/{at}", title, text, document)
        self.contexts[context.id] = context
        return context

    def apart(self, wanted: str) -> str:
        """Return *wanted*, with a suffix where an earlier article is called so."""
        chosen, count = wanted, 1
        while chosen in self.documents:
            count += 1
            chosen = f"{wanted}#{count}"
        return chosen

    def dataset(self, name: str) -> SpanDataset:
        return SpanDataset(name, self.split, self.contexts, tuple(self.questions), self.ledger.problems)


def load_squad(path: PathOrStr, *, split: Split | None = None) -> SpanDataset:
    """Read a file in SQuAD format.

    A document is an article (its ``document_id``, else its title, else its position from 0);
    a BioASQ file, which has one article for all, is grouped by its question instead, so that
    snippets of one question stay together. An answer whose offset does not hold is moved to
    the nearest exact occurrence; a bad example is reported and left out. As in the official
    script a question is impossible where it has no answers.

    Raises ``InputError`` where the file is missing, is not JSON or has no ``data`` list.
    """
    root = fields(read_json(path))
    if not isinstance(root.get("data"), list):
        raise InputError(
            f'{path}: has no list "data", so it is not in SQuAD format.',
            hint="quoth data describe FILE names the format.",
        )
    build = _Build(split or split_of(path))
    for index, article in enumerate(items(root["data"])):
        _article(build, index, fields(article))
    return build.dataset(stem_of(path))


def load_flat_squad(path: PathOrStr, *, split: Split | None = None) -> SpanDataset:
    """Read JSON lines with ``id, title, context, question, answers`` (the flat form), one row at a time.

    Equal contexts of one title are one context. Raises ``InputError`` where the file is missing.
    """
    build = _Build(split or split_of(path))
    known: dict[tuple[str, str], Context] = {}
    for number, line in lines_of(path):
        if not line.strip():
            continue
        row = _json_line(build, number, line)
        text, title = row.get("context"), string(row.get("title"))
        if not isinstance(text, str):
            if row:
                build.ledger.note(
                    f"line {number}", "no_context", "the row has no context text", repaired=False
                )
            continue
        context = known.get((title, text))
        if context is None:
            context = known[title, text] = build.add(title or "untitled", title, text)
        _question(build, context, number - 1, row)
    return build.dataset(stem_of(path))


def _json_line(build: _Build, number: int, line: str) -> dict[str, object]:
    try:
        row = fields(json.loads(line))
    except (ValueError, RecursionError) as error:
        build.ledger.note(f"line {number}", "bad_json", str(error), repaired=False)
        return {}
    if not row:
        build.ledger.note(f"line {number}", "bad_row", "the row is not a JSON object", repaired=False)
    return row


def _article(build: _Build, index: int, article: dict[str, object]) -> None:
    title = string(article.get("title"))
    if not isinstance(article.get("paragraphs"), list):
        build.ledger.note(
            title or f"article {index}", "no_paragraphs", "the article has no paragraphs", repaired=False
        )
        return
    own = build.apart(title or str(index))
    for position, value in enumerate(items(article["paragraphs"])):
        paragraph = fields(value)
        text = paragraph.get("context")
        if not isinstance(text, str):
            build.ledger.note(
                f"{title or index}/{position}",
                "no_context",
                "the paragraph has no context text",
                repaired=False,
            )
            continue
        context = build.add(_document(article, paragraph) or own, title, text)
        for place, entry in enumerate(items(paragraph.get("qas"))):
            _question(build, context, place, fields(entry))


def _document(article: dict[str, object], paragraph: dict[str, object]) -> str:
    """Return the id of a paragraph's document where the file states one."""
    stated = string(paragraph.get("document_id")) or string(article.get("document_id"))
    if stated:
        return stated
    first = items(paragraph.get("qas"))[:1]
    match = _BIOASQ.fullmatch(string(fields(first[0]).get("id"))) if first else None
    return match.group(1) if match else ""


def _question(build: _Build, context: Context, place: int, entry: dict[str, object]) -> None:
    id = build.ledger.unique(string(entry.get("id")), fallback=f"{context.id}/q{place}")
    text = entry.get("question")
    if not isinstance(text, str) or not text.strip():
        build.ledger.note(id, "empty_question", "the question is empty; left out", repaired=False)
        return
    stated = _stated(entry.get("answers"))
    answers = _answers(build, id, context, stated)
    if stated and not answers:
        build.ledger.note(
            id, "no_answer_left", "none of its answers is in the context; left out", repaired=False
        )
        return
    flag = entry.get("is_impossible")
    if isinstance(flag, bool) and flag == bool(answers):
        said = "impossible, with answers" if flag else "answerable, without answers"
        build.ledger.note(id, "contradiction", f"marked {said}; the answers decide", repaired=False)
    build.questions.append(
        SpanQuestion(id, text, answers, not answers, context.id, context.title, build.split)
    )


def _stated(value: object) -> list[tuple[object, object]]:
    """Return (text, start) pairs as the file states them: a list of objects, or two parallel lists."""
    flat = fields(value)
    if flat:
        return list(zip(items(flat.get("text")), items(flat.get("answer_start")), strict=False))
    return [(entry.get("text"), entry.get("answer_start")) for entry in map(fields, items(value))]


def _answers(
    build: _Build, id: str, context: Context, stated: list[tuple[object, object]]
) -> tuple[GoldAnswer, ...]:
    answers = []
    for text, start in stated:
        if not isinstance(text, str) or not text.strip():
            build.ledger.note(id, "empty_answer", "an answer is empty; dropped", repaired=False)
            continue
        answer, problem = place_answer(context.text, text, start if isinstance(start, int) else -1)
        if problem:
            build.ledger.note(id, problem.kind, problem.detail, repaired=problem.repaired)
        if answer:
            answers.append(answer)
    return tuple(answers)
