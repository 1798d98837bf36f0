"""What is written about the program is what the program does."""

import re
import subprocess
import sys
from pathlib import Path

from quoth import settings

ROOT = Path(__file__).resolve().parents[2]


def test_the_command_reference_is_the_programs_own() -> None:
    """docs/cli.md is what `make docs` prints."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "ci" / "cli_reference.py")], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert written == done.stdout, "run `make docs`"


def test_every_setting_is_documented() -> None:
    """Each setting stands in the command reference."""
    written = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert [row.name for row in settings.TABLE if f"| `{row.name}` |" not in written] == []


def test_every_link_leads_somewhere() -> None:
    """Relative links in the README and the docs name files that exist."""
    broken = []
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            if not (page.parent / target).exists():
                broken.append(f"{page.name}: {target}")
    assert broken == []


def test_the_readmes_python_runs(indexed_samples: Path, monkeypatch) -> None:
    """The five lines of Python in the README give an answer."""
    block = re.search(r"```python\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert block is not None
    monkeypatch.chdir(indexed_samples.parent)
    done = subprocess.run([sys.executable, "-c", block[1]], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "months" in done.stdout
