"""Words that carry no subject: what is never expanded, never an entity and never a feedback term."""

from functools import lru_cache
from math import inf

from quoth.errors import InputError
from quoth.retrieve.store.analysis import analyzer
from quoth.text import STOP_WORDS, words

ASKING = frozenset(
    words(
        "what which who whom whose when where why how do does did doing done is are was were be been being am "
        "has have had having can could will would shall should may might must"
    )
)
"""Words that ask, and the auxiliaries that come with them."""

COMMANDS = frozenset(
    words("name list give tell find describe explain identify define state show say please according")
)
"""Words that open a request and are not its subject."""

CLOSED = (
    STOP_WORDS
    | ASKING
    | frozenset(
        words(
            "about above across after again against all almost alone along already also although always among "
            "amongst another any anybody anyone anything anywhere around aside away because before behind below "
            "beneath beside besides between beyond both cannot despite down during each either else enough "
            "even ever every everybody everyone everything everywhere except few fewer from further get gets getting "
            "got he hence her here hers herself him himself his however i inside instead itself its just "
            "later latter least less like many me mine more moreover most mostly much my myself near neither "
            "nevertheless next nobody none nor nothing now nowhere off often once one ones only onto other others "
            "otherwise our ours ourselves out outside over own per perhaps quite rather really same seldom several "
            "she since so some somebody somehow someone something sometimes somewhere still though through "
            "throughout thus till to together too toward towards under until unless up upon us very via we well "
            "whatever whenever whereas wherever whether whichever while whoever within without yes yet you your yours "
            "yourself yourselves them themselves those than ain't aren't can't couldn't didn't doesn't don't hadn't "
            "hasn't haven't isn't mustn't shouldn't wasn't weren't won't wouldn't it's that's there's what's who's"
        )
    )
)
"""Stop words and the closed word classes of English: pronouns, prepositions, conjunctions, determiners, auxiliaries."""

CALENDAR = frozenset(
    words(
        "january february march april may june july august september october november december jan feb mar apr "
        "jun jul aug sep sept oct nov dec monday tuesday wednesday thursday friday saturday sunday bc ad bce ce"
    )
)
"""Words of dates."""


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Return the stem of one word as the English analyzer has it (Snowball); the word itself where it has none."""
    terms = analyzer("english").terms(word)
    return terms[0].text if terms else word


def checked_weight(weight: float) -> float:
    """Return *weight*. Raise ``InputError`` where it is not a number above 0."""
    if not 0 < weight < inf:
        raise InputError(f"The weight of an expander is {weight}; it must be a number above 0.")
    return weight


def bare(word: str) -> str:
    """Return *word* without a possessive ending."""
    for ending in ("'s", "’s", "'", "’") if "'" in word or "’" in word else ():
        if word.endswith(ending):
            return word[: -len(ending)]
    return word
