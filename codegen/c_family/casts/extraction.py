"""Fields of codes brought to their places in the lanes of a word, in as few instructions as bits allow.

A word has `lanes` elements (two halves, four bytes). The codes' bits lie anywhere in the source words;
those that lie in every lane's element alike, a lane's width apart, move together: one shift (which
other fields share) and one mask. Storage orders codes so that all do (`dslc.compiler.low_bit_format`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from dslc.codegen.c_family.casts.bits import Positions
from dslc.codegen.c_family.writer import Writer


@dataclass(frozen=True, slots=True)
class Piece:
    """Some bits of a field in one source word: from `first` of the field on, `count` of them.

    In lane l they lie from bit `at` + l * (width of a lane) of the word on; `lanes` have them there.
    """

    word: int
    at: int
    first: int
    count: int
    lanes: tuple[int, ...]

    def mask(self, to: int, width: int) -> int:
        """Where they are once the field's first bit is bit `to` of each lane."""
        ones = (1 << self.count) - 1
        return sum(ones << (lane * width + to + self.first) for lane in self.lanes)


def pieces(at: Positions, width: int) -> tuple[Piece, ...]:
    """The pieces of a field whose bits lie at `at` [lanes, bits] for lanes of `width` bits."""
    lanes_of: dict[tuple[int, int, int, int], list[int]] = {}
    for lane, bits in enumerate(at):
        for first, start, count in _runs([int(b) for b in bits]):
            key = (start // 32, start % 32 - lane * width, first, count)
            lanes_of.setdefault(key, []).append(lane)
    return tuple(Piece(*key, tuple(lanes)) for key, lanes in lanes_of.items())


def _runs(bits: Sequence[int]) -> list[tuple[int, int, int]]:
    runs: list[tuple[int, int, int]] = []
    for i, bit in enumerate(bits):
        if runs and bit == runs[-1][1] + runs[-1][2] and bit % 32:
            runs[-1] = (*runs[-1][:2], runs[-1][2] + 1)
        else:
            runs.append((i, bit, 1))
    return runs


@dataclass(slots=True)
class Words:
    """The source words of a stretch of code, and their shifted forms, each computed once."""

    out: Writer
    names: dict[int, str]
    shifted: dict[tuple[int, int], str] = field(default_factory=dict)
    exchanged: dict[tuple[int, int], str] = field(default_factory=dict)
    made: dict[object, str] = field(default_factory=dict)

    def cost(self, found: Iterable[Piece], to: int) -> int:
        """How many new shifts a field needs at bit `to` of the lanes."""
        wanted = {(p.word, to + p.first - p.at) for p in found}
        return sum(1 for key in wanted if key[1] and key not in self.shifted)

    def place(self, found: Iterable[Piece], choices: Sequence[int]) -> int:
        """The place among the choices that needs the fewest new shifts, the first of them."""
        listed = tuple(found)
        return min(choices, key=lambda to: self.cost(listed, to))

    def shift(self, word: int, by: int) -> str:
        """The word shifted, to the left where `by` is positive."""
        name = self.names[word]
        if by == 0:
            return name
        if (word, by) not in self.shifted:
            text = f"{name} {'<<' if by > 0 else '>>'} {abs(by)}"
            shifted = self.out.name(f"{name}_{'l' if by > 0 else 'r'}{abs(by)}")
            self.out.line(f"const unsigned {shifted} = {text};")
            self.shifted[word, by] = shifted
        return self.shifted[word, by]

    def inverted(self, word: int, mask: int) -> str:
        """The word with some bits inverted."""
        if (word, mask) not in self.exchanged:
            name = self.out.name(f"{self.names[word]}_x")
            self.out.line(f"const unsigned {name} = {self.names[word]} ^ {hexadecimal(mask)};")
            self.exchanged[word, mask] = name
        return self.exchanged[word, mask]

    def once(self, key: object, name: str, text: Callable[[], str]) -> str:
        """A word that several results share, by what it is made of."""
        if key not in self.made:
            value = text()
            self.made[key] = value
            if value not in self.names.values():
                self.made[key] = self.out.name(name)
                self.out.line(f"const unsigned {self.made[key]} = {value};")
        return self.made[key]

    def field(self, found: Iterable[Piece], to: int, width: int, onto: str = "") -> str:
        """The field at bit `to` of every lane, zeros elsewhere; xored onto another word if given."""
        text = onto
        for p in found:
            word, mask = self.shift(p.word, to + p.first - p.at), hexadecimal(p.mask(to, width))
            text = f"mask_xor({word}, {mask}, {text})" if text else f"({word} & {mask})"
        return text


def hexadecimal(x: int) -> str:
    """A word as C."""
    return f"0x{x:08x}u"
