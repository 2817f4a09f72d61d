"""A library's C header: how programs without dslc call its kernels."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from dslc.codegen.quoting import block_comment, c_name
from dslc.compiler.artifact import Artifact, Json, Param

_CTYPES = {
    "f32": "float",
    "f64": "double",
    "bool": "bool",
    "f16": "float16_bits",
    "bf16": "float16_bits",
    **{f"i{n}": f"int{n}_t" for n in (8, 16, 32, 64)},
    **{f"u{n}": f"uint{n}_t" for n in (8, 16, 32, 64)},
}
_HEAD = """\
/* A call runs the turns from begin to end - 1; threads take a range each. Members of arguments are
 * words of 64 bits in this order. `scratch` is private to a call, aligned to 64 bytes. The result is 0,
 * or the number of the assertion that does not hold.
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
#define DSLC_WORD alignas(8)
extern "C" {
#else
#define DSLC_WORD _Alignas(8)
#endif
typedef uint16_t float16_bits;
"""
_TAIL = """\

#ifdef __cplusplus
}
#endif
"""


def c_header(artifact: Artifact) -> str:
    """The header of a kernel's library, or of all kernels of a program's."""
    declared = "".join(f"{line}\n" for k in _kernels(artifact) for line in _declaration(k))
    return f"{_HEAD}\n/* {artifact.name} for {artifact.target} */\n{declared}{_TAIL}"


def one_header(headers: Sequence[str]) -> str:
    """The headers of several libraries as one, of equal declarations one."""
    declared = (h.removeprefix(_HEAD).removesuffix(_TAIL) for h in headers)
    return _HEAD + "".join(dict.fromkeys(declared)) + _TAIL


def _kernels(artifact: Artifact) -> Iterator[Artifact]:
    """The kernels of a library: of each variant, of each call of a program."""
    parts = artifact.launch.get("variants") or artifact.launch.get("kernels")
    if parts is None:
        yield artifact
    for manifest in parts or ():
        yield from _kernels(Artifact.from_manifest({**manifest, "files": {}}, {}))


def _declaration(kernel: Artifact) -> Iterator[str]:
    entry, launch = kernel.entry, kernel.launch
    params = {p.name: p for p in kernel.signature.params}
    if kernel.signature.doc:
        yield block_comment(kernel.signature.doc)
    yield f"struct {entry}_args {{"
    taken: set[str] = set()
    for argument in launch["arguments"]:
        kind, name = _member(argument, params)
        name = c_name(name, taken)
        taken.add(name)
        yield f"    DSLC_WORD {kind}{name};"
    yield "};"
    turns = " * ".join(f"({text})" for text in launch["grid"]) or "1"
    yield f"/* turns: {turns} */"
    yield f"#define {entry}_scratch {launch['scratch']}"
    yield (
        f"int32_t {entry}(const struct {entry}_args *args, int64_t begin, int64_t end, void *scratch);"
    )


def _member(argument: Json, params: dict[str, Param]) -> tuple[str, str]:
    """The type of a member, up to its name, and what it is called."""
    kind = argument["kind"]
    if kind == "value":
        return "int64_t ", re.sub(r"\W+", "_", argument["value"]).strip("_")
    name = argument["name"]
    if kind == "workspace":
        return "void *", name
    param = params[name]
    if kind == "scalar":
        kinds = {"f64": "double", "bool": "uint64_t"}
        whole = param.dtype[0] in "iu"
        return f"{kinds.get(param.dtype, 'int64_t' if whole else 'float')} ", name
    plain = "uint8_t" if param.packed is not None else _CTYPES.get(param.dtype, "uint8_t")
    return f"{'const ' if param.mode == 'in' else ''}{plain} *", name
