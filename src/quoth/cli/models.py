"""The readers' networks: which there are, what they are, and what runs them fastest here."""

import json
from dataclasses import asdict
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.cli.output import Json, Quiet, emit, note, say, table
from quoth.errors import InputError

app = typer.Typer(
    name="models",
    help="The readers: shipped ones, your own, any Hugging Face checkpoint. Only `pull` touches the network.",
    no_args_is_help=True,
    rich_markup_mode=None,
)

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="A shipped reader, a local folder, or a Hugging Face name.")
]
Out = Annotated[Path, typer.Argument(metavar="OUT", help="The new folder.")]


class PrecisionName(StrEnum):
    """How weights are stored."""

    INT8 = "int8"
    FP32 = "fp32"


@app.command("list")
def list_command(as_json: Json = False) -> None:
    """List the readers that are here: shipped, and downloaded from Hugging Face; and which is the default.

    Example: quoth models list
    """
    from quoth import settings
    from quoth.models import shipped
    from quoth.models.engines import remembered
    from quoth.models.pull import downloaded

    default = settings.load()["reader"]
    rows: list[dict[str, Any]] = [
        {
            "name": name, "kind": "shipped", "precision": card.precision, "bytes": card.size,
            "engine": remembered(card), "summary": card.summary, "sha256": card.sha256,
        }
        for name, card in shipped().items()
    ]  # fmt: skip
    rows += [
        {
            "name": name, "kind": "downloaded", "precision": "fp32", "bytes": size, "engine": "torch", "summary": "",
            "sha256": "",
        }
        for name, size in downloaded()
    ]  # fmt: skip
    if as_json:
        emit("models-list/1", {"models": rows, "default": default.value, "default_origin": default.origin})
        return
    shown = [
        (r["name"], r["kind"], r["precision"], _megabytes(r["bytes"]), r["engine"], r["summary"])
        for r in rows
    ]
    table(shown, ("name", "kind", "precision", "MB", "engine", "summary"))
    say(f"default: {default.value} ({default.origin})")


@app.command("show")
def show_command(name: Name, as_json: Json = False) -> None:
    """Show a model's card: sizes, licence, training data, figures; its files are checked against their SHA-256.

    Example: quoth models show small
    """
    from quoth.models import folder
    from quoth.models.card import read_card, verify
    from quoth.models.engines import remembered
    from quoth.models.families import read_config
    from quoth.models.places import is_bundle

    path = folder(name)
    if not is_bundle(path):
        config = read_config(path)
        told: dict[str, Any] = {"name": name, "folder": str(path), "kind": "checkpoint", "config": config}
    else:
        card = read_card(path)
        verify(path, card)
        told = {"folder": str(path), "kind": "bundle", "sha256": card.sha256, "engine": remembered(card)}
        told |= card.as_json()
    if as_json:
        emit("models-show/1", told)
        return
    for key, value in told.items():
        if isinstance(value, dict):
            say(f"{key}:")
            for inner, detail in value.items():
                say(f"  {inner}: {json.dumps(detail, ensure_ascii=False)}")
        elif value not in ("", None):
            say(f"{key}: {value}")


@app.command("pull")
def pull_command(
    name: Annotated[
        str, typer.Argument(metavar="NAME", help="A model's name on Hugging Face (owner/model).")
    ],
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Download a checkpoint from Hugging Face: safetensors and JSON only, its size is said first.

    Example: quoth models pull deepset/roberta-base-squad2
    """
    from quoth.models.pull import look_up, pull

    remote = look_up(name)
    note(f"{name}: {len(remote.files)} files, {_megabytes(remote.bytes)} MB", quiet=quiet)
    path = pull(remote)
    if as_json:
        emit(
            "models-pull/1",
            {"name": name, "folder": str(path), "files": list(remote.files), "bytes": remote.bytes},
        )
    else:
        say(f"{name} is in {path}. Read with it: quoth ask --reader {name} QUESTION")


@app.command("convert")
def convert_command(
    checkpoint: Annotated[
        Path, typer.Argument(metavar="FOLDER", help="A checkpoint with a .bin or .pt file.")
    ],
    out: Annotated[Path | None, typer.Option("--out", help="A new folder (else beside the pickle).")] = None,
    as_json: Json = False,
) -> None:
    """Turn a pickled checkpoint into safetensors, without running anything that is in it. Needs the extra torch.

    Example: quoth models convert old-reader --out reader
    """
    from quoth.models.convert import convert

    folder = convert(checkpoint, out)
    if as_json:
        emit("models-convert/1", {"folder": str(folder), "file": "model.safetensors"})
    else:
        say(f"Wrote {folder / 'model.safetensors'}.")


@app.command("export")
def export_command(
    checkpoint: Annotated[Path, typer.Argument(metavar="FOLDER", help="A Hugging Face checkpoint folder.")],
    out: Out,
    precision: Annotated[
        PrecisionName, typer.Option("--precision", help="How weights are stored.")
    ] = PrecisionName.INT8,
    about: Annotated[
        Path | None,
        typer.Option(
            "--about", help="JSON with summary, language, licence, training_data, figures for the card."
        ),
    ] = None,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make a bundle of a checkpoint: no torch is needed to read with it, and int8 is twice as fast.

    It is compared with torch on 32 windows first, and refused where it differs. Needs the extra export.
    Example: quoth models export ./my-reader ./my-bundle
    """
    from quoth.models.export import export

    card = export(
        checkpoint,
        out,
        precision=precision.value,
        about=_about(about),
        step=lambda what: note(what, quiet=quiet),
    )
    _made(out, card.as_json(), card.size, as_json=as_json)


@app.command("quantize")
def quantize_command(
    bundle: Annotated[Path, typer.Argument(metavar="FOLDER", help="A bundle in fp32.")],
    out: Out,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Make an int8 bundle of one in fp32; refused where its logits differ too much. Needs the extra export.

    Example: quoth models quantize ./bundle-fp32 ./bundle-int8
    """
    from quoth.models.export import quantize_bundle

    card = quantize_bundle(bundle, out, step=lambda what: note(what, quiet=quiet))
    _made(out, card.as_json(), card.size, as_json=as_json)


@app.command("tune")
def tune_command(
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Bundles to measure (else the shipped ones)."),
    ] = None,
    seconds: Annotated[
        float, typer.Option("--seconds", min=0.1, max=60, help="How long each engine is timed.")
    ] = 1.5,
    threads: Annotated[int, typer.Option("--threads", min=0, max=256, help="0: all processors.")] = 0,
    as_json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Time the installed engines on this CPU and keep the fastest whose logits are right.

    Example: quoth models tune
    """
    from quoth.models import shipped
    from quoth.models.tune import tune

    done = [
        tune(name, seconds=seconds, threads=threads, step=partial(_step, name, quiet))
        for name in names or list(shipped())
    ]
    if as_json:
        emit("models-tune/1", {"cpu": done[0].cpu, "models": [asdict(result) for result in done]})
        return
    rows = [
        (
            result.model, trial.engine, round(trial.tokens_per_second), round(trial.load_ms),
            f"{trial.difference:.1%}", "chosen" if trial.engine == result.chosen else trial.problem or "",
        )
        for result in done
        for trial in result.trials
    ]  # fmt: skip
    table(rows, ("model", "engine", "tokens/s", "load ms", "off fp32", ""))
    say(f"{done[0].cpu}: remembered in {done[0].remembered_in}")


@app.command("use")
def use_command(name: Name, as_json: Json = False) -> None:
    """Make a model the default reader, in your own settings file.

    Example: quoth models use large
    """
    from quoth.models.preference import use

    path = use(name)
    if as_json:
        emit("models-use/1", {"reader": name, "settings": str(path)})
    else:
        say(f"The default reader is {name} ({path}).")


def _step(name: str, quiet: bool, what: str) -> None:
    note(f"{name}: {what}", quiet=quiet)


def _about(path: Path | None) -> dict[str, Any]:
    if path is None:
        return {}
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as problem:
        raise InputError(f"{path} cannot be read as JSON: {problem}.") from problem
    if not isinstance(raw, dict):
        raise InputError(f"{path} is not a JSON object.")
    return raw


def _made(out: Path, card: dict[str, Any], size: int, *, as_json: bool) -> None:
    if as_json:
        emit("models-export/1", {"folder": str(out), "bytes": size, "card": card})
        return
    say(f"{out}: {card['precision']}, {_megabytes(size)} MB")
    for what, figures in card["figures"].items():
        say(f"  {what}: {json.dumps(figures, ensure_ascii=False)}")


def _megabytes(size: int) -> float:
    return round(size / 1e6, 1)
