"""Lanes chosen by an index that is not known: by instructions over whole tables, or lane by lane."""

from __future__ import annotations

from dslc.compiler.dtypes import INDEX
from dslc.compiler.vector import instructions as ins
from dslc.compiler.vector.building.registers import vector_type
from dslc.compiler.vector.constants import constant
from dslc.compiler.vector.legal.builder import LegalBuilder
from dslc.compiler.vector.legal.containers import dtype_named
from dslc.compiler.vector.values import Operand, Register


def permuted(b: LegalBuilder, i: ins.Permute) -> Operand | None:
    """None where the machine has an instruction over just these lanes."""
    table, index = vector_type(i.table), vector_type(i.index)
    bits = dtype_named(f"u{table.dtype.bits}")
    lanes = _machine_lanes(b, table.dtype.bits, table.count)
    if lanes is None:
        return _lane_by_lane(b, i.table, i.index)
    if lanes == table.count == index.count and index.dtype == bits:
        return None
    codes = b.convert(i.index, bits)  # modulo more lanes, which hold the table several times
    whole = b.shuffle(i.table, [at % table.count for at in range(lanes)])
    parts = []
    for start in range(0, index.count, lanes):
        count = min(lanes, index.count - start)
        part = b.shuffle(codes, [start + at % count for at in range(lanes)])
        part_of = b.append_result(ins.Permute(Register(table.by(lanes)), whole, part, loc=i.loc))
        parts.append(b.part(part_of, 0, count))
    return b.concat(*parts)


def _machine_lanes(b: LegalBuilder, bits: int, count: int) -> int | None:
    """The least table of a machine that holds so many lanes."""
    fitting = [n for width, n in b.capabilities.permutations if width == bits and n >= count]
    return min(fitting, default=None)


def _lane_by_lane(b: LegalBuilder, table: Operand, index: Operand) -> Operand:
    """Through the index of each lane, as a scalar."""
    count = vector_type(table).count
    at = b.convert(b.binary("and", index, count - 1), INDEX)
    lanes_so_far: Operand = constant(0, vector_type(index).of(vector_type(table).dtype))
    for lane in range(vector_type(index).count):
        lanes_so_far = b.insert(lanes_so_far, b.extract(table, b.extract(at, lane)), lane)
    return lanes_so_far
