"""Names to expanders: the table that ``--expand`` and the setting ``expand`` are read against."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from quoth.errors import InputError, ModelError
from quoth.protocols import Expander, Retriever
from quoth.retrieve.expand.entities import EntityExpander, Recogniser, RuleRecogniser, SpacyRecogniser
from quoth.retrieve.expand.gazetteer import IndexNames
from quoth.retrieve.expand.keywords import FocusExpander, KeywordExpander, NgramExpander
from quoth.retrieve.expand.lists import ListExpander, load_list
from quoth.retrieve.expand.masked import MaskedSynonyms
from quoth.retrieve.expand.rm3 import ORIGINAL, Rm3Expander
from quoth.retrieve.expand.synonyms import SynonymExpander, SynonymSource
from quoth.retrieve.expand.vectors import VectorSynonyms, load_vectors
from quoth.retrieve.expand.wordnet import FOLDER, WordNetSynonyms, open_wordnet


class Parts:
    """What expanders of one index share: its retriever, its names, and what recognises entities."""

    def __init__(self, retriever: Retriever, *, folder: Path | None = None) -> None:
        """*folder* is where relative paths of files start (None: the current folder)."""
        self.retriever = retriever
        self._folder = folder

    @cached_property
    def names(self) -> IndexNames:
        """The titles and headings of the index."""
        return IndexNames(self.retriever)

    @cached_property
    def recogniser(self) -> Recogniser:
        """The built-in recogniser, with the index's names."""
        return RuleRecogniser(self.names)

    def path(self, given: str) -> Path:
        """Return the path of a file or folder that an expander's name gives."""
        path = Path(given).expanduser()
        return path if self._folder is None or path.is_absolute() else self._folder / path

    def synonyms(self, source: SynonymSource, expandable: Callable[[str], bool] | None = None) -> Expander:
        """Return an expander over *source*; WordNet, where it is installed, says which words are of an open class."""
        return SynonymExpander(
            source,
            self.recogniser,
            is_name=lambda word: self.names().knows(word),
            expandable=expandable or _open_class(),
        )


@dataclass(frozen=True, slots=True)
class Row:
    """An expander by name. ``needs`` says what stands behind the colon (empty: nothing; in brackets: optional)."""

    name: str
    needs: str
    help: str
    make: Callable[[Parts, str], Expander]


def _entities(parts: Parts, model: str) -> Expander:
    return EntityExpander(SpacyRecogniser(model) if model else parts.recogniser)


def _vectors(parts: Parts, path: str) -> Expander:
    return parts.synonyms(VectorSynonyms(load_vectors(parts.path(path))))


def _masked(parts: Parts, model: str) -> Expander:
    from quoth.models import folder
    from quoth.models.masked import load_masked

    local = parts.path(model)
    try:
        path = local if local.is_dir() else folder(model)
    except ModelError as problem:
        if problem.code != "model_missing" or local.exists():
            raise
        raise ModelError(
            f"There is no masked language model {model!r}: no folder {local.absolute()}, and no Hugging Face "
            "model of that name that was downloaded.",
            hint="`quoth models pull NAME` downloads one from Hugging Face.",
            code="model_missing",
        ) from problem
    return parts.synonyms(MaskedSynonyms(load_masked(str(path))))


def _wordnet(parts: Parts, folder: str) -> Expander:
    wordnet = open_wordnet(parts.path(folder) if folder else FOLDER)
    return parts.synonyms(WordNetSynonyms(wordnet), wordnet.__contains__)


def _list(parts: Parts, path: str) -> Expander:
    file = parts.path(path)
    return ListExpander(load_list(file), name=f"list {file.name}")


def _rm3(parts: Parts, weight: str) -> Expander:
    try:
        return Rm3Expander(parts.retriever, original=float(weight or ORIGINAL))
    except ValueError as problem:
        raise InputError(
            f"rm3:{weight}: the question's weight must be a number above 0, at most 1."
        ) from problem


EXPANDERS: Mapping[str, Row] = {
    row.name: row
    for row in (
        Row("keywords", "", "Search without stop words and asking words.", lambda p, _: KeywordExpander()),
        Row("ngrams", "", "Neighbouring keywords as phrases.", lambda p, _: NgramExpander()),
        Row("focus", "", "More weight for what is asked about.", lambda p, _: FocusExpander()),
        Row("entities", "[SPACY MODEL]", "Names in the question as phrases.", _entities),
        Row("list", "FILE", "Curated synonyms and acronyms.", _list),
        Row("vectors", "FILE", "Synonyms by word vectors (GloVe or word2vec text).", _vectors),
        Row("mlm", "MODEL", "Synonyms by a masked language model (extra torch).", _masked),
        Row("wordnet", "[FOLDER]", "Synonyms by WordNet (Debian: wordnet-base).", _wordnet),
        Row("rm3", "[QUESTION'S WEIGHT]", "Words of the first hits (pseudo-relevance feedback).", _rm3),
    )
}  # fmt: skip
"""Every expander, by the name that ``--expand`` takes."""


def open_expanders(names: str, retriever: Retriever, *, folder: Path | None = None) -> tuple[Expander, ...]:
    """Return the expanders in *names*, separated by commas, in that order; none for ``none`` or nothing.

    A part is ``NAME``, ``NAME:WHAT`` or the path of a curated list. *retriever* is what they search and
    take names from; relative paths start in *folder*. Raise ``InputError`` for a name that there is not.
    """
    parts = Parts(retriever, folder=folder)
    asked = [part.strip() for part in names.split(",") if part.strip()]
    return tuple(_open(parts, part) for part in asked if part != "none")


def _open(parts: Parts, asked: str) -> Expander:
    name, colon, what = asked.partition(":")
    row = EXPANDERS.get(name)
    if row is None and parts.path(asked).is_file():
        return _list(parts, asked)
    if row is None:
        known = ", ".join(f"{r.name}:{r.needs}" if r.needs else r.name for r in EXPANDERS.values())
        raise InputError(
            f"There is no expander {asked!r}, and no file {parts.path(asked).absolute()}.",
            hint=f"There are: {known}, and the file of a curated list.",
        )
    if bool(what) < (bool(row.needs) and not row.needs.startswith("[")) or (colon and not row.needs):
        wanted = f"{name}:{row.needs}" if row.needs else name
        raise InputError(f"The expander {asked!r} is not complete, or has too much.", hint=f"Write {wanted}.")
    return row.make(parts, what)


def _open_class() -> Callable[[str], bool]:
    """Return WordNet's word on what is a noun, verb, adjective or adverb; without WordNet, everything may be one."""
    try:
        return open_wordnet().__contains__
    except InputError:
        return lambda word: True
