"""Starting and stopping real servers."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

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
