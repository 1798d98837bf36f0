"""One record that decides what searches see, changed by compare-and-set: how a put is all or nothing.

Every passage and document carries a token (one for each source and put). The ledger lists the
tokens that searches leave out: those of a put under way, then, from one write to the next, those
of what it replaced. A reader takes the list, searches, and looks whether the list still stood.
"""

import os
import socket
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeVar
from uuid import uuid4

from quoth.errors import BackendError, BusyError, IndexUnusableError
from quoth.retrieve.opensearch.layout import Json
from quoth.retrieve.opensearch.wire import Conflict, Missing, Wire

LEASE = 120.0
"""Seconds without a sign of life after which a writer counts as gone."""

BEAT = 20.0
"""Seconds between a writer's signs of life."""

DEAD = 1_000
"""How many tokens of abandoned writes are kept out for ever (a writer thought dead may yet write)."""

TRIES = 30
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Writer:
    """Who is writing, since when (seconds of the epoch), and when it was last heard of."""

    name: str
    nonce: str
    since: float
    beat: float


@dataclass(frozen=True, slots=True)
class State:
    """What the ledger says. ``begun`` counts writes begun, ``flips`` those that replaced something."""

    begun: int = 0
    flips: int = 0
    hidden: tuple[str, ...] = ()
    dead: tuple[str, ...] = ()
    writer: Writer | None = None
    at: tuple[int, int] = field(default=(-1, -1), compare=False)

    @property
    def epoch(self) -> tuple[int, int]:
        """What must not change while a reader reads."""
        return self.begun, self.flips

    @property
    def left_out(self) -> frozenset[str]:
        """The tokens that no search may show."""
        return frozenset(self.hidden) | frozenset(self.dead)


class Ledger:
    """The record, on the server. Safe to share between threads."""

    def __init__(self, wire: Wire, catalog: str) -> None:
        self._wire = wire
        self._path = f"/{catalog}/_doc/ledger"
        self._known: State | None = None

    def read(self) -> State:
        """Return the state as it is now (not as of the last refresh)."""
        try:
            reply = self._wire.get(self._path)
        except Missing:
            return State()
        return _state(reply)

    def reading(self, read: Callable[[frozenset[str]], T]) -> T:
        """Return what *read* gives, called with the tokens to leave out, such that they held throughout.

        One small request more than *read* itself while nobody writes.
        """
        state = self._known or self.read()
        for _ in range(TRIES):
            result = read(state.left_out)
            now = self.read()
            if now.epoch == state.epoch:
                self._known = now
                return result
            state = now
        raise BusyError(
            "The index is being rewritten faster than it can be read.", hint="Try again in a moment."
        )

    def begin(self, tokens: Callable[[int], Iterable[str]]) -> tuple[State, tuple[str, ...]]:
        """Become the writer, with the tokens of this write left out; return the state and what a dead writer left.

        *tokens* is called with the number of the write. Raise ``BusyError`` naming the writer
        where there is one that was heard of within the lease.
        """
        for _ in range(TRIES):
            state, now = self.read(), time.time()
            holder = state.writer
            if holder is not None and now - holder.beat < LEASE and not _ended(holder):
                raise BusyError(
                    f"{holder.name} has been writing to this index for {max(0.0, now - holder.since):.0f} s.",
                    hint=f"Wait for it; {LEASE:.0f} s after its last sign of life it counts as gone.",
                )
            left = state.hidden
            new = replace(
                state,
                begun=state.begun + 1,
                hidden=tuple(dict.fromkeys((*left, *tokens(state.begun + 1)))),
                dead=_last((*state.dead, *left)),
                writer=Writer(writer_name(os.getpid()), uuid4().hex, now, now),
            )
            written = self._try(new)
            if written is not None:
                return written, left
        raise BusyError("Others write to this index all the time.", hint="Try again in a moment.")

    def beat(self, state: State) -> State:
        """Give a sign of life, when the last one is a while ago."""
        if state.writer is None or time.time() - state.writer.beat < BEAT:
            return state
        return self.change(replace(state, writer=replace(state.writer, beat=time.time())))

    def change(self, state: State, *, patient: bool = True) -> State:
        """Write *state* over the one it came from. Raise ``BusyError`` where another has changed it since."""
        written = self._try(state, patient=patient)
        if written is None:
            raise BusyError("Another process took over writing to this index.", hint="Index again.")
        return written

    def _try(self, state: State, *, patient: bool = True) -> State | None:
        """Write *state* over the one it came from, and return it; None where another has changed it since.

        A reply may get lost though the write arrived: the repetition then meets our own state.
        """
        try:
            return self._set(state, patient=patient)
        except Conflict:
            now = self.read()
            return now if now == state else None

    def _set(self, state: State, *, patient: bool = True) -> State:
        sequence, term = state.at
        params = {"if_seq_no": sequence, "if_primary_term": term} if sequence >= 0 else {"op_type": "create"}
        body = {"kind": "ledger", "body": _body(state)}
        reply = self._wire.write("PUT", self._path, body, params=params, patient=patient)
        written = replace(state, at=_at(reply))
        self._known = written
        return written


def writer_name(process: int) -> str:
    """Return how a process of this machine is named to others."""
    return f"{socket.gethostname()} (process {process})"


def _ended(writer: Writer) -> bool:
    """Say whether a writer is known to be gone: a process of this machine that is not there any more.

    Should it be another machine of the same name, its write fails; what is stored stays whole.
    """
    number = writer.name.rpartition(" ")[2].rstrip(")")
    if os.name != "posix" or not number.isdecimal() or writer.name != writer_name(int(number)):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except (PermissionError, OverflowError):
        return False
    return False


def _last(tokens: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(tokens))[-DEAD:]


def _body(state: State) -> Json:
    writer = state.writer
    return {
        "begun": state.begun,
        "flips": state.flips,
        "hidden": list(state.hidden),
        "dead": list(state.dead),
        "writer": None if writer is None else [writer.name, writer.nonce, writer.since, writer.beat],
    }


def _state(reply: Json) -> State:
    try:
        body = reply["_source"]["body"]
        name, nonce, since, beat = body["writer"] or ("", "", 0.0, 0.0)
        return State(
            begun=int(body["begun"]),
            flips=int(body["flips"]),
            hidden=tuple(body["hidden"]),
            dead=tuple(body["dead"]),
            writer=Writer(name, nonce, float(since), float(beat)) if body["writer"] else None,
            at=_at(reply),
        )
    except (KeyError, TypeError, ValueError) as problem:
        raise IndexUnusableError(
            "The index's ledger cannot be read; something else wrote to it.",
            hint="Index again under another name.",
        ) from problem


def _at(reply: Mapping[str, object]) -> tuple[int, int]:
    sequence, term = reply.get("_seq_no"), reply.get("_primary_term")
    if not isinstance(sequence, int) or not isinstance(term, int):
        raise BackendError("The server answered without a sequence number.", hint="Is it OpenSearch?")
    return sequence, term
