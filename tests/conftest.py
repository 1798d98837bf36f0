"""What several rooms' tests share: the sample documents with an index, and real servers, each made once."""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
SAMPLES = Path(__file__).resolve().parents[1] / "samples"
settings.register_profile("quoth", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("quoth")
sys.path += [str(Path(__file__).resolve().parent / room) for room in ("opensearch", "mediawiki")]


@pytest.fixture(scope="session")
def indexed_samples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample documents with an index beside them; only for tests that change nothing."""
    from quoth.cli import run

    folder = tmp_path_factory.mktemp("samples") / "samples"
    shutil.copytree(SAMPLES, folder, ignore=shutil.ignore_patterns(".quoth"))
    assert run(["index", str(folder), "--index", str(folder), "--vectors", "none", "--quiet"]) == 0
    return folder


@pytest.fixture(scope="session")
def opensearch_place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Give ``host:port`` of a node: QUOTH_OPENSEARCH_URL's, or one started for the session."""
    from opensearch_server import running

    given = os.environ.get("QUOTH_OPENSEARCH_URL", "")
    if given:
        yield given.removeprefix("http://").removeprefix("opensearch://").strip("/")
        return
    with running(tmp_path_factory.mktemp("opensearch"), nodes=1) as port:
        yield f"127.0.0.1:{port}"


@pytest.fixture(scope="session")
def wiki_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the wiki; skip where Debian's packages for it are not installed."""
    if shutil.which("php") is None or not Path("/usr/share/mediawiki/maintenance/install.php").is_file():
        pytest.skip("MediaWiki and PHP are not installed (ci/mediawiki.sh installs them, as root)")
    return tmp_path_factory.mktemp("mediawiki")


@pytest.fixture(scope="session")
def wiki_api(wiki_home: Path) -> Iterator[str]:
    """Give the address of a wiki's API: QUOTH_MEDIAWIKI_URL's (with our pages), or one started for the session."""
    from mediawiki_server import running

    given = os.environ.get("QUOTH_MEDIAWIKI_URL", "")
    if given:
        yield given
        return
    with running(wiki_home) as address:
        yield address
