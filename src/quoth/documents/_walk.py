"""Folders to files: a streaming walk in a fixed order that says what it passes over."""

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from quoth.documents._formats import NO_SUFFIX_NAMES, suffix_of
from quoth.documents._ignore import Rules, is_ignored, rules_above, rules_in
from quoth.documents._names import display
from quoth.errors import InputError


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read, or one that is passed over: ``skipped`` says why."""

    path: Path
    skipped: str = ""


@dataclass(frozen=True, slots=True)
class _Leaf:
    """Something in a folder that is none: its path as named, without links, and whether it is one."""

    path: str
    real: str
    link: bool


@dataclass(frozen=True, slots=True)
class _Folder:
    path: str
    real: str
    rules: tuple[Rules, ...]
    link: bool = False


class Walk(Iterator[Found]):
    """The files below some paths, in order. ``ignored`` counts the hidden and the ignored so far."""

    def __init__(self, paths: Sequence[Path], *, follow: bool) -> None:
        self.ignored = 0
        self._follow = follow
        self._given = [os.fspath(path) for path in paths]
        for path in self._given:
            if not os.path.lexists(path):
                raise InputError(f"There is no file or folder {display(path)!r}.", hint="Check the spelling.")
        self._yielded: set[str] | None = set() if follow or len(self._given) > 1 else None
        self._entered: set[tuple[int, int]] = set()
        self._found = self._all()

    def __next__(self) -> Found:
        return next(self._found)

    def _all(self) -> Iterator[Found]:
        for given in self._given:
            path = os.path.realpath(given) if os.path.islink(given) else os.path.normpath(given)
            try:
                mode = os.stat(path).st_mode
            except OSError as error:
                yield Found(Path(given), _gone(error))
                continue
            if stat.S_ISDIR(mode):
                yield from self._below(path)
            elif stat.S_ISREG(mode):
                yield from self._once(path, os.path.realpath(path))
            else:
                yield Found(Path(given), _kind(mode))

    def _below(self, root: str) -> Iterator[Found]:
        """Yield what is under *root*: by name (as bytes), folders where their name stands."""
        real = os.path.realpath(root)
        first = _Folder(root, real, rules_above(real))
        stack: list[_Leaf | _Folder] = [first]
        while stack:
            item = stack.pop()
            if isinstance(item, _Leaf):
                yield from self._leaf(item, first)
                continue
            try:
                if self._seen(item):
                    if item.link:
                        yield Found(Path(item.path), "a link to a folder that is walked already")
                    continue
                with os.scandir(item.path) as entries:
                    listed = sorted(entries, key=lambda e: os.fsencode(e.name), reverse=True)
            except OSError as error:
                yield Found(Path(item.path), _gone(error))
                continue
            rules = item.rules + rules_in(item.real, {entry.name for entry in listed})
            stack += self._children(listed, item, rules, first)

    def _seen(self, folder: _Folder) -> bool:
        """Note that a folder is walked; say whether it was (links can only repeat one with *follow*)."""
        if not self._follow:
            return False
        status = os.stat(folder.path)
        key = status.st_dev, status.st_ino
        known = key in self._entered
        self._entered.add(key)
        return known

    def _children(
        self, listed: Sequence[os.DirEntry[str]], folder: _Folder, rules: tuple[Rules, ...], root: _Folder
    ) -> Iterator[_Leaf | _Folder]:
        for entry in listed:
            real = os.path.join(folder.real, entry.name)
            link = entry.is_symlink()
            try:
                directory = entry.is_dir(follow_symlinks=self._follow)
            except OSError:
                directory = False
            if entry.name.startswith(".") or is_ignored(real, directory, rules):
                self.ignored += 1
            elif directory and not link:
                yield _Folder(entry.path, real, rules)
            elif directory and _inside(entry.path, root.real):
                target = os.path.realpath(entry.path)
                yield _Folder(_renamed(target, root), target, rules, link=True)
            else:
                yield _Leaf(entry.path, real, link)

    def _leaf(self, leaf: _Leaf, root: _Folder) -> Iterator[Found]:
        path, real = leaf.path, leaf.real
        if leaf.link:
            problem = self._link_problem(path, root)
            if problem:
                yield Found(Path(path), problem)
                return
            real = os.path.realpath(path)
            path = _renamed(real, root)
        try:
            mode = os.lstat(path).st_mode
        except OSError as error:
            yield Found(Path(path), _gone(error))
            return
        reason = _type_problem(os.path.basename(path)) if stat.S_ISREG(mode) else _kind(mode)
        if reason:
            yield Found(Path(path), reason)
        else:
            yield from self._once(path, real)

    def _link_problem(self, path: str, root: _Folder) -> str:
        if not self._follow:
            return "a symbolic link (--follow reads it)"
        if not os.path.exists(path):
            return "a symbolic link to nothing, or in a loop"
        return "" if _inside(path, root.real) else "a symbolic link out of the folder"

    def _once(self, path: str, real: str) -> Iterator[Found]:
        """Yield a file unless it was (two paths that overlap, a link to a file that was walked)."""
        if self._yielded is not None:
            if real in self._yielded:
                return
            self._yielded.add(real)
        yield Found(Path(path))


def walk(paths: Sequence[Path], *, follow: bool = False) -> Walk:
    """Iterate over the files at and below *paths*, each with the reason where it is passed over.

    The order is that of *paths*, then of the names' bytes, depth first. Hidden files and folders,
    and what ``.gitignore`` and ``.quothignore`` name, are only counted (``Walk.ignored``); what is
    named in *paths* itself is always yielded. Links in folders are passed over unless *follow*;
    then their targets must lie in the folder given, and each file and folder comes once, under
    the name of the target. Raise ``InputError`` for a path that does not exist.
    """
    return Walk(paths, follow=follow)


def _renamed(target: str, root: _Folder) -> str:
    """Return *target* (without links, inside *root*) under the name that *root* was given by."""
    return os.path.join(root.path, os.path.relpath(target, root.real))


def _inside(path: str, root: str) -> bool:
    target = os.path.realpath(path)
    return target == root or target.startswith(root.rstrip(os.sep) + os.sep)


def _type_problem(name: str) -> str:
    if suffix_of(name) or name.upper() in NO_SUFFIX_NAMES:
        return ""
    ending = os.path.splitext(name)[1]
    return f"no reader for {display(ending)} files" if ending else "a file without an extension"


def _kind(mode: int) -> str:
    for test, words in (
        (stat.S_ISFIFO, "a pipe (FIFO)"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    ):
        if test(mode):
            return words
    return "not a regular file"


def _gone(error: OSError) -> str:
    if error.errno == errno.ENOENT:
        return "vanished, or a link to nothing"
    return f"cannot be read: {error.strerror}"
