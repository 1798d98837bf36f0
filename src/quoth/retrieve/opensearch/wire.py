"""The connection: the official client, with bounded time, retries, and errors that say what to do."""

import logging
import random
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from quoth.errors import BackendError, IndexUnusableError, InputError, MissingExtraError
from quoth.retrieve.opensearch.address import Address

log = logging.getLogger(__name__)

MINIMUM = (2, 4)
"""The first version with point-in-time searches under OpenSearch's own address."""

AGAIN = frozenset({429, 500, 502, 503, 504})
"""Replies that say "not now", and 500, which a node's death in the middle of a search ends as.

Everything that we send may be sent twice. (opensearch-py of itself would try neither 429 nor 500 again.)
"""

REST = 5.0
"""Seconds for which a server that did not answer a question is left alone."""

Json = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often one request is tried. Seconds, but for ``tries``.

    Between tries it waits ``first``, doubled each time up to ``longest``, times a random
    half to whole; or what the server's Retry-After asks for, within ``longest``.
    """

    connect: float = 2.0
    read: float = 10.0
    tries: int = 3
    first: float = 0.2
    longest: float = 2.0
    total: float = 20.0


ASKING = Patience()
LOADING = Patience(read=60.0, tries=12, first=0.5, longest=15.0, total=180.0)


class Conflict(BackendError):
    """Another writer changed the record first."""

    code = "conflict"


class Missing(BackendError):
    """The index or the record is not there."""

    code = "missing"


class Rejected(BackendError):
    """The server could make nothing of the request (400); whose fault that is, the one who asked has to say."""


class Wire:
    """Sends requests to one cluster. Safe to share between threads.

    ``pause`` waits for some seconds between tries (tests hand in their own).
    """

    def __init__(
        self,
        address: Address,
        *,
        asking: Patience = ASKING,
        loading: Patience = LOADING,
        pause: Callable[[float], object] | None = None,
    ) -> None:
        self.address = address
        self._patience = {False: asking, True: loading}
        self._pause = pause or threading.Event().wait
        self._rested = 0.0
        self._client = _client(address)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def get(self, path: str, *, body: object = None, params: Mapping[str, object] | None = None) -> Json:
        """Read something, within the patience of a question."""
        return self._send("GET", path, body, params, loading=False)

    def search(self, path: str, body: Json, *, params: Mapping[str, object] | None = None) -> Json:
        """Ask something that has a body, within the patience of a question."""
        return self._send("POST", path, body, params, loading=False)

    def write(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        params: Mapping[str, object] | None = None,
        patient: bool = True,
    ) -> Json:
        """Change something, within the patience of loading. What is sent must be safe to send twice."""
        return self._send(method, path, body, params, loading=patient)

    def pause(self, attempt: int, asked: float = 0.0) -> None:
        """Wait before the try after *attempt* (from 0), for a server that is loaded."""
        self._pause(_delay(self._patience[True], attempt, asked))

    def _send(
        self, method: str, path: str, body: object, params: Mapping[str, object] | None, *, loading: bool
    ) -> Json:
        import opensearchpy
        import urllib3

        patience = self._patience[loading]
        self._check_rest(loading)
        ends = time.monotonic() + patience.total
        attempt = 0
        while True:
            left = max(0.1, min(patience.read, ends - time.monotonic()))
            limit = urllib3.Timeout(connect=patience.connect, read=left)
            try:
                reply = self._client.transport.perform_request(
                    method, path, params=dict(params or {}), body=body, timeout=limit
                )
            except (opensearchpy.TransportError, opensearchpy.SerializationError) as problem:
                attempt += 1
                delay = _delay(patience, attempt - 1, _asked(problem))
                if not _passing(problem) or attempt >= patience.tries or time.monotonic() + delay > ends:
                    raise self._mapped(problem, attempt) from problem
                log.info("%s %s: try %d failed (%s); again in %.1f s", method, path, attempt, problem, delay)
                self._pause(delay)
                continue
            if not isinstance(reply, dict):
                raise BackendError(
                    f"{self.address.place} answered {method} {path} with what is no JSON object."
                )
            return reply

    def _check_rest(self, loading: bool) -> None:
        """Raise at once where the server was silent a moment ago: no question waits for it in turn."""
        left = self._rested - time.monotonic()
        if left > 0 and not loading:
            raise BackendError(
                f"{self.address.place} did not answer a moment ago.",
                hint=f"It is tried again in {left:.0f} s.",
            )

    def _mapped(self, problem: Exception, tries: int) -> Exception:
        """Return our error for the client's."""
        import opensearchpy

        place, status = self.address.place, getattr(problem, "status_code", None)
        if isinstance(problem, opensearchpy.SerializationError):
            return BackendError(
                f"{place} answered with broken JSON, {tries} times.", hint="Is it OpenSearch?"
            )
        if isinstance(problem, opensearchpy.SSLError):
            return BackendError(
                f"TLS with {place} failed: {_cause(problem)}.", hint=_tls_hint(problem, self.address)
            )
        if isinstance(problem, opensearchpy.ConnectionError):
            self._rested = time.monotonic() + REST
            if isinstance(problem, opensearchpy.ConnectionTimeout):
                return BackendError(
                    f"{place} did not answer in time, {tries} times.", hint="Is the cluster overloaded?"
                )
            return BackendError(
                f"{place} cannot be reached: {_cause(problem)}.",
                hint="Is the server running?" + ("" if self.address.tls else " If it wants TLS, add ?tls=1."),
            )
        return _for_status(status, _reason(problem), self.address, tries)


def _client(address: Address) -> Any:
    try:
        import opensearchpy
    except ImportError as problem:
        raise MissingExtraError(
            "OpenSearch needs its client, which is not installed.", hint="pip install 'quoth[opensearch]'"
        ) from problem
    logging.getLogger("opensearch").addHandler(logging.NullHandler())

    class Connection(opensearchpy.Urllib3HttpConnection):  # type: ignore[misc]  # the client is untyped here
        """Keeps the Retry-After header of a refusal, which the client drops."""

        _kept = threading.local()

        def get_response_headers(self, response: Any) -> Any:
            headers = super().get_response_headers(response)
            self._kept.retry_after = headers.get("retry-after", "")
            return headers

        def _raise_error(self, *arguments: Any, **options: Any) -> None:
            try:
                super()._raise_error(*arguments, **options)
            except opensearchpy.TransportError as problem:
                problem.retry_after = getattr(self._kept, "retry_after", "")
                raise

    login = (address.user, address.password) if address.user else None
    return opensearchpy.OpenSearch(
        hosts=[{"host": host, "port": port} for host, port in address.hosts],
        connection_class=Connection,
        http_auth=login,
        headers=address.headers or None,
        max_retries=0,
        retry_on_timeout=True,  # marks the silent host, so that the next try goes to another
        pool_maxsize=16,
        **_tls(address),
    )


def _tls(address: Address) -> Json:
    if not address.tls:
        return {"use_ssl": False}
    return {
        "use_ssl": True,
        "verify_certs": address.verify,
        "ssl_show_warn": False,
        **({} if address.verify else {"ssl_assert_hostname": False}),
        **({"ca_certs": address.ca} if address.ca else {}),
    }


def _passing(problem: Exception) -> bool:
    """Say whether trying again may help."""
    import opensearchpy

    if isinstance(problem, opensearchpy.SSLError):
        return False
    if isinstance(problem, opensearchpy.ConnectionError | opensearchpy.SerializationError):
        return True
    return getattr(problem, "status_code", None) in AGAIN


def _delay(patience: Patience, attempt: int, asked: float) -> float:
    doubled: float = min(patience.longest, patience.first * 2.0**attempt)
    return max(doubled * random.uniform(0.5, 1.0), min(asked, patience.longest))


def _asked(problem: Exception) -> float:
    """Return the seconds that the server asked for (its date form is not used by servers of this kind)."""
    try:
        return max(0.0, float(getattr(problem, "retry_after", "") or 0))
    except ValueError:
        return 0.0


def _for_status(status: object, reason: str, address: Address, tries: int) -> Exception:
    place = address.place
    if status == 404 and "index_not_found" not in reason:
        return Missing(f"{place}: {reason}.")
    if status == 404:
        return InputError(
            f"There is no index {address.index!r} on {place}.",
            hint="" if address.fields else f"`quoth index PATH --index {address}` makes one.",
            code="no_index",
        )
    if status == 409:
        return Conflict(f"{place}: {reason}.")
    if status == 401:
        return BackendError(
            f"{place} refused the login.",
            hint="Set QUOTH_OPENSEARCH_USER and _PASSWORD, or _API_KEY.",
            code="login",
        )
    if status == 403:
        return BackendError(f"{place} does not allow this: {reason}.", code="forbidden")
    if status == 413:
        return InputError(
            f"{place} does not take so large a document.", hint="Raise its http.max_content_length."
        )
    if status == 400 and "index_closed" in reason:
        return IndexUnusableError(f"The index {address.index!r} on {place} is closed.", hint="Open it first.")
    if status == 429:
        return BackendError(
            f"{place} is overloaded; refused {tries} times: {reason}.", hint="Try again later."
        )
    if status in AGAIN:
        return BackendError(
            f"{place} is not able to answer ({status}, {tries} times): {reason}.",
            hint="Look at its health: GET _cluster/health (red: a shard is missing).",
        )
    kind = Rejected if status == 400 else BackendError
    return kind(f"{place} answered {status}: {reason}.")


def _reason(problem: Exception) -> str:
    """Return the server's own words, short."""
    info = getattr(problem, "info", None)
    error = info.get("error") if isinstance(info, Mapping) else None
    if not isinstance(error, Mapping):
        return _short(error or getattr(problem, "error", "") or problem)
    roots = error.get("root_cause")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], Mapping) else error
    kind, words = root.get("type") or error.get("type"), root.get("reason") or error.get("reason")
    return _short(f"{kind}: {words}" if words else kind)


def _cause(problem: Exception) -> str:
    """Return the innermost reason of a failed connection."""
    words = str(getattr(problem, "info", None) or problem)
    if "certificate verify failed: " in words:
        return (
            "certificate verify failed: " + words.split("certificate verify failed: ")[-1].split(" (_ssl")[0]
        )
    for mark in ("Connection refused", "Name or service not known", "timed out", "Connection reset by peer"):
        if mark in words:
            return mark
    return _short(words)


def _tls_hint(problem: Exception, address: Address) -> str:
    if "WRONG_VERSION_NUMBER" in str(problem) or "record layer" in str(problem):
        return "The server seems to speak plain HTTP; leave out tls=1."
    return "Give the server's certificate authority with ?ca=FILE" + (
        "." if not address.verify else "; verify=0 accepts any."
    )


def _short(value: object) -> str:
    words = " ".join(str(value).split()).rstrip(".")
    return words if len(words) <= 240 else words[:237] + "..."


def check_product(wire: Wire) -> tuple[int, ...]:
    """Return the server's version. Raise ``BackendError`` where it is not OpenSearch, or too old."""
    place = wire.address.place
    try:
        version = wire.get("/").get("version")
    except BackendError as problem:
        if problem.code != "forbidden":
            raise
        return MINIMUM  # a user who may search but not look at the cluster
    number = str(version.get("number", "")) if isinstance(version, Mapping) else ""
    product = str(version.get("distribution", "")) if isinstance(version, Mapping) else ""
    if product != "opensearch":
        name = f"Elasticsearch {number}" if number else "not a search server that we know"
        raise BackendError(
            f"{place} is {name}; quoth speaks to OpenSearch {_dotted(MINIMUM)} and later.",
            code="wrong_product",
        )
    parts = tuple(int(p) for p in number.split("-")[0].split(".")[:3] if p.isdigit())
    if parts[:2] < MINIMUM:
        raise BackendError(
            f"{place} is OpenSearch {number}; quoth needs {_dotted(MINIMUM)} or later.", code="too_old"
        )
    return parts


def _dotted(version: tuple[int, ...]) -> str:
    return ".".join(str(part) for part in version)
