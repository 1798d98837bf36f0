"""Many questions to one file, in a way that an interruption costs at most one answer.

Each reply is appended to ``OUT.partial.jsonl`` as it comes; a run that finds this file goes on
behind it. The result takes its final form and name in one step, at the end.
"""

import csv
import gzip
import io
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from quoth.cli.output import Advance
from quoth.errors import InputError
from quoth.schema import trace_json
from quoth.types import Trace

COLUMNS = (
    "id",
    "question",
    "answer",
    "confidence",
    "source",
    "page",
    "line",
    "sentence",
    "null_odds",
    "document_sha256",
    "error",
)


def ask_all(ask: Callable[[str], Trace], batch: Path, out: Path, advance: Advance) -> dict[str, int]:
    """Answer every question of *batch* into *out*; return how many were asked, resumed and refused.

    A question that is refused (empty, too long) is a row with its reason; the rest go on.
    """
    write = _writer(out)
    questions = list(read_questions(batch))
    partial = out.with_name(out.name + ".partial.jsonl")
    done = _done(partial, questions)
    refused = sum("error" in row for row in done)
    with _appending(partial, out) as file:
        for number, (key, question) in enumerate(questions[len(done) :], start=len(done) + 1):
            row = _reply(ask, key, question)
            refused += "error" in row
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            file.flush()
            advance(number, len(questions), question)
        os.fsync(file.fileno())
    rows = [json.loads(line) for line in partial.read_text(encoding="utf-8").splitlines()]
    finished = out.with_name(out.name + ".new")
    write(finished, rows)
    finished.replace(out)
    partial.unlink()
    return {"asked": len(questions) - len(done), "resumed": len(done), "refused": refused}


def _appending(partial: Path, out: Path) -> TextIO:
    try:
        return partial.open("a", encoding="utf-8")
    except OSError as problem:
        raise InputError(
            f"--out {out} cannot be written: {problem.strerror}.", hint="Name a file in a folder that exists."
        ) from problem


def _reply(ask: Callable[[str], Trace], key: str, question: str) -> dict[str, Any]:
    try:
        return {"id": key, **trace_json(ask(question))}
    except InputError as error:
        return {"id": key, "question": question, "error": str(error)}


def _done(partial: Path, questions: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return the rows already there; a half-written last line is cut off, other questions are refused."""
    if not partial.exists():
        return []
    rows: list[dict[str, Any]] = []
    good = 0
    with partial.open("rb") as file:
        for line in file:
            try:
                rows.append(json.loads(line))
            except ValueError:
                break
            if not line.endswith(b"\n"):
                rows.pop()
                break
            good += len(line)
    os.truncate(partial, good)
    if [(row["id"], row["question"]) for row in rows] != list(questions[: len(rows)]):
        raise InputError(f"{partial} belongs to other questions.", hint="Remove it, or name another --out.")
    return rows


def read_questions(path: Path) -> Iterator[tuple[str, str]]:
    """Yield (id, question) from one a line (txt), CSV (column ``question``), JSONL or SQuAD JSON, also gzipped."""
    name = path.name.removesuffix(".gz")
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        body = raw.decode("utf-8-sig")
    except OSError as problem:
        raise InputError(
            f"{path} cannot be read: {problem.strerror or problem}.", code="missing_file"
        ) from problem
    except UnicodeDecodeError as problem:
        raise InputError(
            f"{path} is not UTF-8 (byte {problem.start}).", hint="Convert it first."
        ) from problem
    if name.endswith(".jsonl"):
        yield from _rows([_object(line, path) for line in body.splitlines() if line.strip()], path)
    elif name.endswith(".csv"):
        yield from _rows(_table(body), path)
    elif name.endswith(".json"):
        for article in _object(body, path).get("data", []):
            for paragraph in article.get("paragraphs", []):
                yield from _rows(paragraph.get("qas", []), path)
    else:
        yield from (
            (str(n), line.strip()) for n, line in enumerate(body.splitlines(), start=1) if line.strip()
        )


def _rows(rows: Sequence[Mapping[str, Any]], path: Path) -> Iterator[tuple[str, str]]:
    for number, row in enumerate(rows, start=1):
        if not isinstance(row.get("question"), str):
            names = ", ".join(str(name) for name in row) or "nothing"
            raise InputError(f"{path}: entry {number} has no `question`; it has {names}.")
        yield str(row.get("id") or number), row["question"].strip()


def _table(body: str) -> list[dict[str, Any]]:
    """Return the rows of a CSV file; spreadsheets part cells by semicolons or tabs, too."""
    header = body.partition("\n")[0]
    delimiter = max(",;\t", key=header.count)
    return list(csv.DictReader(io.StringIO(body, newline=""), delimiter=delimiter))


def _object(body: str, path: Path) -> Any:
    try:
        return json.loads(body)
    except ValueError as problem:
        raise InputError(f"{path} is not JSON: {problem}.") from problem


def _writer(out: Path) -> Callable[[Path, Sequence[Mapping[str, Any]]], None]:
    writers = {".jsonl": _write_jsonl, ".csv": _write_csv, ".xlsx": _write_xlsx}
    if out.suffix not in writers:
        raise InputError(f"--out {out}: the name must end in {', '.join(writers)}.")
    return writers[out.suffix]


def _write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows([_harmless(cell) for cell in _cells(row)] for row in rows)


def _write_xlsx(path: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    from openpyxl import Workbook
    from openpyxl.cell.cell import ILLEGAL_CHARACTERS_RE

    book = Workbook(write_only=True)
    sheet = book.create_sheet("answers")
    sheet.append(COLUMNS)
    for row in rows:
        cells = [_harmless(cell) for cell in _cells(row)]
        sheet.append([ILLEGAL_CHARACTERS_RE.sub("\ufffd", c) if isinstance(c, str) else c for c in cells])
    book.save(path)


def _cells(row: Mapping[str, Any]) -> list[Any]:
    answer = row.get("answer") or {}
    sentence = (answer.get("sentence") or {}).get("text", "")
    return [
        row["id"], row["question"], answer.get("text", ""), answer.get("confidence"), answer.get("source", ""),
        answer.get("page"), answer.get("line"), sentence, row.get("null_odds"), answer.get("document_sha256", ""),
        row.get("error", ""),
    ]  # fmt: skip


def _harmless(cell: Any) -> Any:
    """Return the cell so that a spreadsheet takes it for text, never for a formula."""
    return f"'{cell}" if isinstance(cell, str) and cell[:1] in "=+-@\t\r" and cell else cell
