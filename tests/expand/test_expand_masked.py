"""Masked-word synonyms: the code path on a tiny model; what a real one is worth is not tested here."""

from pathlib import Path

import pytest

from quoth.errors import ModelError
from quoth.retrieve.expand import MaskedSynonyms, RuleRecogniser, SynonymExpander
from quoth.testing.parts import check_expander
from quoth.text import words
from quoth.types import Query

pytest.importorskip("torch")
pytest.importorskip("transformers")

WORDS = [
    *words("how many rose species plant varieties grown new are found in the garden plants"),
    "##ing",
    "?",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny BERT for masked words that says "plant" most, then "new" and "##ing", wherever it is asked."""
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertForMaskedLM, PreTrainedTokenizerFast

    place = tmp_path_factory.mktemp("mlm")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    vocabulary = {word: i for i, word in enumerate([*special, *WORDS])}
    raw = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    raw.normalizer = normalizers.BertNormalizer()
    raw.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    raw.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="[PAD]", unk_token="[UNK]", cls_token="[CLS]", sep_token="[SEP]",
        mask_token="[MASK]",
    ).save_pretrained(place)  # fmt: skip
    torch.manual_seed(0)
    model = BertForMaskedLM(
        BertConfig(
            vocab_size=len(vocabulary), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
            intermediate_size=16, max_position_embeddings=24,
        )
    )  # fmt: skip
    with torch.no_grad():
        for word, bias in (("plant", 9.0), ("##ing", 8.0), ("new", 7.0), ("[SEP]", 6.0)):
            model.cls.predictions.bias[vocabulary[word]] = bias
    model.save_pretrained(place)
    return place


def test_fill_gives_whole_words_by_probability(folder: Path) -> None:
    """The likeliest whole words come first, pieces and special tokens are left out, and shares are probabilities."""
    from quoth.models.masked import load_masked

    model = load_masked(str(folder))
    question = "how many rose species are found in the garden?"
    found = model.fill([(question, 9, 13), (question, 14, 21)], n=2)
    assert [[word for word, _ in row] for row in found] == [["plant", "new"], ["plant", "new"]]
    assert all(1 > row[0][1] > row[1][1] > 0 for row in found)
    alone = model.fill([(question, 14, 21)], n=2)
    assert alone[0][0][1] == pytest.approx(found[1][0][1], abs=1e-5)


def test_long_and_masked_texts_have_one_gap(folder: Path) -> None:
    """A text beyond the model's positions is cut around its gap; a literal mask in a question opens no second gap."""
    from quoth.models.masked import load_masked

    model = load_masked(str(folder))
    long = "how many rose " * 40
    for start in (0, 9, len(long) - 5):
        assert len(model.fill([(long, start, start + 3)], n=1)[0]) == 1
    assert model.fill([("[MASK] rose [MASK]", 7, 11)], n=1)[0][0][0] == "plant"


def test_masked_synonyms_expand(folder: Path) -> None:
    """Terms come with their probability, words of the question are not added, and the threshold cuts."""
    from quoth.models.masked import load_masked

    model = load_masked(str(folder))
    query = Query("how many rose species are found in the garden?")
    expander = SynonymExpander(MaskedSynonyms(model), RuleRecogniser(), n=2)
    check_expander(expander, [query, Query("?"), Query("rose")])
    terms = expander.expand(query).terms
    assert [term.text for term in terms] == ["plant", "new"]
    assert terms[0].origin.startswith("mlm: rose (probability 0.")
    assert not SynonymExpander(MaskedSynonyms(model, threshold=1.0), RuleRecogniser()).expand(query).terms


def test_what_is_no_masked_model_is_refused(folder: Path, tmp_path: Path) -> None:
    """A checkpoint of another architecture is refused before its weights are read, with a hint."""
    from quoth.models.masked import load_masked

    (tmp_path / "config.json").write_text('{"architectures": ["BertForQuestionAnswering"]}')
    (tmp_path / "model.safetensors").write_bytes(b"")
    with pytest.raises(ModelError, match="no masked language model"):
        load_masked(str(tmp_path))
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in folder.iterdir():
        (broken / file.name).write_bytes(file.read_bytes()[: 100 if file.suffix == ".safetensors" else None])
    with pytest.raises(ModelError, match="cannot be loaded"):
        load_masked(str(broken))
