"""What of SBUF a kernel needs at one time, and where it is refused."""

from __future__ import annotations

import pytest
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.passes.pass_lists.trainium import nki_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.passes.trainium import capacity
from dslc.compiler.targets import find_target

TARGET = find_target("nki:trn2")
TEXT = """kernel sums[](@x: in f32[128, 4096], @y: out f32[128, 4096]) {
  %a = load @x[0 : +128!, 0 : +4096!] : f32[128, 4096]
  %b = add %a, %a : f32[128, 4096]
  store @y[0 : +128!, 0 : +4096!], %b
}
"""


def lowered() -> Kernel:
    found = run_passes(parse_program(TEXT), nki_passes(TARGET))
    assert isinstance(found, Kernel)
    return found


@pytest.mark.parametrize("more", [0, -1])
def test_a_kernel_may_fill_what_there_is_and_no_more(
    more: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    kernel = lowered()
    peak = capacity.sbuf_peak(kernel).bytes
    assert peak >= 4096 * 4
    monkeypatch.setattr(capacity, "usable", lambda _: peak + more)
    check = capacity.CheckCapacity(TARGET)
    if more == 0:
        assert check(kernel) is kernel
        return
    with pytest.raises(DiagnosticError, match=r"DSL0541.*sums needs .* KiB") as found:
        check(kernel)
    assert "f32[128, 4096] 16 KiB" in str(found.value)
