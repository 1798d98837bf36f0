"""What several rooms' tests share: the sample documents with an index, made once."""

import os
import shutil
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
SAMPLES = Path(__file__).resolve().parents[1] / "samples"


@pytest.fixture(scope="session")
def indexed_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample documents with an index beside them; only for tests that change nothing."""
    from quoth.cli import run

    folder = tmp_path_factory.mktemp("samples") / "samples"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns(".quoth"))
    assert run(["index", str(folder), "--index", str(folder), "--vectors", "none", "--quiet"]) == 0
    return folder
