"""The CMU/Pitt Question-Answer data set 1.2: students' questions about Wikipedia articles, with the articles."""

import re
from pathlib import Path

from quoth.datasets.files import PathOrStr, read_bytes, split_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import OpenDataset, OpenQuestion, RetrievalDocument, Split
from quoth.errors import InputError

COLUMNS = (
    "ArticleTitle",
    "Question",
    "Answer",
    "DifficultyFromQuestioner",
    "DifficultyFromAnswerer",
    "ArticleFile",
)
_ARTICLE = re.compile(r"data/set\d+/a\d+")


def load_cmuqa(path: PathOrStr, *, split: Split | None = None) -> OpenDataset:
    """Read ``question_answer_pairs.txt`` of one year, and the articles that lie beside it.

    Rows with the same article and question are one question, answered by several people;
    ``NULL`` answers are dropped and reported, and a question may be left with none. Lines
    are UTF-8, or Windows-1252 where they are not. An article is ``X.txt.clean`` where there is
    one, else ``X.txt``; its id is ``S08/data/set1/a1``. Articles that are not there are
    reported once each; their questions are kept.

    Raises ``InputError`` where the file is missing or its header is another.
    """
    file = Path(path)
    chosen, ledger, year = split or split_of(path), Ledger(), file.parent.name
    lines = read_bytes(path).split(b"\n")
    if tuple(_text(lines[0]).split("\t")) != COLUMNS:
        raise InputError(
            f"{path}: the first row is not this data set's header ({', '.join(COLUMNS)}).",
            hint="quoth data describe FILE names the format.",
        )
    groups: dict[tuple[str, str, str], tuple[int, list[str]]] = {}
    for number, raw in enumerate(lines[1:], 2):
        row = _text(raw).split("\t")
        if len(row) != len(COLUMNS) or row[1].strip() in ("", "NULL"):
            if raw.strip():
                ledger.note(f"line {number}", "bad_row", "no question; left out", repaired=False)
            continue
        title, question, answer, article = row[0], row[1].strip(), row[2].strip(), row[5].strip()
        _, answers = groups.setdefault((title, question, article), (number, []))
        if answer in ("", "NULL"):
            ledger.note(
                f"{year}/{number}", "null_answer", f"{question[:60]!r} has no answer here", repaired=True
            )
        elif answer not in answers:
            answers.append(answer)
    documents = _documents(file.parent, {(title, article) for title, _, article in groups}, ledger)
    questions = tuple(
        OpenQuestion(
            f"{year}/{number}",
            question,
            tuple(answers),
            f"{year}/{article}" if _ARTICLE.fullmatch(article) else "",
            title.replace("_", " "),
            chosen,
        )
        for (title, question, article), (number, answers) in groups.items()
    )
    return OpenDataset(f"cmu-qa-{year}", chosen, questions, documents, ledger.problems)


def _text(raw: bytes) -> str:
    """Decode one line: UTF-8, else Windows-1252, else Latin-1 (which takes any byte)."""
    for encoding in ("utf-8-sig", "cp1252"):
        try:
            return raw.decode(encoding).rstrip("\r")
        except UnicodeDecodeError:
            continue
    return raw.decode("latin-1").rstrip("\r")


def _documents(folder: Path, articles: set[tuple[str, str]], ledger: Ledger) -> dict[str, RetrievalDocument]:
    """Read the articles that are there. Only paths of the data set's own form are followed."""
    documents: dict[str, RetrievalDocument] = {}
    for title, article in sorted(articles, key=lambda pair: (pair[1], pair[0])):
        id = f"{folder.name}/{article}"
        if id in documents:
            continue
        file = _file(folder, article)
        if file is None:
            ledger.note(
                id, "no_article", f"the article {title!r} is not beside the questions", repaired=False
            )
            continue
        text = "\n".join(_text(line) for line in read_bytes(file).split(b"\n"))
        documents[id] = RetrievalDocument(
            id, title.replace("_", " "), text, {"file": f"{article}{file.suffix}"}
        )
    return documents


def _file(folder: Path, article: str) -> Path | None:
    if not _ARTICLE.fullmatch(article):
        return None
    for ending in (".txt.clean", ".txt"):
        file = folder / f"{article}{ending}"
        if file.is_file():
            return file
    return None
