"""Warpgroups that alternate at the matrix unit: at a barrier one waits, and the other only counts."""

from __future__ import annotations

from dslc.codegen.c_family.emission import Emission, Emitter
from dslc.compiler.ir import instructions as ins


def await_partner(e: Emission, s: ins.AwaitPartner) -> None:
    """Until the other warpgroup has handed over."""
    only = f"if ({_group(e)} == 1) " if s.alone else ""
    e.out.line(f"{only}await_partner({_group(e)});")


def hand_over(e: Emission, s: ins.HandOver) -> None:
    """The other warpgroup may go on."""
    only = f"if ({_group(e)} == 0) " if s.alone else ""
    e.out.line(f"{only}hand_over({_group(e)});")


def _group(e: Emission) -> str:
    """The number of the thread's warpgroup, the same in all lanes and known to be."""
    return e.bases.named("group", "__shfl_sync(~0u, tid / 128, 0)")


EMITTERS: dict[type, Emitter] = {ins.AwaitPartner: await_partner, ins.HandOver: hand_over}
