"""Every way in which a model's files can be wrong has its own error, before anything runs."""

import json
import pickle
import shutil
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import InputError, MissingExtraError, ModelError, QuothError
from quoth.models import check_shipped, folder, load_reader, shipped
from quoth.models.card import read_card, verify, write_card
from quoth.models.tensors import read_tensors, write_tensors


@pytest.fixture
def broken(tiny_bundle, tmp_path):
    """A copy that a test may damage."""
    return shutil.copytree(tiny_bundle, tmp_path / "tiny")


def flip(path, at=-100):
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


@pytest.mark.parametrize(
    "name", ["model.onnx", "weights.safetensors", "tokenizer.json", "reference.safetensors"]
)
@pytest.mark.parametrize("fault", ["missing", "truncated", "empty", "flipped"])
def test_a_damaged_file_is_named(broken, name, fault):
    """A file that is missing, cut short, empty or one bit off is named; the hash in the card and the real one too."""
    path = broken / name
    expected = read_card(broken).files[name].sha256
    if fault == "missing":
        path.unlink()
    elif fault == "flipped":
        flip(path)
    else:
        path.write_bytes(path.read_bytes()[: 0 if fault == "empty" else -7])
    with pytest.raises(ModelError, match=name) as raised:
        load_reader(str(broken))
    assert raised.value.exit_code == 5
    assert raised.value.code == ("model_missing" if fault == "missing" else "model_damaged")
    if fault == "flipped":
        assert expected in raised.value.message


def test_a_newer_format_is_refused(broken):
    """A card of a later format says so, instead of being read in part."""
    raw = json.loads((broken / "card.json").read_text())
    (broken / "card.json").write_text(json.dumps(raw | {"format": 99}))
    with pytest.raises(ModelError, match="format 99") as raised:
        load_reader(str(broken))
    assert raised.value.code == "model_newer"


@pytest.mark.parametrize("text", ["", "[]", "{", '{"format": 1}', '{"format": "1"}', "null", "\x00"])
def test_a_card_that_is_none_is_refused(broken, text):
    """Anything but a card is a ModelError that names the file."""
    (broken / "card.json").write_text(text)
    with pytest.raises(ModelError, match=r"card\.json"):
        load_reader(str(broken))


def test_a_card_may_not_name_files_outside(broken):
    """A card that lists a file above its folder is refused."""
    raw = json.loads((broken / "card.json").read_text())
    raw["files"]["../other"] = {"bytes": 1, "sha256": "0"}
    (broken / "card.json").write_text(json.dumps(raw))
    with pytest.raises(ModelError, match="outside"):
        load_reader(str(broken))


def test_a_graph_of_another_kind_is_refused(broken):
    """A graph with other inputs is refused even when its hash is right."""
    import onnx

    from quoth.models.card import record_of

    helper = onnx.helper
    value = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [1])
    other = helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [1])
    graph = helper.make_graph([helper.make_node("Abs", ["x"], ["y"])], "g", [value], [other])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    (broken / "model.onnx").write_bytes(model.SerializeToString())
    card = read_card(broken)
    write_card(broken, type(card)(**{f: getattr(card, f) for f in card.__dataclass_fields__} | {
        "files": {**card.files, "model.onnx": record_of(broken / "model.onnx")}
    }))  # fmt: skip
    with pytest.raises(ModelError, match="takes \\['x'\\]") as raised:
        load_reader(str(broken), engine="onnxruntime")
    assert raised.value.code == "model_architecture"


class Payload:
    """What a malicious pickle would hold."""

    def __reduce__(self):
        return (print, ("never",))


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pkl"])
def test_pickles_are_refused_with_the_way_out(tmp_path, name, capsys):
    """A checkpoint that is only a pickle is refused by name, unopened, with the command that converts it."""
    (tmp_path / name).write_bytes(pickle.dumps(Payload()))
    (tmp_path / "config.json").write_text("{}")
    for given_name in (str(tmp_path), str(tmp_path / name)):
        with pytest.raises(ModelError, match=name) as raised:
            load_reader(given_name)
        assert "quoth models convert" in raised.value.hint
        assert raised.value.code == "model_pickle"
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["nobody/nothing", "/no/such/folder", "tiny-but-unknown", "../x/../y z"])
def test_an_unknown_model_is_missing_not_fetched(name, monkeypatch):
    """A name that is nowhere on this machine is an error at once: no socket is opened."""
    import socket

    def no_socket(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", no_socket)
    with pytest.raises(ModelError) as raised:
        folder(name)
    assert raised.value.code == "model_missing"


def test_empty_names_and_folders(tmp_path):
    """No name is the user's mistake; a folder without a model says what it lacks."""
    with pytest.raises(InputError):
        load_reader("  ")
    with pytest.raises(ModelError, match="no model"):
        load_reader(str(tmp_path))


def test_unknown_and_missing_engines(tiny_bundle, monkeypatch):
    """An engine that does not exist, or is not installed, is named, with what there is."""
    from quoth.models import engines

    with pytest.raises(InputError, match="abacus"):
        load_reader(str(tiny_bundle), engine="abacus")
    monkeypatch.setattr(engines, "installed", lambda: ["onnxruntime"])
    with pytest.raises(MissingExtraError, match="openvino"):
        load_reader(str(tiny_bundle), engine="openvino")


def test_shipped_models_are_whole():
    """The readers in the package are small and large, hold what their cards say, and fit their budgets."""
    assert check_shipped() == []
    assert set(shipped()) == {"small", "large"}
    assert shipped()["small"].size <= 24_500_000
    assert shipped()["large"].size <= 35_000_000
    for name, card in shipped().items():
        assert card.name == name
        assert card.licence
        assert card.training_data
        assert "calibration.json" not in card.files
        assert (folder(name) / "README.md").is_file()


def test_what_is_shipped_may_gain_a_calibration(broken):
    """Files that the card does not list change nothing: a calibration can be laid beside the weights."""
    (broken / "calibration.json").write_text("{}")
    verify(broken, read_card(broken))


@given(st.binary(max_size=200))
@settings(max_examples=80, deadline=None)
def test_any_bytes_are_read_as_tensors_or_refused(tmp_path_factory, data):
    """No file makes the reader of safetensors fail with anything but our own error."""
    path = tmp_path_factory.mktemp("bytes") / "x.safetensors"
    path.write_bytes(data)
    with suppress(QuothError):
        read_tensors(path)


@given(
    st.dictionaries(
        st.text(st.characters(codec="utf-8"), min_size=1, max_size=8).filter(lambda n: n != "__metadata__"),
        st.tuples(
            st.sampled_from(["float32", "int8", "int64", "float16"]), st.lists(st.integers(0, 4), max_size=3)
        ),
        max_size=5,
    )
)
@settings(max_examples=40, deadline=None)
def test_tensors_come_back_as_they_were_written(tmp_path_factory, shapes):
    """Writing and reading tensors is the identity, and the places given are where the bytes are."""
    rng = np.random.default_rng(0)
    tensors = {n: rng.integers(-9, 9, shape).astype(kind) for n, (kind, shape) in shapes.items()}
    path = tmp_path_factory.mktemp("tensors") / "x.safetensors"
    places = write_tensors(path, tensors)
    back = read_tensors(path)
    raw = path.read_bytes()
    assert set(back) == set(tensors)
    for name, tensor in tensors.items():
        np.testing.assert_array_equal(back[name], tensor)
        assert raw[places[name].offset : places[name].offset + places[name].length] == tensor.tobytes()


def test_our_tensors_are_safetensors(tmp_path):
    """The reference implementation reads our files, and we read its bfloat16."""
    torch = pytest.importorskip("torch")
    from safetensors.numpy import load_file
    from safetensors.torch import save_file

    ours = {"a": np.arange(6, dtype=np.int8).reshape(2, 3), "b": np.array([1.5, -2], np.float32)}
    write_tensors(tmp_path / "ours", ours)
    for name, tensor in load_file(tmp_path / "ours").items():
        np.testing.assert_array_equal(tensor, ours[name])
    save_file({"c": torch.tensor([1.0, -0.15625], dtype=torch.bfloat16)}, tmp_path / "theirs")
    np.testing.assert_array_equal(read_tensors(tmp_path / "theirs")["c"], [1.0, -0.15625])
