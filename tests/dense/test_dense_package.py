"""The companion package: what it brings, how large it is, and that the extra names it."""

import tomllib
from importlib import metadata
from pathlib import Path

import pytest

from quoth.models.card import read_card, verify
from quoth.models.encoder import GROUP, installed_encoders

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "packages" / "quoth-encoder-e5-small"
MODEL = PACKAGE / "src" / "quoth_encoder_e5_small" / "model"


def toml(path: Path) -> dict[str, dict[str, dict[str, object]]]:
    return tomllib.loads(path.read_text(encoding="utf-8"))


def test_every_file_is_what_its_card_says() -> None:
    """Hashes and sizes hold in the checkout, and all of it together stays within 35 MB."""
    card = read_card(MODEL)
    verify(MODEL, card)
    assert {path.name for path in MODEL.iterdir()} == {"card.json", *card.files}
    assert card.size < 35_000_000
    assert card.licence == "MIT"
    assert card.figures


def test_the_extra_names_this_version() -> None:
    """The extra `dense` of quoth asks for exactly the version that lies beside it."""
    own = toml(PACKAGE / "pyproject.toml")["project"]
    wanted = toml(ROOT / "pyproject.toml")["project"]["optional-dependencies"]["dense"]
    assert f"{own['name']}=={own['version']}" in wanted  # type: ignore[operator]
    assert "e5-small" in own["entry-points"][GROUP]  # type: ignore[call-overload]


def test_the_installed_package_is_found() -> None:
    """What is installed is found by its entry point, and is what lies here."""
    pytest.importorskip("quoth_encoder_e5_small", reason="the extra `dense` is not installed")
    folder = installed_encoders()["e5-small"]
    assert read_card(folder).sha256 == read_card(MODEL).sha256
    assert (
        metadata.version("quoth-encoder-e5-small") == toml(PACKAGE / "pyproject.toml")["project"]["version"]
    )
