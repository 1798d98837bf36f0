import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture(scope="session")
def toy() -> Callable[..., Any]:
    """Return the maker of the small reader that the tests of ``read`` use."""
    place = Path(__file__).resolve().parents[1] / "read" / "conftest.py"
    spec = importlib.util.spec_from_file_location("toy_reader", place)
    if spec is None or spec.loader is None:
        raise FileNotFoundError(place)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    maker: Callable[..., Any] = module.Toy
    return maker
