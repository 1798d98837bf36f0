"""Tiny random checkpoints, made on the spot: a vocabulary of a few words, two layers, a fixed seed."""

import json
from pathlib import Path
from typing import Any

WORDS = [
    "who", "what", "when", "where", "wrote", "the", "a", "in", "of", "book", "was", "born", "paris", "london",
    "1869", "canal", "suez", "opened", "and", "it", "is", "long",
]  # fmt: skip


def write_bert_tokenizer(folder: Path) -> None:
    """A WordPiece tokenizer in BERT's layout."""
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    letters = [chr(c) for c in range(33, 127)]
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", *WORDS, *letters, *(f"##{c}" for c in letters)]
    vocabulary = {piece: i for i, piece in enumerate(dict.fromkeys(pieces))}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    _save(folder, tokenizer, cls="[CLS]")


def write_roberta_tokenizer(folder: Path) -> None:
    """A byte-level tokenizer in RoBERTa's layout: two separators between question and passage."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors

    vocabulary = {token: i for i, token in enumerate(["<s>", "<pad>", "</s>", "<unk>"])}
    for token in pre_tokenizers.ByteLevel.alphabet():
        vocabulary.setdefault(token, len(vocabulary))
    tokenizer = Tokenizer(models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 2), ("<s>", 0), add_prefix_space=False)
    _save(folder, tokenizer, cls="<s>")


def write_xlnet_tokenizer(folder: Path) -> None:
    """A unigram tokenizer, trained here, in XLNet's layout: [CLS] ends the input and has a segment of its own."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors, trainers

    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    special = ["<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>"]
    trainer = trainers.UnigramTrainer(
        vocab_size=60, special_tokens=special, unk_token="<unk>", show_progress=False
    )
    tokenizer.train_from_iterator([" ".join(WORDS)] * 20, trainer)
    ids = [(token, tokenizer.token_to_id(token)) for token in ("<sep>", "<cls>")]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="$A:0 <sep>:0 <cls>:2", pair="$A:0 <sep>:0 $B:1 <sep>:1 <cls>:2", special_tokens=ids
    )
    _save(folder, tokenizer, cls="<cls>")


def _save(folder: Path, tokenizer: Any, *, cls: str) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({"cls_token": cls}))


def bert(folder: Path) -> Path:
    import transformers

    write_bert_tokenizer(folder)
    config = transformers.BertConfig(
        vocab_size=240, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=128, initializer_range=0.1,
    )  # fmt: skip
    return _model(folder, transformers.BertForQuestionAnswering, config)


def roberta(folder: Path) -> Path:
    import transformers

    write_roberta_tokenizer(folder)
    config = transformers.RobertaConfig(
        vocab_size=270, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=130, pad_token_id=1, type_vocab_size=1, initializer_range=0.1,
    )  # fmt: skip
    return _model(folder, transformers.RobertaForQuestionAnswering, config)


def distilbert(folder: Path) -> Path:
    import transformers

    write_bert_tokenizer(folder)
    config = transformers.DistilBertConfig(
        vocab_size=240,
        dim=64,
        n_layers=2,
        n_heads=4,
        hidden_dim=128,
        max_position_embeddings=128,
        initializer_range=0.1,
    )
    return _model(folder, transformers.DistilBertForQuestionAnswering, config)


def xlnet(folder: Path) -> Path:
    import transformers

    write_xlnet_tokenizer(folder)
    config = transformers.XLNetConfig(
        vocab_size=80, d_model=32, n_layer=2, n_head=2, d_inner=64, pad_token_id=5, initializer_range=0.1
    )
    return _model(folder, transformers.XLNetForQuestionAnsweringSimple, config)


def albert(folder: Path) -> Path:
    import transformers

    write_bert_tokenizer(folder)
    config = transformers.AlbertConfig(
        vocab_size=240, embedding_size=16, hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=128,
    )  # fmt: skip
    return _model(folder, transformers.AlbertForQuestionAnswering, config)


def _model(folder: Path, kind: Any, config: Any) -> Path:
    import torch

    torch.manual_seed(1)
    kind(config).save_pretrained(folder)
    return folder
