"""Every operation and every cast that the language has for a dtype, as Tile IR."""

from __future__ import annotations

from collections.abc import Iterator

from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.dtypes import INDEX, DType, all_dtypes, parse_dtype
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.expr import BINARY_OPS, UNARY_OPS
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.verify import verify

DTYPES = [d for d in all_dtypes() if d != INDEX]
# Narrow types share their ways: some of each kind and width.
SOME = (
    "bool",
    "e8m0",
    "u1",
    "i3",
    "u4",
    "i8",
    "u8",
    "f4e2m1",
    "f6e3m2",
    "f8e4m3",
    "f8e5m2",
    "f8e3m4",
)
TRIED = [d for d in DTYPES if d.bits > 8 or d.name in SOME]
LAYOUT = "`spatial(32).local(8)`"


def is_sound(text: str) -> bool:
    """Whether the language has the program."""
    try:
        verify(parse_program(text))
    except DiagnosticError:
        return False
    return True


def program(params: list[str], lines: list[str]) -> str:
    body = "".join(f"  {line}\n" for line in lines)
    return f"kernel k[]({', '.join(params)}) {{\n  threads(32)\n{body}}}\n"


def loads(dtype: DType) -> tuple[list[str], list[str]]:
    """Two tiles %x and %y of a dtype; those of few bits are viewed from bytes."""
    if dtype.bits >= 8:
        params = [f"@{n}: in {dtype}[256]" for n in "xy"]
        return params, [f"%{n} = load @{n}[0 : +256!] : {dtype}[256] {LAYOUT}" for n in "xy"]
    size = 32 * dtype.bits
    lines = []
    for n in "xy":
        at = f"`spatial(32).local({size // 32})`"
        lines.append(f"%{n}b = load @{n}[0 : +{size}!] : u8[{size}] {at}")
        lines.append(f"%{n} = view %{n}b : {dtype}[256] {LAYOUT}")
    return [f"@{n}: in u8[{size}]" for n in "xy"], lines


def operations(dtype: DType) -> Iterator[str]:
    """Every operation and every cast that the language has for a dtype, as IR."""
    params, start = loads(dtype)
    for op in (*UNARY_OPS, *BINARY_OPS, "fma"):
        operands = "%x" if op in UNARY_OPS else "%x, %y, %y" if op == "fma" else "%x, %y"
        for to in dict.fromkeys((dtype.name, "bool")):
            lines = [*start, f"%z = {op} {operands} : {to}[256] {LAYOUT}"]
            if is_sound(text := program(params, lines)):
                yield text
    for other in DTYPES:
        for how in ("", ", saturate"):
            text = program(params, [*start, f"%z = cast %x{how} : {other}[256] {LAYOUT}"])
            if is_sound(text):
                yield text


def joined(dtype: DType) -> Kernel:
    """All of them in one kernel, each stored."""
    params, lines = loads(dtype)
    for i, text in enumerate(operations(dtype)):
        last = next(line for line in text.split("\n") if "%z" in line).strip()
        out = parse_dtype(last.split(" : ")[1].split("[")[0])
        assert out is not None
        if out.bits >= 8:
            params.append(f"@o{i}: out {out}[256]")
            lines += [last.replace("%z", f"%z{i}"), f"store @o{i}[0 : +256!], %z{i}"]
        else:  # what has few bits is looked at through bytes
            size = 32 * out.bits
            params.append(f"@o{i}: out u8[{size}]")
            at = f"`spatial(32).local({size // 32})`"
            lines += [
                last.replace("%z", f"%z{i}"),
                f"%v{i} = view %z{i} : u8[{size}] {at}",
                f"store @o{i}[0 : +{size}!], %v{i}",
            ]
    found = parse_program(program(params, lines))
    assert isinstance(found, Kernel)
    return found
