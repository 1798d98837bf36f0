"""The one place that touches the network: downloads a checkpoint from Hugging Face, when asked."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from quoth.errors import BackendError, InputError, ModelError

SAFE = ("*.safetensors", "*.json", "*.txt", "*.onnx", "README.md", "LICENSE*")
_NEEDED = "*.safetensors"


@dataclass(frozen=True, slots=True)
class Remote:
    """What a download would fetch: file names and their bytes together."""

    name: str
    files: tuple[str, ...]
    bytes: int


def safe_files(names: Sequence[tuple[str, int]]) -> list[tuple[str, int]]:
    """Return the files of a repository that are fetched, with their sizes.

    Weights in safetensors, JSON, vocabularies; never a pickle or code. Subfolders hold other formats,
    mostly, and are left out.
    """
    return [(name, size) for name, size in names if "/" not in name and any(fnmatch(name, p) for p in SAFE)]


def look_up(name: str) -> Remote:
    """Ask Hugging Face which files of *name* would be fetched, and how large they are.

    Raises ``InputError`` for an unknown name, ``ModelError`` (``model_pickle``) for one without
    safetensors, ``BackendError`` where the hub does not answer.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, RepositoryNotFoundError

    try:
        info = HfApi().model_info(name, files_metadata=True)
    except (RepositoryNotFoundError, HFValidationError) as problem:
        raise InputError(f"Hugging Face has no model {name!r}.", hint="Check the spelling.") from problem
    except (HfHubHTTPError, OSError) as problem:
        raise _unreachable(problem) from problem
    files = safe_files([(f.rfilename, f.size or 0) for f in info.siblings or ()])
    if not any(fnmatch(file, _NEEDED) for file, _ in files):
        raise ModelError(
            f"{name} has no weights in safetensors, only pickles.",
            hint="Download it yourself and run `quoth models convert FOLDER`.",
            code="model_pickle",
        )
    return Remote(name, tuple(file for file, _ in files), sum(size for _, size in files))


def pull(remote: Remote, *, step: Callable[[str], None] = lambda what: None) -> Path:
    """Download a model into the Hugging Face cache and return its folder. Raises ``BackendError``."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    step(f"downloading {remote.name}")
    try:
        return Path(snapshot_download(remote.name, allow_patterns=list(remote.files)))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as problem:
        raise _unreachable(problem) from problem


def downloaded() -> list[tuple[str, int]]:
    """Return the models in the Hugging Face cache that have weights in safetensors, with the bytes they take."""
    from huggingface_hub import scan_cache_dir
    from huggingface_hub.errors import CacheNotFound

    try:
        repositories = scan_cache_dir().repos
    except CacheNotFound:
        return []
    found = [
        (str(repository.repo_id), int(repository.size_on_disk))
        for repository in repositories
        if repository.repo_type == "model"
        and any(
            fnmatch(file.file_name, _NEEDED) for revision in repository.revisions for file in revision.files
        )
    ]
    return sorted(found)


def _unreachable(problem: Exception) -> BackendError:
    lines = str(problem).strip().splitlines() or [type(problem).__name__]
    return BackendError(
        f"Hugging Face did not answer: {lines[0]}",
        hint="Check the network (and that HF_HUB_OFFLINE is not set), or copy the model's folder here by other means.",
    )
