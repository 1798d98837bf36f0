"""Engines are chosen by measurement, and only among those that are right."""

import json
from types import SimpleNamespace

import pytest

from quoth.errors import BackendError, InputError, ModelError
from quoth.models import shipped
from quoth.models.engines import cpu_name, memory_file, remember, remembered
from quoth.models.preference import use
from quoth.models.pull import look_up, safe_files
from quoth.models.tune import Trial, conclude, tune
from quoth.settings import load


def trial(engine, speed, difference=0.02):
    return Trial(engine, speed, 10.0, difference, 1.0, difference <= 0.1)


def test_the_fastest_that_holds_is_kept(own_home):
    """A fast engine with wrong logits loses to a slow one with right ones, and the choice is remembered."""
    card = shipped()["small"]
    assert remembered(card) == "onnxruntime"
    assert conclude(card, [trial("onnxruntime", 100), trial("openvino", 900, 0.5)]).chosen == "onnxruntime"
    done = conclude(card, [trial("onnxruntime", 100), trial("openvino", 150)])
    assert (done.chosen, done.cpu) == ("openvino", cpu_name())
    assert json.loads(memory_file().read_text())["cpus"] == {cpu_name(): {card.sha256: "openvino"}}
    assert remembered(shipped()["large"]) == "onnxruntime"


def test_no_engine_that_holds_is_an_error(own_home):
    """Where every engine is wrong nothing is remembered."""
    with pytest.raises(ModelError, match="50% off"):
        conclude(shipped()["small"], [trial("onnxruntime", 100, 0.5)])
    assert not memory_file().exists()


def test_a_choice_that_is_not_installed_is_passed_over(own_home):
    """An engine that was remembered and is gone since does not break anything."""
    remember(shipped()["small"], "abacus")
    assert remembered(shipped()["small"]) == "onnxruntime"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"format": 2, "cpus": {}}', '{"format": 1, "cpus": []}', "\x00"]
)
def test_a_damaged_memory_is_as_good_as_none(own_home, text):
    """The memory is a cache: damaged, it is started anew."""
    memory_file().parent.mkdir(parents=True)
    memory_file().write_text(text)
    card = shipped()["small"]
    assert remembered(card) == "onnxruntime"
    remember(card, "openvino")
    assert json.loads(memory_file().read_text())["cpus"][cpu_name()] == {card.sha256: "openvino"}


def test_tune_measures_what_is_installed(own_home, tiny_bundle):
    """Tuning times each installed engine, finds its logits right, and chooses the faster."""
    done = tune(str(tiny_bundle), seconds=0.05)
    assert "onnxruntime" in [t.engine for t in done.trials]
    assert all(t.tokens_per_second > 0 and t.holds for t in done.trials)
    assert done.chosen == max(done.trials, key=lambda t: t.tokens_per_second).engine


def test_only_bundles_are_tuned(own_home, tiny_bert):
    """A checkpoint has only one way to be run."""
    with pytest.raises(InputError, match="export"):
        tune(str(tiny_bert))


def test_use_keeps_the_rest_of_the_settings(own_home):
    """The default reader is written into the user's settings, and nothing else there changes."""
    path = use("large")
    assert load(environment={})["reader"].value == "large"
    path.write_text('# mine\nk = 7\nreader = "large"  # old\nprofile = "fast"\n')
    use("small")
    assert path.read_text() == '# mine\nk = 7\nreader = "small"\nprofile = "fast"\n'
    assert load(environment={})["k"].value == 7


def test_use_takes_a_folder_and_refuses_what_is_not_there(own_home, tiny_bundle, monkeypatch):
    """A folder is kept by its absolute path; an unknown model, or a settings file that is broken, changes nothing."""
    monkeypatch.chdir(tiny_bundle.parent)
    path = use(tiny_bundle.name)
    assert load(environment={})["reader"].value == str(tiny_bundle.resolve())
    before = path.read_text()
    with pytest.raises(ModelError):
        use("nobody/nothing")
    path.write_text("reader = [")
    with pytest.raises(InputError):
        use("small")
    assert path.read_text() == "reader = ["
    assert before != path.read_text()


def test_only_safe_files_are_pulled():
    """Weights in safetensors and JSON are fetched; pickles, code and other formats in subfolders are not."""
    names = ["model.safetensors", "config.json", "tokenizer.json", "vocab.txt", "pytorch_model.bin", "modeling_x.py",
             "onnx/model.onnx", "tf_model.h5", "rust_model.ot", "training_args.bin", "README.md"]  # fmt: skip
    kept = [name for name, _ in safe_files([(name, 1) for name in names])]
    assert kept == ["model.safetensors", "config.json", "tokenizer.json", "vocab.txt", "README.md"]


def test_pull_says_the_size_before_and_refuses_pickles(monkeypatch):
    """What would be fetched is known, with its size, before anything is; a model of pickles alone is refused."""
    import huggingface_hub

    def hub(*files):
        rows = [SimpleNamespace(rfilename=name, size=size) for name, size in files]
        monkeypatch.setattr(
            huggingface_hub.HfApi, "model_info", lambda *a, **k: SimpleNamespace(siblings=rows)
        )

    hub(("model.safetensors", 400), ("config.json", 20), ("flax_model.msgpack", 999))
    assert (look_up("a/b").bytes, look_up("a/b").files) == (420, ("model.safetensors", "config.json"))
    hub(("pytorch_model.bin", 400), ("config.json", 20))
    with pytest.raises(ModelError, match="only pickles"):
        look_up("a/b")


def test_an_unreachable_hub_is_a_backend_error(monkeypatch):
    """No network is exit 6 with one line, not a traceback."""
    import huggingface_hub

    def down(*args, **kwargs):
        raise OSError("no route to host")

    monkeypatch.setattr(huggingface_hub.HfApi, "model_info", down)
    with pytest.raises(BackendError, match="no route") as raised:
        look_up("a/b")
    assert raised.value.exit_code == 6
