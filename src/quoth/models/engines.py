"""The one seam between a network and what runs it, and the table of what there is."""

import importlib.util
import json
import os
import platform
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from quoth.errors import InputError, MissingExtraError
from quoth.models.card import Card
from quoth.protocols import Window

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float32]


class Engine(Protocol):
    """Runs one network. Safe to share between threads."""

    @property
    def name(self) -> str: ...

    def run(self, windows: Sequence[Window]) -> "list[Floats]":
        """Return logits of shape (n, 2), start and end, for each window, in the order given.

        Ids and lengths are within the model's sizes: the caller has seen to that.
        """
        ...


def _onnx(folder: Path, card: Card, threads: int) -> Engine:
    from quoth.models.onnx_engine import OnnxEngine

    return OnnxEngine(folder, card, threads=threads)


def _openvino(folder: Path, card: Card, threads: int) -> Engine:
    from quoth.models.openvino_engine import OpenVinoEngine

    return OpenVinoEngine(folder, card, threads=threads)


ENGINES: Mapping[str, Callable[[Path, Card, int], Engine]] = {"onnxruntime": _onnx, "openvino": _openvino}
DEFAULT = "onnxruntime"


def installed() -> list[str]:
    """Return the engines that can be used here."""
    return [name for name in ENGINES if importlib.util.find_spec(name) is not None]


def open_engine(name: str, folder: Path, card: Card, *, threads: int) -> Engine:
    """Return the engine of this *name*; ``auto`` is the one that ``quoth models tune`` chose for this CPU.

    Raises ``InputError`` for an unknown name, ``MissingExtraError`` for one that is not installed.
    """
    chosen = remembered(card) if name == "auto" else name
    if chosen not in ENGINES:
        raise InputError(f"There is no engine {name!r}.", hint=f"There are: auto, {', '.join(ENGINES)}.")
    if chosen not in installed():
        raise MissingExtraError(
            f"The engine {chosen} is not installed.", hint=f"pip install 'quoth[{chosen}]'"
        )
    return ENGINES[chosen](folder, card, threads)


def memory_file() -> Path:
    """Return where the fastest engine of each CPU and model is remembered."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "quoth" / "engines.json"


def remembered(card: Card) -> str:
    """Return the engine that was the fastest here for this model; ONNX Runtime where none was measured."""
    name = _memory().get(cpu_name(), {}).get(card.sha256, DEFAULT)
    return name if name in installed() else DEFAULT


def remember(card: Card, engine: str) -> Path:
    """Keep *engine* as the choice for this CPU and model."""
    path = memory_file()
    memory = _memory()
    memory.setdefault(cpu_name(), {})[card.sha256] = engine
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.{os.getpid()}")
    fresh.write_text(json.dumps({"format": 1, "cpus": memory}, indent=1) + "\n", encoding="utf-8")
    fresh.replace(path)
    return path


def _memory() -> dict[str, dict[str, str]]:
    """Return what was remembered; a file that is not ours is as good as none (it is a cache)."""
    try:
        raw = json.loads(memory_file().read_text(encoding="utf-8"))
        if raw["format"] != 1:
            return {}
        return {str(c): {str(m): str(e) for m, e in row.items()} for c, row in raw["cpus"].items()}
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return {}


def cpu_name() -> str:
    """Return the processor's name and what it can do, as far as engines differ in it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines[:40])}
    flags = {
        f
        for f in facts.get("flags", "").split()
        if f.startswith(("amx", "avx512_vnni", "avx_vnni", "avx512_bf16"))
    }
    return " ".join([facts.get("model name", platform.machine()), *sorted(flags)])
