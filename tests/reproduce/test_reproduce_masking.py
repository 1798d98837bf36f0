"""A masked language model made here: it learns, and what it leaves behind fills gaps."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from quoth import settings
from quoth.errors import InputError
from quoth.models import masking as learning
from quoth.reproduce import Inputs, masking, recipe
from quoth.reproduce.corpus import DEV, TRAIN
from quoth.reproduce.expansion import open_sources

torch = pytest.importorskip("torch", reason="the extra `torch` is not installed")
pytest.importorskip("transformers", reason="the extra `torch` is not installed")

TOWNS = ("turin", "oslo", "lima", "quito")


@pytest.fixture
def body(tmp_path: Path) -> Path:
    """Return the folder of a tiny BERT without a head, as an encoder's is."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        "[MASK]",
        *TOWNS,
        *["the", "tower", "of", "was", "built", "by", "masons", "."],
    ]
    raw = Tokenizer(models.WordPiece({word: i for i, word in enumerate(words)}, unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    folder = tmp_path / "body"
    PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(folder)  # fmt: skip
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(words), hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=40,
    )  # fmt: skip
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture
def at(tmp_path: Path, body: Path, monkeypatch: pytest.MonkeyPatch) -> Inputs:
    """Return inputs over two small halves of SQuAD, whose paragraphs all say the same of some town."""
    monkeypatch.setattr(learning, "LENGTH", 20)
    monkeypatch.setattr(learning, "BATCH", 4)
    monkeypatch.setattr(learning, "LAYERS_RATE", 3e-3)
    monkeypatch.setattr(learning, "HEAD_RATE", 3e-3)
    data = tmp_path / "data"
    (data / "squad").mkdir(parents=True)
    drawn = random.Random(0)
    for name, count in ((TRAIN, 400), (DEV, 40)):
        paragraphs = []
        for number in range(count):
            text = f"The tower of {drawn.choice(TOWNS)} was built by masons. " * 3
            answer = {"text": "masons", "answer_start": text.index("masons")}
            asked = {"id": f"{name}{number}", "question": "Who?", "answers": [answer], "is_impossible": False}
            paragraphs.append({"context": text, "qas": [asked]})
        article = {"title": name[-9:-5], "paragraphs": paragraphs}
        (data / name).write_text(json.dumps({"version": "v2.0", "data": [article]}), encoding="utf-8")
    (tmp_path / "work").mkdir()
    chosen = settings.load(options={"vectors": str(body)}, environment={})
    return Inputs(data, tmp_path / "work", chosen)


def test_it_learns_and_is_found_by_the_expansion_recipe(at: Inputs) -> None:
    """The trained model fills gaps far better than the new head, and the checkpoint loads as any other."""
    from quoth.models.masked import load_masked

    found = {row.name: row.measured or 0.0 for row in recipe("masked-lm").run(at).rows}
    assert found["trained: cross entropy, nats"] < 0.6 * found["new head: cross entropy, nats"]
    assert found["trained: right among the first 1"] > 0.6 > found["new head: right among the first 1"]
    made = at.work / masking.FOLDER
    text = "The tower of oslo was built by masons."
    (words,) = load_masked(str(made)).fill([(text, text.index("built"), text.index(" by"))], n=1)
    assert words[0][0] == "built"
    (at.data / "glove").mkdir()
    (at.data / "glove/glove.6B.50d.subset.txt").write_text(
        "tower 0.1 0.2\nmasons 0.2 0.1\n", encoding="utf-8"
    )
    assert "mlm" in [source.name for source in open_sources(at).sources]


def test_an_encoder_that_cannot_be_trained_is_refused(at: Inputs, tmp_path: Path) -> None:
    """Without a folder of safetensors there is nothing to begin with, and that is said before any work."""
    for name, says in (("auto", "No encoder with safetensors"), (str(tmp_path / "data"), "holds no model")):
        chosen = settings.load(options={"vectors": name}, environment={})
        with pytest.raises(InputError, match=says):
            recipe("masked-lm").run(replace(at, settings=chosen))
