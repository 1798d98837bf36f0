"""A server in a thread that misbehaves on purpose."""

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

PRODUCT = {"version": {"number": "2.19.6", "distribution": "opensearch"}, "tagline": "The OpenSearch Project"}
META = {"format": 1, "analyzer": "english", "split": "passage"}
LEDGER = {
    "_seq_no": 0,
    "_primary_term": 1,
    "_source": {"kind": "ledger", "body": {"begun": 0, "flips": 0, "hidden": [], "dead": [], "writer": None}},
}
HIT = {
    "_id": "x",
    "_score": 2.5,
    "_source": {"document_id": "d", "start": 0, "end": 5, "text": "Birds", "title": "T"},
}
GOOD_SHARDS = {"total": 1, "successful": 1, "skipped": 0, "failed": 0}


def found(*hits: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a search's reply."""
    return {"timed_out": False, "_shards": GOOD_SHARDS, "hits": {"hits": list(hits)}, **more}


@dataclass(frozen=True)
class Reply:
    """What is sent: a status, a body (JSON, or bytes as they are), headers; or a way of failing."""

    body: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    wait: float = 0.0
    reset: bool = False
    short: int = 0


RESET = Reply(reset=True)


@dataclass
class Fake:
    """A running server: its port, what it was asked, and the replies that come before its good ones, by path."""

    port: int = 0
    asked: list[tuple[str, str, bytes, dict[str, str]]] = field(default_factory=list)
    queued: dict[str, list[Reply]] = field(default_factory=dict)
    always: dict[str, Reply | Callable[[bytes], Reply]] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return f"opensearch://127.0.0.1:{self.port}/birds"

    def paths(self, part: str) -> list[str]:
        """Return the paths asked for that hold *part*."""
        return [path for _, path, _, _ in self.asked if part in path]

    def reply(self, path: str, body: bytes) -> Reply:
        """Return the next reply for *path*."""
        for part, replies in self.queued.items():
            if part in path and replies:
                return replies.pop(0)
        for part, reply in self.always.items():
            if part in path:
                return reply(body) if callable(reply) else reply
        return _good(path, body)


def _good(path: str, body: bytes) -> Reply:
    if path == "/":
        return Reply(PRODUCT)
    if path.endswith("/_mapping"):
        return Reply({"birds": {"mappings": {"_meta": {"quoth": META}}}})
    if "/_doc/ledger" in path:
        return Reply({**LEDGER, "_seq_no": 1, "result": "updated"} if body else LEDGER)
    if "/_search" in path:
        return Reply(found(HIT) if b"words" in body else found())
    if path.startswith("/_bulk"):
        return Reply({"errors": False, "items": [{"index": {"status": 201}}] * (body.count(b"\n") // 2)})
    return Reply({"_shards": GOOD_SHARDS})


@contextmanager
def fake_server() -> Iterator[Fake]:
    """Run a fake until the end of the block."""
    fake = Fake()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            size = int(self.headers.get("content-length") or 0)
            body = self.rfile.read(size)
            fake.asked.append(
                (self.command, self.path, body, {k.lower(): v for k, v in self.headers.items()})
            )
            reply = fake.reply(self.path, body)
            if reply.wait:
                time.sleep(reply.wait)
            if reply.reset:
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
                return
            data = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response(reply.status)
            for name, value in {"content-type": "application/json", **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data[: len(data) - reply.short])
            self.close_connection = bool(reply.short)

        do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = _answer  # the names that http.server calls

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except OSError:
                self.close_connection = True

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
