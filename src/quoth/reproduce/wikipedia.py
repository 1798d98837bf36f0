"""The blog's first system: a wiki's own search finds articles, the reader quotes them."""

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from quoth import assemble
from quoth.errors import InputError
from quoth.reproduce.recipe import Inputs, Outcome, Recipe, Row
from quoth.types import Trace

WIKI_VARIABLE = "QUOTH_MEDIAWIKI_URL"
MODES = {"": "best sections", "#full": "whole articles", "#summary": "leads alone"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of the blog's, and words that a right answer has (any of them, lower case)."""

    question: str
    right: tuple[str, ...]


QUESTIONS = (
    Asked("What is the wingspan of an albatross?", ("3.5", "3.1", "11 ft")),
    Asked("Where was Barack Obama born?", ("honolulu", "hawaii")),
    Asked("Why is the sky blue?", ("scatter", "rayleigh")),
    Asked("How many sides does a pentagon have?", ("five", "5")),
)


def run(inputs: Inputs) -> Outcome:
    """Ask the blog's questions of a wiki: of its best sections, of whole articles, and of their leads."""
    place = wiki_address()
    rows: list[Row] = []
    examples: list[str] = []
    for fragment, mode in MODES.items():
        address = assemble.address_of(place + fragment)
        retriever = assemble.open_retriever(address, inputs.settings)
        answers: list[tuple[Asked, Trace, float]] = []
        with assemble.Library(retriever, settings=inputs.settings, address=address) as library:
            for number, asked in enumerate(QUESTIONS):
                inputs.progress(number, len(QUESTIONS), mode)
                began = time.perf_counter()
                trace = library.ask(asked.question)
                answers.append((asked, trace, (time.perf_counter() - began) * 1000))
        rows += _rows(mode, answers)
        examples.append(f"{mode}\n" + "\n".join(_shown(asked, trace, ms) for asked, trace, ms in answers))
    return Outcome(tuple(rows), _differences(place), (), tuple(examples))


def wiki_address() -> str:
    """Return the wiki that the environment names, as ``--index`` takes it. Raise ``InputError`` where it names none."""
    given = os.environ.get(WIKI_VARIABLE, "").strip().partition("#")[0]
    if not given:
        raise InputError(
            f"No wiki is named; {WIKI_VARIABLE} names the address of its api.php.",
            hint=f"`ci/mediawiki.sh HOME` starts one with our pages: {WIKI_VARIABLE}=http://127.0.0.1:18080/api.php; "
            "wikipedia:en is the live one.",
            code="missing_server",
        )
    return given if given.startswith(("wikipedia:", "mediawiki:")) else f"mediawiki:{given}"


def _rows(mode: str, answers: Sequence[tuple[Asked, Trace, float]]) -> list[Row]:
    verdicts = [_verdict(asked, trace) for asked, trace, _ in answers]
    n = f"n={len(answers)}"
    times = median(ms for _, _, ms in answers)
    return [
        Row(
            f"{mode}: answered rightly",
            "",
            verdicts.count("right") / len(answers),
            f"{n}; by words of the answer",
        ),
        Row(f"{mode}: answered wrongly", "", verdicts.count("wrong") / len(answers), n),
        Row(f"{mode}: no answer", "", verdicts.count("none") / len(answers), n),
        Row(
            f"{mode}: median ms a question",
            "",
            times,
            f"{n}; search, articles and reading; replies are cached for the next run",
        ),
    ]


def _verdict(asked: Asked, trace: Trace) -> Literal["right", "wrong", "none"]:
    if trace.answer is None:
        return "none"
    said = trace.answer.text.lower()
    return "right" if any(word in said for word in asked.right) else "wrong"


def _shown(asked: Asked, trace: Trace, milliseconds: float) -> str:
    head = f"  {asked.question}"
    tail = f"    {milliseconds:,.0f} ms, {trace.reading.read} passages read, null odds {trace.null_odds:.2f}"
    if trace.answer is None:
        return f"{head}\n    no answer\n{tail}"
    best = trace.answer.evidence[0]
    section = f", section {best.place.label}" if best.place.label else ""
    sentence = " ".join(best.sentence.text.split())
    revision = best.span.document_id.rpartition("@")[2].removesuffix("#summary")
    return (
        f"{head}\n    {trace.answer.text}\n    in: {sentence}\n"
        f"    page {best.title}{section}, revision {revision}: {best.source}\n{tail}"
    )


def _differences(place: str) -> tuple[str, ...]:
    live = place.startswith("wikipedia:")
    wiki = (
        "the live Wikipedia, whose articles have changed since the blog asked it"
        if live
        else f"the wiki at {place}, where the blog asked the live Wikipedia of 2020 (the wiki of `ci/mediawiki.sh` has "
        f"a dozen articles that were written for it); {WIKI_VARIABLE}=wikipedia:en asks the live one, which needs the "
        "network: its search has millions of articles to choose from, and its texts are longer, so answers and times "
        "differ"
    )
    return (
        wiki,
        "the blog's reader (BERT, fine-tuned on SQuAD 2.0) read the first article whole, in pieces of 512 tokens with "
        "the question in each, and printed an answer of every piece; ours reads the best sections of up to five "
        "articles, and keeps one best answer over all of them, or none. `whole articles` is the nearest to the blog's",
        "the blog prints answers and no figures; right is judged here by words that a right answer has, and four "
        "questions are a demonstration, no measurement",
    )


RECIPES = (
    Recipe(
        "wikipedia",
        "the first system: questions over a wiki's own search, with page and revision",
        "blog: Building a QA System with BERT on Wikipedia (2020)",
        run,
    ),
)
