"""Running the real commands in this process, in a folder of their own."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quoth.cli import run


@dataclass(frozen=True)
class Outcome:
    code: int
    out: str
    err: str

    @property
    def json(self) -> dict[str, Any]:
        """The one JSON object on stdout."""
        body: dict[str, Any] = json.loads(self.out)
        return body


Quoth = Callable[..., Outcome]


@pytest.fixture
def quoth(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Quoth:
    """Run a command line in a new folder; its exit code and what it printed."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("QUOTH_VECTORS", "none")

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call
