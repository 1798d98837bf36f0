"""Pure functions on text: passages, sentences, words, questions, places. Offsets are exact code points."""

from quoth.text.passage import cut, passages
from quoth.text.places import locate
from quoth.text.questions import ANSWER_TYPES, QUESTION_TYPES, answer_type, question_type, without_asking
from quoth.text.sentence import sentence_at, sentences, sentences_of
from quoth.text.words import STOP_WORDS, estimate_tokens, fold, looks_english, word_spans, words

__all__ = [
    "ANSWER_TYPES",
    "QUESTION_TYPES",
    "STOP_WORDS",
    "answer_type",
    "cut",
    "estimate_tokens",
    "fold",
    "locate",
    "looks_english",
    "passages",
    "question_type",
    "sentence_at",
    "sentences",
    "sentences_of",
    "without_asking",
    "word_spans",
    "words",
]
