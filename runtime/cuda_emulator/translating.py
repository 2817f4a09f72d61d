"""CUDA C to C++: shared memory, volatile reads, and inline PTX as calls. Line numbers stay."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files

from dslc.runtime.cuda_emulator.errors import EmulationError

_COMMENT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
_SHARED = re.compile(
    r"extern\s+__shared__\s+(?:__align__\(\d+\)\s+)?([\w ]+?)\s+(\w+)\s*\[\s*\]\s*;"
)
_WATCH = re.compile(r"\*\s*\(\s*volatile\s+([\w ]+?)\s*\*\s*\)")
_ASM = re.compile(r"\basm\s*(?:volatile\s*)?\(")
_STRING = re.compile(r'\s*"((?:[^"\\]|\\.)*)"')
_ENTRY = re.compile(
    r'extern\s+"C"\s+__global__\s+void\s+(?:__\w+__\s*\([^()]*\)\s*)*(\w+)\s*\(([^()]*)\)\s*\{'
)
_CLUSTER = re.compile(r"__cluster_dims__\s*\(\s*(\d+)")
_INSTRUCTION = re.compile(r"([a-z][\w.:]*)\s*(.*)", re.DOTALL)
_PREDICATE = re.compile(r"\.reg\s+\.pred\s+(\w+)")
_BULK = (
    "shared_cluster_global_tile_mbarrier_complete_tx_bytes",
    "shared_cluster_global_tile_mbarrier_complete_tx_bytes_multicast_cluster",
    "global_shared_cta_tile_bulk_group",
)
_WARPGROUP = "wgmma_mma_async_sync_aligned_m64n"
_WARPGROUP_TYPES = (
    *((16, f"f32_{t}_{t}") for t in ("f16", "bf16")),
    (8, "f32_tf32_tf32"),
    *((32, f"f32_{a}_{b}") for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2")),
    *((32, f"s32_{a}_{b}") for a in ("s8", "u8") for b in ("s8", "u8")),
)
_BETWEEN_BLOCKS = re.compile(
    r"\batomic\w*\s*\(|\bvolatile\s+\w|__threadfence\s*\(|\b(?:red|atom)\."
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a kernel: its C type without const and restrict, `pointer` or by value."""

    name: str
    ctype: str
    pointer: bool
    constant: bool


def without_comments(text: str) -> str:
    """The text with its comments blanked and its lines kept."""

    def blank(match: re.Match[str]) -> str:
        piece = match[0]
        return piece if piece.startswith('"') else "\n" * piece.count("\n") or " "

    return _COMMENT.sub(blank, text)


def entries(text: str) -> dict[str, tuple[Parameter, ...]]:
    """The kernels of a text and their parameters."""
    return {
        m[1]: tuple(_parameter(p) for p in m[2].split(",") if p.strip())
        for m in _ENTRY.finditer(without_comments(text))
    }


def _parameter(text: str) -> Parameter:
    text = text.replace("__restrict__", " ").replace("__grid_constant__", " ")
    words = text.replace("*", " * ").split()
    name = words.pop()
    constant = "const" in words[: words.index("*")] if "*" in words else True
    ctype = " ".join(w for w in words if w not in ("const", "*"))
    return Parameter(name, ctype, "*" in words, constant)


def cluster_of(text: str, entry: str) -> int:
    """How many blocks of a kernel are a cluster, along the one axis of its grid."""
    for match in _ENTRY.finditer(without_comments(text)):
        if match[1] == entry and (size := _CLUSTER.search(match[0])):
            return int(size[1])
    return 1


def meets_other_blocks(text: str) -> bool:
    """Whether blocks may wait for or count one another, so that they have to run side by side."""
    return _BETWEEN_BLOCKS.search(without_comments(text).replace("asm volatile", "asm")) is not None


def translate(text: str, entry: str) -> str:
    """C++ with one function `emu_launch` that runs a thread of the kernel `entry`."""
    if entry not in entries(text):
        raise EmulationError(f"the text has no kernel {entry}")
    code = without_comments(text)
    for match in reversed(list(_ENTRY.finditer(code))):  # a kernel may be called as a C function is
        code = f"{code[: match.start(1)]}emu_kernel_{match[1]}{code[match.end(1) :]}"
    code = _inline_assembly(code)
    code = _SHARED.sub(r"\1* const \2 = (\1*)emu_shared();", code)
    code = _WATCH.sub(r"EmuWatch<\1>() ->* ", code)
    for word in ("__shared__", "volatile", "asm"):
        if unknown := re.search(rf"\b{word}\b[^\n]*", code):
            line = code[: unknown.start()].count("\n") + 1
            raise EmulationError(
                f"line {line} is CUDA that the emulator does not know: {unknown[0]}"
            )
    call = f"emu_call(emu_kernel_{entry}, arguments);"
    launch = f'extern "C" void emu_launch(void** arguments) {{ {call} }}\n'
    return f'#include "ptx.h"\n#line 1 "kernel.cu"\n{code}\n{launch}'


# Inline PTX: asm("instruction %0, {%1, %2}, [%3];" : outputs : inputs : clobbers)


def instructions() -> frozenset[str]:
    """The PTX instructions that have host versions, their dots as underscores."""
    header = files("dslc.runtime.cuda_emulator").joinpath("ptx.h").read_text(encoding="utf-8")
    names = set(re.findall(r"^HOST void (\w+)\(", header, re.MULTILINE))
    macro = re.compile(
        r"^PTX_MMA(_PAIRS)?\((\d+), (\d+), (\d+), (\w+), (\w+), (\w+),", re.MULTILINE
    )
    for pairs, m, n, k, d, a, b in macro.findall(header):
        for x, y in [(x, y) for x in (a, b) for y in (a, b)] if pairs else [(a, b)]:
            names.add(f"mma_sync_aligned_m{m}n{n}k{k}_row_col_{d}_{x}_{y}_{d}")
    names |= {f"cp_async_bulk_tensor_{d}d_{way}" for d in range(2, 6) for way in _BULK}
    for n in range(8, 257, 8):
        names |= {f"{_WARPGROUP}{n}k{k}_{types}" for k, types in _WARPGROUP_TYPES}
    return frozenset(names)


def assembly(text: str) -> Iterator[tuple[int, int, str, list[str]]]:
    """Each asm statement: where it begins and ends, its template, its operands as C."""
    for match in _ASM.finditer(text):
        end = _closing(text, match.end() - 1)
        template, at = "", match.end()
        while string := _STRING.match(text, at):
            template, at = template + string[1], string.end()
        sections = _split(text[at:end], ":") if text[at:end].strip() else []
        operands = [
            re.sub(r'^\s*"[^"]*"\s*\((.*)\)\s*$', r"\1", operand, flags=re.DOTALL)
            for section in sections[1:3]
            for operand in _split(section, ",")
            if operand.strip()
        ]
        yield match.start(), end + 1, template, operands


def mnemonics(template: str) -> list[str]:
    """The instructions of a template by name, their dots as underscores."""
    return [name for name, _ in _instructions(template)]


def _statements(template: str) -> Iterator[str]:
    """The statements of a template, those of a block too."""
    for part in template.replace("\\n", " ").replace("\\t", " ").split(";"):
        text = part.strip().removeprefix("{").strip()
        if text and text != "}":
            yield text


def _predicates(template: str) -> list[str]:
    """The predicates that a block declares."""
    return [m[1] for text in _statements(template) if (m := _PREDICATE.fullmatch(text))]


def _instructions(template: str) -> Iterator[tuple[str, str]]:
    for part in _statements(template):
        if _PREDICATE.fullmatch(part):
            continue
        match = _INSTRUCTION.fullmatch(part)
        if match is None:
            raise EmulationError(f"the emulator does not know the PTX `{part}`")
        yield re.sub(r"[.:]+", "_", match[1]), match[2]


def _inline_assembly(text: str) -> str:
    known = instructions()
    out, last = [], 0
    for start, end, template, operands in assembly(text):
        calls = []
        for name, arguments in _instructions(template):
            if name not in known:
                raise EmulationError(f"the PTX instruction {name} has no host version in ptx.h")
            flat = re.sub(r"[{}\[\]]", "", arguments)
            pieces = re.split(r"%(\d+)", flat)  # text, number, text, number, ..., text
            pieces[1::2] = [f"({operands[int(number)]})" for number in pieces[1::2]]
            calls.append(f"ptx::{_call(name)}{''.join(pieces)})")
        lines = text[start:end].count("\n")
        whole = "(" + ", ".join(calls or ["0"]) + ")"
        for name in _predicates(template):
            whole = f"[&](int {name}) {{ {whole}; }}(0)"
        out += [text[last:start], whole, "\n" * lines]
        last = end
    return "".join([*out, text[last:]])


def _call(name: str) -> str:
    """The function of an instruction, and what its name says: `wgmma(64, 16, "f32", "f16", "f16", `."""
    if not name.startswith(_WARPGROUP):
        return f"{name}("
    shape, *types = name.removeprefix(_WARPGROUP).split("_")
    words = ", ".join(f'"{t}"' for t in types)
    return f"wgmma({shape.replace('k', ', ')}, {words}, "


def _closing(text: str, at: int) -> int:
    """The place of the parenthesis that closes the one at `at`; strings are skipped."""
    depth = 0
    while True:
        if text[at] == '"':
            at = text.index('"', at + 1)
        depth += (text[at] == "(") - (text[at] == ")")
        if depth == 0:
            return at
        at += 1


def _split(text: str, mark: str) -> list[str]:
    """The parts between marks that stand outside parentheses, brackets and strings."""
    parts, depth, quoted, start = [], 0, False, 0
    for i, c in enumerate(text):
        quoted ^= c == '"'
        if quoted:
            continue
        depth += (c in "([{") - (c in ")]}")
        scope = mark == ":" and (text[i - 1 : i + 1] == "::" or text[i : i + 2] == "::")
        if c == mark and depth == 0 and not (scope and _is_scope(text, i)):
            parts.append(text[start:i])
            start = i + 1
    return [*parts, text[start:]]


def _is_scope(text: str, i: int) -> bool:
    """Whether a double colon joins two names (`a::b`), not two empty sections (`:: "r"(x)`)."""
    first = i - 1 if text[i - 1 : i + 1] == "::" else i
    return text[:first][-1:].isidentifier() and text[first + 2 :][:1].isidentifier()
