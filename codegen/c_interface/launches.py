"""Launches in C: what a form's description says, for a GPU and for a CPU."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from dslc.codegen.c_interface.cpu_features import condition
from dslc.codegen.c_interface.entries import checks
from dslc.codegen.c_interface.expressions import c_expression
from dslc.codegen.c_interface.forms import CTYPES, Form, Interface, Names, ctype_of, is_float
from dslc.codegen.quoting import c_format, c_string
from dslc.compiler.artifact import Artifact
from dslc.compiler.targets.cpu import Machine

_TYPES = {1: 0, 2: 1, 4: 2}  # CUtensorMapDataType of unsigned integers by their bytes
_SWIZZLES = {32: 1, 64: 2, 128: 3}
_ALIGNMENT = 16


@dataclass(frozen=True, slots=True)
class Step:
    """A kernel's call: its number in the artifact, and what its tensors and names are in C."""

    kernel: Artifact
    number: int
    tensors: Mapping[str, str]
    names: Names
    when: str = "1"


def steps_of(artifact: Artifact, tensors: Mapping[str, str], names: Names) -> list[Step]:
    """The calls of an artifact in order: one of a kernel, those of a program."""
    if artifact.kind == "kernel":
        fixed = {d: f"INT64_C({n})" for d, n in artifact.signature.fixed.items()}
        return [Step(artifact, 0, tensors, {**names, **fixed})]
    kernels = [Artifact.from_manifest({**m, "files": {}}, {}) for m in artifact.launch["kernels"]]
    steps = []
    for call in artifact.launch["calls"]:
        kernel = kernels[call["kernel"]]
        dims = {d: c_expression(t, names) for d, t in call["dims"].items()}
        fixed = {d: f"INT64_C({n})" for d, n in kernel.signature.fixed.items()}
        scalars = {s: _scalar(t, names) for s, t in call["scalars"].items()}
        given = {n: tensors[t] for n, t in call["tensors"].items()}
        when = c_expression(call.get("when", "1"), names)
        steps.append(Step(kernel, call["kernel"], given, {**fixed, **scalars, **dims}, when))
    return steps


def gpu_conditions(form: Form) -> list[str]:
    """What a GPU and the tensors' addresses must be."""
    digits = form.artifact.target.partition(":sm_")[2]
    number = int(digits.rstrip("af"))
    if digits.endswith("a"):
        conditions = [f"c->capability == {number}"]
    else:
        conditions = [f"c->capability / 10 == {number // 10}", f"c->capability >= {number}"]
    usual = form.artifact.launch.get("alignment", _ALIGNMENT)
    for p in form.params:
        if p.dims is not None:
            multiple = form.alignments.get(p.name, usual)
            conditions.append(f"dslc_address(c->p_{p.name}) % {multiple} == 0")
    return conditions


def gpu_form(interface: Interface, number: int, form: Form) -> Iterator[str]:
    """The function that launches a form on a GPU."""
    prefix = f"{interface.name}_{number}"
    for index, (kernel, path) in enumerate(zip(_kernels(form.artifact), form.images, strict=True)):
        yield f'DSLC_IMAGE({prefix}_image_{index}, "{path}")'
        yield f"static dslc_function {prefix}_kernel_{index} = {{"
        yield f'  "{kernel.name}", "{kernel.entry}", {prefix}_image_{index}, {kernel.shared_bytes},'
        yield f"  {int(_cluster_size(kernel) > 8)}, {{0}},"
        yield "};"
    yield f"static int {prefix}(const struct {interface.name}_call *c) {{"
    names = interface.names()
    yield "  int failed = 0;"
    yield from checks(interface, form, 2, names)
    steps, memory, spaces = _placed(form, names, "")
    yield f"  uint64_t memory[{max(1, len(memory))}] = {{0}};"
    yield "  void *context;"
    yield "  int status = dslc_cuda.cuCtxPushCurrent(dslc_devices[c->device].context);"
    yield '  if (status) return dslc_driver_error("making the device current", status);'
    for at, (size, zero) in enumerate(memory):
        yield f"  if (!failed) failed = dslc_take(&memory[{at}], {size}, {zero}, c->stream);"
    for step, own in zip(steps, spaces, strict=True):
        yield from _gpu_step(prefix, step, own)
    yield f"  dslc_give_back(memory, {len(memory)}, c->stream);"
    yield "  dslc_cuda.cuCtxPopCurrent(&context);"
    yield "  return failed;"
    yield "}"


def _placed(
    form: Form, names: Names, cast: str
) -> tuple[list[Step], list[tuple[str, int]], list[dict[str, str]]]:
    """The steps of a form, the memory they need (bytes, 1 where it is zeroed), each step's workspaces.

    Buffers of a program come first. `cast` makes an address of a pointer, where they differ.
    """
    tensors = {p.name: f"dslc_address(c->p_{p.name})" for p in form.params if p.dims is not None}
    memory: list[tuple[str, int]] = []
    buffers = form.artifact.launch.get("buffers", []) if form.artifact.kind == "program" else []
    for b in buffers:
        tensors[b["name"]] = f"{cast}memory[{len(memory)}]"
        memory.append((c_expression(b["bytes"], names), 0))
    for v in form.artifact.launch.get("views", []):
        offset = f"(uint64_t){c_expression(v['offset'], names)}"
        tensors[v["name"]] = f"({cast and '(uint64_t)(uintptr_t)'}{tensors[v['of']]} + {offset})"
    steps = steps_of(form.artifact, tensors, names)
    spaces = []
    for step in steps:
        at = len(memory)
        spaces.append({w.name: f"memory[{at + i}]" for i, w in enumerate(step.kernel.workspaces)})
        memory += [(c_expression(w.bytes, step.names), 1) for w in step.kernel.workspaces]
    return steps, memory, spaces


def _gpu_step(prefix: str, step: Step, spaces: Mapping[str, str]) -> Iterator[str]:
    launch = step.kernel.launch
    yield f"  if (!failed && {step.when}) {{"
    yield from _requirements(step, "    ")
    pointers = []
    maps = []
    for i, argument in enumerate(launch["arguments"]):
        declared, text = _gpu_argument(i, argument, step, spaces)
        yield f"    {declared}"
        if argument["kind"] == "tensor_map":
            maps.append(text)
        pointers.append(f"a{i}" if argument["kind"] == "tensor_map" else f"&a{i}")
    for text in maps:
        yield f"    if (!failed) failed = {text};"
    grid = [c_expression(t, step.names) for t in launch["grid"]]
    grid += ["1"] * (3 - len(grid))
    yield f"    const int64_t grid[3] = {{{', '.join(grid)}}};"
    yield f"    void *parameters[] = {{{', '.join(pointers) or '0'}}};"
    attributes = _attributes(launch)
    yield f"    dslc_attribute attributes[] = {{{', '.join(attributes) or '{0}'}}};"
    given = f"&{prefix}_kernel_{step.number}, c->device, c->stream, grid, {launch['threads']}"
    yield "    if (!failed)"
    yield f"      failed = dslc_launch({given}, attributes, {len(attributes)}, parameters);"
    yield "  }"


def _gpu_argument(
    i: int, argument: Mapping[str, object], step: Step, spaces: Mapping[str, str]
) -> tuple[str, str]:
    """The declaration of a C parameter, and of a map the call that encodes it."""
    match argument["kind"]:
        case "tensor":
            return f"uint64_t a{i} = {step.tensors[str(argument['name'])]};", ""
        case "workspace":
            return f"uint64_t a{i} = {spaces[str(argument['name'])]};", ""
        case "scalar":
            kind = ctype_of(str(argument["type"]))
            return f"{kind} a{i} = ({kind}){step.names[str(argument['name'])]};", ""
        case "value":
            kind = ctype_of(str(argument["type"]))
            return f"{kind} a{i} = ({kind}){c_expression(str(argument['value']), step.names)};", ""
    return f"_Alignas(64) unsigned char a{i}[128];", _map(i, argument, step)


def _map(i: int, argument: Mapping[str, object], step: Step) -> str:
    name, box = str(argument["name"]), list(argument["box"])  # type: ignore[call-overload]
    extents, strides = (
        ", ".join(c_expression(t, step.names) for t in argument[key])  # type: ignore[attr-defined]
        for key in ("extents", "strides")
    )
    kind, swizzle = _TYPES[argument["bytes"]], _SWIZZLES[argument["swizzle"]]  # type: ignore[index]
    return (
        f'dslc_map(a{i}, "{name}", {kind}, {len(box)}, {step.tensors[name]}, '
        f"(int64_t[]){{{extents}}}, (int64_t[]){{{strides}}}, "
        f"(const unsigned[]){{{', '.join(map(str, box))}}}, {swizzle})"
    )


def _attributes(launch: Mapping[str, object]) -> list[str]:
    lines = []
    cluster = list(launch.get("cluster", (1, 1, 1)))  # type: ignore[call-overload]
    if cluster != [1, 1, 1]:
        lines.append(f"{{4, 0, {{{{{', '.join(map(str, cluster))}}}}}}}")
    if launch.get("cooperative"):
        lines.append("{2, 0, {{1}}}")
    # Blocks that begin early are to be dealt evenly, which C leaves to the runtime.
    if launch.get("dependent") and not launch.get("spread"):
        lines.append("{6, 0, {{1}}}")
    return lines


def _cluster_size(kernel: Artifact) -> int:
    x, y, z = kernel.launch.get("cluster", (1, 1, 1))
    return int(x * y * z)


def cpu_form(
    interface: Interface,
    number: int,
    form: Form,
    symbols: Sequence[Mapping[str, str]],
    machine: Machine,
) -> Iterator[str]:
    """The function that runs a form on a CPU; `symbols` names the kernels of each variant."""
    prefix = f"{interface.name}_{number}"
    variants = variants_of(form.artifact)
    for index, variant in enumerate(variants):
        yield from _cpu_variant(interface, f"{prefix}_v{index}", variant, symbols[index])
    yield f"static int {prefix}(const struct {interface.name}_call *c) {{"
    yield "  static int best = -2; /* the variant for this CPU, once it was asked */"
    yield "  if (best == -2) {"
    yield "    best = -1;"
    for index, variant in enumerate(variants):
        yield f"    if ({condition(needed_features(variant), machine)}) best = {index};"
    yield "  }"
    for index in range(len(variants)):
        yield f"  if (best == {index}) return {prefix}_v{index}(c);"
    yield f'  return dslc_fail(DSLC_ARGUMENT, "{interface.name}: the CPU has not the instructions");'
    yield "}"


def _cpu_variant(
    interface: Interface, prefix: str, artifact: Artifact, symbols: Mapping[str, str]
) -> Iterator[str]:
    form = Form(artifact, {})
    names = interface.names()
    steps, memory, spaces = _placed(form, names, "(uint64_t)(uintptr_t)")
    for symbol in dict.fromkeys(symbols[s.kernel.entry] for s in steps):
        yield f"extern dslc_turns {symbol};"
    yield f"static int {prefix}(const struct {interface.name}_call *c) {{"
    yield "  int failed = 0;"
    yield from checks(interface, form, 1, names)
    yield f"  void *memory[{max(1, len(memory))}] = {{0}};"
    for at, (size, zero) in enumerate(memory):
        yield f"  if (!failed) failed = dslc_take(&memory[{at}], {size}, {zero});"
    for step, own in zip(steps, spaces, strict=True):
        yield from _cpu_step(step, symbols[step.kernel.entry], own)
    yield f"  for (int i = 0; i < {len(memory)}; ++i) free(memory[i]);"
    yield "  return failed;"
    yield "}"


def _cpu_step(step: Step, symbol: str, spaces: Mapping[str, str]) -> Iterator[str]:
    launch = step.kernel.launch
    words = []
    for argument in launch["arguments"]:
        match argument["kind"]:
            case "tensor":
                words.append(step.tensors[argument["name"]])
            case "workspace":
                words.append(f"(uint64_t)(uintptr_t){spaces[argument['name']]}")
            case "scalar":
                words.append(_word(step.names[argument["name"]], argument.get("type", "i64")))
            case _:
                words.append(f"(uint64_t){c_expression(argument['value'], step.names)}")
    turns = " * ".join(c_expression(t, step.names) for t in launch["grid"]) or "1"
    asserts = ", ".join(map(c_string, launch["asserts"]))
    yield f"  if (!failed && {step.when}) {{"
    yield from _requirements(step, "    ")
    yield f"    const uint64_t args[] = {{{', '.join(words) or '0'}}};"
    yield f"    static const char *const asserts[] = {{{asserts or '0'}}};"
    given = f'"{step.kernel.name}", {symbol}, args, {turns}, {launch["scratch"]}, asserts'
    yield f"    if (!failed) failed = dslc_run({given});"
    yield "  }"


def variants_of(artifact: Artifact) -> list[Artifact]:
    """The artifacts of an artifact's variants, the one that needs least first; itself without any."""
    manifests = artifact.launch.get("variants")
    if manifests is None:
        return [artifact]
    variants = [Artifact.from_manifest({**m, "files": {}}, {}) for m in manifests]
    return sorted(variants, key=lambda a: len(needed_features(a)))


def needed_features(artifact: Artifact) -> frozenset[str]:
    """What a CPU needs to run an artifact of one variant: of a program what its kernels need."""
    parts = [artifact.launch, *(k["launch"] for k in artifact.launch.get("kernels", ()))]
    return frozenset(f for part in parts for f in part.get("features", ()))


def _requirements(step: Step, indent: str) -> Iterator[str]:
    for r in step.kernel.signature.requires:
        text = c_format(r.text)
        condition = c_expression(r.condition, step.names)
        yield f'{indent}if (!{condition}) failed = dslc_fail(DSLC_ARGUMENT, "it requires {text}");'


def _word(value: str, dtype: str) -> str:
    if dtype == "f64":
        return f"dslc_word_f64((double){value})"
    if is_float(dtype):
        return f"dslc_word_f32((float){value})"
    return f"(uint64_t)({CTYPES['i64']}){value}"


def _scalar(text: str, names: Names) -> str:
    node = ast.parse(text, mode="eval").body
    if isinstance(node, ast.Constant) and isinstance(node.value, float):
        return repr(node.value)
    return c_expression(text, names)


def _kernels(artifact: Artifact) -> list[Artifact]:
    if artifact.kind == "kernel":
        return [artifact]
    return [Artifact.from_manifest({**m, "files": {}}, {}) for m in artifact.launch["kernels"]]
