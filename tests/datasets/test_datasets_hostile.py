"""Whatever a file holds, a loader returns records or raises an error of ours."""

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quoth.datasets import FORMATS, SpanDataset
from quoth.errors import InputError

KEYS = (
    "data", "paragraphs", "context", "qas", "id", "question", "answers", "answer", "text", "answer_start", "label",
    "candidates", "candidate_list", "section", "is_impossible", "document_id", "title", "num_span", "is_paraphrase",
)  # fmt: skip

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-3, 30)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["O", "B", "I"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=6),
    max_leaves=25,
)

QA = st.fixed_dictionaries(
    {"question": st.text(max_size=5) | VALUES, "answers": VALUES},
    optional={"id": VALUES, "is_impossible": VALUES},
)
NESTED = st.fixed_dictionaries(
    {
        "data": st.lists(
            st.fixed_dictionaries(
                {
                    "title": VALUES,
                    "paragraphs": st.lists(
                        st.fixed_dictionaries(
                            {"context": st.text(max_size=20) | VALUES, "qas": st.lists(QA, max_size=3)}
                        )
                        | VALUES,
                        max_size=3,
                    ),
                }
            )
            | VALUES,
            max_size=3,
        )
    }
)


def read(name: str, path: Path) -> None:
    try:
        data = FORMATS[name].load(path)
    except InputError:
        return
    if isinstance(data, SpanDataset):
        for question in data.questions:
            text = data.context(question).text
            assert all(text[answer.start : answer.end] == answer.text for answer in question.answers)
        assert len({question.id for question in data.questions}) == len(data.questions)


@pytest.mark.parametrize(
    "name", ["squad", "squad-flat", "selqa", "selqa-triggering", "multispanqa", "nq-open"]
)
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(value=VALUES | NESTED | st.lists(VALUES, max_size=4))
def test_any_json(name: str, value: object, tmp_path: Path) -> None:
    """JSON of any shape gives records whose answers are slices, or one of our errors."""
    path = tmp_path / "x.json"
    path.write_text(json.dumps(value), encoding="utf-8", errors="replace")
    read(name, path)


LINES = st.lists(
    st.lists(
        st.sampled_from(
            ["", "0", "1", "4", "Q", "who ?", "<top>", "</QApairs>", ".I 1", ".W", "(1, 2)", "é"]
        ),
        max_size=7,
    ),
    max_size=8,
)


@pytest.mark.parametrize("name", sorted(FORMATS))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    raw=st.binary(max_size=60) | LINES.map(lambda rows: "\n".join("\t".join(row) for row in rows).encode())
)
def test_any_bytes(name: str, raw: bytes, tmp_path: Path) -> None:
    """Bytes of any kind give records or one of our errors, under the name of every format."""
    path = tmp_path / "x"
    path.write_bytes(raw)
    read(name, path)


@pytest.mark.parametrize("name", sorted(FORMATS))
def test_cut_files(name: str, tmp_path: Path) -> None:
    """Half a gzip stream is an error of ours in every format."""
    path = tmp_path / "x.gz"
    path.write_bytes(b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\x03\x4b")
    with pytest.raises(InputError):
        FORMATS[name].load(path)
