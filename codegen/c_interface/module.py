"""The files of a package's C interface: one header, and one source for each kind of machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files

from dslc.codegen.c_interface.cpu_features import condition
from dslc.codegen.c_interface.entries import call_struct, entry, parameters_of, tvm_ffi_entry
from dslc.codegen.c_interface.forms import Form, Interface
from dslc.codegen.c_interface.launches import (
    cpu_form,
    gpu_conditions,
    gpu_form,
    needed_features,
    variants_of,
)
from dslc.codegen.c_interface.packing import (
    Choice,
    declaration,
    function,
    packers,
    tvm_ffi_functions,
)
from dslc.codegen.quoting import ascii_name, block_comment
from dslc.codegen.symbols import renamed
from dslc.compiler.targets.cpu import Machine

_HEADER = """\
/* {name} {version}: compiled kernels.
 *
 * A tensor is a DLTensor of DLPack. Outputs are written in place. `stream` is a CUstream, on CPUs
 * NULL. The result is 0, or a DSLC_ number, with a text in {name}_last_error().
 */
#pragma once
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#ifndef DSLC_TENSOR
#define DSLC_TENSOR
typedef struct {{
  void *data;
  struct {{ int32_t type, id; }} device; /* 1: host, 2: CUDA */
  int32_t ndim;
  struct {{ uint8_t code, bits; uint16_t lanes; }} dtype;
  int64_t *shape;
  int64_t *strides; /* in elements; NULL for a dense tensor */
  uint64_t byte_offset;
}} dslc_tensor;
enum {{ DSLC_ARGUMENT = 1, DSLC_DRIVER = 2, DSLC_ASSERT = 3 }};
#endif

/* What went wrong in this thread's last call that failed. */
const char *{name}_last_error(void);
"""
_TAIL = """
#ifdef __cplusplus
}
#endif
"""
_TOP = """\
/* {name} {version} for {machine}. At the package's root: cc -I include -shared -fPIC ... {libraries} */
#define _GNU_SOURCE
{includes}

#define DSLC_API __attribute__((visibility("default")))
"""
_IMAGE = """
#define DSLC_IMAGE(name, path)                                                             \\
  extern const unsigned char name[];                                                       \\
  __asm__(".pushsection .rodata, \\"a\\"\\n.balign 64\\n" #name ":\\n.incbin \\"" path "\\"\\n" \\
          ".byte 0\\n.popsection\\n");
"""
# What CPUs are called, and the header by which their features are asked.
_MACHINES: Mapping[Machine, tuple[str, str]] = {
    "aarch64": ("Arm CPUs", "sys/auxv.h"),
    "x86_64": ("x86-64 CPUs", "cpuid.h"),
}
_COMMON = ("inttypes.h", "stdarg.h", "stdio.h", "stdlib.h", "string.h")


def header(name: str, version: str, interfaces: Sequence[Interface]) -> str:
    """The header of a package."""
    parts = [_HEADER.format(name=name, version=version)]
    for i in interfaces:
        doc = f"{block_comment(i.doc)}\n" if i.doc else ""
        shapes = ", ".join(
            f"{p.name}: {p.mode} {p.dtype}[{', '.join(p.dims)}]"
            for p in i.params
            if p.dims is not None
        )
        parts.append(f"\n{doc}/* {shapes} */\nint {i.symbol}({parameters_of(i)});\n")
        parts += [declaration(i, packer) for packer in packers(i)]
    return "".join(parts) + _TAIL


def gpu_source(name: str, version: str, interfaces: Sequence[Interface]) -> str:
    """C for NVIDIA GPUs: machine code by `.incbin`, the driver by dlopen."""
    text = [_top(name, version, "NVIDIA GPUs", "-ldl -lpthread", ("dlfcn.h", "pthread.h"))]
    text += [_part("support.c"), _part("tvm_ffi.c"), _part("packing.c"), _part("cuda.c"), _IMAGE]
    for i in interfaces:
        ranks = _ranks(i.forms, lambda f: (-_architecture(f), len(f.alignments)))
        conditions = [gpu_conditions(f) for f in i.forms]
        texts = [line for n, f in enumerate(i.forms) for line in gpu_form(i, n, f)]
        newest = _ranks(i.forms, lambda f: (-_architecture(f),), fixed=False)
        choices = [
            Choice(f, f"machine ? {rank} : 0", [(f"!machine || {_named(f)}", f)])
            for f, rank in zip(i.forms, newest, strict=True)
        ]
        text += [_kernel(i, ranks, conditions, 2, texts), _packing(i, choices)]
    return "\n".join(text) + _error(name)


def cpu_source(
    name: str, version: str, interfaces: Sequence[Interface], machine: Machine
) -> tuple[str, dict[str, str]]:
    """C for CPUs, and the assembly of all kernels by file name, each symbol its own."""
    title, asked = _MACHINES[machine]
    text = [_top(name, version, title, "with the .s files beside it", (asked,))]
    text += [_part("support.c"), _part("tvm_ffi.c"), _part("packing.c")]
    text += [_part(f"features_{machine}.c"), _part("cpu.c")]
    assembly: dict[str, str] = {}
    for i in interfaces:
        ranks = _ranks(i.forms, lambda f: (-len(_needs(f)[-1]),))
        conditions = [[f"({condition(_needs(f)[0], machine)})"] for f in i.forms]
        texts: list[str] = []
        for number, form in enumerate(i.forms):
            symbols = _own_symbols(i.name, number, form, assembly)
            texts += cpu_form(i, number, form, symbols, machine)
        most = _ranks(i.forms, lambda f: (-len(_needs(f)[-1]),), fixed=False)
        choices = [
            Choice(f, str(rank), _on_cpu(f, machine)) for f, rank in zip(i.forms, most, strict=True)
        ]
        text += [_kernel(i, ranks, conditions, 1, texts), _packing(i, choices)]
    return "\n".join(text) + _error(name), assembly


def _needs(form: Form) -> list[frozenset[str]]:
    """The features that the variants of a form need, the least first."""
    return [needed_features(v) for v in variants_of(form.artifact)]


def _kernel(
    interface: Interface,
    ranks: Sequence[int],
    conditions: Sequence[Sequence[str]],
    device: int,
    forms: Sequence[str],
) -> str:
    lines = [*call_struct(interface), *forms]
    lines += entry(interface, ranks, conditions, device)
    lines += tvm_ffi_entry(interface)
    return "\n".join(lines) + "\n"


def _packing(interface: Interface, choices: Sequence[Choice]) -> str:
    """What packs the kernel's weights."""
    lines: list[str] = []
    for packer in packers(interface):
        lines += function(interface, packer, choices)
        lines += tvm_ffi_functions(interface, packer)
    return "\n".join(lines) + "\n"


def _named(form: Form) -> str:
    """Whether a form runs on the GPU whose compute capability is `machine`."""
    asked = [c for c in gpu_conditions(form) if "capability" in c]
    return f"({' && '.join(asked)})".replace("c->capability", "machine")


def _on_cpu(form: Form, machine: Machine) -> list[tuple[str, Form]]:
    return [
        (condition(needed_features(v), machine), Form(v, {})) for v in variants_of(form.artifact)
    ]


def _ranks(
    forms: Sequence[Form], key: Callable[[Form], tuple[int, ...]], *, fixed: bool = True
) -> list[int]:
    """The place of each form in the order of preference: by `key`, then by `fixed` dims."""
    keys = [(*key(f), -len(f.artifact.signature.fixed) if fixed else 0) for f in forms]
    order = sorted({*keys})
    return [order.index(k) for k in keys]


def _architecture(form: Form) -> int:
    digits = form.artifact.target.partition(":sm_")[2]
    return 2 * int(digits.rstrip("af")) + digits.endswith("a")


def _own_symbols(
    name: str, number: int, form: Form, assembly: dict[str, str]
) -> list[Mapping[str, str]]:
    """The symbol of each kernel of each variant: the same kernel stands in several forms."""
    symbols: list[Mapping[str, str]] = []
    for variant in variants_of(form.artifact):
        word = variant.target.partition(":")[2]
        entries = [variant.entry]
        if variant.kind == "program":
            entries = [m["entry"] for m in variant.launch["kernels"]]
        suffix = ascii_name(word)
        own = {e: f"{name}_{number}_{i}_{suffix}" for i, e in enumerate(dict.fromkeys(entries))}
        symbols.append(own)
        several = "variants" in form.artifact.launch
        for file, content in form.artifact.files.items():
            if file.endswith(".s") and (not several or file.startswith(f"{word}.")):
                text = content.decode()
                for old, new in own.items():
                    text = renamed(text, old, new)
                assembly[f"{name}_{number}_{file.removesuffix('.s').replace('.', '_')}.s"] = text
    return symbols


def _top(name: str, version: str, machine: str, libraries: str, more: Sequence[str]) -> str:
    includes = "\n".join(
        [f'#include "{name}.h"', *(f"#include <{f}>" for f in sorted([*_COMMON, *more]))]
    )
    return _TOP.format(
        name=name, version=version, machine=machine, libraries=libraries, includes=includes
    )


def _part(file: str) -> str:
    return files("dslc.codegen.c_interface").joinpath(file).read_text(encoding="utf-8")


def _error(name: str) -> str:
    return f"\nDSLC_API const char *{name}_last_error(void) {{ return dslc_text; }}\n"
