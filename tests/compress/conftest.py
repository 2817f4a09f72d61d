"""Small decompositions run in one thread: several of them wait for one another on a busy host."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from dslc.runtime.nki_simulator.threads import one_thread


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    with one_thread():
        yield
