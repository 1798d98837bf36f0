"""SelQA: sentence selection and answer triggering, each as JSON (analysis) and TSV (experiments).

The two tasks have different records. A selection question's id is its position in the JSON
file, from 1; a candidate's is ``POSITION-INDEX`` with the index from 0. The TSV files are
tokenised, hold the same questions in the same order, and lack the JSON's empty candidates.
What quoth converts to this form also has ``id``, ``document_id`` and ``document``, which are kept.
"""

from collections.abc import Iterator

from quoth.datasets.candidates import Row, candidates_of, document_of
from quoth.datasets.files import PathOrStr, fields, items, lines_of, read_json, split_of, stem_of, string
from quoth.datasets.labels import Ledger
from quoth.datasets.records import (
    Kind,
    SelectionCandidate,
    SelectionDataset,
    SelectionQuestion,
    Split,
    TriggeringDataset,
    TriggeringQuestion,
    TriggeringSection,
)
from quoth.errors import InputError


def load_selqa(path: PathOrStr, *, split: Split | None = None) -> SelectionDataset:
    """Read SelQA's selection JSON: whole sections, in document order.

    Raises ``InputError`` where the file is missing or is not a list of objects with ``candidates``.
    """
    chosen, ledger = split or split_of(path), Ledger()
    questions = []
    for id, entry in _entries(path, "candidates", ledger):
        rows = _rows(id, entry, ledger)
        article, section = string(entry.get("article")), string(entry.get("section"))
        questions.append(
            SelectionQuestion(
                id,
                string(entry.get("question")),
                candidates_of(rows, ordered=True),
                title=article,
                document=string(entry.get("document")) or document_of([row.text for row in rows]),
                document_id=string(entry.get("document_id")) or article,
                section=section,
                topic=string(entry.get("topic")),
                kind=_kind(entry),
                split=chosen,
            )
        )
    return SelectionDataset(stem_of(path), chosen, tuple(questions), ledger.problems)


def load_selqa_triggering(path: PathOrStr, *, split: Split | None = None) -> TriggeringDataset:
    """Read SelQA's triggering JSON: for each question five sections, most without an answer.

    A section's id is ``POSITION/SECTION`` (both as the file has them), a sentence's
    ``POSITION-S-INDEX`` with the section's number S from 0.
    Raises ``InputError`` where the file is missing or has no ``candidate_list``.
    """
    chosen, ledger = split or split_of(path), Ledger()
    questions = []
    for id, entry in _entries(path, "candidate_list", ledger):
        article = string(entry.get("article"))
        questions.append(
            TriggeringQuestion(
                id,
                string(entry.get("question")),
                tuple(_sections(id, entry, ledger)),
                title=article,
                document_id=string(entry.get("document_id")) or article,
                topic=string(entry.get("topic")),
                kind=_kind(entry),
                split=chosen,
            )
        )
    return TriggeringDataset(stem_of(path), chosen, tuple(questions), ledger.problems)


def load_selqa_tsv(path: PathOrStr, *, split: Split | None = None) -> SelectionDataset:
    """Read rows of question, candidate, label (0 or 1): SelQA's selection TSV, WikiQA's ``.txt``.

    A question is a run of rows with the same question; a run whose second half repeats the
    first is two questions of the same words. A question's id is its position from 1.
    The rows are in document order, so neighbours are known; titles and topics are not.
    Raises ``InputError`` where the file is missing.
    """
    chosen, ledger = split or split_of(path), Ledger()
    questions = []
    for at, (text, rows) in enumerate(_runs(path, ledger), 1):
        if not text.strip():
            ledger.note(str(at), "empty_question", "the question is empty; left out", repaired=False)
            continue
        listed = [Row(f"{at}-{index}", *row) for index, row in enumerate(rows)]
        questions.append(
            SelectionQuestion(
                str(at),
                text,
                candidates_of(listed, ordered=True),
                document=document_of([row.text for row in listed]),
                document_id=str(at),
                split=chosen,
            )
        )
    return SelectionDataset(stem_of(path), chosen, tuple(questions), ledger.problems)


def _entries(path: PathOrStr, key: str, ledger: Ledger) -> Iterator[tuple[str, dict[str, object]]]:
    root = read_json(path)
    if not isinstance(root, list) or (root and not any(key in fields(entry) for entry in root)):
        raise InputError(
            f'{path}: is not a list of questions with "{key}".',
            hint="quoth data describe FILE names the format.",
        )
    for position, value in enumerate(root, 1):
        entry = fields(value)
        if not isinstance(entry.get(key), list):
            ledger.note(str(position), "bad_row", f'has no list "{key}"; left out', repaired=False)
        elif not string(entry.get("question")).strip():
            ledger.note(str(position), "empty_question", "the question is empty; left out", repaired=False)
        else:
            yield ledger.unique(string(entry.get("id")) or str(position), fallback=""), entry


def _rows(id: str, entry: dict[str, object], ledger: Ledger) -> list[Row]:
    """Return the sentences of a question or of one of its sections."""
    texts = [string(text) for text in items(entry.get("candidates"))]
    answers = set()
    for index in items(entry.get("answers")):
        if isinstance(index, int) and 0 <= index < len(texts):
            answers.add(index)
        else:
            ledger.note(
                id, "bad_label", f"answer {index!r} is not one of {len(texts)} candidates", repaired=False
            )
    for index, text in enumerate(texts):
        if not text.strip():
            certain = index not in answers
            detail = f"candidate {index} is empty; kept, so that the others keep their ids"
            ledger.note(id, "empty_candidate", detail, repaired=certain)
    return [Row(f"{id}-{index}", text, int(index in answers)) for index, text in enumerate(texts)]


def _sections(id: str, entry: dict[str, object], ledger: Ledger) -> Iterator[TriggeringSection]:
    names = Ledger()
    for number, value in enumerate(items(entry.get("candidate_list"))):
        part = fields(value)
        section = string(part.get("section"))
        candidates: tuple[SelectionCandidate, ...] = candidates_of(
            _rows(f"{id}-{number}", part, ledger), ordered=True
        )
        yield TriggeringSection(
            names.unique(f"{id}/{section or number}", fallback=""),
            string(part.get("article")),
            section,
            candidates,
        )


def _kind(entry: dict[str, object]) -> Kind:
    flag = entry.get("is_paraphrase")
    if not isinstance(flag, bool):
        return ""
    return "paraphrase" if flag else "original"


def _runs(path: PathOrStr, ledger: Ledger) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield (question, [(candidate, label), ...]), one question at a time."""
    question, rows = "", list[tuple[str, int]]()
    for number, line in lines_of(path):
        row = line.split("\t")
        if len(row) != 3 or row[2] not in ("0", "1"):
            if line.strip():
                ledger.note(
                    f"line {number}", "bad_row", f"{len(row)} columns, label {row[-1][:20]!r}", repaired=False
                )
            continue
        if rows and row[0] != question:
            yield from _halves(question, rows)
            rows = []
        question = row[0]
        rows.append((row[1], int(row[2])))
    if rows:
        yield from _halves(question, rows)


def _halves(question: str, rows: list[tuple[str, int]]) -> Iterator[tuple[str, list[tuple[str, int]]]]:
    """Yield a run of rows, as two questions where its second half repeats the first."""
    middle, odd = divmod(len(rows), 2)
    if not odd and [text for text, _ in rows[:middle]] == [text for text, _ in rows[middle:]]:
        yield question, rows[:middle]
        yield question, rows[middle:]
    else:
        yield question, rows
