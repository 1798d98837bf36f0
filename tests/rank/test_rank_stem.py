"""Porter's stemmer on the examples that his paper gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.rank.stem import stem

PAIRS = (
    "caresses:caress ponies:poni ties:ti cats:cat feed:feed plastered:plaster bled:bled motoring:motor sing:sing "
    "hopping:hop tanned:tan falling:fall hissing:hiss fizzed:fizz failing:fail filing:file happy:happi sky:sky "
    "relational:relat conditional:condit rational:ration digitizer:digit operator:oper feudalism:feudal "
    "decisiveness:decis hopefulness:hope callousness:callous formality:formal sensitivity:sensit "
    "triplicate:triplic formative:form formalize:formal electrical:electr goodness:good revival:reviv "
    "allowance:allow inference:infer airliner:airlin adjustable:adjust defensible:defens irritant:irrit "
    "replacement:replac adjustment:adjust dependent:depend adoption:adopt communism:commun activate:activ "
    "homologous:homolog effective:effect bowdlerize:bowdler probate:probat rate:rate cease:ceas controlling:control "
    "rolling:roll oscillators:oscil generalizations:gener"
)


@pytest.mark.parametrize("pair", PAIRS.split())
def test_published_examples(pair: str) -> None:
    """Each word is cut as the paper says, all steps applied."""
    word, expected = pair.split(":")
    assert stem(word) == expected


@given(st.text(max_size=12))
def test_any_word_has_a_stem_that_is_not_longer(word: str) -> None:
    """Nothing fails, and what is not plain lower-case English is left alone."""
    assert len(stem(word)) <= len(word)
    assert stem(word) == word or word.isalpha()
