"""Libraries read: what is damaged is refused, whatever is damaged."""

from __future__ import annotations

import pytest
from dslc.runtime.aarch64_emulator.elf import read_image
from dslc.runtime.aarch64_emulator.errors import EmulationError

from support.aarch64 import assemble, function, needs_emulator


def test_a_changed_byte_is_refused_or_changes_content_alone() -> None:
    needs_emulator()
    library = assemble(function("f", "    mov w0, #0\n    ret"))
    assert [*read_image(library).functions] == ["f"]
    refused = 0
    for at in range(len(library)):
        for value in (0xFF, 0x7F, 0):
            changed = library[:at] + bytes([library[at] ^ value or value]) + library[at + 1 :]
            try:
                read_image(changed)
            except EmulationError:
                refused += 1
    assert refused > 50


@pytest.mark.parametrize("end", [0, 10, 64, 100, 200])
def test_one_that_ends_early_is_refused(end: int) -> None:
    needs_emulator()
    library = assemble(function("f", "    ret"))
    with pytest.raises(EmulationError):
        read_image(library[:end])
