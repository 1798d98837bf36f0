"""Labelled pairs without ids: ASNQ (labels 1 to 4) and BioASQ's re-ranking pairs (label first)."""

from collections.abc import Iterator

from quoth.datasets.candidates import Row, candidates_of
from quoth.datasets.files import PathOrStr, lines_of, split_of, stem_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import SelectionDataset, SelectionQuestion, Split

_POSITIVE = 4


def iter_asnq(path: PathOrStr, *, split: Split | None = None) -> Iterator[SelectionQuestion]:
    """Yield ASNQ's questions one at a time, in constant memory: a question is a run of its rows.

    A row is question, sentence, label. Label 4: the sentence is in the long answer and holds
    the short one (the only positive); 3: in the long answer, without the short one; 2: holds
    the short answer elsewhere; 1: neither (Garg et al., 2020). The label is kept as ``grade``.
    Rows that do not fit are left out. Raises ``InputError`` where the file is missing.
    """
    chosen = split or split_of(path)
    run: list[tuple[str, int]] = []
    question, position = "", 0
    for text, sentence, grade in _asnq_rows(path, Ledger()):
        if run and text != question:
            position += 1
            yield _question(position, question, run, chosen)
            run = []
        question = text
        run.append((sentence, grade))
    if run:
        yield _question(position + 1, question, run, chosen)


def load_asnq(path: PathOrStr, *, split: Split | None = None) -> SelectionDataset:
    """Read a whole ASNQ file. Rows of one question are put together wherever they stand.

    A question's id is its position from 1, by first row; a candidate's its index from 0.
    ASNQ states neither ids nor sentence order, so there are no neighbours.
    Raises ``InputError`` where the file is missing.
    """
    chosen, ledger = split or split_of(path), Ledger()
    groups: dict[str, list[tuple[str, int]]] = {}
    for text, sentence, grade in _asnq_rows(path, ledger):
        groups.setdefault(text, []).append((sentence, grade))
    questions = tuple(_question(at, text, rows, chosen) for at, (text, rows) in enumerate(groups.items(), 1))
    return SelectionDataset(stem_of(path), chosen, questions, ledger.problems)


def load_bioasq_pairs(path: PathOrStr, *, split: Split | None = None) -> SelectionDataset:
    """Read rows of label (0 or 1), question, candidate under a header row: BioASQ's re-ranking file.

    A question's id is its position from 1, by first row; a candidate's its index from 0.
    Raises ``InputError`` where the file is missing.
    """
    chosen, ledger = split or split_of(path), Ledger()
    groups: dict[str, list[Row]] = {}
    for number, line in lines_of(path):
        row = line.split("\t")
        if number == 1 and row[0] == "label":
            continue
        if len(row) != 3 or row[0] not in ("0", "1") or not row[1].strip():
            if line.strip():
                ledger.note(
                    f"line {number}", "bad_row", f"{len(row)} columns, label {row[0][:20]!r}", repaired=False
                )
            continue
        rows = groups.setdefault(row[1], [])
        rows.append(Row(str(len(rows)), row[2], int(row[0])))
    questions = tuple(
        SelectionQuestion(str(at), text, candidates_of(rows, ordered=False), split=chosen)
        for at, (text, rows) in enumerate(groups.items(), 1)
    )
    return SelectionDataset(stem_of(path), chosen, questions, ledger.problems)


def _asnq_rows(path: PathOrStr, ledger: Ledger) -> Iterator[tuple[str, str, int]]:
    for number, line in lines_of(path):
        row = line.split("\t")
        if len(row) != 3 or row[2] not in ("1", "2", "3", "4"):
            if line.strip():
                detail = f"{len(row)} columns, label {row[-1][:20]!r} (1 to 4 are meant)"
                ledger.note(f"line {number}", "bad_row", detail, repaired=False)
        elif not row[0].strip():
            ledger.note(f"line {number}", "empty_question", "the question is empty; left out", repaired=False)
        else:
            yield row[0], row[1], int(row[2])


def _question(position: int, text: str, rows: list[tuple[str, int]], split: Split) -> SelectionQuestion:
    listed = (
        Row(str(at), sentence, int(grade == _POSITIVE), grade) for at, (sentence, grade) in enumerate(rows)
    )
    return SelectionQuestion(str(position), text, candidates_of(listed, ordered=False), split=split)
