"""WikiQA: sentences of a Wikipedia summary, labelled (TSV with a header row)."""

from collections.abc import Callable

from quoth.datasets.candidates import Row, candidates_of, document_of
from quoth.datasets.files import PathOrStr, lines_of, split_of, stem_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import SelectionDataset, SelectionQuestion, Split
from quoth.errors import InputError

COLUMNS = ("QuestionID", "Question", "DocumentID", "DocumentTitle", "SentenceID", "Sentence", "Label")


def load_wikiqa(path: PathOrStr, *, split: Split | None = None) -> SelectionDataset:
    """Read WikiQA's TSV. Sentence order is kept, so neighbours and the whole summary are known.

    Ids are WikiQA's own. Titles that were encoded twice ("JÃ¤gerbomb") are repaired and
    reported once for each document. Rows that do not fit the header are left out.

    Raises ``InputError`` where the file is missing or its header is another.
    """
    chosen, ledger = split or split_of(path), Ledger()
    groups: dict[str, list[list[str]]] = {}
    for number, line in lines_of(path):
        row = line.split("\t")
        if number == 1:
            _check_header(path, row)
        elif len(row) != len(COLUMNS) or row[6] not in ("0", "1"):
            ledger.note(
                f"line {number}", "bad_row", f"{len(row)} columns, label {row[-1][:20]!r}", repaired=False
            )
        elif not row[1].strip():
            ledger.note(row[0], "empty_question", f"line {number} has no question; left out", repaired=False)
        else:
            groups.setdefault(row[0], []).append(row)
    title = _titles(ledger)
    questions = tuple(_question(id, rows, title, chosen, ledger) for id, rows in groups.items())
    return SelectionDataset(stem_of(path), chosen, questions, ledger.problems)


def _check_header(path: PathOrStr, row: list[str]) -> None:
    if tuple(row) != COLUMNS:
        raise InputError(
            f"{path}: the first row is not WikiQA's header ({', '.join(COLUMNS)}).",
            hint="quoth data describe FILE names the format.",
        )


def _question(
    id: str, rows: list[list[str]], title: Callable[[str, str], str], split: Split, ledger: Ledger
) -> SelectionQuestion:
    first = rows[0]
    whole = all(row[2] == first[2] for row in rows)
    if not whole:
        ledger.note(
            id, "several_documents", "its sentences are of several documents; no neighbours", repaired=False
        )
    ids = Ledger()
    candidates = candidates_of(
        (Row(ids.unique(row[4], fallback=f"{id}-{at}"), row[5], int(row[6])) for at, row in enumerate(rows)),
        ordered=whole,
    )
    for problem in ids.problems:
        ledger.note(problem.id, problem.kind, problem.detail, repaired=problem.repaired)
    return SelectionQuestion(
        id,
        first[1],
        candidates,
        title=title(first[2], first[3]),
        document=document_of([row[5] for row in rows]) if whole else "",
        document_id=first[2],
        split=split,
    )


def _titles(ledger: Ledger) -> Callable[[str, str], str]:
    """Return a function (document id, title) -> title that reports each repair once."""
    reported: set[str] = set()

    def title(document: str, text: str) -> str:
        repaired = once(text)
        if repaired != text and document not in reported:
            reported.add(document)
            ledger.note(document, "double_encoded", f"title {text!r} read as {repaired!r}", repaired=True)
        return repaired

    return title


def once(text: str) -> str:
    """Undo a second UTF-8 encoding (through Windows-1252 or Latin-1); other text is returned as it is."""
    if text.isascii():
        return text
    raw = bytearray()
    for character in text:
        try:
            raw += character.encode("cp1252")
        except UnicodeEncodeError:
            if ord(character) > 0xFF:
                return text
            raw.append(ord(character))
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return text
