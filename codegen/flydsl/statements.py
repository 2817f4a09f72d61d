"""Statements of C as FlyDSL's Python.

What C decides when it compiles, Python does while it traces: unrolled loops are `range_constexpr`.
Loops and branches of the machine are Python's own, which FlyDSL rewrites. Registers that are declared
in or after one are made at the head of the kernel: only there is a lane's memory surely made once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from dslc.codegen.flydsl import syntax as sx
from dslc.codegen.flydsl.c_types import BOOL, INT, LONG, Pointer, Scalar
from dslc.codegen.flydsl.expressions import Expressions
from dslc.codegen.flydsl.texts import UnprintableError
from dslc.codegen.flydsl.type_reader import UnreadableError

_COPY = ("copy_4", "copy_8", "copy_16")


@dataclass(slots=True)
class Statements:
    """The lines of a kernel's body, and of what is made before it."""

    expressions: Expressions
    reserved: frozenset[str] = frozenset()  # names that no variable has
    assigned: set[str] = field(default_factory=set)  # variables that get other values later
    lines: list[str] = field(default_factory=list)
    made: list[str] = field(default_factory=list)  # registers that loops and branches declare
    used: set[str] = field(default_factory=set)
    _indent: int = 1
    _branched: bool = False  # whether a loop or a branch of the machine has begun
    _repeated: dict[str, str] | None = (
        None  # where statements are written once more: their variables
    )

    def body(self, statements: Sequence[sx.Stmt]) -> None:
        """Statements in a scope of their own."""
        names, spelled = dict(self.expressions.names), dict(self.expressions.spelled)
        before = len(self.lines)
        for statement in statements:
            self._located(statement)
        if len(self.lines) == before:
            self._line("pass")
        self.expressions.names, self.expressions.spelled = names, spelled

    def _located(self, s: sx.Stmt) -> None:
        try:
            self._statement(s)
        except UnprintableError as e:
            raise UnreadableError(getattr(s, "line", 0), str(e)) from None

    def _statement(self, s: sx.Stmt) -> None:
        match s:
            case sx.Declare():
                self._declare(s)
            case sx.Assign():
                self._assign(s)
            case sx.Run(call):
                self._run(call)
            case sx.For():
                self._for(s)
            case sx.While(body):
                self._while(body)
            case sx.If(condition, then, otherwise):
                self._if(condition, then, otherwise)
            case sx.Block(body):
                self._scope(body)
            case _:
                raise UnprintableError(f"{type(s).__name__.lower()} in a kernel")

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)

    def _scope(self, body: Sequence[sx.Stmt]) -> None:
        names, spelled = dict(self.expressions.names), dict(self.expressions.spelled)
        for statement in body:
            self._located(statement)
        self.expressions.names, self.expressions.spelled = names, spelled

    def _name(self, name: str, *, again: bool = False) -> str:
        """The spelling of a new variable: one that no other scope has, since Python has one scope."""
        if self._repeated is not None and name in self._repeated:
            spelled = self._repeated[name]
            self.expressions.spelled[name] = spelled
            return spelled
        spelled, k = name, 1
        while spelled in self.reserved or (spelled in self.used and not again):
            k += 1
            spelled = f"{name}_{k}"
        self.used.add(spelled)
        self.expressions.spelled[name] = spelled
        return spelled

    # Variables

    def _declare(self, s: sx.Declare) -> None:
        x = self.expressions
        if s.count is not None:
            self._registers(s)
            return
        init = None if s.init is None else x.of(s.init)
        kind = s.type if s.type is not None else (init.type if init is not None else INT)
        text = "" if s.init is None else x.text(s.init, kind)
        fixed = init is not None and init.literal and s.name not in self.assigned
        name = self._name(s.name, again=fixed)
        x.names[s.name] = kind
        if init is None:
            if not isinstance(kind, Scalar):
                raise UnprintableError(f"{s.name} has no value")
            text = f"fx.{kind.fly}(0)"
        elif isinstance(kind, Scalar) and init.literal and (kind.floating or not fixed):
            text = f"fx.{kind.fly}({text})"
        self._line(f"{name} = {text}")

    def _registers(self, s: sx.Declare) -> None:
        x = self.expressions
        assert s.count is not None
        if isinstance(s.type, Scalar) and s.name == "shared":
            name = self._name(s.name)
            x.names[s.name] = Pointer(s.type)
            self._line(f"{name} = fx.SharedAllocator().allocate({s.count}, 1024).peek().ptr")
            return
        if not isinstance(s.type, Scalar):
            raise UnprintableError(f"an array of {s.type}")
        name = self._name(s.name)
        x.names[s.name] = Pointer(s.type)
        text = f"{name} = registers({s.count}, fx.{s.type.fly})"
        if not self._branched:
            self._line(text)
        elif self._repeated is None:
            self.made.append("    " + text)
        if s.zeros:
            self._line(f"clear({name}, {s.count})")

    def _assign(self, s: sx.Assign) -> None:
        x = self.expressions
        if isinstance(s.target, sx.Unary) and s.target.op == "*":
            raise UnprintableError("an assignment to an address")
        target = x.of(s.target)
        value = s.value if s.op == "=" else sx.Binary(s.op[:-1], s.target, s.value)
        converted = x.converted(x.of(value), target.type)
        same = isinstance(value, sx.Index) and x.of(value).type == target.type
        text = x.of(value).text if same else converted.text
        if converted.literal and isinstance(target.type, Scalar) and isinstance(s.target, sx.Name):
            text = f"fx.{target.type.fly}({text})"
        if isinstance(s.target, sx.Index) and not isinstance(s.target.base, sx.Name):
            # FlyDSL takes all that names an element's place for new values of a branch.
            place = x.of(sx.Unary("&", s.target))
            self._line(f"({place.text}).store({text})")
        else:
            self._line(f"{target.text} = {text}")

    def _run(self, call: sx.Expr) -> None:
        if not isinstance(call, sx.Call):
            raise UnprintableError("an expression of no use")
        if call.name in _COPY and call.args[2] != sx.Name("true"):
            self._if(
                call.args[2],
                (sx.Run(sx.Call(call.name, (), (*call.args[:2], sx.Name("true"))), 0),),
                (sx.Run(sx.Call(f"fill_{call.name[5:]}", (), call.args[:1]), 0),),
            )
            return
        if call.name == "await_value":
            self._await(*call.args)
            return
        self._line(self.expressions.text(call))

    def _await(self, place: sx.Expr, value: sx.Expr) -> None:
        """A loop until a word of memory has a value."""
        seen, at = self._name("seen"), self.expressions.text(place)
        self._branched = True
        self._line(f"{seen} = seen_by_all({at})")
        self._line(f"while {seen} != {self.expressions.text(value)}:")
        self._line(f"    {seen} = seen_by_all({at})")

    # Control flow

    def _for(self, s: sx.For) -> None:
        x = self.expressions
        if s.compare not in ("<", "<="):
            raise UnprintableError(f"a loop while {s.compare}")
        if not isinstance(s.type, Scalar):
            raise UnprintableError("a loop over addresses")
        start, stop, step = x.text(s.start, s.type), x.text(s.stop, s.type), x.text(s.step, s.type)
        stop = f"{stop} + 1" if s.compare == "<=" else stop
        names, spelled = dict(x.names), dict(x.spelled)
        if s.unroll == 0:
            var = self._name(s.var, again=True)
            x.names[s.var] = INT
            more = "" if step == "1" else f", {step}"
            first = "" if start == "0" and not more else f"{start}, "
            self._line(f"for {var} in fx.range_constexpr({first}{stop}{more}):")
            self._nested(s.body)
        else:
            var = self._name(s.var)
            x.names[s.var] = s.type
            self._counted(s, var, start, stop, step)
        x.names, x.spelled = names, spelled

    def _counted(self, s: sx.For, var: str, start: str, stop: str, step: str) -> None:
        """A loop of the machine, which counts in 32 bits: others count their iterations."""
        self._branched = True
        unroll = f", unroll={s.unroll}" if s.unroll and s.unroll > 1 else ""
        if s.type == LONG:
            number = self._name(f"{var}_number")
            self._line(f"for {number} in range(0, trip_count({start}, {stop}, {step}), 1{unroll}):")
            first = f"    {var} = {start} + fx.Int64({number}) * {step}"
        else:
            self._line(f"for {var} in range({start}, {stop}, {step}{unroll}):")
            first = f"    {var} = fx.Int32({var})"
        self._line(first)
        self._nested(s.body)

    def _nested(self, body: Sequence[sx.Stmt]) -> None:
        self._indent += 1
        self.body(body)
        self._indent -= 1

    def _while(self, body: Sequence[sx.Stmt]) -> None:
        """What stands before the break is written twice: before the loop and at the end of its body."""
        at = next((k for k, s in enumerate(body) if isinstance(s, sx.Leave)), None)
        if at is None:
            raise UnprintableError("a loop that is not left")
        leave = body[at]
        assert isinstance(leave, sx.Leave)
        x = self.expressions
        more = self._name("more")
        x.names[more] = BOOL
        again = sx.Assign("=", sx.Name(more), sx.Unary("!", leave.condition), leave.line)
        self._branched = True
        names, spelled = dict(x.names), dict(x.spelled)
        for statement in (*body[:at], again):
            self._located(statement)
        first = {name: new for name, new in x.spelled.items() if spelled.get(name) != new}
        self._line(f"while {more}:")
        self._indent += 1
        for statement in body[at + 1 :]:
            self._located(statement)
        self._repeated, x.names, x.spelled = first, dict(names), dict(spelled)
        for statement in (*body[:at], again):
            self._located(statement)
        self._indent -= 1
        self._repeated, x.names, x.spelled = None, names, spelled

    def _if(
        self, condition: sx.Expr, then: Sequence[sx.Stmt], otherwise: Sequence[sx.Stmt]
    ) -> None:
        self._line(f"if {self.expressions.condition(condition).text}:")
        self._branched = True
        self._nested(then)
        if otherwise:
            self._line("else:")
            self._nested(otherwise)


def assigned_in(body: Sequence[sx.Stmt]) -> set[str]:
    """The variables that statements assign to."""
    names: set[str] = set()
    for s in body:
        match s:
            case sx.Assign(target=sx.Name(name)):
                names.add(name)
            case sx.If():
                names |= assigned_in(s.then) | assigned_in(s.otherwise)
            case sx.For() | sx.While() | sx.Block():
                names |= assigned_in(s.body)
    return names
