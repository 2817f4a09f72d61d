"""Packing in C: a function for each parameter that is stored as packed bytes, which makes them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

from dslc.codegen.c_interface.forms import Form, Interface
from dslc.codegen.c_interface.launches import variants_of
from dslc.compiler.artifact import Param
from dslc.compiler.diagnostics import error

_MOST_AXES = 8


@dataclass(frozen=True, slots=True)
class Packer:
    """How a parameter of a kernel is packed; `dims` are those that its own shape does not tell."""

    param: Param
    storages: tuple[Mapping[str, Any], ...]
    dims: tuple[str, ...]

    def symbol(self, owner: str) -> str:
        """The function's name; `owner` is the kernel's, or its function's."""
        return f"{owner}_pack_{self.param.name}"

    def names(self, kernel: str) -> tuple[str, str]:
        """Under TVM-FFI: what packs, and what says how many bytes that takes."""
        return self.symbol(kernel), f"{kernel}_packed_bytes_{self.param.name}"


@dataclass(frozen=True, slots=True)
class Choice:
    """A form's variants by the conditions of their machine, the last that holds counts.

    Forms of the least rank come first; of all those of a GPU where none is named.
    """

    form: Form
    rank: str
    variants: Sequence[tuple[str, Form]]


def packers(interface: Interface) -> list[Packer]:
    """Of a kernel's parameters those that some form packs."""
    listed = []
    for p in interface.params:
        own = [q for f in interface.forms for v in _variants(f) if (q := _stored(v, p.name))]
        if not own:
            continue
        shape = p.dims or ()  # as the author wrote it: forms have numbers for dims that they fix
        if len(shape) > _MOST_AXES:
            raise error("DSL0754", f"{interface.name}: {p.name} has more than {_MOST_AXES} axes")
        fixed = {d for f in interface.forms for d in f.artifact.signature.fixed}
        rest = tuple(d for d in interface.dims if d in fixed and d not in shape)
        storages: list[Mapping[str, Any]] = []
        for q in own:
            if q.packed is not None and q.packed not in storages:
                storages.append(q.packed)
        listed.append(Packer(replace(p, dtype=own[0].dtype), tuple(storages), rest))
    return listed


def _variants(form: Form) -> list[Form]:
    return [Form(v, {}) for v in variants_of(form.artifact)]


def _stored(form: Form, name: str) -> Param | None:
    return next((p for p in form.params if p.name == name and p.packed is not None), None)


def parameters(packer: Packer) -> str:
    """The parameters of the C function."""
    given = "const dslc_tensor *codes, void *packed, int64_t *bytes, int machine"
    return ", ".join([given, *(f"int64_t d_{d}" for d in packer.dims)])


def declaration(interface: Interface, packer: Packer) -> str:
    """In the header, with what it does."""
    p = packer.param
    shape = f"{p.dtype}[{', '.join(p.dims or ())}]"
    text = f"""/* {p.name} as {interface.symbol} reads it, of codes {shape}, one a byte, on the host.
 * `packed` has `*bytes` bytes; NULL asks how many. `machine` is the compute capability of a GPU, such
 * as 90; 0 is any, where all read alike, and on CPUs this one."""
    if packer.dims:
        text += f"\n * {', '.join(f'd_{d}' for d in packer.dims)}: 0, or what a call will have."
    text += " */"
    return f"\n{text}\nint {packer.symbol(interface.symbol)}({parameters(packer)});\n"


def function(interface: Interface, packer: Packer, choices: Sequence[Choice]) -> Iterator[str]:
    """The C function: the storage by the form that a call would take, and the codes packed."""
    p, prefix = packer.param, packer.symbol(interface.name)
    for number, storage in enumerate(packer.storages):
        yield from storage_text(f"{prefix}_s{number}", storage, len(p.dims or ()))
    listed = ", ".join(f"&{prefix}_s{n}" for n in range(len(packer.storages)))
    yield f"DSLC_API int {packer.symbol(interface.symbol)}({parameters(packer)}) {{"
    yield f"  static const dslc_storage *const storages[] = {{{listed}}};"
    yield "  int failed, best = -1, rank = INT32_MAX, several = 0;"
    yield "  (void)machine;"
    yield f'  if ((failed = dslc_check_type(codes, "{p.name}", 1, 8))) return failed;'
    yield f'  if ((failed = dslc_check_device(codes, "{p.name}", 1, -1))) return failed;'
    axes = len(p.dims or ())
    yield f"  if (codes->ndim != {axes})"
    text = f'"{p.name} has {axes} axes, not %d", codes->ndim'
    yield f"    return dslc_fail(DSLC_ARGUMENT, {text});"
    names = {d: f"d_{d}" for d in packer.dims}
    names |= {
        d: f"codes->shape[{axis}]" for axis, d in enumerate(p.dims or ()) if d in interface.dims
    }
    for choice in choices:
        fixed = [
            f"({names[d]} == {n} || !{names[d]})" if d in packer.dims else f"{names[d]} == {n}"
            for d, n in choice.form.artifact.signature.fixed.items()
            if d in names
        ]
        yield f"  if ({' && '.join(fixed) or '1'}) {{"
        yield "    int own = -1;"
        for condition, form in choice.variants:
            stored = _stored(form, p.name)
            if stored is not None and stored.packed is not None:
                yield f"    if ({condition}) own = {packer.storages.index(stored.packed)};"
        yield f"    int own_rank = {choice.rank};"
        yield "    if (own >= 0 && own_rank == rank && own != best) several = 1;"
        yield "    if (own >= 0 && own_rank < rank) best = own, rank = own_rank, several = 0;"
        yield "  }"
    say = f'"nothing that was compiled reads {p.name} of such a shape"'
    yield f"  if (best < 0) return dslc_fail(DSLC_ARGUMENT, {say});"
    say = f'"{p.name} is packed in several ways: say for which machine and dims"'
    yield f"  if (several) return dslc_fail(DSLC_ARGUMENT, {say});"
    yield f'  return dslc_pack(storages[best], codes, "{p.name}", packed, bytes);'
    yield "}"


def storage_text(name: str, storage: Mapping[str, Any], axes: int) -> Iterator[str]:
    """A storage of a manifest as a constant of C."""
    bits, sign = storage["bits"], int(storage["signed"])
    if storage["scheme"] == "row":
        yield f"static const dslc_storage {name} = {{{bits}, {sign}, {axes}, 0, 0, 0, 1, 0, 0, 0}};"
        return
    tile = [prod(sizes) for sizes in storage["modes"]]
    digits: list[tuple[int, int, int]] = []
    for axis, sizes in enumerate(storage["modes"]):
        counts = tile[axis]
        for size in sizes:
            counts //= size
            digits.append((axis, size, counts))
    ordered = [digits[i] for i in storage["order"]]
    rows = ", ".join("{" + ", ".join(map(str, d)) + "}" for d in ordered) or "{0, 1, 1}"
    yield f"static const int32_t {name}_tile[] = {{{', '.join(map(str, tile))}}};"
    yield f"static const int32_t {name}_digit[][3] = {{{rows}}};"
    held = f"{storage['thread_bytes']}, {storage['word_bytes']}, {storage.get('lanes', 1)}"
    yield f"static const dslc_storage {name} = {{"
    yield f"    {bits}, {sign}, {axes}, {len(ordered)}, {held}, {prod(tile)},"
    yield f"    {name}_tile, {name}_digit}};"


def tvm_ffi_functions(interface: Interface, packer: Packer) -> Iterator[str]:
    """Under TVM-FFI's convention: (codes, packed, machine, *dims), and the bytes that are needed."""
    own, size = packer.names(interface.name)
    for word, asks in ((own, False), (size, True)):
        yield f"DSLC_API int __tvm_ffi_{word}(void *self, const dslc_any *args, int32_t count,"
        yield "    dslc_any *result) {"
        tensors = ("codes",) if asks else ("codes", "packed")
        numbers = ("machine", *(f"d_{d}" for d in packer.dims))
        total = len(tensors) + len(numbers)
        yield "  double real = 0;"
        yield "  int64_t bytes = 0;"
        yield "  (void)self, (void)real;"
        yield f"  if (count != {total}) {{"
        yield f'    dslc_fail(DSLC_ARGUMENT, "{word} takes {total} arguments, got %d", (int)count);'
        yield '    return dslc_raise("TypeError");'
        yield "  }"
        for i, tensor in enumerate(tensors):
            yield f"  const dslc_tensor *{tensor};"
            ask = f'dslc_any_tensor(&args[{i}], "{tensor}", &{tensor})'
            yield f'  if ({ask}) return dslc_raise("TypeError");'
        for i, number in enumerate(numbers, len(tensors)):
            yield f"  int64_t {number} = 0;"
            ask = f'dslc_any_number(&args[{i}], "{number}", 1, &real, &{number})'
            yield f'  if ({ask}) return dslc_raise("TypeError");'
        rest = ", ".join(["(int)machine", *numbers[1:]])
        call = f"{packer.symbol(interface.symbol)}(codes, %s, &bytes, {rest})"
        yield f"  int failed = {call % '0'};"
        if not asks:
            yield '  if (!failed) failed = dslc_check_device(packed, "packed", 1, -1);'
            yield '  if (!failed) failed = dslc_check_packed(packed, "packed", bytes);'
            yield f"  if (!failed) failed = {call % '(void *)(uintptr_t)dslc_address(packed)'};"
        kind = 'failed == DSLC_ARGUMENT ? "ValueError" : "RuntimeError"'
        yield f"  if (failed) return dslc_raise({kind});"
        yield "  result->padding = 0;"
        kind, whole = ("ANY_INT", "bytes") if asks else ("0", "0")
        yield f"  result->type = {kind}, result->whole = {whole};"
        yield "  return 0;"
        yield "}"


def functions_of(interface: Interface) -> list[str]:
    """The functions of a kernel under TVM-FFI."""
    own = [name for p in packers(interface) for name in p.names(interface.name)]
    return [interface.name, *own]
