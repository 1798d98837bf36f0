"""A real MediaWiki for this folder's tests: a running one, or one that is started here."""

from pathlib import Path

import pytest

from quoth.retrieve.mediawiki import Cache


@pytest.fixture(scope="session")
def home(wiki_home: Path) -> Path:
    """Give the folder of the wiki that is started here."""
    return wiki_home


@pytest.fixture(scope="session")
def api(wiki_api: str) -> str:
    """Give the address of a wiki's API."""
    return wiki_api


@pytest.fixture
def cache(tmp_path: Path) -> Cache:
    """Give an empty cache."""
    return Cache(tmp_path / "cache" / "replies.sqlite")
