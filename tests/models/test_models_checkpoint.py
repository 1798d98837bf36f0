"""Any extractive reader from Hugging Face is read as Transformers reads it; its layout is found by looking."""

import json
import shutil

import models_tiny
import numpy as np
import pytest

from quoth.errors import MissingExtraError, ModelError
from quoth.models import load_reader
from quoth.models.checkpoint import open_checkpoint
from quoth.models.convert import convert
from quoth.models.samples import join
from quoth.protocols import Layout

transformers = pytest.importorskip("transformers", reason="the extra torch is not installed")
torch = pytest.importorskip("torch", reason="the extra torch is not installed")

LAYOUTS = {
    "bert": Layout((2,), (3,), (3,), 0, 1),
    "albert": Layout((2,), (3,), (3,), 0, 1),
    "distilbert": Layout((2,), (3,), (3,), 0, 0),
    "roberta": Layout((0,), (2, 2), (2,), 0, 0),
    "xlnet": Layout((), (4,), (4, 3), 0, 1, 2, True),
}
TEXTS = ("who wrote the book", "the book was born in paris in 1869 and it is long", "a canal")


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory):
    root = tmp_path_factory.mktemp("checkpoints")
    return {name: getattr(models_tiny, name)(root / name) for name in LAYOUTS}


@pytest.mark.parametrize("family", LAYOUTS)
def test_layout_is_found_by_looking(checkpoints, family):
    """Each family's layout, segments and null position come out of one encoded pair."""
    assert open_checkpoint(checkpoints[family]).layout == LAYOUTS[family]


@pytest.mark.parametrize("family", LAYOUTS)
def test_logits_are_what_transformers_gives(checkpoints, family):
    """Batched and padded as we do it, each window has the logits of the model run on it alone."""
    reader = load_reader(str(checkpoints[family]))
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(checkpoints[family]).eval()
    question, *passages = reader.tokenize(TEXTS)
    windows = [join(reader.layout, question, p.ids, reader.max_length) for p in passages]
    got = reader.logits(windows)
    for window, (start, end) in zip(windows, got, strict=True):
        inputs = {"input_ids": torch.from_numpy(window.ids[None])}
        if family in ("bert", "albert", "xlnet"):
            inputs["token_type_ids"] = torch.from_numpy(window.types[None])
        with torch.inference_mode():
            expected = model(**inputs)
        np.testing.assert_allclose(start, expected.start_logits[0], atol=1e-4)
        np.testing.assert_allclose(end, expected.end_logits[0], atol=1e-4)


@pytest.mark.parametrize("family", LAYOUTS)
def test_windows_are_those_of_the_tokenizer(checkpoints, family):
    """Putting a question and a passage together by the layout gives what the tokenizer itself gives for the pair."""
    from quoth.models.vocabulary import open_tokenizer

    reader = open_checkpoint(checkpoints[family])
    question, passage = reader.tokenize(TEXTS[:2])
    window = join(reader.layout, question, passage.ids, reader.max_length)
    pair = open_tokenizer(checkpoints[family] / "tokenizer.json").encode(*TEXTS[:2])
    assert window.ids.tolist() == pair.ids
    if family in ("bert", "albert", "xlnet"):
        assert window.types.tolist() == pair.type_ids


def test_longest_inputs(checkpoints):
    """The longest input is what the position table holds; RoBERTa's first rows are padding's; XLNet has no table."""
    longest = {family: open_checkpoint(path).max_length for family, path in checkpoints.items()}
    assert longest == {"bert": 128, "albert": 128, "distilbert": 128, "roberta": 128, "xlnet": 512}


@pytest.mark.parametrize("family", ["bert", "roberta"])
def test_the_longest_window_runs_and_a_longer_one_is_refused(checkpoints, family):
    """A window of exactly the longest input is read; one token more is our error, not the library's."""
    from quoth.protocols import Window

    reader = open_checkpoint(checkpoints[family])
    ids = np.full(reader.max_length + 1, 5)
    assert len(reader.logits([Window(ids[1:], ids[1:] * 0)])[0][0]) == reader.max_length
    with pytest.raises(ModelError, match="window"):
        reader.logits([Window(ids, ids * 0)])


def test_a_tokenizer_without_offsets_is_refused(checkpoints, tmp_path):
    """A checkpoint with only a slow tokenizer is refused with the reason."""
    folder = shutil.copytree(checkpoints["bert"], tmp_path / "slow")
    (folder / "tokenizer.json").unlink()
    with pytest.raises(ModelError, match="offsets"):
        load_reader(str(folder))


@pytest.mark.parametrize(
    "damage", ["truncated", "cut off", "no safetensors", "not json", "remote code", "missing tensors"]
)
def test_damaged_checkpoints_are_our_errors(checkpoints, tmp_path, damage):
    """Whatever is wrong with a checkpoint is a ModelError; code that it names is never run."""
    folder = shutil.copytree(checkpoints["bert"], tmp_path / "bad")
    config = json.loads((folder / "config.json").read_text())
    if damage == "truncated":
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:-50])
    elif damage == "cut off":
        path = folder / "model.safetensors"
        path.write_bytes(path.read_bytes()[:4])
    elif damage == "no safetensors":
        (folder / "model.safetensors").write_bytes(b"\xff" * 1000)
    elif damage == "not json":
        (folder / "config.json").write_text("{")
    elif damage == "remote code":
        (folder / "config.json").write_text(json.dumps(config | {"auto_map": {"AutoModel": "evil.Model"}}))
    else:
        (folder / "config.json").write_text(json.dumps(config | {"num_hidden_layers": 3}))
    with pytest.raises(ModelError):
        load_reader(str(folder))


def test_no_network_is_touched(checkpoints, monkeypatch):
    """Reading a checkpoint opens no socket."""
    import socket

    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    assert load_reader(str(checkpoints["bert"])).tokenize(["the canal"])


def test_the_extra_is_named(checkpoints, monkeypatch):
    """Without torch the error names the extra to install."""
    import sys

    monkeypatch.setitem(sys.modules, "transformers", None)
    with pytest.raises(MissingExtraError, match=r"quoth\[torch\]"):
        load_reader(str(checkpoints["bert"]))


def test_convert_makes_a_pickle_readable(checkpoints, tmp_path):
    """A .bin of tensors becomes safetensors with the same logits, beside it or in a new folder."""
    folder = shutil.copytree(checkpoints["bert"], tmp_path / "old")
    model = transformers.AutoModelForQuestionAnswering.from_pretrained(folder)
    torch.save(model.state_dict(), folder / "pytorch_model.bin")
    (folder / "model.safetensors").unlink()
    with pytest.raises(ModelError, match="pickle"):
        load_reader(str(folder))
    new = convert(folder, tmp_path / "new")
    assert convert(folder) == folder
    reader = open_checkpoint(checkpoints["bert"])
    question, passage = reader.tokenize(TEXTS[:2])
    window = join(reader.layout, question, passage.ids, 64)
    for place in (new, folder):
        for mine, theirs in zip(
            load_reader(str(place)).logits([window]), reader.logits([window]), strict=True
        ):
            np.testing.assert_array_equal(mine, theirs)


def test_convert_refuses_code(tmp_path):
    """A pickle that would run something is refused, and does not run."""
    import pickle

    class Payload:
        def __reduce__(self):
            return (open, (str(tmp_path / "ran"), "w"))

    (tmp_path / "pytorch_model.bin").write_bytes(pickle.dumps(Payload()))
    with pytest.raises(ModelError) as raised:
        convert(tmp_path)
    assert raised.value.code == "model_pickle"
    assert not (tmp_path / "ran").exists()
    assert not (tmp_path / "model.safetensors").exists()
