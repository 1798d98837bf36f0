"""The page on measuring can't rot."""

import re
from pathlib import Path

import pytest

import quoth.evaluate

PAGE = Path(__file__).resolve().parents[2] / "docs" / "evaluation.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_the_code_in_the_docs_runs(block: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Every block must run by itself, its assertions included."""
    exec(compile(block, str(PAGE), "exec"), {})
    assert "Traceback" not in capsys.readouterr().out


def test_all_is_exact() -> None:
    """What the room exports is what ``__all__`` says, sorted, and every name is there."""
    names = quoth.evaluate.__all__
    assert sorted(names) == list(names)
    assert len(set(names)) == len(names)
    assert all(getattr(quoth.evaluate, name) is not None for name in names)


def test_the_page_names_what_exists() -> None:
    """Every function that the page names must be one of the room."""
    named = set(
        re.findall(r"`((?:score|evaluate|tune|write|top)_[a-z_]+)\b", PAGE.read_text(encoding="utf-8"))
    )
    assert len(named) > 10
    assert all(hasattr(quoth.evaluate, name) for name in named), named
