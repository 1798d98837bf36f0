"""Settings: one table, four places, and every value knows where it came from."""

from pathlib import Path

import pytest

from quoth import settings
from quoth.errors import InputError


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_the_command_line_wins_over_all(tmp_path: Path) -> None:
    """Command line, then environment, then project, then user, then the default; each origin is named."""
    user = write(tmp_path / "user.toml", 'k = 11\nprofile = "fast"\nn_best = 5\nread = "each"')
    project = write(tmp_path / "quoth.toml", 'k = 12\nprofile = "thorough"\nn_best = 6')
    chosen = settings.load(
        options={"k": 14, "engine": None},
        environment={"QUOTH_K": "13", "QUOTH_PROFILE": "balanced"},
        project=project,
        user=user,
    )
    assert (chosen["k"].value, chosen["k"].origin) == (14, "--k")
    assert (chosen["profile"].value, chosen["profile"].origin) == ("balanced", "QUOTH_PROFILE")
    assert (chosen["n_best"].value, chosen["n_best"].origin) == (6, str(project))
    assert (chosen["read"].value, chosen["read"].origin) == ("each", str(user))
    assert (chosen["engine"].value, chosen["engine"].origin) == ("auto", "default")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("colour = 1", "no setting 'colour'"),
        ('k = "many"', "type int"),
        ("k = 0", "from 1 to"),
        ('profile = "slow"', "one of fast, balanced, thorough"),
        ("k = [", "cannot be read as TOML"),
    ],
)
def test_a_bad_file_is_named(tmp_path: Path, text: str, says: str) -> None:
    """What cannot be used is refused with the file's name and the rule."""
    project = write(tmp_path / "quoth.toml", text)
    with pytest.raises(InputError, match=says) as caught:
        settings.load(project=project, environment={}, user=tmp_path / "none.toml")
    assert "quoth.toml" in str(caught.value)


def test_a_misspelt_name_is_told_what_was_meant(tmp_path: Path) -> None:
    """A variable or a key that is nearly a setting's is refused with the right name; others are nobody's concern."""
    none = tmp_path / "none.toml"
    with pytest.raises(InputError, match="QUOTH_PROFLE is no setting") as caught:
        settings.load(environment={"QUOTH_PROFLE": "fast"}, user=none)
    assert "QUOTH_PROFILE" in caught.value.hint
    with pytest.raises(InputError) as caught:
        settings.load(
            environment={}, user=none, project=write(tmp_path / "quoth.toml", "retreiver = 'dense'")
        )
    assert "Did you mean retriever?" in caught.value.hint
    ours = (
        "DATA",
        "GOLDEN",
        "MEDIAWIKI_URL",
        "MEDIAWIKI_TOKEN",
        "MEDIAWIKI_CONTACT",
        "WIKI_PORT",
        "WIKI_EXTRACTS",
    )
    server = ("URL", "USER", "PASSWORD", "TOKEN", "API_KEY", "CA", "PORT", "START")
    others = {f"QUOTH_{name}": "x" for name in (*ours, *(f"OPENSEARCH_{part}" for part in server), "THEIRS")}
    assert settings.load(environment=others, user=none) == settings.load(environment={}, user=none)


def test_every_setting_is_explained() -> None:
    """Each row has a help text, and a default that its own rules allow."""
    for row in settings.TABLE:
        assert row.help.endswith(".")
        assert settings.parse(row.name, row.default, "default") == row.default
