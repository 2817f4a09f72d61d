"""The builder of functions: parameters, loops and branches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

from dslc.compiler.diagnostics import Loc
from dslc.compiler.dtypes import I32, INDEX, DType
from dslc.compiler.vector.building.accesses import AccessBuilder
from dslc.compiler.vector.building.registers import Given
from dslc.compiler.vector.function import (
    Block,
    Call,
    For,
    Function,
    If,
    Parameter,
    Return,
    While,
)
from dslc.compiler.vector.types import POINTER, VectorType
from dslc.compiler.vector.values import Operand, Register

LoopPart: TypeAlias = Callable[[tuple[Register, ...]], Sequence[Operand]]
Branch: TypeAlias = Callable[[], Sequence[Operand]]


@dataclass(slots=True)
class Loop:
    """A loop that is being built: what its body reads, and what it yields."""

    var: Register
    carried: tuple[Register, ...]
    results: tuple[Register, ...]
    yields: tuple[Operand, ...] = ()


class Builder(AccessBuilder):
    """A function under construction. `loc` is where the instructions that follow come from."""

    def __init__(self, name: str, *, exported: bool = True, loc: Loc | None = None) -> None:
        super().__init__(loc)
        self.name = name
        self._exported = exported
        self._params: list[Parameter] = []

    def function(self) -> Function:
        """The function; the builder is not to be used any more."""
        (body,) = self.bodies
        return Function(self.name, tuple(self._params), tuple(body), self._exported)

    def pointer(self, name: str, *, align: int = 1, noalias: bool = False) -> Register:
        """A parameter that is a pointer."""
        self._params.append(Parameter(Register(POINTER, name), align, noalias))
        return self._params[-1].register

    def scalar(self, name: str, dtype: DType) -> Register:
        """A parameter that is a scalar."""
        self._params.append(Parameter(Register(VectorType(dtype), name)))
        return self._params[-1].register

    @contextmanager
    def loop(
        self,
        begin: Given,
        end: Given,
        step: int = 1,
        carry: Sequence[Operand] = (),
        *,
        unroll: int = 1,
        name: str = "i",
    ) -> Iterator[Loop]:
        """A counted loop; set `yields` of what this gives to the next carried values."""
        first, last = self.offset(begin), self.offset(end)
        var = Register(VectorType(INDEX), name)
        carried, results = (tuple(Register(x.type) for x in carry) for _ in range(2))
        loop = Loop(var, carried, results)
        self.bodies.append([])
        yield loop
        block = Block(tuple(self.bodies.pop()), loop.yields)
        self.append(
            For(results, var, first, last, step, carried, tuple(carry), block, unroll, loc=self.loc)
        )

    def _built(self, part: Branch) -> Block:
        """What a part builds, apart from the body before."""
        self.bodies.append([])
        yields = tuple(part())
        return Block(tuple(self.bodies.pop()), yields)

    def while_(
        self, carry: Sequence[Operand], test: LoopPart, body: LoopPart
    ) -> tuple[Register, ...]:
        """A loop: `test` of the carried registers gives (one bool,), `body` the next carried values."""
        carried, results = (tuple(Register(x.type) for x in carry) for _ in range(2))
        tested = self._built(lambda: test(carried))
        block = self._built(lambda: body(carried))
        self.append(While(results, carried, tuple(carry), tested, block, loc=self.loc))
        return results

    def if_(
        self,
        condition: Operand,
        then: Branch,
        otherwise: Branch | None = None,
        *,
        rare: bool = False,
    ) -> tuple[Register, ...]:
        """One of two blocks, the first perhaps rare; each part builds one and gives what it yields."""
        chosen = self._built(then)
        other = Block(()) if otherwise is None else self._built(otherwise)
        outs = tuple(Register(x.type) for x in chosen.yields or other.yields)
        self.append(If(outs, condition, chosen, other, rare, loc=self.loc))
        return outs

    def returns(self, status: Given) -> None:
        """The function ends here with a status, an i32."""
        self.append(Return(self.operand(status, VectorType(I32)), loc=self.loc))

    def call(self, function: str, *args: Operand) -> Operand:
        """The status of another function of the module."""
        return self.append_result(Call(Register(VectorType(I32)), function, args, loc=self.loc))
