"""What kind of question it is, and what kind of answer it asks for."""

import re

from quoth.text.words import word_set, words

QUESTION_TYPES = ("who", "what", "which", "when", "where", "why", "how", "how many", "yes-no", "other")
"""The one taxonomy of question types; every table of bins has these rows."""

ANSWER_TYPES = (
    "person",
    "place",
    "date",
    "number",
    "money",
    "duration",
    "organization",
    "entity",
    "description",
    "yes-no",
    "other",
)
"""What a question can ask for."""

_ASKS = {w: w for w in ("who", "what", "which", "when", "where", "why", "how")} | {
    "whom": "who",
    "whose": "who",
}
_AUXILIARIES = word_set(
    "is are was were am do does did has have had can could will would shall should may might must "
    "isn't aren't wasn't weren't don't doesn't didn't hasn't haven't hadn't can't couldn't won't "
    "wouldn't shouldn't"
)
_MEASURES = word_set(
    "many much long old far tall big large fast often high deep wide heavy hot cold late early soon "
    "few little small quickly frequently thick close near strong loud"
)
_TIME_NOUNS = word_set("year years date day month century decade time era season weekday")
_BEFORE = word_set(
    "in on at by for from to of with about during since until under after before into through within over"
)

_ASKING = re.compile(
    r"\b(?:what|which|who|whom|whose|when|where|why|how|do|does|did)\b(?!['’-])", re.IGNORECASE
)

_COPULAS = word_set("is are was were")
_PHRASE_ENDS = (_BEFORE - {"under", "over"}) | word_set(
    "that which who whom whose and or as when where used between"
)

_NOUNS: dict[str, frozenset[str]] = {
    "person": word_set(
        "person people man woman men women president king queen emperor empress prince princess "
        "author writer poet actor actress singer artist painter composer scientist physicist chemist "
        "mathematician philosopher politician minister senator governor mayor general commander "
        "leader ruler director producer architect player coach founder inventor explorer pope bishop "
        "saint saints researcher scholar historian economist engineer astronaut musician rapper "
        "guitarist drummer journalist critic character ceo chancellor wife husband son daughter "
        "father mother brother sister boy girl doctor professor judge dynast chairman"
    ),
    "place": word_set(
        "country countries city cities town village state states province region continent place "
        "location island islands river lake ocean sea mountain mountains desert valley capital county "
        "district street neighborhood area planet stadium building airport bridge park border "
        "territory nation nations venue headquarters"
    ),
    "date": _TIME_NOUNS | word_set("birthday anniversary"),
    "number": word_set(
        "number percent percentage proportion fraction population ratio temperature size height "
        "length width depth weight speed distance area rank score frequency total quantity rate"
    ),
    "money": word_set("price cost salary revenue fee budget income wage fine profit gdp"),
    "duration": word_set("duration lifespan"),
    "organization": word_set(
        "company companies organization organisation university college school team club band group "
        "party agency institution institute corporation firm bank newspaper magazine network studio "
        "label court church ministry department association league orchestra army airline publisher "
        "manufacturer government"
    ),
    "description": word_set(
        "reason reasons cause causes purpose meaning difference definition effect effects role "
        "function goal goals way process method significance impact"
    ),
}
_KIND_OF = {noun: kind for kind, nouns in reversed(_NOUNS.items()) for noun in nouns}


def question_type(question: str) -> str:
    """Return the type of a question, one of ``QUESTION_TYPES``.

    The asking word decides, whom and whose counting as who. It is the one that opens the
    question, a preposition before it allowed; else, without an auxiliary up front (``yes-no``), the
    one that opens a clause behind a comma, the one among the last three words (``was born
    where?``), or the first. What and which before a noun of time ("In what year") are
    ``when``. How before a word of measure (how many, much, long, old, far) is ``how many``.
    """
    found = _tokens(question)
    index = _asking(question, found)
    if index < 0:
        return "yes-no" if found and found[0] in _AUXILIARIES else "other"
    kind = _ASKS[found[index]]
    following = found[index + 1 : index + 2]
    if kind in ("what", "which") and following and following[0] in _TIME_NOUNS:
        return "when"
    if kind == "how" and following and following[0] in _MEASURES:
        return "how many"
    return kind


def without_asking(raw: str) -> str:
    """Return an English question with the words that only ask made stop words; "The Who" and "Doctor Who" stay.

    A word of asking that is capitalized in the middle of a question is taken for a name.
    """
    shouted = raw.isupper()
    first = len(raw) - len(raw.lstrip())

    def replaced(match: re.Match[str]) -> str:
        asks = match.start() == first or match[0].islower() or shouted
        return "the" if asks else match[0]

    return _ASKING.sub(replaced, raw)


def answer_type(question: str) -> str:
    """Return what a question asks for, one of ``ANSWER_TYPES``.

    Who asks for a person, where for a place, when for a date, why and how for a description, how
    many for a number (how much: money where a word of paying is near; how long: a duration).
    What and which are decided by the noun that they ask about ("what city", "what is
    the name of the river"); a bare "what is X" asks for a description, else it is an entity.
    """
    kind = question_type(question)
    found = _tokens(question)
    index = _asking(question, found)
    rest = found[index + 1 :]
    if kind == "how many":
        return _quantity(rest)
    if kind in ("what", "which"):
        return _asked_noun(rest)
    fixed = {"who": "person", "where": "place", "when": "date", "why": "description", "how": "description"}
    return fixed.get(kind, kind)


def _tokens(question: str) -> list[str]:
    return [re.sub(r"^(who|what|when|where|why|how)'(?:s|re|d|ll|ve)$", r"\1", w) for w in words(question)]


def _asking(question: str, found: list[str]) -> int:
    """Return the index of the asking word; -1 without one."""
    places = [i for i, w in enumerate(found) if w in _ASKS]
    if not places:
        return -1
    first = places[0]
    if first == 0 or (first <= 2 and all(w in _BEFORE or w == "and" for w in found[:first])):
        return first
    if found[0] in _AUXILIARIES:
        return -1
    for comma in re.finditer(
        r",\s+(?:(?:in|on|at|by|for|from|to|of|with)\s+)?(?=wh|how\b)", question.casefold()
    ):
        behind = len(words(question[: comma.end()]))
        if behind in places:
            return behind
    return places[-1] if places[-1] >= len(found) - 3 else first


def _quantity(rest: list[str]) -> str:
    if rest[0] == "long":
        measured = {
            "river",
            "bridge",
            "wall",
            "road",
            "coast",
            "coastline",
            "tunnel",
            "pipeline",
            "ship",
            "street",
        }
        return "number" if measured & set(rest) else "duration"
    paying = {
        "cost",
        "costs",
        "paid",
        "pay",
        "money",
        "worth",
        "spend",
        "spent",
        "price",
        "earn",
        "sell",
        "sold",
    }
    money = rest[0] == "much" and bool(paying & set(rest) or {"dollars", "euros", "pounds"} & set(rest))
    if rest[:1] == ["many"] and {"dollars", "euros", "pounds"} & set(rest[:4]):
        money = True
    return "money" if money else "number"


def _asked_noun(rest: list[str]) -> str:
    """Return the kind of the noun that what or which asks about: the last known one of its noun phrase."""
    if rest[:1] and rest[0] in _COPULAS:
        phrase = _phrase(rest[1:])
        if "name" in phrase or "names" in phrase:
            behind = rest.index("of") + 1 if "of" in rest else len(rest)
            phrase += _phrase(rest[behind:])
        if len(rest) <= 5 and phrase == rest[1:] and not any(w in _KIND_OF for w in phrase):
            return "description"
    else:
        phrase = _phrase(rest)
    return next((_KIND_OF[w] for w in reversed(phrase) if w in _KIND_OF), "entity")


def _phrase(rest: list[str]) -> list[str]:
    """Return the words before the first verb or preposition that we know, six at most."""
    phrase = rest[:6]
    stop = next((i for i, w in enumerate(phrase) if w in _AUXILIARIES or w in _PHRASE_ENDS), len(phrase))
    return phrase[:stop]
