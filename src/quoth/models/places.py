"""Where models are: shipped inside the package, in a local folder, or in the Hugging Face cache."""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType

from quoth.errors import InputError, ModelError
from quoth.models.card import CARD, Card, read_card, verify

SHIPPED = Path(__file__).parent / "weights"
_HUB_NAME = re.compile(r"[\w-][\w.-]*(/[\w-][\w.-]*)?")
_PICKLES = (".bin", ".pt", ".pth", ".pkl", ".ckpt", ".h5", ".msgpack")


@cache
def shipped() -> Mapping[str, Card]:
    """Return the cards of the readers inside the package, by name."""
    folders = sorted(path.parent for path in SHIPPED.glob(f"*/{CARD}"))
    return MappingProxyType({folder.name: read_card(folder) for folder in folders})


def check_shipped() -> list[str]:
    """Return what is wrong with the shipped readers' files: one line each, none where all is well."""
    try:
        cards = shipped()
    except ModelError as problem:
        return [str(problem)]
    problems = [] if cards else [f"{SHIPPED} holds no models. Install quoth again."]
    for name, card in cards.items():
        try:
            verify(SHIPPED / name, card)
        except ModelError as problem:
            problems.append(str(problem))
    return problems


def folder(name: str) -> Path:
    """Return the folder of a model: shipped, local, or in the Hugging Face cache. No network is touched.

    Raises ``ModelError`` where there is none, and for a pickle; ``InputError`` for an empty name.
    """
    if not name.strip():
        raise InputError("The reader has no name.", hint="`quoth models list` shows what there is.")
    if name in shipped():
        return SHIPPED / name
    path = Path(name).expanduser()
    if path.is_dir():
        return path
    if path.is_file():
        raise _refuse_file(path)
    return _cached(name)


def is_bundle(path: Path) -> bool:
    """Tell whether a folder is a bundle of ours."""
    return (path / CARD).is_file()


def refuse_pickles(path: Path) -> None:
    """Raise ``ModelError`` where a checkpoint folder has its weights only as a pickle, or none at all."""
    if any(path.glob("*.safetensors")):
        return
    pickles = sorted(p.name for p in path.iterdir() if p.suffix in _PICKLES)
    if pickles:
        raise ModelError(
            f"{path} holds {pickles[0]}, a pickle: loading one can run any code.",
            hint=f"Turn it into safetensors: `quoth models convert {path}`.",
            code="model_pickle",
        )
    raise ModelError(
        f"{path} holds no model: neither {CARD} nor config.json with model.safetensors.", code="model_missing"
    )


def _refuse_file(path: Path) -> ModelError:
    if path.suffix in _PICKLES:
        return ModelError(
            f"{path} is a pickle: loading one can run any code.",
            hint=f"Turn it into safetensors: `quoth models convert {path.parent}`.",
            code="model_pickle",
        )
    return ModelError(
        f"{path} is a file; a model is a folder.", hint=f"Name {path.parent}.", code="model_missing"
    )


def _cached(name: str) -> Path:
    """Return the newest snapshot of a Hugging Face model in the local cache."""
    if not _HUB_NAME.fullmatch(name):
        raise ModelError(f"There is no folder {name}.", hint="`quoth models list` shows what there is.",
                         code="model_missing")  # fmt: skip
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HFValidationError) as problem:
        raise ModelError(
            f"There is no reader {name!r}: it is not shipped ({', '.join(shipped())} are), no folder, not downloaded.",
            hint=f"`quoth models pull {name}` downloads a model from Hugging Face.",
            code="model_missing",
        ) from problem
