"""The entry of a kernel: its call read from the arguments, the form that fits best, and its checks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from dslc.codegen.c_interface.expressions import c_expression
from dslc.codegen.c_interface.forms import Form, Interface, Names, ctype_of, dlpack_type, is_float
from dslc.codegen.quoting import c_name
from dslc.compiler.artifact import Param

_LARGEST_DIM = (1 << 31) - (1 << 20)  # kernels count in 32 bits along an axis


def parameters_of(interface: Interface, prefix: str = "") -> str:
    """The parameters of the C function, with names that C has no other use for."""
    given: list[str] = []
    for p in interface.params:
        others = {"stream", *(q.name for q in interface.params if q is not p)}
        name = f"{prefix}{p.name}" if prefix else c_name(p.name, others)
        given.append(
            f"{ctype_of(p.dtype)} {name}" if p.dims is None else f"const dslc_tensor *{name}"
        )
    return ", ".join([*given, "void *stream"])


def call_struct(interface: Interface) -> Iterator[str]:
    """The arguments of a call and what follows from them."""
    yield f"struct {interface.name}_call {{"
    for p in interface.params:
        kind = f"{ctype_of(p.dtype)} " if p.dims is None else "const dslc_tensor *"
        yield f"  {kind}p_{p.name};"
    if interface.dims:
        yield f"  int64_t {', '.join(f'd_{d}' for d in interface.dims)};"
    yield "  void *stream;"
    yield "  int device, capability;"
    yield "};"


def checks(interface: Interface, form: Form, device: int, names: Names) -> Iterator[str]:
    """Every tensor's shape, strides and place, for a form that fits."""
    for p in form.params:
        if p.dims is None:
            continue
        t, quoted = f"c->p_{p.name}", f'"{p.name}"'
        place = "-1" if device == 1 else "c->device"
        yield f"  if ((failed = dslc_check_device({t}, {quoted}, {device}, {place}))) return failed;"
        if p.packed is not None:
            size = packed_bytes(p, names)
            yield f"  if ((failed = dslc_check_packed({t}, {quoted}, {size}))) return failed;"
            continue
        shape = _array([c_expression(e, names) for e in p.dims])
        strides = "0"
        if p.strides is not None:
            strides = _array([c_expression(e, names) for e in p.strides])
        given = f"{t}, {quoted}, {len(p.dims)}, {shape}, {strides}"
        yield f"  if ((failed = dslc_check_shape({given}))) return failed;"


def packed_bytes(p: Param, names: Names) -> str:
    """The bytes of a packed tensor, as `dslc.runtime.packing` counts them."""
    assert p.packed is not None
    assert p.dims is not None
    extents = [c_expression(e, names) for e in p.dims]
    bits = p.packed["bits"]
    if p.packed["scheme"] == "row":
        return f"dslc_cdiv({' * '.join(extents) or '1'} * {bits}, 8)"
    tile = [prod(sizes) for sizes in p.packed["modes"]]
    counts = [f"dslc_cdiv({e}, {t})" for e, t in zip(extents, tile, strict=True)]
    return " * ".join([*counts, str(prod(tile) * bits // 8)])


def fits(interface: Interface, form: Form, conditions: Sequence[str]) -> str:
    """The condition under which a form serves a call; `conditions` are those of its machine."""
    names = interface.names()
    signature = form.artifact.signature
    fixed = [f"{names[d]} == {n}" for d, n in signature.fixed.items() if d in names]
    fixed += [c_expression(r.condition, names) for r in signature.requires]
    return " && ".join([*fixed, *conditions]) or "1"


def entry(
    interface: Interface, ranks: Sequence[int], conditions: Sequence[Sequence[str]], device: int
) -> Iterator[str]:
    """The public function: forms of the least rank come first, of equal ones the nearest sizes."""
    name = interface.name
    yield f"DSLC_API int {interface.symbol}({parameters_of(interface, 'p_')}) {{"
    yield f"  struct {name}_call call = {{0}}, *c = &call;"
    yield "  int failed;"
    for p in interface.params:
        yield f"  c->p_{p.name} = p_{p.name};"
    yield "  c->stream = stream;"
    yield from _types(interface)
    for dim, (param, axis) in interface.binders().items():
        rank = next(len(p.dims or ()) for p in interface.params if p.name == param)
        text = f'"argument {param} has %d axes, expected {rank}", p_{param}->ndim'
        yield f"  if (p_{param}->ndim != {rank}) return dslc_fail(DSLC_ARGUMENT, {text});"
        yield f"  c->d_{dim} = p_{param}->shape[{axis}];"
        yield f"  if (c->d_{dim} < 0 || c->d_{dim} > {_LARGEST_DIM})"
        yield f'    return dslc_fail(DSLC_ARGUMENT, "{dim} is more than a kernel can index");'
    yield from _device(interface, device)
    yield "  int best = -1;"
    yield "  int64_t least = INT64_MAX;"
    for number, (form, rank) in enumerate(zip(interface.forms, ranks, strict=True)):
        far = [f"dslc_far(c->d_{d}, {n})" for d, n in form.sizes.items() if d in interface.dims]
        score = " + ".join([f"((int64_t){rank} << 32)", *far])
        yield f"  if ({fits(interface, form, conditions[number])}) {{"
        yield f"    int64_t score = {score};"
        yield f"    if (score < least) least = score, best = {number};"
        yield "  }"
    yield "  switch (best) {"
    for number in range(len(interface.forms)):
        yield f"  case {number}: return {name}_{number}(c);"
    yield "  }"
    shown = "".join(f' {d}=%" PRId64 "' for d in interface.dims)
    values = "".join(f", c->d_{d}" for d in interface.dims)
    text = f'"{name}: nothing was compiled for this call:{shown}"{values}'
    yield f"  (void)failed;\n  return dslc_fail(DSLC_ARGUMENT, {text});"
    yield "}"


def tvm_ffi_entry(interface: Interface) -> Iterator[str]:
    """The same under TVM-FFI's convention: `module.NAME(*arguments)`."""
    name, count = interface.name, len(interface.params)
    taken = "void *self, const dslc_any *args, int32_t count, dslc_any *result"
    yield f"DSLC_API int __tvm_ffi_{name}({taken}) {{"
    yield "  void *stream = 0;"
    yield "  double real = 0;"
    yield "  int64_t whole = 0;"
    yield "  (void)self, (void)real, (void)whole;"
    yield f"  if (count != {count}) {{"
    yield f'    dslc_fail(DSLC_ARGUMENT, "{name} takes {count} arguments, got %d", (int)count);'
    yield '    return dslc_raise("TypeError");'
    yield "  }"
    given = []
    first = None
    for i, p in enumerate(interface.params):
        if p.dims is None:
            whole = 0 if is_float(p.dtype) else 1
            ask = f'dslc_any_number(&args[{i}], "{p.name}", {whole}, &real, &whole)'
            yield f'  if ({ask}) return dslc_raise("TypeError");'
            yield f"  {ctype_of(p.dtype)} v{i} = ({ctype_of(p.dtype)}){'whole' if whole else 'real'};"
        else:
            first = first or f"v{i}"
            yield f"  const dslc_tensor *v{i};"
            ask = f'dslc_any_tensor(&args[{i}], "{p.name}", &v{i})'
            yield f'  if ({ask}) return dslc_raise("TypeError");'
        given.append(f"v{i}")
    if first:
        yield f'  if (dslc_any_stream({first}, &stream)) return dslc_raise("RuntimeError");'
    yield "  result->type = 0, result->padding = 0, result->whole = 0;"
    yield f"  int failed = {interface.symbol}({', '.join([*given, 'stream'])});"
    yield '  return failed ? dslc_raise(failed == DSLC_ARGUMENT ? "ValueError" : "RuntimeError") : 0;'
    yield "}"


def _types(interface: Interface) -> Iterator[str]:
    stored = {p.name for f in interface.forms for p in f.params if p.packed is not None}
    for p in interface.params:
        if p.dims is not None:
            code, bits = dlpack_type(p.dtype, packed=p.name in stored)
            ask = f'dslc_check_type(p_{p.name}, "{p.name}", {code}, {bits})'
            yield f"  if ((failed = {ask})) return failed;"


def _device(interface: Interface, device: int) -> Iterator[str]:
    tensors = [p.name for p in interface.params if p.dims is not None]
    if device == 1:
        return
    if tensors:
        first = f'p_{tensors[0]}, "{tensors[0]}"'
        yield f"  if ((failed = dslc_check_device({first}, {device}, -1))) return failed;"
        yield f"  c->device = p_{tensors[0]}->device.id;"
    yield "  if ((c->capability = dslc_capability(c->device)) < 0) return DSLC_DRIVER;"


def _array(values: Sequence[str]) -> str:
    return f"(const int64_t[]){{{', '.join(values) or '0'}}}"
