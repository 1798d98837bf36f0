"""The habits of the house, held by the code itself."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import quoth
from quoth import errors

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted((ROOT / "src" / "quoth").rglob("*.py"))
HEAVY = {
    "torch", "transformers", "onnxruntime", "openvino", "tantivy", "tokenizers", "fastapi", "numpy", "typer", "rich",
    "opensearchpy", "matplotlib", "pypdfium2", "docx", "pptx", "openpyxl", "selectolax", "sentencex",
}  # fmt: skip


def loaded_by(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", code + "\nimport sys; print(*sys.modules)"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_loads_nothing_heavy() -> None:
    """``import quoth`` brings in no engine, no framework, not even numpy."""
    assert not HEAVY & loaded_by("import quoth")


def test_the_help_loads_no_engine() -> None:
    """``quoth --help`` needs the command line's own library and nothing that runs networks or indexes."""
    light = {"typer", "rich", "numpy"}
    code = "from quoth.cli import run\ntry:\n run(['--help'])\nexcept SystemExit: pass"
    assert not (HEAVY - light) & loaded_by(code)


def test_public_names_are_exactly_all() -> None:
    """What the package exports is what ``__all__`` says, and every name is there."""
    assert sorted(quoth.__all__) == dir(quoth)
    for name in quoth.__all__:
        assert getattr(quoth, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = quoth.nothing


def test_no_print_no_assert_no_bare_except_no_pickle() -> None:
    """Only the command line prints; nothing is asserted, swallowed or unpickled."""
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            where = f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}"
            assert not isinstance(node, ast.Assert | ast.Global), where
            assert not (isinstance(node, ast.ExceptHandler) and node.type is None), where
            if isinstance(node, ast.Import | ast.ImportFrom):
                names = {a.name for a in node.names} | {getattr(node, "module", None) or ""}
                assert "pickle" not in names, where
            called = isinstance(node, ast.Call) and getattr(node.func, "id", "")
            assert called != "print" or "cli" in path.parts, where


def test_every_error_has_its_exit_code() -> None:
    """Each class has a code of its own kind, a stable name, and prints as one line."""
    expected = {
        "QuothError": 2, "InputError": 2, "DocumentError": 2, "MissingExtraError": 2, "CheckError": 1,
        "IndexUnusableError": 4, "ModelError": 5, "BackendError": 6, "BusyError": 7,
    }  # fmt: skip
    classes = {
        n: c for n, c in vars(errors).items() if isinstance(c, type) and issubclass(c, errors.QuothError)
    }
    assert {name: c.exit_code for name, c in classes.items()} == expected
    assert len({c.code for c in classes.values()}) == len(classes)
    for c in classes.values():
        assert str(c("What.", hint="The way out.")) == "What. The way out."
        assert c.__name__ in (errors.__doc__ or "")


def test_no_generic_rooms() -> None:
    """There is no utils.py, helpers.py, common.py or base.py: code lives where it belongs."""
    assert not {"utils.py", "helpers.py", "common.py", "base.py"} & {p.name for p in SOURCES}


def test_no_machine_paths_in_the_project() -> None:
    """No file of the project names a path of somebody's machine."""
    tracked = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True)
    if tracked.returncode != 0:
        pytest.skip("not a git checkout")
    telltale = tuple("/" + name for name in ("work/main", "root/.", "farm/"))
    for name in filter(None, tracked.stdout.split("\0")):
        path = ROOT / name
        if path.suffix in {".py", ".md", ".toml", ".sh", ".yaml", ".json", ".txt", ""} and path.is_file():
            body = path.read_text(encoding="utf-8", errors="replace")
            assert not [t for t in telltale if t in body], name
