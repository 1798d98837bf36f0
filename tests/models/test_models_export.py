"""What is exported computes what torch computes, and nothing else is published."""

import json
import shutil

import models_tiny
import numpy as np
import pytest

from quoth.errors import CheckError, InputError, ModelError
from quoth.models import load_reader
from quoth.models.card import WEIGHTS, read_card, verify
from quoth.models.checkpoint import open_checkpoint
from quoth.models.export import compare, export, quantize_bundle, read_reference
from quoth.models.quantize import LIMIT, best_vector, dequantize, fit_int8, to_int8
from quoth.models.tensors import read_tensors
from quoth.protocols import Window

pytest.importorskip("transformers", reason="the extra torch is not installed")
pytest.importorskip("onnx", reason="the extra export is not installed")


@pytest.mark.parametrize("family", ["bert", "roberta", "distilbert"])
def test_fp32_bundle_gives_torchs_logits(family, tmp_path):
    """Each family that can be exported gives torch's logits, layout and longest input."""
    checkpoint = getattr(models_tiny, family)(tmp_path / family)
    export(checkpoint, tmp_path / "out", precision="fp32")
    ours, torchs = load_reader(str(tmp_path / "out"), engine="onnxruntime"), open_checkpoint(checkpoint)
    assert (ours.layout, ours.max_length) == (torchs.layout, torchs.max_length)
    rng = np.random.default_rng(0)
    windows = [
        Window(
            rng.integers(4, 100, n),
            np.where(np.arange(n) < n // 2, ours.layout.question_type, ours.layout.passage_type),
        )
        for n in (5, 40, ours.max_length, 17)
    ]
    for mine, theirs in zip(ours.logits(windows), torchs.logits(windows), strict=True):
        np.testing.assert_allclose(mine, theirs, atol=1e-4)


def test_int8_stays_near_fp32(tiny_bundle, tiny_bert):
    """int8 logits stay within a tenth of their standard deviation, and the card tells how near they are."""
    card = read_card(tiny_bundle)
    told = card.figures["int8 against fp32, 32 fixed windows"]
    windows, exact = read_reference(tiny_bundle)
    torchs = [np.stack(row, axis=1) for row in open_checkpoint(tiny_bert).logits(windows)]
    assert compare(exact, torchs).largest < 1e-3
    reader = load_reader(str(tiny_bundle), engine="onnxruntime")
    parity = compare([np.stack(row, axis=1) for row in reader.logits(windows)], exact)
    assert parity.relative <= 0.1
    assert parity.rms == pytest.approx(told["rms"], rel=0.05)


def test_export_of_a_quantised_bundle_equals_quantising_later(tiny_bert, tmp_path):
    """fp32 first and int8 afterwards gives the very files that int8 at once gives."""
    export(tiny_bert, tmp_path / "fp32", precision="fp32")
    later = quantize_bundle(tmp_path / "fp32", tmp_path / "later")
    at_once = export(tiny_bert, tmp_path / "once", precision="int8")
    assert later.files["weights.safetensors"] == at_once.files["weights.safetensors"]
    assert later.precision == "int8"
    with pytest.raises(InputError, match="already"):
        quantize_bundle(tmp_path / "later", tmp_path / "again")


def test_export_refuses_what_does_not_compute_the_same(tiny_bert, tmp_path, monkeypatch):
    """A graph whose logits differ from torch's is not published, and leaves no file behind."""
    from quoth.models import families

    def swapped(*args):
        made = layer(*args)
        return (
            made | {"layer.0.up.weight": made["layer.0.up.weight"] * 1.01}
            if "layer.0.up.weight" in made
            else made
        )

    layer = families._layer
    monkeypatch.setattr(families, "_layer", swapped)
    with pytest.raises(CheckError, match="nothing was written"):
        export(tiny_bert, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []


def test_export_refuses_an_existing_folder_and_other_families(tiny_bert, tmp_path):
    """A folder that exists is never written into; a family without a graph is named."""
    with pytest.raises(InputError, match="exists already"):
        export(tiny_bert, tmp_path)
    with pytest.raises(ModelError, match="albert"):
        export(models_tiny.albert(tmp_path / "albert"), tmp_path / "out")


def test_about_goes_into_the_card(tiny_bert, tmp_path):
    """Licence and training data are kept in the card; an unknown key is refused."""
    card = export(
        tiny_bert, tmp_path / "out", precision="fp32", about={"licence": "MIT", "figures": {"dev": {"F1": 1}}}
    )
    again = read_card(tmp_path / "out")
    assert (again, again.licence, again.figures["dev"]) == (card, "MIT", {"F1": 1})
    with pytest.raises(InputError, match="colour"):
        export(tiny_bert, tmp_path / "other", about={"colour": "red"})


def test_a_head_that_is_missing_is_refused(tiny_bert, tmp_path):
    """A masked language model is no reader: its head would be random."""
    folder = shutil.copytree(tiny_bert, tmp_path / "mlm")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"architectures": ["BertForMaskedLM"]}))
    with pytest.raises(ModelError, match="BertForMaskedLM"):
        open_checkpoint(folder)


def test_weights_keep_the_reduced_range(tiny_bundle):
    """No int8 matrix leaves the 7 bits that processors without VNNI add up without overflow."""
    tensors = read_tensors(tiny_bundle / WEIGHTS)
    matrices = [t for n, t in tensors.items() if t.dtype == np.int8 and n.startswith("layer.")]
    assert len(matrices) == 12
    assert max(int(np.abs(m.astype(np.int16)).max()) for m in matrices) <= LIMIT


def test_rounding_is_better_than_to_the_nearest():
    """Making up for rounding errors leaves less error on the samples than rounding each weight alone."""
    rng = np.random.default_rng(3)
    mixing = rng.normal(size=(32, 32)).astype(np.float32)
    samples = [rng.normal(size=(200, 32)).astype(np.float32) @ mixing for _ in range(3)]
    matrix = rng.normal(size=(32, 16)).astype(np.float32)

    def error(pair):
        return float(sum((((s @ (pair[0] * pair[1])) - s @ matrix) ** 2).sum() for s in samples))

    assert error(fit_int8(matrix, samples)) < 0.7 * error(to_int8(matrix))


def test_a_large_channel_is_evened_out():
    """A channel far larger than the rest gets a divisor; values that are even get none."""
    rng = np.random.default_rng(4)
    matrix = rng.normal(size=(24, 8)).astype(np.float32)
    even = [rng.uniform(-1, 1, size=(120, 24)).astype(np.float32)]
    assert best_vector(even, np.sign(matrix)) is None
    odd = [even[0] * np.where(np.arange(24) == 5, 40, 1).astype(np.float32)]
    vector = best_vector(odd, matrix)
    assert vector is not None
    assert vector.argmax() == 5


def test_dequantised_tensors_are_the_fp32_ones_nearly(tiny_bundle, tiny_bert, tmp_path):
    """What OpenVINO gets from int8 has the names and shapes of the fp32 tensors, and nearly their values."""
    export(tiny_bert, tmp_path / "fp32", precision="fp32")
    exact, back = read_tensors(tmp_path / "fp32" / WEIGHTS), dequantize(read_tensors(tiny_bundle / WEIGHTS))
    assert {n: t.shape for n, t in exact.items()} == {n: t.shape for n, t in back.items()}
    for name in ("layer.0.up.weight", "layer.1.down.weight", "embeddings.word"):
        np.testing.assert_allclose(back[name], exact[name], atol=0.05 * np.abs(exact[name]).max())


def test_a_bundle_verifies_itself(tiny_bundle):
    """A fresh bundle holds what its card says."""
    verify(tiny_bundle, read_card(tiny_bundle))
