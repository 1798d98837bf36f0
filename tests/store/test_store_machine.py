"""The store against a dictionary, under every order of actions that a machine can think of."""

import shutil
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from quoth.retrieve.store import Index
from quoth.retrieve.store.engine import Engine
from quoth.types import Document, Filter, Query, Source

WORDS = ("apple", "pear", "plum")
PATHS = tuple(f"f{i}/x.txt" for i in range(4))

texts = st.lists(st.sampled_from([*WORDS, "the", "\n\n", "é"]), max_size=5).map(" ".join)
sources = st.dictionaries(st.sampled_from(PATHS), st.lists(texts, max_size=2), min_size=1, max_size=3)


class Death(BaseException):
    """The process ends here."""


class StoreMachine(RuleBasedStateMachine):
    """Puts, drops, rebuilds, reopens and dies; the model is a dictionary of path to texts."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp()) / ".quoth"
        self.model: dict[str, list[str]] = {}

    @initialize()
    def create(self) -> None:
        self.index = Index.create(self.folder)

    def batch(self, given: dict[str, list[str]]) -> list[tuple[Source, list[Document]]]:
        return [
            (Source(p, "s"), [Document(f"{p}#{i}", t, metadata={"path": p}) for i, t in enumerate(ts)])
            for p, ts in given.items()
        ]

    @rule(given=sources)
    def put(self, given: dict[str, list[str]]) -> None:
        self.index.put(self.batch(given))
        self.model |= given

    @rule(paths=st.lists(st.sampled_from(PATHS), max_size=3))
    def drop(self, paths: list[str]) -> None:
        assert self.index.drop(paths) == len(set(paths) & set(self.model))
        for path in paths:
            self.model.pop(path, None)

    @rule()
    def rebuild(self) -> None:
        self.index.rebuild()

    @rule()
    def reopen(self) -> None:
        self.index.close()
        self.index = Index.open(self.folder, write=True)

    @rule(given=sources, committed=st.booleans())
    def die(self, given: dict[str, list[str]], committed: bool) -> None:
        """End the process before or after the engine's commit: the pending batch is finished at the next opening."""
        real = Engine.write

        def write(engine: Engine, *arguments: int, **options: object) -> int:
            if committed:
                real(engine, *arguments, **options)  # type: ignore[arg-type]
            raise Death

        writer = self.index._writer
        assert writer is not None
        writer._undo = writer._finish = lambda *arguments: None  # type: ignore[method-assign, assignment]
        Engine.write = write  # type: ignore[method-assign, assignment]
        try:
            self.index.put(self.batch(given))
        except Death:
            pass
        finally:
            Engine.write = real  # type: ignore[method-assign]
        self.reopen()
        self.model |= given

    @invariant()
    def holds_what_the_model_holds(self) -> None:
        if not hasattr(self, "index"):
            return
        assert [s.path for s in self.index.sources()] == sorted(self.model)
        held = {f"{p}#{i}": t for p, ts in self.model.items() for i, t in enumerate(ts)}
        assert {e.id for e in self.index.entries()} == set(held)
        for id, text in held.items():
            assert self.index.document(id).text == text
        for word in WORDS:
            found = self.index.retrieve(Query(word), k=100)
            assert {s.item.document_id for s in found} == {id for id, text in held.items() if word in text}
            assert all(held[s.item.document_id][s.item.start : s.item.end] == s.item.text for s in found)
        there = self.index.retrieve(Query("apple", filters=(Filter("folder", ":", "f1"),)), k=100)
        assert {s.item.document_id for s in there} == {
            id for id, text in held.items() if "apple" in text and id.startswith("f1/")
        }
        assert self.index.verify(full=True) == []

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
        shutil.rmtree(self.folder.parent)


TestStoreMachine = StoreMachine.TestCase
TestStoreMachine.settings = settings(
    max_examples=12, stateful_step_count=12, deadline=None, suppress_health_check=list(HealthCheck)
)
