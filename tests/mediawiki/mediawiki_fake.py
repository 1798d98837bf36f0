"""A wiki's API in a thread, that misbehaves on purpose."""

import gzip
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit

SITE = {
    "query": {
        "general": {"sitename": "Fake", "server": "", "script": "/w/index.php", "lang": "en"},
        "extensions": [{"name": "TextExtracts"}, {"name": "CirrusSearch"}],
        "statistics": {"articles": 1000},
    }
}


@dataclass(frozen=True)
class Reply:
    """What is sent: a status, a body (JSON, or bytes as they are), headers; or a way of failing."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    short: int = 0
    zip: bool = False


@dataclass
class FakeWiki:
    """Pages by id, and the replies that come before the good ones, by what is asked for."""

    port: int = 0
    pages: dict[int, dict[str, Any]] = field(default_factory=dict)
    found: list[int] = field(default_factory=list)
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    queued: list[Reply] = field(default_factory=list)
    site: dict[str, Any] = field(default_factory=lambda: SITE)
    always: dict[str, Any] = field(default_factory=dict)

    @property
    def api(self) -> str:
        return f"http://127.0.0.1:{self.port}/w/api.php"

    def add(self, id: int, title: str, extract: str, **more: Any) -> None:
        """Add a page that every search finds."""
        revision = [{"revid": id * 10, "timestamp": "2026-01-02T03:04:05Z"}]
        self.pages[id] = {
            "pageid": id,
            "ns": 0,
            "title": title,
            "revisions": revision,
            "extract": extract,
            **more,
        }
        self.found.append(id)

    def of_kind(self, kind: str) -> list[dict[str, str]]:
        """Return the requests of one kind."""
        return [parameters for parameters in self.asked if _kind(parameters) == kind]

    def reply(self, parameters: dict[str, str]) -> Reply:
        """Return the next reply."""
        if self.queued:
            return self.queued.pop(0)
        kind = _kind(parameters)
        if kind in self.always:
            held = self.always[kind]
            return held if isinstance(held, Reply) else Reply(held)
        if kind == "site":
            return Reply(self.site)
        if kind == "search":
            hits = [{"ns": 0, "pageid": id, "title": self.pages[id]["title"]} for id in self.found]
            return Reply({"query": {"searchinfo": {"totalhits": len(hits)}, "search": hits}})
        wanted = [int(id) for id in parameters.get("pageids", "").split("|") if id]
        rows = [self.pages.get(id, {"pageid": id, "missing": True}) for id in wanted]
        if kind == "links":
            rows = [self.pages[id] for id in self.pages[wanted[0]].get("links", [])]
        if kind != "text":
            rows = [{k: v for k, v in row.items() if k not in ("extract", "links")} for row in rows]
        return Reply({"query": {"pages": rows}})


def _kind(parameters: dict[str, str]) -> str:
    if parameters.get("meta") == "siteinfo":
        return "site"
    if parameters.get("list") == "search":
        return "search"
    if parameters.get("action") == "parse":
        return "parse"
    if parameters.get("generator") == "links":
        return "links"
    return "text" if "extracts" in parameters.get("prop", "") else "pages"


@contextmanager
def fake_wiki() -> Iterator[FakeWiki]:
    """Run a fake until the end of the block."""
    fake = FakeWiki()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parameters = dict(parse_qsl(urlsplit(self.path).query, keep_blank_values=True))
            fake.asked.append(parameters)
            fake.headers.append({name.lower(): value for name, value in self.headers.items()})
            reply = fake.reply(parameters)
            if reply.wait:
                time.sleep(reply.wait)
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            data = gzip.compress(data) if reply.zip else data
            self.send_response(reply.status)
            for name, value in {"Content-Type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            if reply.zip:
                self.send_header("Content-Encoding", "gzip")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) - reply.short])

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
