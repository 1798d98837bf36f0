"""A real MediaWiki for this folder's tests: a running one, or one that is started here."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from mediawiki_server import running

from quoth.retrieve.mediawiki import Cache


@pytest.fixture(scope="session")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the folder of the wiki; skip where Debian's packages for it are not installed."""
    if shutil.which("php") is None or not Path("/usr/share/mediawiki/maintenance/install.php").is_file():
        pytest.skip("MediaWiki and PHP are not installed (ci/mediawiki.sh installs them, as root)")
    return tmp_path_factory.mktemp("mediawiki")


@pytest.fixture(scope="session")
def api(home: Path) -> Iterator[str]:
    """Give the address of a wiki's API: QUOTH_MEDIAWIKI_URL's (with our pages), or one started for the session."""
    given = os.environ.get("QUOTH_MEDIAWIKI_URL", "")
    if given:
        yield given
        return
    with running(home) as address:
        yield address


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Give an empty cache."""
    return Cache(tmp_path / "cache" / "replies.sqlite")
