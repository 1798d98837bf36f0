"""What ``.gitignore`` and ``.quothignore`` name, by git's rules."""

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

IGNORE_FILES = (".gitignore", ".quothignore")
_MOST_BYTES = 1 << 20  # of an ignore file


@dataclass(frozen=True, slots=True)
class Rules:
    """The ignore files of one folder; ``base`` is that folder, with a separator at its end."""

    base: str
    spec: "GitIgnoreSpec"

    def verdict(self, path: str, folder: bool) -> bool | None:
        """Say whether *path* is ignored (True), kept by a ``!`` rule (False), or not named (None)."""
        if not path.startswith(self.base):
            return None
        relative = path[len(self.base) :].replace(os.sep, "/")
        return self.spec.check_file(relative + "/" if folder else relative).include


def is_ignored(path: str, folder: bool, rules: Sequence[Rules]) -> bool:
    """Say whether *rules* (outermost first) name *path*; the innermost that does decides."""
    for row in reversed(rules):
        verdict = row.verdict(path, folder)
        if verdict is not None:
            return verdict
    return False


def rules_in(folder: str, names: Collection[str] = IGNORE_FILES) -> tuple[Rules, ...]:
    """Return the rules of one folder; *names* is what it holds, where that is known."""
    lines: list[str] = []
    for name in IGNORE_FILES:
        path = os.path.join(folder, name)
        if name not in names or not os.path.isfile(path):
            continue
        try:
            with open(path, "rb") as file:
                lines += file.read(_MOST_BYTES).decode("utf-8", "replace").splitlines()
        except OSError:
            continue
    if not lines:
        return ()
    from pathspec import GitIgnoreSpec

    return (Rules(folder.rstrip(os.sep) + os.sep, GitIgnoreSpec.from_lines(_valid(lines))),)


def rules_above(root: str) -> tuple[Rules, ...]:
    """Return the rules of the folders above *root*, up to its repository's; none outside of one.

    Where they name *root* itself, somebody asked for it nevertheless, and they do not count.
    """
    above: list[str] = []
    folder = root
    while not os.path.exists(os.path.join(folder, ".git")):
        parent = os.path.dirname(folder)
        if parent == folder:
            return ()
        above.append(parent)
        folder = parent
    rules: tuple[Rules, ...] = ()
    for folder in reversed(above):
        rules += rules_in(folder)
    return () if is_ignored(root, True, rules) else rules


def _valid(lines: Sequence[str]) -> list[str]:
    """Return the lines that are patterns; git passes over the others too."""
    from pathspec import GitIgnoreSpec

    kept = []
    for line in lines:
        try:
            GitIgnoreSpec.from_lines([line])
        except ValueError:
            continue
        kept.append(line)
    return kept
