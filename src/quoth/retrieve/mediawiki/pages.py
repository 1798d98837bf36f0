"""Finding pages and reading them: search, page information, text. No title is ever guessed."""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urljoin

from quoth.errors import BackendError
from quoth.retrieve.mediawiki.best import content_words, stems
from quoth.retrieve.mediawiki.client import Client, Json
from quoth.retrieve.mediawiki.sections import lead, text_of
from quoth.text import words

HOUR, WEEK = 3600.0, 604_800.0
WORDS = 8
"""Words that are looked up one by one where all of them together find too little."""

LINKS = 50
_REFERS = re.compile(r"\b(may|can|might) (also )?refer to\b[^.\n]{0,40}:", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Site:
    """What a wiki says of itself."""

    name: str
    script: str
    language: str
    articles: int
    extracts: bool
    ranked: bool


@dataclass(frozen=True, slots=True)
class Page:
    """A page as it is now: its revision (what a citation names) and when that was made."""

    id: int
    title: str
    revision: int
    timestamp: str
    disambiguation: bool = False


class Pages:
    """The pages of one wiki. ``fresh`` is how many seconds a search may be old."""

    def __init__(self, client: Client, *, fresh: float = HOUR) -> None:
        self._client = client
        self._fresh = fresh
        self._site: Site | None = None

    def site(self) -> Site:
        """Return what the wiki says of itself. Raise ``BackendError`` where it is no MediaWiki."""
        if self._site is None:
            self._site = self._ask_site()
        return self._site

    def _ask_site(self) -> Site:
        reply = self._client.ask(
            {"action": "query", "meta": "siteinfo", "siprop": "general|extensions|statistics"}, fresh=WEEK
        )
        query = reply.get("query")
        general = query.get("general") if isinstance(query, Mapping) else None
        if not isinstance(query, Mapping) or not isinstance(general, Mapping):
            raise BackendError(f"{self._client.address.api} does not answer as a MediaWiki does.")
        names = {str(e.get("name", "")) for e in query.get("extensions", []) if isinstance(e, Mapping)}
        base = urljoin(self._client.address.api, str(general.get("server", "")))
        return Site(
            name=str(general.get("sitename", "")),
            script=urljoin(base, str(general.get("script", "/index.php"))),
            language=str(general.get("lang", "")),
            articles=int(query.get("statistics", {}).get("articles", 0) or 0),
            extracts="TextExtracts" in names,
            ranked="CirrusSearch" in names,
        )

    def find(
        self, question: str, *, phrases: Sequence[str] = (), terms: Sequence[str] = (), n: int
    ) -> list[Page]:
        """Return at most *n* articles that the wiki's own search finds, best first; redirects are resolved.

        All content words together are searched first. Where that finds fewer than *n*, or the
        search engine does not rank (MediaWiki's own does not), each word is also searched by
        itself, and pages are ranked by the sum of their words' inverse document frequencies.
        Disambiguation pages are left out; what they point to stands in where its title holds
        a word of the question.
        """
        wanted = content_words(question)
        limit = min(50, max(10, 2 * n))
        together: list[int] = self._search(" ".join(wanted), limit=limit)[0] if wanted else []
        for phrase in phrases:
            quoted = " ".join(words(phrase))
            together += self._search(f'"{quoted}"', limit=limit)[0] if quoted else []
        site = self.site()
        weights: dict[int, float] = {}
        if len(set(together)) < n or not site.ranked:
            singles = dict.fromkeys((*wanted, *(w for t in terms for w in content_words(t))))
            weights = self._weights(sorted(singles, key=lambda w: (-len(w), w))[:WORDS], site.articles, limit)
        place = {id: i for i, id in reversed(list(enumerate(together)))}
        order = sorted({*together, *weights}, key=lambda id: (id not in place, -weights.get(id, 0.0), id))
        if site.ranked:
            order.sort(key=lambda id: place.get(id, len(place)))
        return self._articles(order[:limit], wanted, n)

    def _weights(self, singles: Sequence[str], articles: int, limit: int) -> dict[int, float]:
        """Return, for each page found by single words, the sum of their inverse document frequencies."""
        weights: dict[int, float] = {}
        for word in singles:
            found, hits = self._search(word, limit=limit)
            for page in found:
                weights[page] = weights.get(page, 0.0) + math.log(1 + max(articles, 1) / max(1, hits))
        return weights

    def _articles(self, ids: Sequence[int], wanted: Sequence[str], n: int) -> list[Page]:
        pages = self.describe(ids)
        articles = [p for p in pages if not p.disambiguation]
        if len(articles) < n:
            known = {p.id for p in articles}
            for page in (p for p in pages if p.disambiguation):
                articles += [p for p in self._meant(page, wanted) if p.id not in known]
                known |= {p.id for p in articles}
        return list({p.id: p for p in articles}.values())[:n]

    def _meant(self, page: Page, wanted: Sequence[str]) -> list[Page]:
        """Return what a disambiguation page points to whose title shares a word with the question."""
        parameters = {"action": "query", "generator": "links", "pageids": page.id, "gplnamespace": 0}
        linked = self._described({**parameters, "gpllimit": LINKS})
        asked = set(stems(wanted))
        shared = {p.id: len(asked & set(stems(words(p.title)))) for p in linked if not p.disambiguation}
        meant = [p for p in linked if shared.get(p.id)]
        return sorted(meant, key=lambda p: (-shared[p.id], p.id))

    def _search(self, words: str, *, limit: int) -> tuple[list[int], int]:
        """Return the ids of the pages that hold *words*, and how many there are in all."""
        parameters = {
            "action": "query",
            "list": "search",
            "srsearch": words,
            "srnamespace": 0,
            "srwhat": "text",
        }
        reply = self._client.ask(
            {**parameters, "srlimit": limit, "srprop": "", "srinfo": "totalhits"}, fresh=self._fresh
        )
        return hits_in(reply)

    def describe(self, ids: Sequence[int]) -> list[Page]:
        """Return these pages as they are now, in this order; missing ones are left out, redirects resolved."""
        if not ids:
            return []
        parameters = {"action": "query", "pageids": "|".join(str(i) for i in ids[:50]), "redirects": 1}
        return self._described(parameters, ids)

    def _described(self, parameters: Mapping[str, object], ids: Sequence[int] = ()) -> list[Page]:
        more = {
            "prop": "revisions|pageprops|categories",
            "rvprop": "ids|timestamp",
            "ppprop": "disambiguation",
            "cllimit": 500,
        }
        reply = self._client.ask({**parameters, **more}, fresh=self._fresh)
        return pages_in(reply, ids)

    def text(self, page: Page, *, summary: bool) -> tuple[str, Page]:
        """Return the text of an article (or of its lead alone), and the page that it is of.

        With TextExtracts where the wiki has it, else from the rendered page. A text is kept by
        its revision, for good.
        """
        key = text_key(page.id, page.revision, summary=summary)
        if not self.site().extracts:
            return self._rendered(page, key, summary=summary)
        parameters: Json = {"action": "query", "prop": "extracts|revisions", "pageids": page.id}
        options = {"explaintext": 1, "exsectionformat": "wiki", "rvprop": "ids|timestamp", "exlimit": 1}
        reply = self._client.ask(
            {**parameters, **options, **({"exintro": 1} if summary else {})}, fresh=None, key=key
        )
        found = [
            p for p in rows_in(reply) if p.get("pageid") == page.id and isinstance(p.get("extract"), str)
        ]
        if not found:
            raise BackendError(f"{self._client.address.place} gave no text for {page.title!r}.")
        now = _page(found[0])
        return found[0]["extract"].strip(), now if now is not None else page

    def _rendered(self, page: Page, key: str, *, summary: bool) -> tuple[str, Page]:
        parameters = {"action": "parse", "oldid": page.revision, "prop": "text|revid"}
        options = {"disableeditsection": 1, "disabletoc": 1, "disablelimitreport": 1}
        reply = self._client.ask({**parameters, **options}, fresh=None, key=key)
        parsed = reply.get("parse")
        html = parsed.get("text") if isinstance(parsed, Mapping) else None
        if isinstance(html, Mapping):  # the older form of replies
            html = html.get("*")
        if not isinstance(html, str):
            raise BackendError(f"{self._client.address.place} gave no text for {page.title!r}.")
        text = text_of(html)
        return (lead(text) if summary else text), page


def text_key(page: int, revision: int, *, summary: bool) -> str:
    """Return the name of a text in the cache."""
    return f"text {page}@{revision}" + (" summary" if summary else "")


def hits_in(reply: Json) -> tuple[list[int], int]:
    """Return the page ids of a search's reply, best first, and the number of all hits (of those seen, if unknown)."""
    query = reply.get("query")
    rows = query.get("search") if isinstance(query, Mapping) else None
    if not isinstance(rows, list):
        raise BackendError(
            "The wiki's reply to a search cannot be read.", hint="Is searching switched off there?"
        )
    given = [row.get("pageid") for row in rows if isinstance(row, Mapping)]
    ids = list(
        dict.fromkeys(id for id in given if isinstance(id, int) and id > 0)
    )  # 0: a page of another wiki
    total = query.get("searchinfo", {}).get("totalhits") if isinstance(query, Mapping) else None
    return ids, total if isinstance(total, int) else len(ids)


def rows_in(reply: Json) -> list[Json]:
    """Return the pages of a reply, in either form of MediaWiki's JSON."""
    query = reply.get("query")
    pages: Any = query.get("pages", []) if isinstance(query, Mapping) else []
    rows: Iterable[Any] = pages.values() if isinstance(pages, Mapping) else pages
    return [row for row in rows if isinstance(row, dict)]


def pages_in(reply: Json, ids: Sequence[int] = ()) -> list[Page]:
    """Return the existing pages of a reply, in the order of *ids* where those are given.

    A redirect's id is not in the reply: its target comes after those that were asked for themselves.
    """
    pages = [page for row in rows_in(reply) if (page := _page(row)) is not None]
    if not ids:
        return pages
    by_id = {page.id: page for page in pages}
    direct = [by_id[i] for i in ids if i in by_id]
    rest = [page for page in pages if page.id not in set(ids)]
    return direct + rest


def _page(row: Json) -> Page | None:
    revisions = row.get("revisions")
    first = (
        revisions[0] if isinstance(revisions, list) and revisions and isinstance(revisions[0], dict) else {}
    )
    if "missing" in row or "invalid" in row or not isinstance(row.get("pageid"), int) or "revid" not in first:
        return None
    return Page(
        id=row["pageid"],
        title=str(row.get("title", "")),
        revision=int(first["revid"]),
        timestamp=str(first.get("timestamp", "")),
        disambiguation=_disambiguates(row),
    )


def _disambiguates(row: Json) -> bool:
    """Say whether a page only lists meanings: by the wiki's own mark, its title or its categories."""
    if "disambiguation" in (row.get("pageprops") or {}):
        return True
    title = str(row.get("title", "")).lower()
    categories = [
        str(c.get("title", "")).lower() for c in row.get("categories", []) if isinstance(c, Mapping)
    ]
    return title.endswith("(disambiguation)") or any("disambiguation pages" in c for c in categories)


def lists_meanings(text: str) -> bool:
    """Say whether a text begins as disambiguation pages do."""
    return bool(_REFERS.search(text[:300]))
