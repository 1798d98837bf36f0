"""Write data sets in the formats that are read: SQuAD JSON, SelQA JSON, WikiQA TSV (all also gzipped).

A file appears whole or not at all: it is written beside its place and moved there.
"""

import gzip
import json
import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, cast

from quoth.datasets.files import PathOrStr
from quoth.datasets.records import (
    SelectionQuestion,
    SpanDataset,
    SpanQuestion,
    TriggeringQuestion,
)
from quoth.datasets.wikiqa import COLUMNS
from quoth.errors import InputError


def write_squad(data: SpanDataset, path: PathOrStr) -> int:
    """Write spans as SQuAD 2.0 JSON, one article for each document; return how many questions.

    ``document_id`` is written with a paragraph where it is not its title, as deepset's export has it.
    Raises ``InputError`` where the file cannot be written.
    """
    asked: dict[str, list[SpanQuestion]] = {}
    for question in data.questions:
        asked.setdefault(question.context_id, []).append(question)
    articles: dict[str, dict[str, object]] = {}
    for context in data.contexts.values():
        article = articles.setdefault(context.document_id, {"title": context.title, "paragraphs": []})
        paragraph: dict[str, object] = {
            "context": context.text,
            "qas": list(map(_qa, asked.get(context.id, ()))),
        }
        if context.document_id != context.title:
            paragraph["document_id"] = context.document_id
        cast("list[object]", article["paragraphs"]).append(paragraph)
    with _opened(path) as file:
        json.dump({"version": "v2.0", "data": list(articles.values())}, file, ensure_ascii=False)
    return len(data.questions)


def write_selection(questions: Iterable[SelectionQuestion], path: PathOrStr) -> int:
    """Write sentence selection, one question at a time; return how many.

    A path that ends in ``.tsv`` (or ``.tsv.gz``) gets WikiQA's rows, where white space in a
    sentence is one space; any other gets SelQA's JSON, with ids and documents besides.
    Raises ``InputError`` where the file cannot be written.
    """
    if not str(path).removesuffix(".gz").endswith(".tsv"):
        return _json_list(map(_selection, questions), path)
    count = 0
    with _opened(path) as file:
        file.write("\t".join(COLUMNS) + "\n")
        for count, question in enumerate(questions, 1):  # noqa: B007
            head = (question.id, question.question, question.document_id or question.id, question.title)
            for candidate in question.candidates:
                row = (*head, candidate.id, candidate.text, str(candidate.label))
                file.write("\t".join(" ".join(cell.split()) for cell in row) + "\n")
    return count


def write_triggering(questions: Iterable[TriggeringQuestion], path: PathOrStr) -> int:
    """Write answer triggering as SelQA's JSON, one question at a time; return how many.

    Raises ``InputError`` where the file cannot be written.
    """
    return _json_list(map(_triggering, questions), path)


def _qa(question: SpanQuestion) -> dict[str, object]:
    return {
        "id": question.id,
        "question": question.question,
        "answers": [{"text": answer.text, "answer_start": answer.start} for answer in question.answers],
        "is_impossible": question.impossible,
    }


def _selection(question: SelectionQuestion) -> dict[str, object]:
    body: dict[str, object] = {
        "id": question.id,
        "question": question.question,
        "article": question.title,
        "section": question.section,
        "topic": question.topic,
        "candidates": [candidate.text for candidate in question.candidates],
        "answers": [at for at, candidate in enumerate(question.candidates) if candidate.label],
        "document_id": question.document_id,
        "document": question.document,
    }
    return body | ({"is_paraphrase": question.kind == "paraphrase"} if question.kind else {})


def _triggering(question: TriggeringQuestion) -> dict[str, object]:
    body: dict[str, object] = {
        "id": question.id,
        "question": question.question,
        "article": question.title,
        "section": "",
        "topic": question.topic,
        "candidate_list": [
            {
                "article": section.title,
                "section": section.section,
                "candidates": [candidate.text for candidate in section.candidates],
                "answers": [at for at, candidate in enumerate(section.candidates) if candidate.label],
            }
            for section in question.sections
        ],
        "document_id": question.document_id,
    }
    return body | ({"is_paraphrase": question.kind == "paraphrase"} if question.kind else {})


def _json_list(entries: Iterable[dict[str, object]], path: PathOrStr) -> int:
    count = 0
    with _opened(path) as file:
        file.write("[")
        for count, entry in enumerate(entries, 1):
            file.write(",\n" if count > 1 else "\n")
            json.dump(entry, file, ensure_ascii=False)
        file.write("\n]\n")
    return count


@contextmanager
def _opened(path: PathOrStr) -> Iterator[IO[str]]:
    """Open a file beside *path* and move it there at the end; leave nothing behind on a failure."""
    target = Path(path)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        with _text(part, packed=target.name.endswith(".gz")) as file:
            yield file
        os.replace(part, target)
    except OSError as error:
        raise InputError(
            f"{path}: cannot be written ({error.strerror or error}).",
            hint="Check the folder and the space on it.",
        ) from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def _text(part: Path, *, packed: bool) -> IO[str]:
    # Lone surrogates, which JSON may hold, are written as "?" rather than failing at the last question.
    if packed:
        return cast("IO[str]", gzip.open(part, "wt", encoding="utf-8", errors="replace", newline=""))
    return open(part, "w", encoding="utf-8", errors="replace", newline="")
