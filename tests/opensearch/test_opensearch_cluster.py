"""Three nodes on one machine, one of which dies."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from opensearch_server import running

from quoth.retrieve.opensearch import OpenSearchStore
from quoth.types import Document, Query, Source

pytestmark = [pytest.mark.server, pytest.mark.slow, pytest.mark.timeout(280)]

PASSAGES = 20
DOCUMENTS = 80


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Give the address of an index on three nodes, and the folder with their process ids."""
    if os.environ.get("QUOTH_OPENSEARCH_URL"):
        pytest.skip("QUOTH_OPENSEARCH_URL names a server; its nodes are not ours to end")
    with running(tmp_path, nodes=3) as port:
        if not (tmp_path / "node-3.pid").is_file():
            pytest.skip("the server that could be started is a single node")
        hosts = ",".join(f"127.0.0.1:{port + i}" for i in range(3))
        yield f"opensearch://{hosts}/birds", tmp_path


def document(number: int) -> tuple[Source, list[Document]]:
    paragraphs = [f"Paragraph {p} of document {number} is about birds." for p in range(PASSAGES)]
    return Source(f"{number:03}.txt", "1"), [
        Document(f"d{number:03}", "\n\n".join(paragraphs), paragraphs=_spans(paragraphs))
    ]


def _spans(paragraphs: list[str]) -> tuple[tuple[int, int], ...]:
    spans, at = [], 0
    for paragraph in paragraphs:
        spans.append((at, at + len(paragraph)))
        at += len(paragraph) + 2
    return tuple(spans)


def end(home: Path, node: int) -> None:
    """End one node at once, as a power cut does."""
    os.kill(int((home / f"node-{node}.pid").read_text()), signal.SIGKILL)


def test_a_node_may_die_during_loading_and_during_questions(
    cluster: tuple[str, Path], eventually: Callable[[Callable[[], bool]], None]
) -> None:
    """Every acknowledged batch is there afterwards, and no question meanwhile is answered in part."""
    address, home = cluster
    acknowledged = [0]
    failures: list[BaseException] = []
    answers: list[tuple[int, int]] = []
    stop = threading.Event()

    def ask() -> None:
        try:
            with OpenSearchStore.connect(address) as reader:
                while not stop.is_set():
                    before = acknowledged[0]
                    found = reader.retrieve(Query("birds"), k=10_000)
                    answers.append((before * PASSAGES, len(found)))
        except BaseException as problem:  # looked at below: a thread has nobody to raise to
            failures.append(problem)

    with OpenSearchStore.connect(address, create=True, shards=3) as store:
        eventually(lambda: store.info()["status"] == "green")
        askers = [threading.Thread(target=ask) for _ in range(2)]
        for asker in askers:
            asker.start()
        for first in range(0, DOCUMENTS, 10):
            if first == DOCUMENTS // 2:
                eventually(lambda: bool(answers or failures))
                answered = len(answers)
                end(home, 3)
            store.put([document(number) for number in range(first, first + 10)])
            acknowledged[0] = first + 10
        eventually(lambda: len(answers) > answered + 3 or bool(failures))
        stop.set()
        for asker in askers:
            asker.join()
        assert store.info()["nodes"] == 2
        assert [s.path for s in store.sources()] == [f"{n:03}.txt" for n in range(DOCUMENTS)]
        assert store.info()["passages"] == DOCUMENTS * PASSAGES
        everything = store.retrieve(Query("birds"), k=10_000)
        assert len({(s.item.document_id, s.item.start) for s in everything}) == DOCUMENTS * PASSAGES
    assert not failures
    assert [pair for pair in answers if not pair[0] <= pair[1] <= DOCUMENTS * PASSAGES] == []
    assert all(found % (10 * PASSAGES) == 0 for _, found in answers)  # whole batches, never a part of one
