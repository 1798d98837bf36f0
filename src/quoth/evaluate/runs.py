"""The files that systems are compared by: predictions, null odds, n-best, TREC runs, qrels, question tables.

Whatever is wrong with a file is said with its name and line. Files are written whole or not at all.
"""

import csv
import io
import json
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from quoth.errors import InputError
from quoth.evaluate.paired import RunScores

PathOrStr = str | Path


def read_json(path: PathOrStr) -> Any:
    """Read a JSON file strictly: duplicate keys, NaN and invalid UTF-8 are refused."""
    text = _read(path)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) != len(pairs):
            seen: set[str] = set()
            twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
            raise InputError(f"{path}: the key {twice!r} occurs twice.", hint="Ids must be unique.")
        return out

    def constant(name: str) -> float:
        raise InputError(f"{path}: {name} is no number that JSON allows.")

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except json.JSONDecodeError as error:
        raise InputError(f"{path} is not JSON: {error.msg}, line {error.lineno}.") from error
    except RecursionError as error:
        raise InputError(f"{path} is nested too deeply.") from error


def read_predictions(path: PathOrStr) -> dict[str, str]:
    """Read question id -> answer string (empty: no answer), as the official scripts have it."""
    data = read_json(path)
    if not isinstance(data, dict) or not all(isinstance(text, str) for text in data.values()):
        raise InputError(
            f"{path} must hold one JSON object of question id to answer string.",
            hint='No answer is the empty string: {"id": ""}.',
        )
    return data


def read_null_odds(path: PathOrStr) -> dict[str, float]:
    """Read question id -> null odds (null score less best span score)."""
    data = read_json(path)
    if not isinstance(data, dict) or not all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in data.values()
    ):
        raise InputError(f"{path} must hold one JSON object of question id to number.")
    return {id: float(value) for id, value in data.items()}


def read_nbest(path: PathOrStr) -> dict[str, list[dict[str, Any]]]:
    """Read question id -> answers, best first: objects with ``text`` (run_squad's n-best file)."""
    data = read_json(path)
    if not isinstance(data, dict) or not all(
        isinstance(answers, list)
        and all(isinstance(a, dict) and isinstance(a.get("text"), str) for a in answers)
        for answers in data.values()
    ):
        raise InputError(f'{path} must hold question id to a list of objects with a "text".')
    return data


def read_run(path: PathOrStr) -> dict[str, dict[str, float]]:
    """Read a TREC run, ``qid Q0 candidate rank score tag`` a line; the score decides, not the rank."""
    run: dict[str, dict[str, float]] = {}
    for number, fields in _rows(path, 6, "qid Q0 candidate rank score tag"):
        qid, _, candidate, _, written, _ = fields
        score = _number(written, path, number)
        if candidate in run.setdefault(qid, {}):
            raise InputError(f"{path}, line {number}: candidate {candidate!r} of {qid!r} occurs twice.")
        run[qid][candidate] = score
    return run


def read_qrels(path: PathOrStr) -> dict[str, dict[str, int]]:
    """Read judgments, ``topic iteration document grade`` a line."""
    qrels: dict[str, dict[str, int]] = {}
    for number, (topic, _, document, grade) in _rows(path, 4, "topic 0 document grade"):
        if document in qrels.setdefault(topic, {}):
            raise InputError(f"{path}, line {number}: document {document!r} of {topic!r} is judged twice.")
        qrels[topic][document] = int(_number(grade, path, number))
    return qrels


def write_json(path: PathOrStr, data: object, *, indent: int | None = 1) -> None:
    """Write JSON, keys in the order given; a number that is not finite becomes null."""
    write_text(path, json.dumps(_finite(data), ensure_ascii=False, indent=indent, allow_nan=False) + "\n")


def write_run(path: PathOrStr, run: Mapping[str, Mapping[str, float]], *, tag: str = "quoth") -> None:
    """Write a TREC run: score descending, ties in the order given; scores come back digit by digit.

    Raises ``InputError`` for an id with a space in it, which the format cannot hold.
    """
    lines = []
    for qid, scores in run.items():
        for rank, (candidate, score) in enumerate(sorted(scores.items(), key=lambda kv: -kv[1]), start=1):
            if any(len(name.split()) != 1 for name in (qid, candidate, tag)):
                raise InputError(
                    f"A TREC run cannot hold the ids {qid!r}, {candidate!r}: no spaces, not empty."
                )
            lines.append(f"{qid} Q0 {candidate} {rank} {float(score)!r} {tag}\n")
    write_text(path, "".join(lines))


def write_text(path: PathOrStr, text: str) -> None:
    """Write a text file whole or not at all. Raises ``InputError`` where that fails."""
    target = Path(path)
    scratch = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        scratch.write_text(text, encoding="utf-8", newline="")
        scratch.replace(target)
    except OSError as error:
        scratch.unlink(missing_ok=True)
        raise InputError(
            f"{target} cannot be written: {error.strerror}.", hint="Check the folder."
        ) from error


def write_questions(path: PathOrStr, scores: RunScores) -> None:
    """Write one CSV row for each question: id, group, and its score in every metric."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["id", "group", *scores.columns])
    for i, id in enumerate(scores.ids):
        group = scores.groups[i] if scores.groups else ""
        writer.writerow([id, group, *(repr(float(column[i])) for column in scores.columns.values())])
    write_text(path, text.getvalue())


def read_questions(path: PathOrStr, *, name: str = "") -> RunScores:
    """Read what ``write_questions`` wrote (a report's folder stands for its ``questions.csv``)."""
    file = Path(path) / "questions.csv" if Path(path).is_dir() else Path(path)
    rows = list(csv.reader(io.StringIO(_read(file), newline="")))
    if not rows or rows[0][:2] != ["id", "group"] or len(rows[0]) < 3 or len(rows) < 2:
        raise InputError(
            f"{file} is not a table of questions (id, group, metrics ...).",
            hint="`quoth eval ... --report DIR` writes one; give its folder.",
        )
    for number, row in enumerate(rows[1:], start=2):
        if len(row) != len(rows[0]):
            raise InputError(f"{file}, line {number}: {len(row)} fields instead of {len(rows[0])}.")
    columns = {
        metric: np.array([_number(row[i], file, n) for n, row in enumerate(rows[1:], start=2)])
        for i, metric in enumerate(rows[0][2:], start=2)
    }
    groups = tuple(row[1] for row in rows[1:])
    return RunScores(
        name=name or (Path(path).resolve().name if Path(path).is_dir() else file.stem),
        ids=tuple(row[0] for row in rows[1:]),
        columns=columns,
        groups=groups if any(groups) else (),
    )


def _read(path: PathOrStr) -> str:
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8 (byte {error.start}).", hint="Convert it to UTF-8.") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.", hint="Check the name.") from error


def _rows(path: PathOrStr, width: int, shape: str) -> Iterable[tuple[int, Sequence[str]]]:
    for number, line in enumerate(_read(path).splitlines(), start=1):
        fields = line.split()
        if fields and len(fields) != width:
            raise InputError(f"{path}, line {number}: {len(fields)} fields; a line is `{shape}`.")
        if fields:
            yield number, fields


def _number(text: str, path: PathOrStr, line: int) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if math.isnan(value):
        raise InputError(f"{path}, line {line}: {text!r} is not a number.")
    return value


def _finite(data: object) -> object:
    if isinstance(data, float):
        return data if math.isfinite(data) else None
    if isinstance(data, np.ndarray):
        return _finite(data.tolist())
    if isinstance(data, np.generic):
        return _finite(data.item())
    if isinstance(data, Mapping):
        return {str(key): _finite(value) for key, value in data.items()}
    if isinstance(data, list | tuple):
        return [_finite(value) for value in data]
    return data
