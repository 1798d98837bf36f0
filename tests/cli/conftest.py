"""Running the real commands in this process, in a folder of their own."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quoth.cli import run

SAMPLES = Path(__file__).resolve().parents[2] / "samples"


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

    def call(*arguments: str) -> Outcome:
        capsys.readouterr()
        code = run([str(a) for a in arguments])
        printed = capsys.readouterr()
        return Outcome(code, printed.out, printed.err)

    return call


@pytest.fixture(scope="session")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample documents with an index beside them, made once; only for tests that change nothing."""
    folder = tmp_path_factory.mktemp("samples") / "samples"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns(".quoth"))
    assert run(["index", str(folder), "--index", str(folder), "--quiet"]) == 0
    return folder
