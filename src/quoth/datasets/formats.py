"""The table of formats: how a file is recognised, who reads it, and what comes out."""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Protocol

from quoth.datasets import asnq, cmuqa, multispanqa, nqopen, selqa, squad, subjqa, trec, trecqa, wikiqa
from quoth.datasets.files import PathOrStr, fields, head_of
from quoth.datasets.records import Dataset, Split
from quoth.errors import InputError


class Loader(Protocol):
    def __call__(self, path: PathOrStr, *, split: Split | None = None) -> Dataset: ...


@dataclass(frozen=True, slots=True)
class Format:
    """A row of the table. ``sniff`` is given the first 64 KB as text."""

    name: str
    record: str
    description: str
    sniff: Callable[[str], bool]
    load: Loader


@dataclass(frozen=True, slots=True)
class Home:
    """Where a public data set can be had, and the format that it comes in."""

    name: str
    format: str
    homepage: str


def _row(head: str) -> dict[str, object]:
    """Return the first line as a JSON object; an empty one where it is none, or is cut."""
    try:
        return fields(json.loads(head.lstrip().split("\n", 1)[0]))
    except (ValueError, RecursionError):
        return {}


def _key(name: str) -> Callable[[str], bool]:
    """Return whether a JSON text's beginning has a key of this name."""
    found = re.compile(rf'"{name}"\s*:')
    return lambda head: head.lstrip()[:1] in ("{", "[") and found.search(head) is not None


def _header(*columns: str, separator: str = "\t") -> Callable[[str], bool]:
    """Return whether the first line names these columns, in any order."""
    return lambda head: set(columns) <= set(head.split("\n", 1)[0].rstrip("\r").split(separator))


def _labels(head: str) -> set[str]:
    """Return the labels of a file of (question, sentence, label) rows, or nothing."""
    rows = [line.rstrip("\r").split("\t") for line in head.split("\n")[:-1] or [head] if line.strip()]
    return {row[2] for row in rows if len(row) == 3} if rows and len(rows[0]) == 3 else set()


def _asnq(head: str) -> bool:
    found = _labels(head)
    return bool(found) and found <= {"1", "2", "3", "4"}


def _pairs(head: str) -> bool:
    found = _labels(head)
    return bool(found) and found <= {"0", "1"}


def _part(name: trec.Part) -> Callable[[str], bool]:
    return lambda head: trec.part_of(head) == name


_ROWS = (
    Format(
        "squad",
        "SpanDataset",
        "SQuAD 1.1 and 2.0, COVID-QA, BioASQ, PolicyQA, XQuAD (JSON)",
        _key("paragraphs"),
        squad.load_squad,
    ),
    Format(
        "selqa-triggering",
        "TriggeringDataset",
        "SelQA answer triggering (JSON)",
        _key("candidate_list"),
        selqa.load_selqa_triggering,
    ),
    Format(
        "selqa", "SelectionDataset", "SelQA sentence selection (JSON)", _key("candidates"), selqa.load_selqa
    ),
    Format(
        "multispanqa",
        "EvidenceDataset",
        "MultiSpanQA: tokens and BIO labels (JSON)",
        lambda head: _key("data")(head) and _key("context")(head) and _key("label")(head),
        multispanqa.load_multispanqa,
    ),
    Format(
        "squad-flat",
        "SpanDataset",
        "one object a line: id, title, context, question, answers (JSON lines)",
        lambda head: {"context", "question", "answers"} <= set(_row(head)),
        squad.load_flat_squad,
    ),
    Format(
        "nq-open",
        "OpenDataset",
        "NQ-open, EfficientQA: question and answer strings (JSON lines)",
        lambda head: "question" in _row(head) and bool({"answer", "answers"} & set(_row(head))),
        nqopen.load_nq_open,
    ),
    Format(
        "wikiqa",
        "SelectionDataset",
        "WikiQA with its header row (TSV)",
        _header(*wikiqa.COLUMNS),
        wikiqa.load_wikiqa,
    ),
    Format(
        "bioasq-pairs",
        "SelectionDataset",
        "BioASQ re-ranking: label, question, candidate (TSV)",
        _header("label", "question", "answer_candidate"),
        asnq.load_bioasq_pairs,
    ),
    Format("asnq", "SelectionDataset", "ASNQ: question, sentence, label 1 to 4 (TSV)", _asnq, asnq.load_asnq),
    Format(
        "selqa-tsv",
        "SelectionDataset",
        "question, sentence, label 0 or 1: SelQA's TSV, WikiQA's .txt",
        _pairs,
        selqa.load_selqa_tsv,
    ),
    Format(
        "trecqa",
        "SelectionDataset",
        "TREC-QA in blocks of <QApairs>",
        lambda head: "<QApairs id=" in head,
        trecqa.load_trecqa,
    ),
    Format(
        "subjqa",
        "SpanDataset",
        "SubjQA (CSV)",
        _header("q_review_id", "human_ans_spans", "human_ans_indices", separator=","),
        subjqa.load_subjqa,
    ),
    Format(
        "cmu-qa",
        "OpenDataset",
        "CMU question-answer pairs, with the articles beside the file (TSV)",
        _header(*cmuqa.COLUMNS),
        cmuqa.load_cmuqa,
    ),
    Format(
        "documents",
        "RetrievalDataset",
        "documents of a collection: SMART (.I) or TREC (<DOC>)",
        _part("documents"),
        trec.load_documents,
    ),
    Format(
        "topics",
        "RetrievalDataset",
        "search requests of a collection: TREC (<top>) or SMART",
        _part("topics"),
        trec.load_topics,
    ),
    Format(
        "qrels",
        "RetrievalDataset",
        "judgments of a collection: topic, iteration, document, grade",
        _part("judgments"),
        trec.load_judgments,
    ),
)

FORMATS: Mapping[str, Format] = MappingProxyType({row.name: row for row in _ROWS})
"""All formats by name, in the order in which a file is tried."""

HOMES = (
    Home("SQuAD", "squad", "https://rajpurkar.github.io/SQuAD-explorer/"),
    Home("XQuAD", "squad", "https://github.com/google-deepmind/xquad"),
    Home("COVID-QA", "squad", "https://github.com/deepset-ai/COVID-QA"),
    Home("BioASQ", "squad", "http://bioasq.org/"),
    Home("PolicyQA", "squad", "https://aclanthology.org/2020.findings-emnlp.66/"),
    Home("SelQA", "selqa", "https://github.com/emorynlp/selqa"),
    Home("WikiQA", "wikiqa", "https://www.microsoft.com/en-us/download/details.aspx?id=52419"),
    Home("TREC-QA", "trecqa", "https://code.google.com/archive/p/jacana/"),
    Home("ASNQ", "asnq", "https://github.com/alexa/wqa_tanda"),
    Home("NQ-open", "nq-open", "https://github.com/google-research-datasets/natural-questions"),
    Home("EfficientQA", "nq-open", "https://efficientqa.github.io/"),
    Home("SubjQA", "subjqa", "https://github.com/megagonlabs/SubjQA"),
    Home("MultiSpanQA", "multispanqa", "https://multi-span.github.io/"),
    Home("CMU-QA", "cmu-qa", "https://www.cs.cmu.edu/~ark/QA-data/"),
    Home("Cranfield", "documents", "http://ir.dcs.gla.ac.uk/resources/test_collections/cran/"),
    Home("CACM", "documents", "http://ir.dcs.gla.ac.uk/resources/test_collections/cacm/"),
)
"""Where the public data sets can be had. quoth never fetches them."""


def where_to_get(name: str) -> str:
    """Return a sentence that says where the data set that a file's *name* speaks of can be had, or ''."""
    plain = re.sub(r"[^a-z0-9]", "", name.lower())
    found = [home for home in HOMES if re.sub(r"[^a-z0-9]", "", home.name.lower())[:5] in plain]
    best = max(found, key=lambda home: len(home.name), default=None)
    return f"{best.name} can be had at {best.homepage}." if best else ""


def format_of(path: PathOrStr) -> Format:
    """Return the row of the table that recognises a file.

    Raises ``InputError`` where the file is missing or no row does (code ``unknown_format``).
    """
    try:
        head = head_of(path)
    except InputError as error:
        home = where_to_get(str(path)) if error.code == "missing_file" else ""
        raise InputError(error.message, hint=home or error.hint, code=error.code) from error
    for row in FORMATS.values():
        if row.sniff(head):
            return row
    raise InputError(
        f"{path} is in none of the formats that are known.",
        hint=f"Name one with format= or --format to try it: {', '.join(FORMATS)}.",
        code="unknown_format",
    )


def load(path: PathOrStr, *, format: str | None = None, split: Split | None = None) -> Dataset:
    """Read a public data set: the format is recognised from its content unless it is named.

    The split is taken from the file's name (``unknown`` where it states none) unless it is
    given. A folder is read as a retrieval collection.

    Raises ``InputError`` where the file is missing, the format is unknown or does not fit.
    """
    if Path(path).is_dir():
        return trec.load_collection(path, split=split)
    if format is None:
        return format_of(path).load(path, split=split)
    if format not in FORMATS:
        raise InputError(f"{format!r} is no format.", hint=f"Known are: {', '.join(FORMATS)}.")
    return FORMATS[format].load(path, split=split)
