"""Public data sets -> typed records, with what had to be repaired or left out."""

from quoth.datasets.asnq import iter_asnq, load_asnq, load_bioasq_pairs
from quoth.datasets.cmuqa import load_cmuqa
from quoth.datasets.convert import (
    PUBLISHED_AS2,
    iter_selection,
    iter_triggering,
    selection_to_squad,
    squad_to_selection,
    squad_to_triggering,
)
from quoth.datasets.formats import FORMATS, HOMES, Format, Home, format_of, load, where_to_get
from quoth.datasets.multispanqa import load_multispanqa
from quoth.datasets.nqopen import iter_nq_open, load_nq_open
from quoth.datasets.profile import Lengths, Profile, TokenCounter, describe
from quoth.datasets.records import (
    Context,
    Dataset,
    EvidenceDataset,
    EvidenceQuestion,
    GoldAnswer,
    Judgment,
    Kind,
    OpenDataset,
    OpenQuestion,
    Problem,
    RetrievalDataset,
    RetrievalDocument,
    RetrievalTopic,
    SelectionCandidate,
    SelectionDataset,
    SelectionQuestion,
    SpanDataset,
    SpanQuestion,
    Split,
    TriggeringDataset,
    TriggeringQuestion,
    TriggeringSection,
)
from quoth.datasets.selqa import load_selqa, load_selqa_triggering, load_selqa_tsv
from quoth.datasets.squad import load_flat_squad, load_squad
from quoth.datasets.subjqa import load_subjqa
from quoth.datasets.trec import load_collection, load_documents, load_judgments, load_topics
from quoth.datasets.trecqa import load_trecqa
from quoth.datasets.wikiqa import load_wikiqa
from quoth.datasets.write import write_selection, write_squad, write_triggering

__all__ = [
    "FORMATS",
    "HOMES",
    "PUBLISHED_AS2",
    "Context",
    "Dataset",
    "EvidenceDataset",
    "EvidenceQuestion",
    "Format",
    "GoldAnswer",
    "Home",
    "Judgment",
    "Kind",
    "Lengths",
    "OpenDataset",
    "OpenQuestion",
    "Problem",
    "Profile",
    "RetrievalDataset",
    "RetrievalDocument",
    "RetrievalTopic",
    "SelectionCandidate",
    "SelectionDataset",
    "SelectionQuestion",
    "SpanDataset",
    "SpanQuestion",
    "Split",
    "TokenCounter",
    "TriggeringDataset",
    "TriggeringQuestion",
    "TriggeringSection",
    "describe",
    "format_of",
    "iter_asnq",
    "iter_nq_open",
    "iter_selection",
    "iter_triggering",
    "load",
    "load_asnq",
    "load_bioasq_pairs",
    "load_cmuqa",
    "load_collection",
    "load_documents",
    "load_flat_squad",
    "load_judgments",
    "load_multispanqa",
    "load_nq_open",
    "load_selqa",
    "load_selqa_triggering",
    "load_selqa_tsv",
    "load_squad",
    "load_subjqa",
    "load_topics",
    "load_trecqa",
    "load_wikiqa",
    "selection_to_squad",
    "squad_to_selection",
    "squad_to_triggering",
    "where_to_get",
    "write_selection",
    "write_squad",
    "write_triggering",
]
