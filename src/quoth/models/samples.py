"""Thirty-two fixed windows: what quantising is calibrated on, and what engines are compared on.

Eight passages of ours, on plain facts of many kinds, four questions each: answered, unanswered,
short and long windows. They are in the public domain like the facts they state.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from quoth.models.vocabulary import tokenize
from quoth.protocols import Layout, Tokens, Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

_LONG = 300  # tokens of the windows that join two passages

SAMPLES: Sequence[tuple[str, tuple[str, ...]]] = (
    (
        "The Suez Canal joins the Mediterranean at Port Said with the Red Sea at Suez. It was opened on 17 November "
        "1869 after ten years of digging, was widened several times since, and is about 193 kilometres long. Ships "
        "of up to 240,000 tonnes pass it in eleven to sixteen hours, in convoys, and save some 8,900 kilometres on "
        "the way from Mumbai to London. In March 2021 the container ship Ever Given ran aground in a sandstorm and "
        "blocked the canal for six days; more than 400 ships had to wait.",
        (
            "When was the Suez Canal opened?",
            "How long was the canal blocked in 2021?",
            "Who designed the locks of the Suez Canal?",
            "Which seas does the canal join?",
        ),
    ),
    (
        "Marie Curie, born Maria Skłodowska in Warsaw in 1867, moved to Paris in 1891 and studied physics and "
        "mathematics at the Sorbonne. With her husband Pierre she found polonium and radium in 1898; they shared the "
        "Nobel Prize in Physics of 1903 with Henri Becquerel. In 1911 she was given the Nobel Prize in Chemistry, "
        "the first person to win two. During the First World War she fitted out cars with X-ray sets, the \"petites "
        "Curies\", and taught 150 women to run them.",
        (
            "What did Marie Curie discover in 1898?",
            "With whom was the prize of 1903 shared?",
            "What was Marie Curie's address in Warsaw?",
            "How many women were taught to use X-ray sets?",
        ),
    ),
    (
        "Tenants shall give notice in writing at least three months before the end of the lease. The deposit, equal "
        "to two monthly rents, is paid back within thirty (30) days after the keys were handed over, less the cost "
        "of repairs under § 7(2). Small animals may be kept without consent; dogs and cats need the landlord's "
        "consent, which shall not be refused without good reason. Subletting is not allowed. Disputes are heard by "
        "the court of the town in which the flat lies.",
        (
            "How high is the deposit?",
            "May tenants keep a dog?",
            "What is the penalty for late payment of the rent?",
            "When is the deposit paid back?",
        ),
    ),
    (
        "Photosynthesis takes place in the chloroplasts. In the light reactions, in the thylakoid membrane, "
        "photosystem II splits water, and oxygen is set free; electrons pass through the cytochrome b6f complex to "
        "photosystem I, and the gradient of protons drives the making of ATP. In the Calvin cycle, in the stroma, "
        "the enzyme RuBisCO fixes carbon dioxide; six turns yield one molecule of glucose at the cost of 18 ATP and "
        "12 NADPH. C4 plants such as maize and sugar cane concentrate carbon dioxide first and lose less water.",
        (
            "Where does the Calvin cycle take place?",
            "Which enzyme fixes carbon dioxide?",
            "Who discovered photosystem II?",
            "Why do C4 plants lose less water?",
        ),
    ),
    (
        "United won 3-2 on Saturday, although they were two goals down at half time. Okafor scored with a header in "
        "the 51st minute, Lindqvist equalised from the penalty spot twenty minutes later, and the captain, Marta "
        "Ruiz, hit the winner in added time before 41,208 spectators. \"We never stopped running,\" said coach Ellen "
        "Brandt. The team is now fourth with 38 points, one behind Rovers, and travels to the coast next week "
        "without Silva, who was sent off after a second yellow card.",
        (
            "Who scored the winning goal?",
            "How many people watched the match?",
            "Who was the referee?",
            "Why will Silva miss the next match?",
        ),
    ),
    (
        "To reset the router, hold the small button on its back for ten seconds until the lamp blinks orange, then "
        "wait two minutes. All settings, the password of the wireless network included, return to those printed on "
        "the label. Open http://192.168.1.1 in a browser, sign in as admin, and choose Setup > Quick start. If the "
        "lamp stays red, the line is down: check the cable, and call support on 0800 555 0199 (Monday to Friday, "
        "8 a.m. to 6 p.m.). Firmware older than version 4.2 must be updated before IPv6 is switched on.",
        (
            "How do I reset the router?",
            "What does a red lamp mean?",
            "How much does the router cost?",
            "Which firmware is needed for IPv6?",
        ),
    ),
    (
        "The Great Fire of London broke out in a bakery in Pudding Lane shortly after midnight on Sunday, 2 September "
        "1666. Driven by a strong east wind it burned for four days and destroyed 13,200 houses, 87 parish churches "
        "and the old St Paul's Cathedral, but few deaths were recorded. The Lord Mayor, Thomas Bloodworth, put off "
        "pulling down houses to make a firebreak. Afterwards Christopher Wren rebuilt the cathedral and 51 churches, "
        "and the Rebuilding Act demanded walls of brick or stone.",
        (
            "Where did the Great Fire of London start?",
            "How many houses were destroyed?",
            "What had the bakery baked that evening?",
            "Who rebuilt St Paul's Cathedral?",
        ),
    ),
    (
        "In a trial with 412 adults with mild asthma, the inhaler was used when needed in one group and twice a day in "
        "the other. After 52 weeks severe attacks had happened in 6.8% and 7.1% of them (hazard ratio 0.96; 95% "
        "confidence interval 0.61 to 1.52), while the first group had taken a quarter of the dose. Hoarseness was "
        "reported by nine patients and led two of them to leave. The authors conclude that use when needed is not "
        "inferior; the study was paid for by the maker, and children under twelve were not included.",
        (
            "How many adults took part in the trial?",
            "What side effect was reported?",
            "How did the inhaler work in children under twelve?",
            "Who paid for the study?",
        ),
    ),
)  # fmt: skip


def sample_windows(tokenizer: Any, layout: Layout, *, longest: int) -> list[Window]:
    """Return the fixed windows in a model's own tokens, none longer than *longest*.

    Every fourth question gets two passages, so that long windows are among them.
    """
    passages = tokenize(tokenizer, [text for text, _ in SAMPLES])
    windows = []
    for i, (_, questions) in enumerate(SAMPLES):
        for j, question in enumerate(tokenize(tokenizer, questions)):
            follows = passages[(i + 1) % len(passages)].ids if j == 3 else passages[i].ids[:0]
            windows.append(
                join(layout, question, np.concatenate([passages[i].ids, follows])[:_LONG], longest)
            )
    return windows


def join(layout: Layout, question: Tokens, passage: "NDArray[np.int64]", longest: int) -> Window:
    """Return the window of a question and as much of the passage as *longest* tokens hold."""
    asked = question.ids[: max(1, longest // 3)]
    special = len(layout.before) + len(layout.between) + len(layout.after)
    passage = passage[: max(0, longest - special - len(asked))]
    head = [*layout.before, *asked.tolist(), *layout.between]
    tail = [*passage.tolist(), *layout.after]
    types = [layout.question_type] * len(head) + [layout.passage_type] * len(tail)
    if layout.cls_type is not None:
        types[-1] = layout.cls_type
    return Window(np.array(head + tail, np.int64), np.array(types, np.int64))
