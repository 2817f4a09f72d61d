"""Elaborating sources in tests, and looking into what comes out."""

from dslc.checker import CheckedModule, check_module
from dslc.compiler.ir import Kernel, Program
from dslc.compiler.ir import instructions as ins
from dslc.frontend.tile_parser import parse_tile


def check(text: str, **define: object) -> CheckedModule:
    return check_module(parse_tile(text, "test.tile"), define=define)


def one(text: str, fixed: dict[str, int] | None = None, **config: object) -> Kernel:
    """The last kernel of a source."""
    template = list(check(text).templates.values())[-1]
    kernel = template.elaborate(fixed, config)
    assert isinstance(kernel, Kernel)
    return kernel


def statements(body: str, params: str = "x: f16[M, N], y: out f16[M, N]") -> Kernel:
    """A kernel with these parameters and this body."""
    lines = "".join(f"    {line}\n" for line in body.strip("\n").split("\n"))
    return one(f"kernel k({params}):\n{lines}")


def every(kernel: Kernel | Program, kind: type) -> list:
    """All statements of a kind, in order, nested ones included."""
    found: list[object] = []

    def visit(body: tuple[ins.Stmt, ...]) -> None:
        for s in body:
            if isinstance(s, kind):
                found.append(s)
            for part in ("before", "body", "then", "otherwise"):
                visit(getattr(s, part, ()))

    assert isinstance(kernel, Kernel)
    visit(kernel.body)
    return found
