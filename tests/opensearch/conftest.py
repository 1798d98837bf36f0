"""A real server for this folder's tests: a running one, or one that is started here."""

import time
import uuid
from collections.abc import Callable, Iterator

import pytest

from quoth.retrieve.opensearch import Address, OpenSearchStore
from quoth.retrieve.opensearch.admin import delete
from quoth.retrieve.opensearch.wire import Wire


@pytest.fixture(scope="session")
def server(opensearch_place: str) -> str:
    """Give ``host:port`` of a node."""
    return opensearch_place


@pytest.fixture
def index(server: str) -> Iterator[str]:
    """Give the address of an index that is not there yet; what is made under it is removed."""
    address = f"opensearch://{server}/test-{uuid.uuid4().hex[:12]}"
    yield address
    wire = Wire(Address.parse(address))
    delete(wire)
    wire.close()


@pytest.fixture
def store(index: str) -> Iterator[OpenSearchStore]:
    """Give an empty store."""
    with OpenSearchStore.connect(index, create=True) as found:
        yield found


@pytest.fixture
def eventually() -> Callable[[Callable[[], bool]], None]:
    """Give a function that waits until something holds, two minutes at most."""

    def wait(holds: Callable[[], bool]) -> None:
        ends = time.monotonic() + 120
        while not holds():
            assert time.monotonic() < ends, "it did not come to hold in two minutes"
            time.sleep(0.1)

    return wait
