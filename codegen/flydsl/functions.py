"""The device functions of HIP texts in FlyDSL.

Most are read from the libraries of HIP and printed as Python: what they compute is said once. Those
that speak to the machine, by builtins or assembly, have words of their own in the *.fly; a matrix
instruction is written from its atom.
"""

from __future__ import annotations

import functools
import keyword
import re
from collections.abc import Sequence
from importlib.resources import files

from dslc.codegen.c_family.functions import used as used_of
from dslc.codegen.flydsl import matrix
from dslc.codegen.flydsl import syntax as sx
from dslc.codegen.flydsl.c_types import INT, VOID, Pointer
from dslc.codegen.flydsl.expressions import Expressions
from dslc.codegen.flydsl.reader import read_function
from dslc.codegen.flydsl.texts import UnprintableError
from dslc.codegen.flydsl.type_reader import UnreadableError
from dslc.codegen.hip import prelude

_NAME = re.compile(r"^def (\w+)\(", re.MULTILINE)


@functools.cache
def faces() -> dict[str, sx.Function]:
    """What each function takes and gives, of all that HIP texts may name."""
    read = {name: read_function(text, body=False) for name, text in prelude.functions().items()}
    fills = (f"fill_{size}" for size in (4, 8, 16))
    to = (Pointer(None), "to")
    return read | {n: sx.Function(n, (), (), VOID, (to,), "", None) for n in fills}


def used(text: str) -> str:
    """The functions that a text names, and what these name in turn; UnprintableError for one that
    FlyDSL has no words for.
    """
    return used_of(text, _Library())


class _Library(dict[str, str]):
    """Functions by name, each printed when it is asked for."""

    def __init__(self) -> None:
        super().__init__(dict.fromkeys([*_written(), *faces()], ""))

    def __getitem__(self, name: str) -> str:
        return _printed(name)


@functools.cache
def _written() -> dict[str, str]:
    """Those of functions.fly and numbers.fly, and the matrix instructions."""
    folder = files("dslc.codegen.flydsl")
    texts = (folder.joinpath(f"{name}.fly").read_text("utf-8") for name in ("functions", "numbers"))
    parts = (part.strip() for text in texts for part in text.split("\n\n\n"))
    return {m[1]: part for part in parts if (m := _NAME.search(part))} | matrix.functions()


@functools.cache
def _printed(name: str) -> str:
    if name in _written():
        return _written()[name]
    text = prelude.functions()[name]
    comment = "".join(f"# {line[3:]}\n" for line in text.split("\n") if line.startswith("// "))
    try:
        return comment + _function(read_function(text))
    except (UnreadableError, UnprintableError) as e:
        raise UnprintableError(f"{name} has no words in FlyDSL ({e})") from None


def _function(f: sx.Function) -> str:
    names = {name: kind for kind, name in f.params} | dict.fromkeys(f.given, INT)
    spelled = {name: f"{name}_" if keyword.iskeyword(name) else name for name in names}
    body = _Body(Expressions(faces(), dict(names), traced=False, spelled=spelled), f)
    body.statements(f.body or ())
    params = ", ".join([*f.given, *(spelled[name] for _, name in f.params)])
    return "\n".join([f"def {f.name}({params}):", *body.lines])


class _Body:
    """The lines of one function: Python that runs while FlyDSL traces."""

    def __init__(self, expressions: Expressions, function: sx.Function) -> None:
        self._x, self._function = expressions, function
        self.lines: list[str] = []
        self._early: list[tuple[str, str]] = []  # conditions and what is returned under them
        self._indent = 1

    def statements(self, body: Sequence[sx.Stmt]) -> None:
        """Statements, of which the last may be the result."""
        for s in body:
            self._statement(s)

    def _line(self, text: str) -> None:
        self.lines.append("    " * self._indent + text)

    def _statement(self, s: sx.Stmt) -> None:
        x = self._x
        match s:
            case sx.Declare(type=kind, name=name, count=None, init=init) if init is not None:
                held_as = kind or x.of(init).type
                self._line(f"{name} = {x.text(init, held_as)}")
                x.names[name] = held_as
            case sx.Assign(op, target, value):
                self._line(f"{x.of(target).text} = {self._new(op, target, value)}")
            case sx.If(condition, then, ()) if _returns(then):
                self._leave(condition, then)
            case sx.If(condition, then, ()) if _plain(then):
                c = x.condition(condition).text
                for one in then:
                    assert isinstance(one, sx.Assign)
                    old = x.of(one.target).text
                    new = self._new(one.op, one.target, one.value)
                    self._line(f"{old} = where({c}, {new}, {old})")
            case sx.If(condition, then, ()):
                self._line(f"if {x.condition(condition).text}:")
                self._nested(then)
            case sx.For():
                self._for(s)
            case sx.Run(call):
                self._line(x.text(call))
            case sx.Return(result) if result is not None:
                text = x.text(result, self._function.result)
                for done, early in reversed(self._early):
                    text = f"where({done}, {early}, {text})"
                self._line(f"return {text}")
            case _:
                raise UnprintableError(f"{type(s).__name__.lower()} in {self._function.name}")

    def _new(self, op: str, target: sx.Expr, value: sx.Expr) -> str:
        changed = value if op == "=" else sx.Binary(op[:-1], target, value)
        return self._x.text(changed, self._x.of(target).type)

    def _leave(self, condition: sx.Expr, then: Sequence[sx.Stmt]) -> None:
        """An early result: what follows is computed all the same, and one of both is taken."""
        k = len(self._early) + 1
        self._line(f"done_{k} = {self._x.condition(condition).text}")
        self.statements(then[:-1])
        last = then[-1]
        assert isinstance(last, sx.Return)
        assert last.value is not None
        self._line(f"early_{k} = {self._x.text(last.value, self._function.result)}")
        self._early.append((f"done_{k}", f"early_{k}"))

    def _for(self, s: sx.For) -> None:
        x = self._x
        ends = {"<": "", "<=": " + 1", ">": "", ">=": " - 1"}
        stop = f"{x.text(s.stop)}{ends[s.compare]}"
        x.names[s.var] = INT
        self._line(f"for {s.var} in range({x.text(s.start)}, {stop}, {x.text(s.step)}):")
        self._nested(s.body)

    def _nested(self, body: Sequence[sx.Stmt]) -> None:
        self._indent += 1
        self.statements(body)
        self._indent -= 1


def _returns(body: Sequence[sx.Stmt]) -> bool:
    return bool(body) and isinstance(body[-1], sx.Return)


def _plain(body: Sequence[sx.Stmt]) -> bool:
    """Whether statements only give variables new values, of others."""
    return all(
        isinstance(s, sx.Assign) and isinstance(s.target, sx.Name) and not _reads_memory(s.value)
        for s in body
    )


def _reads_memory(e: object) -> bool:
    if isinstance(e, sx.Index) or (isinstance(e, sx.Unary) and e.op == "*"):
        return True
    parts = [getattr(e, n) for n in ("x", "a", "b", "condition") if hasattr(e, n)]
    return any(map(_reads_memory, [*parts, *getattr(e, "args", ())]))
