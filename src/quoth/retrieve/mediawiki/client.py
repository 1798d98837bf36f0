"""Requests to a wiki's API: polite, bounded, tried again when the wiki asks for it, kept on disk."""

import gzip
import http.client
import io
import json
import os
import platform
import random
import threading
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import metadata
from typing import Any
from urllib.parse import urlencode, urlsplit

from quoth.errors import BackendError
from quoth.retrieve.mediawiki.address import WikiAddress
from quoth.retrieve.mediawiki.cache import Cache

MAX_BYTES = 20_000_000
"""A longer reply is refused; the longest article of Wikipedia has about a tenth of it."""

MAXLAG = 5
"""Seconds of database lag beyond which the wiki may turn us away, as its etiquette asks."""

AGAIN = frozenset({429, 500, 502, 503, 504})
BUSY_CODES = frozenset({"maxlag", "ratelimited", "readonly", "internal_api_error_DBQueryError"})

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often one request is tried; seconds, but for ``tries``."""

    timeout: float = 10.0
    tries: int = 5
    first: float = 0.5
    longest: float = 10.0
    total: float = 40.0


class _Passing(Exception):
    """A failure that another try may mend, with the seconds that the server asked for."""

    def __init__(self, words: str, *, asked: float = 0.0, hint: str = "") -> None:
        super().__init__(words)
        self.asked = asked
        self.hint = hint


class Client:
    """Asks one wiki. Safe to share between threads; one request at a time, as the etiquette asks.

    ``pause`` waits for some seconds between tries (tests hand in their own).
    """

    def __init__(
        self,
        address: WikiAddress,
        *,
        cache: Cache | None,
        patience: Patience | None = None,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.address = address
        self._cache = cache
        self._patience = patience or Patience()
        self._pause = pause or threading.Event().wait
        self._turn = threading.Lock()
        self._opener = urllib.request.build_opener(_SameHost)

    def ask(self, parameters: Mapping[str, object], *, fresh: float | None, key: str = "") -> Json:
        """Return the reply to *parameters*, or the one kept at most *fresh* seconds ago (None: at any time).

        *key* names the reply in the cache where it is not the request alone that decides it.
        Raise ``BackendError`` where the wiki is not reachable, is too busy for too long, or
        answers with an error.
        """
        query = {"format": "json", "formatversion": 2, "maxlag": MAXLAG, **parameters}
        url = f"{self.address.api}?{urlencode(sorted((k, str(v)) for k, v in query.items()))}"
        name = f"{self.address.api} {key}" if key else url
        kept = self._cache.get(name, max_age=fresh) if self._cache is not None else None
        if kept is not None:
            return _decoded(kept)  # only what could be decoded is ever kept, under a checksum
        with self._turn:
            body = self._fetch(url)
        reply = _decoded(body)
        if self._cache is not None:
            self._cache.put(name, body)
        return reply

    def _fetch(self, url: str) -> bytes:
        patience = self._patience
        ends = time.monotonic() + patience.total
        attempt = 0
        while True:
            try:
                body = self._once(url)
                check_reply(_decoded(body), self.address.place)
                return body
            except _Passing as problem:
                attempt += 1
                doubled = min(patience.longest, patience.first * 2.0 ** (attempt - 1))
                delay = max(doubled * random.uniform(0.5, 1.0), min(problem.asked, patience.longest))
                if attempt >= patience.tries or time.monotonic() + delay > ends:
                    raise BackendError(
                        f"{self.address.place}: {problem} ({attempt} {'try' if attempt == 1 else 'tries'}).",
                        hint=problem.hint or "Try again later.",
                    ) from problem
                self._pause(delay)

    def _once(self, url: str) -> bytes:
        request = urllib.request.Request(url, headers=_headers())
        try:
            with self._opener.open(request, timeout=self._patience.timeout) as reply:
                return _read(reply)
        except urllib.error.HTTPError as problem:
            with problem:
                raise self._refused(problem) from problem
        except (urllib.error.URLError, OSError, http.client.HTTPException) as problem:
            reason = getattr(problem, "reason", None) or problem
            if "CERTIFICATE_VERIFY_FAILED" in str(reason):
                raise BackendError(
                    f"{self.address.place}: its certificate is not trusted ({reason}).",
                    hint="SSL_CERT_FILE names a file with your authority.",
                ) from problem
            words = (
                "did not answer in time"
                if isinstance(reason, TimeoutError)
                else f"cannot be reached: {reason}"
            )
            raise _Passing(words, hint="Is the network there?") from problem

    def _refused(self, problem: urllib.error.HTTPError) -> Exception:
        asked = _seconds(problem.headers.get("Retry-After", ""))
        if problem.code in AGAIN:
            words = "too many requests" if problem.code == 429 else f"answered {problem.code}"
            return _Passing(words, asked=asked)
        if problem.code in (401, 403):
            return BackendError(
                f"{self.address.place} does not let us in ({problem.code}).",
                hint="A private wiki needs QUOTH_MEDIAWIKI_TOKEN (OAuth).",
                code="login",
            )
        return BackendError(
            f"{self.address.api} answered {problem.code}.",
            hint="Is this the address of a MediaWiki's api.php?",
        )


class _SameHost(urllib.request.HTTPRedirectHandler):
    """Follows redirects on one host only, and never from https to http."""

    def redirect_request(
        self, req: urllib.request.Request, fp: Any, code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        old, new = urlsplit(req.full_url), urlsplit(newurl)
        if new.hostname != old.hostname or (old.scheme == "https" and new.scheme != "https"):
            raise BackendError(
                f"{old.netloc} sends us on to {new.scheme}://{new.netloc}.",
                hint="Use that address, if it is the wiki's.",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def user_agent() -> str:
    """Return how we name ourselves: program, version, and whom to write to (``QUOTH_MEDIAWIKI_CONTACT``)."""
    contact = os.environ.get("QUOTH_MEDIAWIKI_CONTACT", "").strip()
    about = f"({contact}) " if contact.isprintable() and contact else ""
    return f"quoth/{metadata.version('quoth')} {about}Python/{platform.python_version()}"


def _headers() -> dict[str, str]:
    token = os.environ.get("QUOTH_MEDIAWIKI_TOKEN", "")
    login = {"Authorization": f"Bearer {token}"} if token else {}
    return {"User-Agent": user_agent(), "Accept-Encoding": "gzip", "Accept": "application/json", **login}


def _read(reply: Any) -> bytes:
    """Return the body, unpacked, within the limit."""
    raw: bytes = reply.read(MAX_BYTES + 1)
    if reply.headers.get("Content-Encoding", "").lower() == "gzip":
        try:
            with gzip.GzipFile(fileobj=io.BytesIO(raw)) as unpacked:
                raw = unpacked.read(MAX_BYTES + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as problem:
            raise _Passing("answered with a broken gzip stream") from problem
    if len(raw) > MAX_BYTES:
        raise BackendError(f"The wiki's reply is over {MAX_BYTES:,} bytes.")
    return raw


def _decoded(body: bytes) -> Json:
    try:
        reply = json.loads(body)
    except (ValueError, RecursionError) as problem:
        words = "answered with what is no JSON"
        hint = "Is this the address of a MediaWiki's api.php?"
        raise _Passing(words, hint=hint) from problem
    if not isinstance(reply, dict):
        raise _Passing("answered with JSON that is no object")
    return reply


def check_reply(reply: Json, place: str) -> None:
    """Raise ``BackendError`` (or ask for another try) where a reply is an error of the API."""
    error = reply.get("error")
    if error is None:
        return
    code = str(error.get("code", "")) if isinstance(error, Mapping) else str(error)
    words = str(error.get("info", code)) if isinstance(error, Mapping) else code
    if code in BUSY_CODES:
        lag = error.get("lag", 0) if isinstance(error, Mapping) else 0
        raise _Passing(
            f"is busy ({code}: {words[:150]})", asked=float(lag) if isinstance(lag, int | float) else 0.0
        )
    if code in ("readapidenied", "mwoauth-invalid-authorization", "badtoken"):
        raise BackendError(
            f"{place} lets only its members read.", hint="Set QUOTH_MEDIAWIKI_TOKEN (OAuth).", code="login"
        )
    raise BackendError(f"{place} answered with an error ({code}): {words[:200]}")


def _seconds(value: str) -> float:
    """Return the seconds of a Retry-After header; 0 where it is a date or nothing."""
    try:
        return max(0.0, float(value))
    except ValueError:
        return 0.0
