"""TREC-QA as Yao et al. (2013) published it: blocks that look like XML, and are not (``&`` is bare)."""

import re

from quoth.datasets.candidates import Row, candidates_of
from quoth.datasets.files import PathOrStr, lines_of, split_of, stem_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import SelectionDataset, SelectionQuestion, Split
from quoth.errors import InputError

_OPEN = re.compile(r"<QApairs id=['\"](.*)['\"]>")
_TAGS = {"<question>": "question", "<positive>": "positive", "<negative>": "negative"}
_ENDS = {"</question>", "</positive>", "</negative>"}


def load_trecqa(path: PathOrStr, *, split: Split | None = None) -> SelectionDataset:
    """Read TREC-QA. It is parsed line by line, not as XML, so no entity is ever resolved.

    Of a block the first line is used: its tokens, joined by spaces. A candidate's id is its
    index from 0. The sentences come from many documents, so there are no neighbours.
    Raises ``InputError`` where the file is missing or holds no question.
    """
    chosen, ledger = split or split_of(path), Ledger()
    questions: list[SelectionQuestion] = []
    id, text, part, rows = "", "", "", list[Row]()
    for number, line in lines_of(path):
        opened = _OPEN.fullmatch(line.strip())
        if opened:
            if id:
                ledger.note(id, "unclosed", f"not closed before line {number}; left out", repaired=False)
            id, text, part, rows = opened.group(1) or f"line {number}", "", "", []
        elif line in _TAGS:
            part = _TAGS[line]
        elif line in _ENDS:
            part = ""
        elif line.strip() == "</QApairs>":
            _add(questions, ledger, id, text, rows, chosen)
            id = ""
        elif part:
            words = " ".join(line.split())
            if part == "question":
                text = words
            else:
                rows.append(Row(str(len(rows)), words, int(part == "positive")))
            part = ""
    if id:
        ledger.note(id, "unclosed", "the file ends within this question; left out", repaired=False)
    if not questions and not ledger.problems:
        raise InputError(
            f"{path}: holds no <QApairs>, so it is not TREC-QA.",
            hint="quoth data describe FILE names the format.",
        )
    return SelectionDataset(stem_of(path), chosen, tuple(questions), ledger.problems)


def _add(
    questions: list[SelectionQuestion], ledger: Ledger, id: str, text: str, rows: list[Row], split: Split
) -> None:
    if not id:
        return
    if not text:
        ledger.note(id, "empty_question", "the question is empty; left out", repaired=False)
        return
    name = ledger.unique(id, fallback="")
    questions.append(SelectionQuestion(name, text, candidates_of(rows, ordered=False), split=split))
