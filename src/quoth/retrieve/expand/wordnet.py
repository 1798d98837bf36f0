"""Synonyms by WordNet 3, read from its own database files (Debian's ``wordnet-base``): wndb(5WN), morphy(7WN)."""

import mmap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from quoth.errors import InputError
from quoth.retrieve.expand.synonyms import Synonym, Word

FOLDER = Path("/usr/share/wordnet")
"""Where Debian puts the files."""

PARTS = ("noun", "verb", "adj", "adv")
"""Parts of speech, in the order in which senses of equal frequency are taken."""

_TYPES = {"1": "noun", "2": "verb", "3": "adj", "4": "adv", "5": "adj"}
_ENDINGS: dict[str, tuple[tuple[str, str], ...]] = {
    "noun": (("s", ""), ("ses", "s"), ("xes", "x"), ("zes", "z"), ("ches", "ch"), ("shes", "sh"), ("men", "man"),
             ("ies", "y")),
    "verb": (("s", ""), ("ies", "y"), ("es", "e"), ("es", ""), ("ed", "e"), ("ed", ""), ("ing", "e"), ("ing", "")),
    "adj": (("er", ""), ("est", ""), ("er", "e"), ("est", "e")),
    "adv": (),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Sense:
    """A meaning of a word: its part of speech, the words that share it, and how often it was met in tagged text."""

    part: str
    lemmas: tuple[str, ...]
    count: int


class WordNet:
    """The database files of a folder, looked up where they lie; nothing is loaded. Safe to share between threads."""

    def __init__(self, folder: Path = FOLDER) -> None:
        """Raise ``InputError`` where the files are not in *folder*."""
        names = [f"{kind}.{part}" for kind in ("index", "data") for part in PARTS]
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise InputError(
                f"WordNet is not in {folder}: {missing[0]} is missing.",
                hint="Install it (Debian: apt-get install wordnet-base), or name its folder: wordnet:FOLDER.",
                code="missing_data",
            )
        self._files = {name: _map(folder / name) for name in names}
        counts = folder / "cntlist.rev"
        self._counts = _map(counts) if counts.is_file() else None
        self._irregular = {part: _irregular(folder / f"{part}.exc") for part in PARTS}

    def __contains__(self, word: str) -> bool:
        return any(self.bases(word, part) for part in PARTS)

    def bases(self, word: str, part: str) -> list[str]:
        """Return the base forms of a folded word that are entries of this part of speech (Morphy), itself first."""
        forms = [word, *self._irregular[part].get(word, ())]
        forms += [
            word[: -len(end)] + by
            for end, by in _ENDINGS[part]
            if word.endswith(end) and len(word) > len(end)
        ]
        return [form for form in dict.fromkeys(forms) if self._entry(form, part)]

    def senses(self, word: str) -> list[Sense]:
        """Return the meanings of a folded word, the most frequent first; none for an unknown word."""
        found: list[tuple[int, int, int, Sense]] = []
        for place, part in enumerate(PARTS):
            for base in self.bases(word, part):
                counts = self._frequencies(base, part)
                for number, offset in enumerate(self._entry(base, part), 1):
                    sense = Sense(part, self._lemmas(part, offset), counts.get(number, 0))
                    found.append((-sense.count, number, place, sense))
        return [sense for _, _, _, sense in sorted(found, key=lambda row: row[:3])]

    def _entry(self, lemma: str, part: str) -> list[int]:
        """Return the synset offsets of an entry, in order of sense; none where there is no such entry."""
        key = lemma.replace(" ", "_").encode("utf-8", "replace") + b" "
        if not lemma.strip():
            return []
        for line in _lines_from(self._files[f"index.{part}"], key):
            if not line.startswith(key):
                break
            fields = line.decode("ascii", "replace").split()
            with _readable(f"index.{part}"):
                return [int(offset) for offset in fields[len(fields) - int(fields[2]) :]]
        return []

    def _lemmas(self, part: str, offset: int) -> tuple[str, ...]:
        file = self._files[f"data.{part}"]
        fields = file[offset : file.find(b"\n", offset)].decode("ascii", "replace").split()
        with _readable(f"data.{part}"):
            words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]
        return tuple(word.split("(")[0].replace("_", " ") for word in words)

    def _frequencies(self, lemma: str, part: str) -> dict[int, int]:
        """Return how often each sense of an entry was tagged, by sense number."""
        if self._counts is None:
            return {}
        key = lemma.replace(" ", "_").encode("utf-8", "replace") + b"%"
        found: dict[int, int] = {}
        for line in _lines_from(self._counts, key):
            if not line.startswith(key):
                break
            sense, number, count = line.decode("ascii", "replace").split()
            if _TYPES.get(sense[len(key)]) == part:
                found[int(number)] = int(count)
        return found


class WordNetSynonyms:
    """Takes the words that share a word's most frequent meaning for its synonyms."""

    name = "wordnet"

    def __init__(self, wordnet: WordNet, *, senses: int = 1) -> None:
        """*senses* is how many meanings are looked at, the most frequent first."""
        self._wordnet = wordnet
        self._senses = senses

    def synonyms(self, question: str, chosen: Sequence[Word]) -> Sequence[Sequence[Synonym]]:
        """Return the synonyms of each word, whatever the question."""
        return [self._of(word.text) for word in chosen]

    def _of(self, word: str) -> list[Synonym]:
        senses = self._wordnet.senses(word)[: self._senses]
        return [
            Synonym(lemma, f"{sense.part}, met {sense.count} times")
            for sense in senses
            for lemma in sense.lemmas
        ]


@lru_cache(maxsize=2)
def open_wordnet(folder: Path = FOLDER) -> WordNet:
    """Return the WordNet of a folder, opened once. Raise ``InputError`` where there is none."""
    return WordNet(folder)


@contextmanager
def _readable(name: str) -> Iterator[None]:
    """Turn what a malformed line raises into an ``InputError`` that names the file."""
    try:
        yield
    except (ValueError, IndexError) as problem:
        raise InputError(f"WordNet's {name} is damaged: {problem}.", hint="Install it again.") from problem


def _map(path: Path) -> mmap.mmap:
    with path.open("rb") as file:
        try:
            return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except ValueError as problem:
            raise InputError(f"{path} is empty.", code="missing_data") from problem


def _lines_from(file: mmap.mmap, key: bytes) -> Iterator[bytes]:
    """Yield the lines of a sorted file from the first that is not before *key* on."""
    low, high = 0, len(file)
    while low < high:
        middle = (low + high) // 2
        start = file.rfind(b"\n", 0, middle) + 1
        end = file.find(b"\n", start)
        end = len(file) if end < 0 else end
        if file[start:end] < key:
            low = end + 1
        else:
            high = start
    while low < len(file):
        end = file.find(b"\n", low)
        end = len(file) if end < 0 else end
        yield file[low:end]
        low = end + 1


def _irregular(path: Path) -> dict[str, list[str]]:
    """Return the base forms of irregular forms, by form; none where the file is not there."""
    if not path.is_file():
        return {}
    rows = [line.split() for line in path.read_text(encoding="ascii", errors="replace").splitlines()]
    return {row[0]: row[1:] for row in rows if len(row) > 1}
