"""Where instructions are written: the current block, the loops around it, constants and the frame.

A loop has a block before it (`ahead`), to which its body sends what does not change from iteration to
iteration, and one at its end (`latch`), where pointers advance. `level` counts the loops around the
current place.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from dslc.codegen.aarch64.machine_code.blocks import (
    MOVE_V,
    MOVE_X,
    Block,
    Effect,
    File,
    Inst,
    Item,
    Label,
    Reg,
    Remark,
)

INPUTS = "inputs"  # the alias of tensors that are only read
GLOBAL = "global"  # the alias of every other tensor: a caller may pass one array twice


@dataclass(eq=False, slots=True)
class Scope:
    """A loop, a branch or the whole function: what was computed in it can be used again in it."""

    level: int
    ahead: Block
    latch: Block | None = None
    known: dict[object, object] = field(default_factory=dict)


class Stream:
    """Writes instructions one after another; every method gives the register that it defines."""

    def __init__(self) -> None:
        self.entry, self.block = Block(), Block()
        self.code = Block([self.entry, self.block])
        self.scopes = [Scope(0, self.entry)]
        self.constants: dict[bytes, Label] = {}
        self.frame_bytes = 0
        self._labels = 0

    # Registers and instructions

    def vector(self) -> Reg:
        """A fresh vector register."""
        return Reg(File.V)

    def general(self) -> Reg:
        """A fresh general register."""
        return Reg(File.X)

    def put(self, item: Item) -> None:
        """Write an item at the current place."""
        self.block.items.append(item)

    def v(self, template: str, *uses: Reg) -> Reg:
        """An instruction that defines a vector register."""
        out = self.vector()
        self.put(Inst(template, (out, *uses), 1))
        return out

    def x(self, template: str, *uses: Reg) -> Reg:
        """An instruction that defines a general register."""
        out = self.general()
        self.put(Inst(template, (out, *uses), 1))
        return out

    def into(self, template: str, out: Reg, *uses: Reg) -> Reg:
        """An instruction that defines a given register anew."""
        self.put(Inst(template, (out, *uses), 1))
        return out

    def onto(self, template: str, out: Reg, *uses: Reg) -> Reg:
        """An instruction that reads and writes its first operand, such as a multiply-add."""
        self.put(Inst(template, (out, *uses), 1, reads_result=True))
        return out

    def accumulate(self, template: str, start: Reg, *uses: Reg) -> Reg:
        """The same on a copy of `start`, which keeps its value."""
        return self.onto(template, self.copy(start), *uses)

    def copy(self, reg: Reg) -> Reg:
        """The value in a register of its own."""
        return self.v(MOVE_V, reg) if reg.file is File.V else self.x(MOVE_X, reg)

    def move(self, out: Reg, value: Reg) -> None:
        """Give a register the value of another."""
        self.into(MOVE_V if out.file is File.V else MOVE_X, out, value)

    def load(self, template: str, *uses: Reg, alias: object, out: Reg | None = None) -> Reg:
        """A load into a fresh register, or into the lanes of `out` that the template names."""
        partial = out is not None
        if out is None:
            out = self.general() if "{0:x}" in template or "{0:w}" in template else self.vector()
        self.put(
            Inst(template, (out, *uses), 1, reads_result=partial, effect=Effect.LOAD, alias=alias)
        )
        return out

    def store(self, template: str, *uses: Reg, alias: object) -> None:
        """A store."""
        self.put(Inst(template, uses, effect=Effect.STORE, alias=alias))

    def remark(self, text: str) -> None:
        """A line of comment."""
        self.put(Remark(text))

    # Constants

    def number(self, value: int) -> Reg:
        """An integer in a general register."""
        key = ("number", value)
        remembered = self.recall(key)
        if isinstance(remembered, Reg):
            return remembered
        out = self.general()
        out.remade = Inst(load_immediate(value), (out,), 1)
        self.entry.items.append(out.remade)
        self.scopes[0].known[key] = out
        return out

    def literal(self, data: bytes) -> Reg:
        """16 bytes known at compile time in a vector register."""
        key = ("literal", data)
        remembered = self.recall(key)
        if isinstance(remembered, Reg):
            return remembered
        level = self.level
        with self.ahead_of(max(0, level - 1)):
            out = self.vector()
            inst = Inst(self._make_literal(data), (out,), 1)
            out.remade = inst
            self.put(inst)
        return self.remember(key, out, max(0, level - 1))

    def fresh(self, word: int) -> Reg:
        """A register of its own with the word in each of four lanes, made at this place.

        Of 0 no pipe is asked (a zeroing idiom of the CPUs), of other words a load is, from an address
        in a register: the pipes that multiply stay free.
        """
        data = (word & 0xFFFFFFFF).to_bytes(4, "little") * 4
        short = vector_immediate(data)
        if short is not None:
            return self.v(short)
        label = self._constant(data)
        key = ("address", label)
        base = self.recall(key)
        if not isinstance(base, Reg):
            base = self.general()
            base.remade = Inst(f"adr {{0}}, {label.name}", (base,), 1)
            self.entry.items.append(base.remade)
            self.scopes[0].known[key] = base
        return self.v("ldr {0:q}, [{1}]", base)

    def splat(self, value: int, bits: int) -> Reg:
        """The integer in every lane of that many bits."""
        code = (value & ((1 << bits) - 1)).to_bytes(bits // 8, "little")
        return self.literal(code * (128 // bits))

    def splat_float(self, value: float) -> Reg:
        """The number as f32 in every lane."""
        return self.literal(struct.pack("<f", value) * 4)

    def _make_literal(self, data: bytes) -> str:
        short = vector_immediate(data)
        if short is not None:
            return short
        return f"ldr {{0:q}}, {self._constant(data).name}"

    def table(self, data: bytes) -> Label:
        """Where bytes known at compile time stand, of any number."""
        return self._constant(data + bytes(-len(data) % 16))

    def _constant(self, data: bytes) -> Label:
        return self.constants.setdefault(data, Label(f".Lconst{len(self.constants)}"))

    # Labels, scopes, frame

    def label(self, hint: str) -> Label:
        """A fresh label."""
        self._labels += 1
        return Label(f".L{hint}{self._labels}")

    def jump(self, label: Label) -> None:
        """Go on at a label."""
        self.put(Inst(f"b {label.name}", target=label, unconditional=True))

    def branch(self, template: str, label: Label, *uses: Reg) -> None:
        """Go to a label if the condition in the template holds; `@` stands for the label."""
        self.put(Inst(template.replace("@", label.name), uses, target=label))

    def frame(self, size: int) -> int:
        """Bytes of the stack frame; gives their offset, a multiple of 16."""
        at = self.frame_bytes
        self.frame_bytes += -(-size // 16) * 16
        return at

    @property
    def scope(self) -> Scope:
        """The innermost scope."""
        return self.scopes[-1]

    @property
    def level(self) -> int:
        """The number of loops around the current place."""
        return self.scope.level

    def recall(self, key: object) -> object | None:
        """What was computed under this key in a scope around the current place."""
        for scope in reversed(self.scopes):
            if key in scope.known:
                return scope.known[key]
        return None

    def remember(self, key: object, value: Reg, level: int | None = None) -> Reg:
        """Keep a value for its scope: that of the current place, or the outermost of a level."""
        scope = self.scope if level is None else self._scope_of(level)
        scope.known[key] = value
        return value

    def forget(self, kind: str) -> None:
        """Drop what is known under keys of a kind: memory has changed."""
        for scope in self.scopes:
            for key in [k for k in scope.known if isinstance(k, tuple) and k[0] == kind]:
                del scope.known[key]

    def _scope_of(self, level: int) -> Scope:
        # What is computed ahead of a loop holds in the innermost scope around that loop.
        return next(s for s in reversed(self.scopes) if s.level <= level)

    @contextmanager
    def ahead_of(self, level: int) -> Iterator[None]:
        """Write where only `level` loops are around: before the next loop further in, if any."""
        if level >= self.level:
            yield
            return
        inner = next(i for i, s in enumerate(self.scopes) if s.level > level)
        saved, scopes = self.block, self.scopes
        self.block, self.scopes = self.scopes[inner].ahead, self.scopes[:inner]
        yield
        self.block, self.scopes = saved, scopes

    @contextmanager
    def branch_scope(self) -> Iterator[None]:
        """What is computed here is not known afterwards."""
        self.scopes = [*self.scopes, Scope(self.level, self.scope.ahead, self.scope.latch)]
        yield
        self.scopes = self.scopes[:-1]

    @contextmanager
    def loop_scope(self) -> Iterator[tuple[Block, Block]]:
        """A loop's blocks before it and at its end; what is written meanwhile is its body.

        The caller puts the label before the body and the branch after the latch.
        """
        ahead, body, latch = Block(), Block(), Block()
        self.put(ahead)
        self.put(body)
        outer = self.block
        self.scopes = [*self.scopes, Scope(self.level + 1, ahead, latch)]
        self.block = body
        yield ahead, latch
        self.put(latch)
        self.scopes = self.scopes[:-1]
        self.block = outer


def load_immediate(value: int) -> str:
    """The instructions that give a general register an integer."""
    bits = value & 0xFFFFFFFFFFFFFFFF
    if -0x10000 <= value < 0:
        return f"mov {{0}}, #{value}"
    parts = [(i, bits >> (16 * i) & 0xFFFF) for i in range(4)]
    wanted = [(i, p) for i, p in parts if p] or [(0, 0)]
    lines = [f"movz {{0}}, #{wanted[0][1]}, lsl #{16 * wanted[0][0]}"]
    lines += [f"movk {{0}}, #{p}, lsl #{16 * i}" for i, p in wanted[1:]]
    return "\n\t".join(lines)


def vector_immediate(data: bytes) -> str | None:
    """One instruction that makes 16 bytes, if there is one (Arm ARM, AdvSIMD modified immediate)."""
    if not any(data):
        return "movi {0}.2d, #0"
    if data == data[:1] * 16:
        return f"movi {{0}}.16b, #{data[0]}"
    if data != data[:4] * 4:
        return None
    word = int.from_bytes(data[:4], "little")
    for shift in (0, 8, 16, 24):
        if word & ~(0xFF << shift) == 0:
            return f"movi {{0}}.4s, #{word >> shift}, lsl #{shift}"
    (number,) = struct.unpack("<f", data[:4])
    exponent, fraction = word >> 23 & 0xFF, word & 0x7FFFFF
    if 124 <= exponent <= 131 and fraction & 0x7FFFF == 0:
        return f"fmov {{0}}.4s, #{number!r}"
    return None
