import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import InputError
from quoth.protocols import Layout, Tokens
from quoth.reading import windows

BERT = Layout(before=(101,), between=(102,), after=(102,), passage_type=1)
XLNET = Layout(
    before=(), between=(4,), after=(4, 3), question_type=1, passage_type=0, cls_type=2, null_last=True,
    passage_first=True,
)  # fmt: skip
ROBERTA = Layout(before=(0,), between=(2, 2), after=(2,))


def text_of(*sizes: int) -> windows.Text:
    """Return passages of these sizes, joined; token ids count from 1000."""
    made, at = [], 1000
    for owner, size in enumerate(sizes):
        spans = np.array([(2 * i, 2 * i + 1) for i in range(size)], np.int64).reshape(-1, 2)
        made.append(windows.of_passage(Tokens(np.arange(at, at + size), spans), owner))
        at += size
    return windows.chain(made)


@given(st.integers(0, 2000), st.integers(1, 400), st.integers(1, 400))
def test_every_token_is_in_at_least_one_window(count: int, room: int, stride: int) -> None:
    """Windows cover all tokens, fit their room, and none is there in vain."""
    cuts = windows.cuts(count, room=room, stride=stride)
    seen = np.zeros(count, dtype=int)
    for first, length in cuts:
        assert 1 <= length <= room
        seen[first : first + length] += 1
    assert (seen >= 1).all()
    ends = [first + length for first, length in cuts]
    assert ends == sorted(set(ends))


def test_stride_is_the_step_between_windows() -> None:
    """As in run_squad, the next window begins a stride further on, and the last ends with the text."""
    assert windows.cuts(600, room=300, stride=128) == [(0, 300), (128, 300), (256, 300), (384, 216)]


@pytest.mark.parametrize("layout", [BERT, XLNET, ROBERTA], ids=["bert", "xlnet", "roberta"])
@given(sizes=st.lists(st.integers(1, 90), min_size=1, max_size=3), asked=st.integers(1, 20))
def test_a_window_holds_what_it_says(layout: Layout, sizes: list[int], asked: int) -> None:
    """The positions named hold the text's tokens; the rest is the question and special tokens, in place."""
    text, question = text_of(*sizes), np.arange(500, 500 + asked)
    placed = windows.place([text], question, layout, window=48, stride=16)
    covered: set[int] = set()
    for p in placed:
        ids = p.window.ids
        assert len(ids) == len(p.window.types) <= 48
        inside = ids[p.at : p.at + p.length]
        assert inside.tolist() == text.ids[p.first : p.first + p.length].tolist()
        covered |= set(range(p.first, p.first + p.length))
        outside = np.delete(ids, np.arange(p.at, p.at + p.length)).tolist()
        if layout.passage_first:
            assert outside == [*layout.before, *layout.between, *question, *layout.after]
        else:
            assert outside == [*layout.before, *question, *layout.between, *layout.after]
        assert ids[p.null] == (3 if layout.null_last else layout.before[0])
    assert covered == set(range(sum(sizes)))


def test_a_passage_that_fits_is_one_window_without_padding() -> None:
    """A short text gives the plain input of its family, with its segment ids."""
    (bert,) = windows.place([text_of(2)], np.array([7, 8, 9]), BERT, window=384, stride=128)
    assert bert.window.ids.tolist() == [101, 7, 8, 9, 102, 1000, 1001, 102]
    assert bert.window.types.tolist() == [0, 0, 0, 0, 0, 1, 1, 1]
    assert (bert.at, bert.length, bert.null) == (5, 2, 0)
    (xlnet,) = windows.place([text_of(2)], np.array([7, 8, 9]), XLNET, window=384, stride=128)
    assert xlnet.window.ids.tolist() == [1000, 1001, 4, 7, 8, 9, 4, 3]
    assert xlnet.window.types.tolist() == [0, 0, 0, 1, 1, 1, 1, 2]
    assert (xlnet.at, xlnet.length, xlnet.null) == (0, 2, 7)


def test_a_title_stands_before_every_window_and_is_no_text() -> None:
    """Prefix tokens are in each window of their text, outside of the positions that answer."""
    title = np.array([70, 71])
    placed = windows.place([text_of(30)], np.array([7]), BERT, window=16, stride=5, prefixes=[title])
    assert len(placed) > 1
    for p in placed:
        assert p.window.ids[p.at - 2 : p.at].tolist() == [70, 71]
        assert len(p.window.ids) <= 16
    assert {i for p in placed for i in range(p.first, p.first + p.length)} == set(range(30))


def test_no_tokens_give_no_window() -> None:
    """An empty text is not read at all."""
    assert windows.place([windows.chain([])], np.array([7]), BERT, window=16, stride=4) == []


@pytest.mark.parametrize(("window", "stride"), [(5, 4), (16, 0)])
def test_settings_that_cannot_work_are_refused(window: int, stride: int) -> None:
    """A window without room for text, and a stride of nothing, are the caller's mistake."""
    with pytest.raises(InputError, match=r"room for text|stride is 0"):
        windows.place([text_of(9)], np.array([7, 8]), BERT, window=window, stride=stride)
