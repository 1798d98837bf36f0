"""Contract checks that any implementation can run, and fakes that keep the contracts.

The checks need no test framework: they return, or raise ``quoth.errors.CheckError`` with the rule
that was broken and what was seen::

    from quoth.testing import check_ranker

    def test_my_ranker_keeps_the_contract():
        check_ranker(MyRanker())
"""

from quoth.testing.fakes import (
    FakeEncoder,
    FakeRanker,
    FakeReader,
    FakeRetriever,
    FakeSpanModel,
    FakeStore,
)
from quoth.testing.networks import check_encoder, check_pair_model, check_span_model
from quoth.testing.parts import check_expander, check_ranker, check_reader, check_retriever
from quoth.testing.stores import check_store

__all__ = [
    "FakeEncoder",
    "FakeRanker",
    "FakeReader",
    "FakeRetriever",
    "FakeSpanModel",
    "FakeStore",
    "check_encoder",
    "check_expander",
    "check_pair_model",
    "check_ranker",
    "check_reader",
    "check_retriever",
    "check_span_model",
    "check_store",
]
