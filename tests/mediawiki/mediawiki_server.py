"""Starting and stopping a real wiki."""

import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
START = ROOT / "ci" / "mediawiki.sh"


@contextmanager
def running(home: Path, *, extracts: bool = True) -> Iterator[str]:
    """Start a wiki, give the address of its API, and stop it."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = {**os.environ, "QUOTH_WIKI_EXTRACTS": "1" if extracts else "0"}
    process = subprocess.Popen(
        [str(START), str(home), str(port)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
    )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        if not line.startswith("ready"):
            raise RuntimeError(f"the wiki did not start: {process.communicate(timeout=30)[1]}")
        yield line.split()[1]
    finally:
        process.terminate()
        try:
            process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
