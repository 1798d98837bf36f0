"""The shipped reader loads, is right, and gives each window the same logits whatever stands beside it."""

import os
import socket
import threading
from concurrent.futures import ThreadPoolExecutor
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.errors import ModelError
from quoth.models import folder, load_reader, shipped
from quoth.models.batches import pad, plan, span
from quoth.models.card import TOKENIZER
from quoth.models.export import ROUGH, compare, read_reference
from quoth.models.samples import SAMPLES, join
from quoth.models.vocabulary import open_tokenizer, tokenize
from quoth.protocols import SpanModel, Window


@pytest.fixture(scope="module")
def small() -> SpanModel:
    return load_reader("small", engine="onnxruntime")


@cache
def small_tokenizer():
    return open_tokenizer(folder("small") / TOKENIZER)


def stacked(reader, windows):
    return [np.stack(row, axis=1) for row in reader.logits(windows)]


@pytest.mark.parametrize("name", ["small", "large"])
def test_shipped_readers_give_the_stored_logits(name):
    """On the fixed windows the shipped int8 readers are as near to fp32 as their cards say."""
    windows, exact = read_reference(folder(name))
    parity = compare(stacked(load_reader(name, engine="onnxruntime"), windows), exact)
    told = shipped()[name].figures["int8 against fp32, 32 fixed windows"]
    assert parity.relative <= ROUGH
    assert parity.rms <= 1.3 * told["rms"]


def test_the_small_reader_finds_an_answer(small):
    """It is a reader: asked when the Suez Canal was opened, it points at the date."""
    passage, questions = SAMPLES[0]
    question, tokens = small.tokenize([questions[0], passage])
    window = join(small.layout, question, tokens.ids, small.max_length)
    ((start, end),) = small.logits([window])
    offset = len(small.layout.before) + len(question.ids) + len(small.layout.between)
    first, last = (int(row[offset:-1].argmax()) for row in (start, end))
    assert passage[tokens.offsets[first][0] : tokens.offsets[last][1]] == "17 November 1869"
    assert start[0] + end[0] < start[offset:].max() + end[offset:].max()


def test_a_window_does_not_depend_on_the_others(small):
    """Alone or among others, in any order, a window's logits are the same to the last bit (ONNX Runtime, int8)."""
    windows, _ = read_reference(folder("small"))
    together = stacked(small, windows)
    backwards = stacked(small, windows[::-1])[::-1]
    some = [3, 31, 8]
    for i, row in enumerate(together):
        np.testing.assert_array_equal(row, backwards[i])
    for i in some:
        np.testing.assert_array_equal(together[i], stacked(small, [windows[i]])[0])


def test_threads_do_not_change_the_answer(small):
    """One thread or several give the same logits to rounding (a sum may be taken in another order)."""
    windows, _ = read_reference(folder("small"))
    alone = load_reader("small", engine="onnxruntime", threads=1)
    for one, many in zip(stacked(alone, windows[:6]), stacked(small, windows[:6]), strict=True):
        np.testing.assert_allclose(one, many, atol=1e-4)


def test_a_reader_is_shared_between_threads(small):
    """Forty calls from eight threads give what one call gives."""
    windows = [Window(w.ids[-40:], w.types[-40:]) for w in read_reference(folder("small"))[0]]
    expected = stacked(small, windows[:4])
    with ThreadPoolExecutor(8) as pool:
        for got in pool.map(lambda _: stacked(small, windows[:4]), range(40)):
            for a, b in zip(got, expected, strict=True):
                np.testing.assert_array_equal(a, b)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_reader_lives_through_a_fork(small):
    """A child process made by fork reads too, instead of waiting for threads that it does not have."""
    windows, _ = read_reference(folder("small"))
    expected = stacked(small, windows[:3])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            got = stacked(small, windows[:3])
            code = 0 if all(np.array_equal(a, b) for a, b in zip(got, expected, strict=True)) else 2
        finally:
            os._exit(code)
    killer = threading.Timer(60, os.kill, (child, 9))
    killer.start()
    _, status = os.waitpid(child, 0)
    killer.cancel()
    assert status == 0


def test_no_socket_is_opened(monkeypatch):
    """Loading and running a shipped reader touches no network."""

    def refuse(*args, **kwargs):
        raise AssertionError("a socket was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    windows, _ = read_reference(folder("small"))
    assert load_reader("small").logits(windows[:1])


def test_strange_windows(small):
    """Ids that do not exist are clamped, a window of no tokens or too many is refused, no windows give none."""
    assert list(small.logits([])) == []
    odd = Window(np.array([101, -5, 10**9, 102]), np.array([0, 7, -1, 1]))
    ((start, end),) = small.logits([odd])
    assert np.isfinite(start).all()
    assert np.isfinite(end).all()
    for length in (0, small.max_length + 1):
        with pytest.raises(ModelError) as raised:
            small.logits([Window(np.zeros(length, np.int64), np.zeros(length, np.int64))])
        assert raised.value.code == "window_length"
    assert len(small.logits([Window(np.ones(512, np.int64), np.zeros(512, np.int64))])[0][0]) == 512


@given(st.lists(st.text(max_size=60), max_size=4))
@settings(max_examples=60, deadline=None)
def test_offsets_point_into_the_text(texts):
    """Every token's offsets are code points within its text, in order, whatever the text is."""
    tokenizer = small_tokenizer()
    for text, tokens in zip(
        texts, tokenize(tokenizer, [t.encode(errors="ignore").decode() for t in texts]), strict=True
    ):
        assert tokens.offsets.shape == (len(tokens.ids), 2)
        assert all(0 <= a <= b <= len(text) for a, b in tokens.offsets.tolist())
        starts = tokens.offsets[:, 0].tolist()
        assert starts == sorted(starts)


def test_offsets_of_known_tokens(small):
    """Offsets count code points: emoji, ligatures and combining marks before a word do not shift it."""
    for text in ("😀😀 canal", "ﬁne canal", "e\u0301t\u00e9 canal", "\x00 canal", "א canal"):
        (tokens,) = small.tokenize([text])
        start, end = tokens.offsets[-1]
        assert text[start:end] == "canal"


def test_a_long_text_is_not_cut(small):
    """Tokenizing never truncates: a text of 30,000 words has as many tokens."""
    (tokens,) = small.tokenize(["canal " * 30_000])
    assert len(tokens.ids) == 30_000


@pytest.mark.parametrize("engine", ["openvino"])
def test_openvino_reads_the_same_weights(engine):
    """OpenVINO gets the int8 weights as floats: as near to fp32 as int8 is, and within 1e-4 whatever the batch."""
    pytest.importorskip("openvino", reason="the extra openvino is not installed")
    reader = load_reader("small", engine=engine)
    windows, exact = read_reference(folder("small"))
    together = stacked(reader, windows)
    assert compare(together, exact).relative <= ROUGH
    from quoth.models.openvino_engine import has_amx

    if not has_amx():
        for i in (0, 7, 31):
            np.testing.assert_allclose(stacked(reader, [windows[i]])[0], together[i], atol=1e-4)


@given(st.lists(st.integers(1, 512), max_size=60), st.integers(1, 4000), st.sampled_from([1, 16, 32]))
def test_every_window_is_in_one_batch(lengths, budget, multiple):
    """A plan holds each window once, in batches of one length that hold their windows and keep to the budget."""
    batches = plan(lengths, budget=budget, multiple=multiple, longest=512)
    assert sorted(m for b in batches for m in b.members) == list(range(len(lengths)))
    for batch in batches:
        assert batch.length <= 512
        assert len(batch.members) == 1 or len(batch.members) * batch.length <= budget
        assert all(lengths[m] <= batch.length < lengths[m] + multiple for m in batch.members)
    assert [b.length for b in batches] == sorted((b.length for b in batches), reverse=True)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=8), st.booleans())
def test_padding_keeps_the_windows(lengths, left):
    """What a window held lies in its span of the padded row; the rest is padding, and the mask knows."""
    windows = [Window(np.arange(1, n + 1), np.full(n, 1)) for n in lengths]
    for batch in plan(lengths, budget=100, multiple=8, longest=64):
        padded = pad(windows, batch, pad_id=0, pad_type=3, left=left)
        for row, member in enumerate(batch.members):
            place = span(lengths[member], batch.length, left=left)
            np.testing.assert_array_equal(padded.ids[row, place], windows[member].ids)
            assert padded.mask[row].sum() == padded.mask[row, place].sum() == lengths[member]
            assert (padded.types[row][padded.mask[row] == 0] == 3).all()
