"""Single instructions in a kernel of assembly: operands come from memory, results go there.

    run("gfx942", [Case("v_add_u32 {d}, {a}, {b}", ("u4",), (x, y))]) -> [(array of u4,)]

Operands are arrays of 64 values, one a lane, of 4 bytes or a multiple; those of scalar instructions,
and of `{sa}` in vector ones, are the first value alone. All cases of a call are one kernel.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from dslc.runtime.hip_emulator import Module

from support.hip.toolchain import assembles

Array = np.ndarray[Any, np.dtype[Any]]
_FIRST_SOURCE, _FIRST_RESULT = 8, 128
_SCALAR_SOURCE, _SCALAR_RESULT = 20, 60


@dataclass(frozen=True)
class Case:
    """`{d}`, `{e}` are the results, `{a}`... the sources; `{scc}` stands for SCC as a last result.

    `before` are lines ahead of it, `kept` says that the results hold the last operands at first.
    """

    text: str
    results: tuple[str, ...]
    operands: tuple[Array, ...]
    before: str = ""
    kept: bool = False


def _words(dtype: Any) -> int:
    return max(np.dtype(dtype).itemsize // 4, 1)


def _name(kind: str, at: int, words: int) -> str:
    return f"{kind}{at}" if words == 1 else f"{kind}[{at}:{at + words - 1}]"


def run(chip: str, cases: Sequence[Case]) -> list[tuple[Array, ...]]:
    """The results of every case, each an array of 64."""
    lines: list[str] = []
    inputs: list[Array] = []
    places: list[list[tuple[int, str]]] = []
    rows = 0
    for case in cases:
        places.append([])
        rows = _emit(case, lines, inputs, places[-1], rows)
    text = assembly(chip, lines, ("in", "out"))
    assembles(text, chip)
    given = np.concatenate([*inputs, np.zeros((1, 64), np.uint32)])
    out = np.zeros((max(rows, 1), 64), np.uint32)
    Module(text).launch("k", [given, out], 1, 64)
    return [tuple(_result(out, at, dtype) for at, dtype in case) for case in places]


def _result(out: Array, row: int, dtype: str) -> Array:
    words = np.ascontiguousarray(out[row : row + _words(dtype)].T)
    return words.view(dtype).reshape(64, -1)[:, 0] if _words(dtype) <= 2 else words


def _emit(
    case: Case, lines: list[str], inputs: list[Array], places: list[tuple[int, str]], rows: int
) -> int:
    scalar = case.text.startswith("s_")
    source = _SCALAR_SOURCE if scalar else _FIRST_SOURCE
    result = _SCALAR_RESULT if scalar else _FIRST_RESULT
    kind = "s" if scalar else "v"
    names: dict[str, str] = {}
    results: list[tuple[str, str, int]] = []
    for name, dtype in zip("de", case.results, strict=False):
        if f"{{{name}}}" in case.text:
            words = _words(dtype)
            names[name] = _name(kind, result, words)
            results.append((dtype, kind, result))
            result += words + words % 2
    sources = zip("abcgh", case.operands, strict=False)
    if case.kept:
        *rest, last = case.operands
        _load(last, kind, results[0][2], lines, inputs)
        sources = zip("abcgh", rest, strict=False)
    scalars = _SCALAR_SOURCE
    for name, array in sources:
        words = _words(array.dtype)
        if f"{{s{name}}}" in case.text:
            _load(array, "s", scalars, lines, inputs)
            names[f"s{name}"] = _name("s", scalars, words)
            scalars += 2
            continue
        _load(array, kind, source, lines, inputs)
        names[name] = _name(kind, source, words)
        source += words + words % 2
    lines += ["s_waitcnt vmcnt(0) lgkmcnt(0)", *case.before.splitlines()]
    lines.append(re.sub(r"\{scc\}", "", case.text).format(**names))
    if "{scc}" in case.text:
        lines.append("s_cselect_b32 s80, 1, 0")
        results.append((case.results[-1], "s", 80))
    if "{m}" in case.text:
        raise AssertionError("masks are written as s[60:61]")
    for dtype, place, at in results:
        places.append((rows, dtype))
        for k in range(_words(dtype)):
            value = f"v{at + k}"
            if place == "s":
                lines.append(f"v_mov_b32_e32 v4, s{at + k}")
                value = "v4"
            _address(lines, "s[4:5]", rows)
            lines.append(f"global_store_dword v1, {value}, s[6:7]")
            rows += 1
    lines.append("s_waitcnt vmcnt(0)")
    return rows


def _address(lines: list[str], base: str, row: int) -> None:
    low = 2 if base == "s[2:3]" else 4
    lines.append(f"s_add_u32 s6, s{low}, {row * 256:#x}")
    lines.append(f"s_addc_u32 s7, s{low + 1}, 0")


def _load(array: Array, kind: str, at: int, lines: list[str], inputs: list[Array]) -> None:
    words = np.ascontiguousarray(array).view(np.uint32).reshape(64, -1)
    for k in range(words.shape[1]):
        row = len(inputs)
        inputs.append(words[:, k].reshape(1, 64).copy())
        _address(lines, "s[2:3]", row)
        if kind == "s":
            lines.append(f"s_load_dword s{at + k}, s[6:7], 0x0")
        else:
            lines.append(f"global_load_dword v{at + k}, v1, s[6:7]")
        lines.append("s_waitcnt vmcnt(0) lgkmcnt(0)")


def assembly(chip: str, body: Sequence[str], pointers: Sequence[str], lds: int = 0) -> str:
    """A kernel `k` of lines: s[2:3], s[4:5]... are its pointers, v0 the lane and v1 four times it."""
    loads = "\n".join(
        f"\ts_load_dwordx2 s[{2 + 2 * n}:{3 + 2 * n}], s[0:1], {8 * n:#x}"
        for n in range(len(pointers))
    )
    code = "\n".join(f"\t{line}" if not line.endswith(":") else line for line in body)
    args = "\n".join(
        f"      - .address_space:  global\n        .name: {name}\n        .offset: {8 * n}\n"
        "        .size: 8\n        .value_kind: global_buffer"
        for n, name in enumerate(pointers)
    )
    return f"""	.amdgcn_target "amdgcn-amd-amdhsa--{chip}"
	.text
	.globl	k
	.p2align	8
	.type	k,@function
k:
{loads}
	v_lshlrev_b32_e32 v1, 2, v0
	s_waitcnt lgkmcnt(0)
{code}
	s_endpgm
.Lfunc_end0:
	.size	k, .Lfunc_end0-k
	.section	.rodata,"a",@progbits
	.p2align	6, 0x0
	.amdhsa_kernel k
		.amdhsa_group_segment_fixed_size {lds}
		.amdhsa_user_sgpr_count 2
		.amdhsa_user_sgpr_kernarg_segment_ptr 1
		.amdhsa_system_sgpr_workgroup_id_x 0
		.amdhsa_next_free_vgpr 512
		.amdhsa_next_free_sgpr 96
		.amdhsa_accum_offset 256
	.end_amdhsa_kernel
	.text
	.amdgpu_metadata
---
amdhsa.kernels:
  - .agpr_count: 256
    .args:
{args}
    .group_segment_fixed_size: {lds}
    .kernarg_segment_align: 8
    .kernarg_segment_size: {8 * len(pointers)}
    .max_flat_workgroup_size: 1024
    .name: k
    .private_segment_fixed_size: 0
    .sgpr_count: 96
    .symbol: k.kd
    .vgpr_count: 512
    .wavefront_size: 64
amdhsa.target: amdgcn-amd-amdhsa--{chip}
amdhsa.version:
  - 1
  - 2
...
	.end_amdgpu_metadata
"""


Oracle = Callable[..., Any]
