"""Retrieval collections: documents, topics and judgments, as SMART (Cranfield, CACM) and TREC have them.

Nothing is parsed as XML: real files of these kinds are SGML or worse, and no entity is resolved.
"""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from quoth.datasets.files import PathOrStr, head_of, lines_of, read_bytes, split_of, stem_of
from quoth.datasets.labels import Ledger
from quoth.datasets.records import Judgment, RetrievalDataset, RetrievalDocument, RetrievalTopic, Split
from quoth.errors import InputError

Part = Literal["documents", "topics", "judgments", ""]

_SMART_ID = re.compile(r"\.I\s+(\S+)\s*")
_SMART_FIELD = re.compile(r"\.([A-Z])\s*")
_META = {"A": "author", "B": "bibliography", "N": "note", "K": "keywords"}
_DOC = re.compile(r"<doc>(.*?)</doc>", re.S | re.I)
_TOP = re.compile(r"<top>(.*?)(?:</top>|(?=<top>)|\Z)", re.S | re.I)
_TAG = re.compile(r"<(/?)([a-z]+)[^<>]*>", re.I)
_LABEL = re.compile(r"^\s*(?:number|topic|description|narrative)\s*:\s*", re.I)
_STARTS_TOPICS = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<\w+>\s*)?<top>", re.I)
_STARTS_DOCUMENTS = re.compile(r"\s*(?:<\?xml[^>]*>\s*)?(?:<\w+>\s*)?<doc>\s*<docno>", re.I)
_QREL = re.compile(r"\s*\S+\s+\S+\s+\S+\s+-?\d{1,9}\s*")


def part_of(head: str) -> Part:
    """Say what part of a collection a file is, from its first characters: '' where it is none."""
    if _STARTS_TOPICS.match(head):
        return "topics"
    if _STARTS_DOCUMENTS.match(head):
        return "documents"
    lines = [line for line in head.splitlines() if line.strip()]
    if lines and _SMART_ID.fullmatch(lines[0]):
        return "documents" if any(line.rstrip() in (".T", ".A", ".B") for line in lines) else "topics"
    judged = [_QREL.fullmatch(line) is not None for line in lines[:20]]
    return "judgments" if judged and judged[0] and 2 * sum(judged) > len(judged) else ""


def load_documents(path: PathOrStr, *, split: Split | None = None) -> RetrievalDataset:
    """Read documents: SMART fields (``.I .T .A .B .W``) or ``<DOC><DOCNO>`` blocks.

    An empty document is kept (judgments may name it); an identifier with no fields at all,
    as at the end of Cranfield's file, is reported and left out.
    Raises ``InputError`` where the file is missing or holds no document.
    """
    ledger, text = Ledger(), _decoded(path)
    found = (
        _smart_documents(text, ledger) if text.lstrip().startswith(".I") else _sgml_documents(text, ledger)
    )
    documents = tuple(found)
    if not documents:
        raise InputError(f"{path}: holds no documents.", hint="SMART (.I) and TREC (<DOC>) files are read.")
    return RetrievalDataset(stem_of(path), split or split_of(path), documents, problems=ledger.problems)


def load_topics(
    path: PathOrStr, *, ids: Literal["number", "position"] = "number", split: Split | None = None
) -> RetrievalDataset:
    """Read search requests: ``<top><num><title>`` blocks, or SMART fields (``.I .W``).

    *ids* says what judgments name: the file's own numbers, or positions from 1 (Cranfield,
    whose 225 requests are numbered up to 365). ``load_collection`` finds that out by itself.
    Raises ``InputError`` where the file is missing or holds no topic.
    """
    ledger, text = Ledger(), _decoded(path)
    pairs = _smart_topics(text) if text.lstrip().startswith(".I") else _sgml_topics(text)
    topics = []
    for position, (number, question) in enumerate(pairs, 1):
        wanted = number if ids == "number" else str(position)
        id = ledger.unique(wanted, fallback=str(position))
        if question:
            topics.append(RetrievalTopic(id, question, number))
        else:
            ledger.note(id, "empty_question", "the topic has no text; left out", repaired=False)
    if not topics:
        raise InputError(f"{path}: holds no topics.", hint="TREC (<top>) and SMART (.I .W) files are read.")
    return RetrievalDataset(
        stem_of(path), split or split_of(path), topics=tuple(topics), problems=ledger.problems
    )


def load_judgments(path: PathOrStr, *, split: Split | None = None) -> RetrievalDataset:
    """Read TREC qrels: rows of topic, iteration, document, grade.

    A second judgment of the same pair is left out and reported where its grade differs.
    Raises ``InputError`` where the file is missing or holds no judgment.
    """
    ledger = Ledger()
    grades: dict[tuple[str, str], int] = {}
    for number, line in lines_of(path):
        if not line.strip():
            continue
        if not _QREL.fullmatch(line):
            ledger.note(f"line {number}", "bad_row", f"not a judgment: {line[:40]!r}", repaired=False)
            continue
        topic, _, document, grade = line.split()
        first = grades.setdefault((topic, document), int(grade))
        if first != int(grade):
            detail = f"{document} judged {first}, then {grade} (line {number}); the first is kept"
            ledger.note(topic, "contradiction", detail, repaired=False)
    if not grades:
        raise InputError(f"{path}: holds no judgments.", hint="A row is: topic, iteration, document, grade.")
    judgments = tuple(Judgment(topic, document, grade) for (topic, document), grade in grades.items())
    return RetrievalDataset(
        stem_of(path), split or split_of(path), judgments=judgments, problems=ledger.problems
    )


def load_collection(folder: PathOrStr, *, split: Split | None = None) -> RetrievalDataset:
    """Read a folder that holds a collection: its documents, topics and judgments are told apart by content.

    Topics are called by their position where the judgments name numbers that no topic has,
    and positions fit (Cranfield). Judgments of unknown topics or documents are kept and
    reported, once for each id.

    Raises ``InputError`` where the folder has no documents, or no topics, of these kinds.
    """
    files = [path for path in sorted(Path(folder).iterdir()) if path.is_file()]
    parts = {path: part_of(head_of(path)) for path in files}
    of = {
        part: [path for path in files if parts[path] == part] for part in ("documents", "topics", "judgments")
    }
    if not of["documents"] or not of["topics"]:
        raise InputError(
            f"{folder}: a collection needs a file of documents and one of topics.", hint="Name one data file."
        )
    document_sets = [load_documents(path, split=split) for path in of["documents"]]
    judged = [load_judgments(path, split=split) for path in of["judgments"]]
    judgments = tuple(judgment for each in judged for judgment in each.judgments)
    topic_sets = [load_topics(path, ids=_ids(path, judgments), split=split) for path in of["topics"]]
    documents = tuple(document for each in document_sets for document in each.documents)
    topics = tuple(topic for each in topic_sets for topic in each.topics)
    problems = [p for each in (*document_sets, *topic_sets, *judged) for p in each.problems]
    ledger = Ledger()
    _check(documents, topics, judgments, ledger)
    name = Path(folder).name
    return RetrievalDataset(
        name, split or split_of(name), documents, topics, judgments, (*problems, *ledger.problems)
    )


def _check(
    documents: tuple[RetrievalDocument, ...],
    topics: tuple[RetrievalTopic, ...],
    judgments: tuple[Judgment, ...],
    ledger: Ledger,
) -> None:
    unknown = {j.topic_id for j in judgments} - {topic.id for topic in topics}
    for id in sorted(unknown):
        ledger.note(id, "unknown_topic", "judged, but not among the topics", repaired=False)
    for id in sorted({j.document_id for j in judgments} - {document.id for document in documents}):
        ledger.note(id, "unknown_document", "judged, but not among the documents", repaired=False)


def _ids(path: Path, judgments: tuple[Judgment, ...]) -> Literal["number", "position"]:
    """Say how the judgments name the topics of a file."""
    topics = load_topics(path).topics
    judged = {judgment.topic_id for judgment in judgments}
    positions = {str(position) for position in range(1, len(topics) + 1)}
    fits = judged <= {topic.number for topic in topics}
    return "position" if not fits and judged <= positions else "number"


def _decoded(path: PathOrStr) -> str:
    raw = read_bytes(path)
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = raw.decode("latin-1")
    return text.replace("\r\n", "\n")


def _smart(text: str) -> Iterator[tuple[str, dict[str, str]]]:
    """Yield (id, fields) of a SMART file; a field that comes twice is one text."""
    id, field, parts = "", "", dict[str, list[str]]()
    for line in text.split("\n"):
        start, named = _SMART_ID.fullmatch(line), _SMART_FIELD.fullmatch(line)
        if start:
            if id:
                yield id, {key: "\n".join(value).strip("\n") for key, value in parts.items()}
            id, field, parts = start.group(1), "", {}
        elif named:
            field = named.group(1)
            parts.setdefault(field, [])
        elif field:
            parts[field].append(line)
    if id:
        yield id, {key: "\n".join(value).strip("\n") for key, value in parts.items()}


def _smart_documents(text: str, ledger: Ledger) -> Iterator[RetrievalDocument]:
    for id, parts in _smart(text):
        if not parts:
            ledger.note(id, "no_fields", "an identifier with nothing behind it; left out", repaired=True)
            continue
        if not parts.get("W", "").strip() and not parts.get("T", "").strip():
            ledger.note(id, "empty_document", "no title and no text; kept", repaired=True)
        metadata = {
            _META[key]: _line(value) for key, value in parts.items() if key in _META and value.strip()
        }
        yield RetrievalDocument(
            ledger.unique(id, fallback=""), _line(parts.get("T", "")), parts.get("W", ""), metadata
        )


def _smart_topics(text: str) -> Iterator[tuple[str, str]]:
    for id, parts in _smart(text):
        yield id, _line(parts.get("W", ""))


def _sgml_documents(text: str, ledger: Ledger) -> Iterator[RetrievalDocument]:
    for position, block in enumerate(_DOC.findall(text), 1):
        parts = _parts(block)
        body = "\n".join(value for key, value in parts if key == "text")
        named = dict(reversed(parts))
        title = _line(named.get("title", "") or named.get("headline", "") or named.get("head", ""))
        id = ledger.unique(named.get("docno", "").strip(), fallback=f"document {position}")
        if not body.strip() and not title:
            ledger.note(id, "empty_document", "no title and no text; kept", repaired=True)
        metadata = {
            key: _line(value)
            for key, value in named.items()
            if key in ("author", "bib", "date") and value.strip()
        }
        yield RetrievalDocument(id, title, body.strip("\n"), metadata)


def _sgml_topics(text: str) -> Iterator[tuple[str, str]]:
    for block in _TOP.findall(text):
        named = dict(reversed(_parts(block)))
        number = _LABEL.sub("", named.get("num", "")).strip()
        title, description = (_LABEL.sub("", named.get(key, "")) for key in ("title", "desc"))
        yield number, _line(title) or _line(description)


def _parts(block: str) -> list[tuple[str, str]]:
    """Return (tag, text up to the next tag) in order, so that tags that are never closed do too."""
    tags = list(_TAG.finditer(block))
    ends = [*(tag.start() for tag in tags[1:]), len(block)][: len(tags)]
    return [
        (tag.group(2).lower(), html.unescape(block[tag.end() : end]))
        for tag, end in zip(tags, ends, strict=True)
        if not tag.group(1)
    ]


def _line(text: str) -> str:
    """Return *text* on one line."""
    return " ".join(text.split())
