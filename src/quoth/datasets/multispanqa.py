"""MultiSpanQA: questions whose answers are several spans, as BIO labels over tokens (JSON)."""

from quoth.datasets.files import PathOrStr, fields, items, read_json, split_of, stem_of, string
from quoth.datasets.labels import Ledger
from quoth.datasets.records import EvidenceDataset, EvidenceQuestion, GoldAnswer, Split
from quoth.errors import InputError


def load_multispanqa(path: PathOrStr, *, split: Split | None = None) -> EvidenceDataset:
    """Read MultiSpanQA. The text is the tokens joined by spaces, so that its words are the file's tokens.

    A span is ``B`` and the ``I`` that follow it; an ``I`` after ``O`` starts one too, and is reported.
    Raises ``InputError`` where the file is missing or has no ``data`` list.
    """
    root = fields(read_json(path))
    if not isinstance(root.get("data"), list):
        raise InputError(
            f'{path}: has no list "data", so it is not MultiSpanQA.',
            hint="quoth data describe FILE names the format.",
        )
    chosen, ledger = split or split_of(path), Ledger()
    questions = []
    for position, value in enumerate(items(root["data"])):
        question = _question(fields(value), position, ledger, chosen)
        if question is not None:
            questions.append(question)
    return EvidenceDataset(stem_of(path), chosen, tuple(questions), ledger.problems)


def _question(
    entry: dict[str, object], position: int, ledger: Ledger, split: Split
) -> EvidenceQuestion | None:
    id = ledger.unique(string(entry.get("id")), fallback=f"question {position}")
    asked = entry.get("question")
    question = asked if isinstance(asked, str) else " ".join(map(string, items(asked)))
    words = [string(word) for word in items(entry.get("context"))]
    labels = [string(label) for label in items(entry.get("label"))] or ["O"] * len(words)
    if not question.strip():
        ledger.note(id, "empty_question", "the question is empty; left out", repaired=False)
        return None
    if len(labels) != len(words) or not all(word and len(word.split()) == 1 for word in words):
        detail = f"{len(labels)} labels for {len(words)} tokens, or a token with a space; left out"
        ledger.note(id, "bad_label", detail, repaired=False)
        return None
    runs = _runs(id, labels, ledger)
    stated = entry.get("num_span")
    if isinstance(stated, int) and stated != len(runs):
        ledger.note(id, "contradiction", f"{stated} spans stated, {len(runs)} labelled", repaired=False)
    starts = [0]
    for word in words:
        starts.append(starts[-1] + len(word) + 1)
    spans = tuple(GoldAnswer(" ".join(words[first:end]), starts[first]) for first, end in runs)
    marked = tuple(at for first, end in runs for at in range(first, end))
    return EvidenceQuestion(
        id, question, " ".join(words), spans, marked, type=string(entry.get("type")), split=split
    )


def _runs(id: str, labels: list[str], ledger: Ledger) -> list[tuple[int, int]]:
    """Return half-open token ranges of the labelled spans."""
    runs: list[tuple[int, int]] = []
    open_at = -1
    for at, label in enumerate([*labels, "O"]):
        if open_at >= 0 and label != "I":
            runs.append((open_at, at))
            open_at = -1
        if label == "B" or (label == "I" and open_at < 0):
            open_at = at
            if label == "I":
                ledger.note(id, "bio", f"token {at} is I after O; a span starts there", repaired=True)
    return runs
