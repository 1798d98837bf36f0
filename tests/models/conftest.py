import os
import sys
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="session")
def tiny_bert(tmp_path_factory):
    pytest.importorskip("transformers", reason="the extra torch is not installed")
    import models_tiny

    return models_tiny.bert(tmp_path_factory.mktemp("bert"))


@pytest.fixture(scope="session")
def tiny_bundle(tiny_bert, tmp_path_factory):
    pytest.importorskip("onnx", reason="the extra export is not installed")
    from quoth.models.export import export

    out = tmp_path_factory.mktemp("bundles") / "tiny"
    export(tiny_bert, out)
    return out


@pytest.fixture
def own_home(tmp_path, monkeypatch):
    """Settings and caches of this test alone."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path
