"""SubjQA: questions about reviews (CSV), annotated twice in part."""

import csv
import io
import re
from collections.abc import Iterator

from quoth.datasets.files import PathOrStr, read_text, split_of, stem_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import Context, GoldAnswer, SpanDataset, SpanQuestion, Split
from quoth.errors import InputError

_NEEDED = ("question", "review", "human_ans_spans", "human_ans_indices", "q_review_id")
_INDICES = re.compile(r"\(\s*(\d{1,9})\s*,\s*(\d{1,9})\s*\)")
_NONE = "ANSWERNOTFOUND"


def load_subjqa(path: PathOrStr, *, split: Split | None = None) -> SpanDataset:
    """Read SubjQA's CSV. Rows of one ``q_review_id`` are one question, annotated more than once.

    The offsets decide: the file's answer texts are re-spaced tokens, so the slice of the
    review is the answer. A question is impossible where no annotator marked a span; where
    some did and others did not, that is reported and the spans are kept. The reviews end in
    the marker "ANSWERNOTFOUND", which is cut off, since no answer may lie in it.

    Raises ``InputError`` where the file is missing or lacks one of the columns.
    """
    chosen, ledger = split or split_of(path), Ledger()
    groups: dict[str, list[dict[str, str]]] = {}
    contexts: dict[str, Context] = {}
    texts: dict[tuple[str, str], Context] = {}
    for number, row in _rows(path, ledger):
        groups.setdefault(row["q_review_id"] or f"line {number}", []).append(row)
    questions = []
    for id, rows in groups.items():
        first = rows[0]
        if not first["question"].strip():
            ledger.note(id, "empty_question", "the question is empty; left out", repaired=False)
            continue
        text = first["review"].removesuffix(_NONE).rstrip()
        context = _context(first, text, texts)
        answers = tuple(answer for row in rows if (answer := _answer(id, row, text, ledger)) is not None)
        if answers and len(answers) < len(rows):
            detail = f"{len(answers)} of {len(rows)} annotators found an answer; their spans are kept"
            ledger.note(id, "disagreement", detail, repaired=False)
        contexts[context.id] = context
        title = first.get("item_id", "")
        questions.append(SpanQuestion(id, first["question"], answers, not answers, context.id, title, chosen))
    return SpanDataset(stem_of(path), chosen, contexts, tuple(questions), ledger.problems)


def _context(row: dict[str, str], text: str, texts: dict[tuple[str, str], Context]) -> Context:
    """Return the review as a context; its document is the item that it is about."""
    item = row.get("item_id", "")
    key = (item, text)
    if key not in texts:
        at = sum(1 for other, _ in texts if other == item)
        texts[key] = Context(f"{item or 'review'}/{at}", item, text, item or f"review/{at}")
    return texts[key]


def _rows(path: PathOrStr, ledger: Ledger) -> Iterator[tuple[int, dict[str, str]]]:
    try:
        reader = csv.DictReader(io.StringIO(read_text(path), newline=""))
        missing = [name for name in _NEEDED if name not in (reader.fieldnames or ())]
        if missing:
            raise InputError(
                f"{path}: lacks the column {missing[0]!r} of SubjQA.",
                hint="quoth data describe FILE names the format.",
            )
        for row in reader:
            if any(row[name] is None for name in _NEEDED):
                ledger.note(
                    f"line {reader.line_num}", "bad_row", "the row is too short; left out", repaired=False
                )
            else:
                yield reader.line_num, row
    except csv.Error as error:
        raise InputError(f"{path}: is not CSV ({error}).", hint="Fetch the file again.") from error


def _answer(id: str, row: dict[str, str], text: str, ledger: Ledger) -> GoldAnswer | None:
    """Return the stretch that one annotator marked, or None."""
    said = row["human_ans_spans"]
    found = _INDICES.fullmatch(row["human_ans_indices"].strip())
    if said.strip() == _NONE:
        return None
    if not found:
        ledger.note(id, "bad_label", f"indices {row['human_ans_indices'][:30]!r}; dropped", repaired=False)
        return None
    start, end = (int(index) for index in found.groups())
    if _NONE in said or end > len(text) or start >= end:
        ledger.note(
            id, "bad_label", f"the span runs into the marker {_NONE}; read as no answer", repaired=False
        )
        return None
    marked = text[start:end]
    if _squeezed(marked) != _squeezed(said):
        certain = _subsequence(_squeezed(said), _squeezed(marked))
        detail = f"words are left out of {marked[:50]!r}; the whole stretch is kept"
        ledger.note(id, "gap", detail, repaired=certain)
    return GoldAnswer(marked, start)


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _subsequence(part: str, whole: str) -> bool:
    """Whether the letters of *part* come in *whole* in this order."""
    letters = iter(whole)
    return all(letter in letters for letter in part)
