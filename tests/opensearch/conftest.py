"""A real server for this folder's tests: a running one, or one that is started here."""

import os
import socket
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quoth.retrieve.opensearch import Address, OpenSearchStore
from quoth.retrieve.opensearch.admin import delete
from quoth.retrieve.opensearch.wire import Wire

ROOT = Path(__file__).resolve().parents[2]
START = ROOT / "ci" / "opensearch.sh"


def free_port(span: int = 3) -> int:
    """Return a port that is free, and whose neighbours (and those a hundred on, for transport) are."""
    for _ in range(100):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            first = int(probe.getsockname()[1])
        wanted = [first + i + shift for i in range(span) for shift in (0, 100)]
        if max(wanted) < 65536 and all(_free(port) for port in wanted):
            return first
    raise RuntimeError("no free ports")


def _free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@contextmanager
def running(home: Path, *, nodes: int) -> Iterator[int]:
    """Start a cluster, give its first port, and stop it; skip where there is nothing to start."""
    port = free_port()
    environment = {**os.environ, "OPENSEARCH_HEAP": os.environ.get("OPENSEARCH_HEAP", "512m")}
    process = subprocess.Popen(
        [str(START), str(home), str(nodes), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready"):
            reason = process.communicate(timeout=30)[1].strip()
            if process.returncode == 3:
                pytest.skip(f"no OpenSearch to start: {reason}")
            raise RuntimeError(f"OpenSearch did not start: {reason}")
        yield port
    finally:
        process.terminate()
        try:
            process.communicate(timeout=60)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give ``host:port`` of a node: QUOTH_OPENSEARCH_URL's, or one started for the session."""
    given = os.environ.get("QUOTH_OPENSEARCH_URL", "")
    if given:
        yield given.removeprefix("http://").removeprefix("opensearch://").strip("/")
        return
    with running(tmp_path_factory.mktemp("opensearch"), nodes=1) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture
def index(server: str) -> Iterator[str]:
    """Give the address of an index that is not there yet; what is made under it is removed."""
    address = f"opensearch://{server}/test-{uuid.uuid4().hex[:12]}"
    yield address
    wire = Wire(Address.parse(address))
    delete(wire)
    wire.close()


@pytest.fixture
def store(index: str) -> Iterator[OpenSearchStore]:
    """Give an empty store."""
    with OpenSearchStore.connect(index, create=True) as found:
        yield found


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Give a function that waits until something holds, a minute at most."""

    def wait(holds: Callable[[], bool]) -> None:
        ends = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < ends, "it did not come to hold in a minute"
            time.sleep(0.1)

    return wait
