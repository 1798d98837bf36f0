"""A wiki as a ``Retriever``: its own search finds the articles, their best parts are handed on."""

import hashlib
from collections import OrderedDict
from collections.abc import Sequence
from threading import Lock

from quoth import text
from quoth.errors import InputError
from quoth.retrieve.mediawiki.address import Mode, WikiAddress
from quoth.retrieve.mediawiki.best import content_words, scores
from quoth.retrieve.mediawiki.cache import Cache, default_path
from quoth.retrieve.mediawiki.client import Client
from quoth.retrieve.mediawiki.pages import Page, Pages, lists_meanings
from quoth.retrieve.mediawiki.sections import sections, segments
from quoth.types import Document, Filter, Passage, Query, Scored

PAGES = 5
"""Articles that are read for a question."""

HELD = 64
"""Documents kept in memory, so that an answer's document is the one that it was found in."""

_SUMMARY = "#summary"
_RENDERED = "The text is taken from the rendered page; tables and notes are left out."


class MediaWiki:
    """Finds passages in a wiki, Wikipedia or any other, through its API. Reads only.

    ``sections`` (the default) hands on the best pieces of the best articles, no piece over two
    sections; ``full`` whole articles; ``summary`` their leads. A document is one revision of
    an article: its id and its source name the revision, so that a citation can be checked.
    Needs the network, but for what is in the cache. Safe to share between threads.
    """

    def __init__(self, client: Client, *, mode: Mode = "sections", pages: int = PAGES) -> None:
        self._client = client
        self._wiki = Pages(client)
        self._mode = mode
        self._pages = pages
        self._held: OrderedDict[str, Document] = OrderedDict()
        self._lock = Lock()

    @classmethod
    def connect(cls, address: str, *, pages: int = PAGES, cache: Cache | None = None) -> "MediaWiki":
        """Return the wiki at *address* (``wikipedia:en``, ``mediawiki:URL``, with ``#full`` or ``#summary``).

        Nothing is sent before the first question. *cache* is the user's own where none is given.
        """
        parsed = WikiAddress.parse(address)
        client = Client(parsed, cache=cache if cache is not None else Cache(default_path()))
        return cls(client, mode=parsed.mode, pages=pages)

    def retrieve(self, query: Query, *, k: int) -> Sequence[Scored[Passage]]:
        """Return at most *k* passages, best first; at most as many articles are read as this wiki is set to.

        Scores are comparable within one question only. Raise ``BackendError`` where the wiki
        does not answer: nothing partial is returned.
        """
        question = query.search or query.question
        if k < 1 or not content_words(question):
            return ()
        found = self._wiki.find(
            question,
            phrases=[p.text for p in query.phrases],
            terms=[t.text for t in query.terms],
            n=min(self._pages, k) if self._mode != "sections" else self._pages,
        )
        documents = [
            d for d in map(self._load, found) if not lists_meanings(d.text) and _all_hold(query.filters, d)
        ]
        if self._mode != "sections":
            whole = [Passage(d.id, 0, len(d.text), d.text, d.title) for d in documents if d.text]
            return tuple(Scored(passage, 1.0 / rank) for rank, passage in enumerate(whole, start=1))
        return _best(content_words(question), documents, k)

    def document(self, id: str) -> Document:
        """Return the document with this *id*, whole. Raise ``InputError`` for an unknown one.

        A revision that is no longer the article's last can only be had from the cache.
        """
        with self._lock:
            held = self._held.get(id)
        if held is not None:
            return held
        page, revision = self._parts(id)
        now = self._wiki.describe([page])
        kept = [Page(p.id, p.title, revision, p.timestamp) for p in now if p.id == page]
        if not kept:
            raise InputError(f"{self._client.address.place} has no page {page}.", code="unknown_document")
        document = self._load(kept[0])
        if document.id != id:
            raise InputError(
                f"The article {kept[0].title!r} has changed since revision {revision}.",
                hint="Ask again for its present text.",
                code="unknown_document",
            )
        return document

    def info(self) -> dict[str, object]:
        """Return what there is to say about the wiki."""
        site = self._wiki.site()
        return {
            "address": self._client.address.api,
            "wiki": site.name,
            "language": site.language,
            "articles": site.articles,
            "mode": self._mode,
            "text_extracts": site.extracts,
            "read_only": True,
        }

    def close(self) -> None:
        """Let go of what is held in memory."""
        with self._lock:
            self._held.clear()

    def _parts(self, id: str) -> tuple[int, int]:
        place, _, rest = id.removesuffix(_SUMMARY).rpartition("/")
        page, _, revision = rest.partition("@")
        summary = id.endswith(_SUMMARY)
        if place != self._client.address.place or not (page.isdecimal() and revision.isdecimal()):
            raise InputError(
                f"There is no document {id!r} on {self._client.address.place}.", code="unknown_document"
            )
        if summary != (self._mode == "summary"):
            raise InputError(
                f"The document {id!r} belongs to another mode than {self._mode}.", code="unknown_document"
            )
        return int(page), int(revision)

    def _load(self, page: Page) -> Document:
        summary = self._mode == "summary"
        body, now = self._wiki.text(page, summary=summary)
        site, place = self._wiki.site(), self._client.address.place
        document = Document(
            id=f"{place}/{now.id}@{now.revision}" + (_SUMMARY if summary else ""),
            text=body,
            title=now.title,
            source=f"{site.script}?oldid={now.revision}",
            sha256=hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest(),
            metadata={
                "wiki": place,
                "page": str(now.id),
                "revision": str(now.revision),
                "timestamp": now.timestamp,
                "date": now.timestamp[:10],
            },
            segments=segments(body),
            notes=() if site.extracts else (_RENDERED,),
        )
        with self._lock:
            self._held[document.id] = document
            self._held.move_to_end(document.id)
            while len(self._held) > HELD:
                self._held.popitem(last=False)
        return document


def _best(words: Sequence[str], documents: Sequence[Document], k: int) -> tuple[Scored[Passage], ...]:
    """Return the *k* best pieces of sections, those without any word of the question left out."""
    pieces: list[Passage] = []
    seen: list[tuple[str, str]] = []
    for document in documents:
        for section in sections(document.text):
            whole = document.text[section.body : section.end]
            start = section.body + len(whole) - len(whole.lstrip())
            end = start + len(whole.strip())
            if start >= end:
                continue
            passage = Passage(document.id, start, end, document.text[start:end], document.title)
            for piece in text.cut(passage):
                pieces.append(piece)
                seen.append((f"{document.title} {section.label}", piece.text))
    scored = [Scored(p, s) for p, s in zip(pieces, scores(words, seen), strict=True) if s > 0]
    scored.sort(key=lambda s: (-s.score, s.item.document_id, s.item.start))
    return tuple(scored[:k])


def _all_hold(filters: Sequence[Filter], document: Document) -> bool:
    return all(_holds(f, document) for f in filters)


def _holds(condition: Filter, document: Document) -> bool:
    """Say whether a document satisfies a condition; values compare as text. No article lies in a folder."""
    values = {"id": document.id, "title": document.title, **document.metadata}
    value, bound = values.get(condition.key), condition.value
    if value is None or condition.key == "folder":
        return False
    return {
        ":": value == bound,
        ">": value > bound,
        ">=": value >= bound,
        "<": value < bound,
        "<=": value <= bound,
    }[condition.comparison]
