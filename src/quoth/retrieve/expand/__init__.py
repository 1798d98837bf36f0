"""Question expansion: phrases and weighted terms, each with its origin. Never on unless asked for.

An expander is a row of ``EXPANDERS``; ``open_expanders`` makes those that ``--expand`` names.
"""

from quoth.retrieve.expand.entities import Entity, EntityExpander, Recogniser, RuleRecogniser, SpacyRecogniser
from quoth.retrieve.expand.gazetteer import Gazetteer, IndexNames
from quoth.retrieve.expand.keywords import FocusExpander, KeywordExpander, NgramExpander, focus, keywords
from quoth.retrieve.expand.lists import ListExpander, Rule, load_list, parse_list
from quoth.retrieve.expand.masked import MaskedSynonyms
from quoth.retrieve.expand.registry import EXPANDERS, Parts, Row, open_expanders
from quoth.retrieve.expand.rm3 import Rm3Expander
from quoth.retrieve.expand.synonyms import Synonym, SynonymExpander, SynonymSource, Word, candidates
from quoth.retrieve.expand.vectors import VectorSynonyms, WordVectors, load_vectors
from quoth.retrieve.expand.wordnet import WordNet, WordNetSynonyms, open_wordnet

__all__ = [
    "EXPANDERS",
    "Entity",
    "EntityExpander",
    "FocusExpander",
    "Gazetteer",
    "IndexNames",
    "KeywordExpander",
    "ListExpander",
    "MaskedSynonyms",
    "NgramExpander",
    "Parts",
    "Recogniser",
    "Rm3Expander",
    "Row",
    "Rule",
    "RuleRecogniser",
    "SpacyRecogniser",
    "Synonym",
    "SynonymExpander",
    "SynonymSource",
    "VectorSynonyms",
    "Word",
    "WordNet",
    "WordNetSynonyms",
    "WordVectors",
    "candidates",
    "focus",
    "keywords",
    "load_list",
    "load_vectors",
    "open_expanders",
    "open_wordnet",
    "parse_list",
]
