"""``masked-lm``: a masked language model for synonyms, where no fill-mask checkpoint can be had.

An encoder's body with a new head (``quoth.models.masking``) learns on SQuAD's train paragraphs and is measured on
the dev paragraphs. What comes out is left in the work folder, where ``blog-expansion`` finds it.
"""

import random
import time
from pathlib import Path

from quoth.errors import InputError
from quoth.models import masking
from quoth.models.encoder import installed_encoders
from quoth.reproduce.corpus import Corpus, load_corpus
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row

FOLDER = "masked-lm"
"""The checkpoint's folder below the work folder."""

HELD_OUT = 400


def run(inputs: Inputs) -> Outcome:
    """Train on the train paragraphs (``--limit``: so many), measure on the dev paragraphs, keep the checkpoint."""
    head = masking.NewHead.on(_source(str(inputs.settings["vectors"].value)), seed=inputs.seed)
    corpus = load_corpus(inputs)
    drawn = random.Random(inputs.seed)
    texts = _paragraphs(corpus, "train")
    blocks = head.blocks(drawn.sample(texts, min(inputs.limit or len(texts), len(texts))))
    held = head.blocks(_paragraphs(corpus, "dev"))
    held = drawn.sample(held, min(HELD_OUT, len(held)))
    before = head.measure(held)
    began = time.perf_counter()
    head.train(blocks, seed=inputs.seed, progress=inputs.progress)
    seconds = time.perf_counter() - began
    after = head.measure(held)
    head.save(inputs.work / FOLDER)
    how = f"{len(held)} blocks of {masking.LENGTH} tokens of dev paragraphs, {masking.SHARE:.0%} asked for"
    rows = [
        row
        for name, fit in (("new head", before), ("trained", after))
        for row in (
            Row(f"{name}: cross entropy, nats", "", fit.loss, how),
            *(
                Row(f"{name}: right among the first {k}", "", a, how)
                for k, a in zip(masking.AGREED, fit.among, strict=True)
            ),
        )
    ]
    tokens = f"{len(blocks) * masking.LENGTH:,} tokens once, batches of {masking.BATCH} blocks, bfloat16"
    rows.append(Row("training, s", "", seconds, tokens))
    return Outcome(
        rows=tuple(rows),
        differences=(
            "The blog used a published BERT; this is a sentence encoder's body with a head of some minutes.",
            f"The checkpoint is {FOLDER} in the work folder; `blog-expansion` with the same work folder uses it.",
        ),
    )


def _source(name: str) -> Path:
    """Return the folder of the encoder to begin with: the one that the setting ``vectors`` names."""
    if name in ("auto", "none") or name in installed_encoders():
        raise InputError(
            "No encoder with safetensors is named.",
            hint="QUOTH_VECTORS=FOLDER names one: a sentence-transformers folder of BERT's family.",
        )
    return Path(name)


def _paragraphs(corpus: Corpus, split: str) -> list[str]:
    names = {case.gold.document_id for case in corpus.cases(split) if case.gold is not None}
    return [d.text[a:b] for d in corpus.documents if d.id in names for a, b in d.paragraphs]


RECIPES = (
    Recipe(
        "masked-lm", "a masked language model for synonyms, trained here on SQuAD's paragraphs", "ours", run
    ),
)
