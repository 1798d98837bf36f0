"""All that is needed to make a figure again, beside the figure."""

import hashlib
import platform
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

from quoth.errors import InputError

FORMAT = 1
_PACKAGES = ("quoth", "numpy", "onnxruntime", "openvino", "tokenizers", "tantivy", "torch", "transformers")


@dataclass(frozen=True, slots=True)
class DataFacts:
    """What was measured on: a name, its split, how many questions, and the file's SHA-256.

    A reproduction, whose figures have splits and questions of their own, leaves both empty (``""``, 0).
    """

    name: str
    split: str
    questions: int
    sha256: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class SystemFacts:
    """What was measured: each part's name, the hash of each model's weights, the settings of each stage."""

    parts: Mapping[str, str] = field(default_factory=dict)
    model_sha256: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Manifest:
    """One run of one evaluation. ``format`` grows when a key changes its meaning."""

    kind: str
    data: DataFacts
    system: SystemFacts
    conventions: Mapping[str, str]
    seed: int
    command: tuple[str, ...]
    versions: Mapping[str, str]
    machine: str
    made: str
    format: int = FORMAT

    def as_dict(self) -> dict[str, object]:
        """Return the manifest as plain data for JSON."""
        return asdict(self)


def make_manifest(
    kind: str,
    *,
    data: DataFacts,
    system: SystemFacts,
    conventions: Mapping[str, str],
    seed: int = 0,
    command: Sequence[str] = (),
) -> Manifest:
    """Build a manifest of these facts, this machine's kind of processor, and the versions installed here."""
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    return Manifest(
        kind=kind,
        data=data,
        system=system,
        conventions=dict(conventions),
        seed=seed,
        command=tuple(command),
        versions=versions,
        machine=f"{sys.platform} {platform.machine()}",
        made=datetime.now(UTC).isoformat(timespec="seconds"),
    )


def file_sha256(path: str | Path) -> str:
    """Return the SHA-256 of a file's bytes, in hex. Raises ``InputError`` where it cannot be read."""
    try:
        with Path(path).open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from error
