"""ONNX Runtime: each window runs alone, on one thread, several windows at a time.

That is faster on a CPU than batches are (no padding, the activations of one window stay in the cache,
nothing waits for the slowest), and it makes a window's logits independent of the others, int8 included.
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.errors import ModelError
from quoth.models.card import GRAPH, Card
from quoth.models.graph import INPUTS, OUTPUT, VECTOR
from quoth.protocols import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]

_MOST_WORKERS = 8


@dataclass(frozen=True, slots=True)
class Ports:
    """What a graph calls its inputs and what it gives; ``types`` and ``mask`` are empty where it takes none."""

    ids: str
    types: str
    mask: str
    output: str

    @property
    def inputs(self) -> tuple[str, ...]:
        return tuple(name for name in (self.ids, self.types, self.mask) if name)

    def feed(self, window: Window) -> dict[str, Any]:
        """Return the arrays, (1, n) each, for one window."""
        values = ((self.ids, window.ids), (self.types, window.types), (self.mask, np.ones_like(window.ids)))
        return {name: value[None] for name, value in values if name}


READER = Ports(*INPUTS, "", OUTPUT)
ENCODER = Ports(*INPUTS, "", VECTOR)


class Runner:
    """Runs a graph on single windows. Safe to share between threads, and after a fork."""

    def __init__(self, graph: "Path | bytes", *, threads: int, ports: Ports = READER) -> None:
        self._graph, self._ports = graph, ports
        self._threads = threads or available_threads()
        self._workers = min(self._threads, _MOST_WORKERS)
        self._lock = threading.Lock()
        self._process = os.getpid()
        self._sessions: dict[int, Any] = {}
        self._pool: ThreadPoolExecutor | None = None
        self._left: list[object] = []
        self._session(self._narrow)

    @property
    def _narrow(self) -> int:
        return max(1, self._threads // self._workers)

    def run(self, windows: Sequence[Window]) -> "list[Floats]":
        """Return the output for each window, in the order given.

        A window's output is the same, bit for bit, whatever else is read with it.
        """
        if self._process != os.getpid():
            self._start_anew()
        if len(windows) == 1:
            return [self._one(self._session(self._threads), windows[0])]
        session = self._session(self._narrow)
        if self._workers == 1:
            return [self._one(session, window) for window in windows]
        order = sorted(range(len(windows)), key=lambda i: -len(windows[i].ids))
        rows = list(self._executor().map(lambda i: self._one(session, windows[i]), order))
        return [row for _, row in sorted(zip(order, rows, strict=True), key=lambda pair: pair[0])]

    def _start_anew(self) -> None:
        """Threads do not live through a fork: a child process gets its own.

        The parent's sessions are kept, unused: to end one is to wait for threads that are not here.
        """
        with self._lock:
            if self._process != os.getpid():
                self._left.append((self._sessions, self._pool))
                self._sessions, self._pool, self._process = {}, None, os.getpid()

    def _executor(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._workers, thread_name_prefix="quoth-reader")
            return self._pool

    def _session(self, threads: int) -> Any:
        with self._lock:
            if threads not in self._sessions:
                self._sessions[threads] = open_session(self._graph, threads=threads, ports=self._ports)
            return self._sessions[threads]

    def _one(self, session: Any, window: Window) -> "Floats":
        return np.asarray(session.run([self._ports.output], self._ports.feed(window))[0][0], np.float32)


class OnnxEngine:
    """Runs a reader's ``model.onnx``. Safe to share between threads, and after a fork."""

    name = "onnxruntime"

    def __init__(self, folder: Path, card: Card, *, threads: int) -> None:
        self._runner = Runner(folder / GRAPH, threads=threads)

    def run(self, windows: Sequence[Window]) -> "list[Floats]":
        """Return logits of shape (n, 2) for each window, in the order given; each depends on its window alone."""
        return self._runner.run(windows)


def available_threads() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def open_session(graph: "Path | bytes", *, threads: int, ports: Ports = READER) -> Any:
    """Return an ONNX Runtime session on the CPU: no spinning threads, no telemetry, inputs checked.

    Raises ``ModelError`` where the graph cannot be loaded or has other inputs and outputs than *ports*.
    """
    import onnxruntime

    onnxruntime.disable_telemetry_events()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    source = graph if isinstance(graph, bytes) else str(graph)
    label = "the model" if isinstance(graph, bytes) else str(graph)
    try:
        session = onnxruntime.InferenceSession(source, options, providers=["CPUExecutionProvider"])
    except Exception as problem:  # onnxruntime's errors share no base class but Exception
        raise ModelError(f"{label} cannot be loaded: {problem}", code="model_damaged") from problem
    inputs = {i.name: i.type for i in session.get_inputs()}
    outputs = [o.name for o in session.get_outputs()]
    if inputs != dict.fromkeys(ports.inputs, "tensor(int64)") or ports.output not in outputs:
        raise ModelError(
            f"{label} takes {sorted(inputs)} and gives {sorted(outputs)}; "
            f"what is needed takes {sorted(ports.inputs)} and gives {ports.output!r}.",
            hint="Export the model again: `quoth models export`.",
            code="model_architecture",
        )
    return session
