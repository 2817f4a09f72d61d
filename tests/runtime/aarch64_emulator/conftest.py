from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from dslc.runtime.aarch64_emulator import Emulator

from support.aarch64 import guest_program, needs_emulator

Emulate = Callable[[str], Emulator]


@pytest.fixture(scope="module")
def emulator_of() -> Iterator[Emulate]:
    """An emulator of a CPU by its name, one for all tests of a module."""
    needs_emulator()
    made: dict[str, Emulator] = {}

    def find(cpu: str = "max") -> Emulator:
        if cpu not in made or not made[cpu].alive:
            made[cpu] = Emulator(guest_program(), cpu)
        return made[cpu]

    yield find
    for emulator in made.values():
        emulator.close()
