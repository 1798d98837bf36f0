"""What the page about retrieval, and the encoder package's, show runs."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("page", ["docs/retrieval.md", "packages/quoth-encoder-e5-small/README.md"])
def test_code_on_the_page_runs(page: str) -> None:
    """Every Python block of the page runs as it stands, one after the other."""
    if page.startswith("packages"):
        pytest.importorskip("quoth_encoder_e5_small", reason="the extra `dense` is not installed")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL)
    assert blocks
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), names)
