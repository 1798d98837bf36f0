"""What a search reply says, checked before it is believed."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from quoth.errors import BackendError
from quoth.retrieve.opensearch.layout import Json
from quoth.types import Passage, Scored

_WEIGHT = re.compile(r"weight\((?P<what>.+) in \d+\)", re.DOTALL)
_SYNONYMS = re.compile(r"Synonym\((?P<terms>.+)\)")
_BOOST = re.compile(r"\^[\d.]+(?=\s|$)")
_SHOWN = re.compile(r'[^\s:()]+:(?:"(?P<phrase>.+)"(?:~\d+)?|(?P<term>.+))', re.DOTALL)
"""What the engine says of a term, of words that stand for each other, and of a phrase, where it explains a score."""


@dataclass(frozen=True, slots=True)
class Shards:
    """How many parts of the index were asked, and how many did not answer."""

    total: int = 0
    failed: int = 0


class Hits(tuple[Scored[Passage], ...]):
    """Passages, best first; ``partial`` says that some shards are missing, ``shards`` how many."""

    partial: bool
    shards: Shards

    def __new__(
        cls, found: Iterable[Scored[Passage]], *, partial: bool = False, shards: Shards | None = None
    ) -> "Hits":
        """Make the tuple."""
        self = super().__new__(cls, tuple(found))
        self.partial = partial
        self.shards = shards or Shards()
        return self


def check_shards(reply: Json, place: str, *, partial: bool) -> None:
    """Raise ``BackendError`` where shards failed or time ran out, unless *partial* answers are allowed."""
    shards = shards_of(reply)
    if partial and (shards.total == 0 or shards.failed < shards.total):
        return
    if shards.failed:
        raise BackendError(
            f"{place}: {shards.failed} of {shards.total} shards failed: {_why(reply)}.",
            hint="partial=1 in the address takes what the others say.",
            code="partial",
        )
    if reply.get("timed_out"):
        raise BackendError(
            f"{place}: the search ran out of time.", hint="partial=1 in the address takes what it found."
        )


def shards_of(reply: Mapping[str, Any]) -> Shards:
    """Return the shard counts of a reply."""
    shards = reply.get("_shards")
    if not isinstance(shards, Mapping):
        return Shards()
    return Shards(int(shards.get("total", 0)), int(shards.get("failed", 0)))


def _why(reply: Json) -> str:
    failures = reply["_shards"].get("failures") or [{}]
    reason = failures[0].get("reason") or {}
    return (
        str(reason.get("reason", "no reason given"))[:200]
        if isinstance(reason, Mapping)
        else str(reason)[:200]
    )


def hits_of(reply: Json, passage: Callable[[Json], Passage]) -> Hits:
    """Return the passages of a search reply, in order of score, then (document id, start)."""
    try:
        scored = [Scored(passage(hit["_source"]), float(hit["_score"])) for hit in reply["hits"]["hits"]]
    except (KeyError, TypeError, ValueError) as problem:
        raise BackendError(f"The server's reply to a search cannot be read ({problem!r}).") from problem
    scored.sort(key=lambda s: (-s.score, s.item.document_id, s.item.start))
    shards = shards_of(reply)
    return Hits(scored, partial=bool(shards.failed or reply.get("timed_out")), shards=shards)


def matched_of(reply: Json) -> tuple[str, ...]:
    """Return the terms and phrases that the explained first hit of a reply matched, the most telling first."""
    found: dict[str, float] = {}
    waiting = [hit.get("_explanation") for hit in reply.get("hits", {}).get("hits", [])[:1]]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, Mapping):
            continue
        weight = _WEIGHT.match(str(node.get("description", "")))
        if weight is None:
            waiting += node.get("details") or []
            continue
        synonyms = _SYNONYMS.fullmatch(weight["what"])
        for part in _BOOST.sub("", synonyms["terms"]).split() if synonyms else [weight["what"]]:
            if shown := _SHOWN.fullmatch(part):
                name = shown["term"] or " ".join("_" if w == "?" else w for w in shown["phrase"].split())
                found[name] = max(found.get(name, 0.0), float(node.get("value", 0.0)))
    return tuple(sorted(found, key=lambda shown: (-found[shown], shown)))


def rows_of(reply: Json) -> list[Json]:
    """Return the records of a search reply."""
    try:
        return [hit["_source"] for hit in reply["hits"]["hits"]]
    except (KeyError, TypeError) as problem:
        raise BackendError(f"The server's reply to a search cannot be read ({problem!r}).") from problem
