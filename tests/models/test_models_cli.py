"""`quoth models ...` does what it says, prints one JSON object where asked, and nothing else on stdout."""

import json
import shutil

import pytest
from typer.testing import CliRunner

from quoth.cli.models import app
from quoth.errors import InputError, ModelError


def run(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def run_json(*arguments):
    return json.loads(run(*arguments, "--json").stdout)


def test_list_names_the_shipped_readers(own_home, monkeypatch):
    """Both shipped readers are listed with size and engine, and the default with its origin."""
    monkeypatch.setenv("HF_HUB_CACHE", str(own_home))
    told = run_json("list")
    assert told["schema"] == "quoth.models-list/1"
    rows = {row["name"]: row for row in told["models"]}
    assert rows["small"]["bytes"] < rows["large"]["bytes"]
    assert rows["small"]["engine"] == "onnxruntime"
    assert (told["default"], told["default_origin"]) == ("auto", "default")
    assert "small" in run("list").stdout


def test_show_prints_the_card_and_checks_it(own_home, tiny_bundle, tmp_path):
    """A card is shown whole; a bundle that is damaged is not shown as if it were well."""
    told = run_json("show", tiny_bundle)
    assert told["precision"] == "int8"
    assert set(told["files"]) == {
        "model.onnx",
        "weights.safetensors",
        "tokenizer.json",
        "reference.safetensors",
    }
    assert told["sha256"] in run("show", tiny_bundle).stdout
    broken = shutil.copytree(tiny_bundle, tmp_path / "broken")
    (broken / "model.onnx").unlink()
    with pytest.raises(ModelError, match=r"model\.onnx"):
        run("show", broken)


def test_a_checkpoint_is_shown_by_its_config(own_home, tiny_bert):
    """A Hugging Face folder has no card: its config is shown."""
    told = run_json("show", tiny_bert)
    assert (told["kind"], told["config"]["model_type"]) == ("checkpoint", "bert")


def test_export_and_quantize(own_home, tiny_bert, tmp_path):
    """From a checkpoint to fp32 and on to int8, with the card's facts from a file."""
    about = tmp_path / "about.json"
    about.write_text(json.dumps({"licence": "MIT"}))
    made = run_json(
        "export", tiny_bert, tmp_path / "fp32", "--precision", "fp32", "--about", about, "--quiet"
    )
    assert made["card"]["licence"] == "MIT"
    smaller = run_json("quantize", tmp_path / "fp32", tmp_path / "int8", "--quiet")
    assert smaller["bytes"] < made["bytes"]
    assert smaller["card"]["licence"] == "MIT"
    about.write_text("[]")
    with pytest.raises(InputError, match="JSON object"):
        run("export", tiny_bert, tmp_path / "other", "--about", about)


def test_tune_remembers(own_home, tiny_bundle):
    """What was measured is printed, and used from then on."""
    told = run_json("tune", tiny_bundle, "--seconds", "0.1", "--quiet")
    (result,) = told["models"]
    assert result["chosen"] in [trial["engine"] for trial in result["trials"]]
    assert run_json("show", tiny_bundle)["engine"] == result["chosen"]


def test_use_changes_the_default(own_home, monkeypatch):
    """After `use` the list names the new default, and where it is written."""
    monkeypatch.setenv("HF_HUB_CACHE", str(own_home))
    path = run_json("use", "large")["settings"]
    told = run_json("list")
    assert (told["default"], told["default_origin"]) == ("large", path)
