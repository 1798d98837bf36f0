"""NQ-open and EfficientQA: JSON lines of a question and its answer strings."""

import json
from collections.abc import Iterator

from quoth.datasets.files import PathOrStr, fields, items, lines_of, split_of, stem_of, string
from quoth.datasets.labels import Ledger
from quoth.datasets.records import OpenDataset, OpenQuestion, Split


def iter_nq_open(
    path: PathOrStr, *, split: Split | None = None, ledger: Ledger | None = None
) -> Iterator[OpenQuestion]:
    """Yield questions one line at a time; bad lines are reported to *ledger* and left out.

    A question's id is the line's ``id``, else its line number from 1.
    Raises ``InputError`` where the file is missing.
    """
    chosen, notes = split or split_of(path), ledger if ledger is not None else Ledger()
    for number, line in lines_of(path):
        if not line.strip():
            continue
        try:
            row = fields(json.loads(line))
        except (ValueError, RecursionError) as error:
            notes.note(f"line {number}", "bad_json", str(error), repaired=False)
            continue
        text, stated = string(row.get("question")), row.get("answer", row.get("answers"))
        answers = tuple(a for a in map(string, [stated] if isinstance(stated, str) else items(stated)) if a)
        if not text.strip():
            notes.note(f"line {number}", "empty_question", "no question; left out", repaired=False)
        elif not answers:
            notes.note(f"line {number}", "no_answer_left", "no answer string; left out", repaired=False)
        else:
            id = notes.unique(string(row.get("id")) or str(number), fallback="")
            yield OpenQuestion(id, text, answers, split=chosen)


def load_nq_open(path: PathOrStr, *, split: Split | None = None) -> OpenDataset:
    """Read a whole file of questions and answer strings. Raises ``InputError`` where it is missing."""
    ledger, chosen = Ledger(), split or split_of(path)
    questions = tuple(iter_nq_open(path, split=chosen, ledger=ledger))
    return OpenDataset(stem_of(path), chosen, questions, problems=ledger.problems)
