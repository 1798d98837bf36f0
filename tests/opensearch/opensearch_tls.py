"""A certificate of our own, and a server that shows it."""

import json
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from opensearch_fake import PRODUCT


def make_certificate(folder: Path) -> tuple[Path, Path] | None:
    """Return (certificate, key) for 127.0.0.1, signed by itself; None where openssl is missing."""
    if shutil.which("openssl") is None:
        return None
    certificate, key = folder / "cert.pem", folder / "key.pem"
    extensions = (
        "subjectAltName=IP:127.0.0.1",
        "basicConstraints=critical,CA:TRUE",
        "keyUsage=critical,digitalSignature,keyCertSign",
    )
    added = [part for extension in extensions for part in ("-addext", extension)]
    command = [
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        "-subj",
        "/CN=localhost",
    ]
    files = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*command, *added, *files], check=True, capture_output=True)
    return certificate, key


@contextmanager
def tls_server(context: ssl.SSLContext) -> Iterator[int]:
    """Run a server that answers GET / as OpenSearch does, over TLS; give its port."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            data = json.dumps(PRODUCT).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *arguments: object) -> None:
            """Say nothing."""

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, request: object, client_address: object) -> None:
            """A client that does not like the certificate is what is tested."""

    server = Quiet(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()
        thread.join(timeout=5)
