"""Forms of kernels that are no example's: what the compiler decides for each, and what it costs.

    programs.py [NAME ...] [--target cuda:sm_90a] [--json found.json]
    programs.py --measure --json $OUT/forms.json           (on a GPU)
    programs.py --check                                    (on a GPU)
    programs.py --decided                                  (writes decided.json)

A form stands beside the base of its file, which has the form of an example. What the passes decide for
each is kept in decided.json. Without a GPU machine code is counted: a row has the cost model's
microseconds with the real registers and their ratio to the base, `ws` for producer warps, copies by the
unit, the main loop's instructions, its matrix instructions and copies, spills, and the tensors that its
threads load in loops. With `--measure` kernels are timed (`dslc.tuner.gpu`); with `--check` they run
for few sizes, and a row has their distance from the interpreter.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import dslc
import numpy as np
from dslc.calls.signature import Parameter
from dslc.checker import check_module
from dslc.cli.tables.machine_code import prediction_of
from dslc.codegen.cuda.tools.sass import Code, disassemble
from dslc.compilation.specialization import Specialization
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import TileProgram
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.rewrite import kernels
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.passes.pass_lists.gpu import gpu_passes
from dslc.compiler.passes.pass_manager import run_passes
from dslc.compiler.targets import find_target
from dslc.frontend import parse_tile
from dslc.runtime.expression import evaluate
from dslc.tuner.bench import Effort
from dslc.tuner.gpu import CudaBench

if __name__ == "__main__":  # tests import it too
    sys.path[0] = str(Path(__file__).resolve().parents[2])

from gpu.forms.listed import FORMS, Form, Sizes, base_of
from gpu.sweep import RandomBytes

FOLDER = Path(__file__).parent
DECIDED = FOLDER / "decided.json"
ROUNDS, EFFORT = 3, Effort(1, 5)
_CONSTANTS = {"BM": 128, "BN": 128, "BK": 64, "BL": 128, "G": 128, "D": 128}
# Of ids and lengths: the least, and what they are below, as expressions of the sizes.
_BELOW = {
    "id": ("0", "M"), "expert": ("0", "E"), "keep": ("1", "2"),
    "length": ("K // 2", "K"), "slot": ("0", "P"), "table": ("0", "P"), "past": ("L - 1", "L"),
}  # fmt: skip
_SMALL_NUMBERS = {"s", "t", "sa", "sb", "b", "decay"}  # that keep results within f16
_SMALL = {"M": 256, "K": 512, "N": 1024, "R": 256, "S": 256, "L": 256, "H": 2, "J": 1, "B": 2, "P": 512,
          "C": 128, "E": 3}  # fmt: skip


def compiled(form: Form, target: str) -> Specialization:
    """Its kernel for its sizes."""
    path = FOLDER / f"{form.file}.tile"
    library = dslc.compile(path, target=target, define=dict(form.define), cache=False)
    kernel = library[form.kernel]
    return kernel.specialize_for({d: form.sizes[d] for d in kernel.dims if d in form.sizes}, {})


def facts(form: Form, target: str) -> dict[str, Any]:
    """What was decided, and what machine code came of it; `error` where it does not compile."""
    try:
        made = compiled(form, target)
    except DiagnosticError as problem:
        return {"error": str(problem).splitlines()[0]}
    program = parse_program(made.source(made.ir_stages[-1]), "<final>")
    cubin = made.artifact.each(f"{target.partition(':')[2]}.cubin")[-1]
    predicted = prediction_of(made, program, {**form.sizes, **made.fixed})
    seconds = predicted.seconds if predicted is not None else None
    (code,) = disassemble(cubin)
    return {**decided(program), **counted(code), "us": seconds and round(seconds * 1e6, 1)}


def scheduled(form: Form, target: str) -> TileProgram:
    """Its kernel after the passes of a GPU, with its sizes compiled in; or the kernels made of it."""
    path = FOLDER / f"{form.file}.tile"
    module = parse_tile(path.read_text(encoding="utf-8"), str(path))
    template = check_module(module, define=dict(form.define)).templates[form.kernel]
    program = template.elaborate({d: n for d, n in form.sizes.items() if d in template.dims})
    return run_passes(program, gpu_passes(find_target(target)))


def decided(program: TileProgram) -> dict[str, Any]:
    """By the passes: threads, producer warps, atoms of products, loads of tensors in loops.

    Of several kernels the last one multiplies.
    """
    *first, kernel = kernels(program)
    statements = list(walk(kernel.body))
    dots = [s.atom or "none" for s in statements if isinstance(s, ins.Dot)]
    loops = [s for s in statements if isinstance(s, ins.For | ins.While)]
    inside = {t for s in loops for t in walk(s.body)}
    tensors = set(kernel.tensors)
    loads = [s for s in inside if isinstance(s, ins.Load) and s.region.memory in tensors]
    return {
        "threads": kernel.threads,
        "first": len(first),
        "producers": any(isinstance(s, ins.WarpSpecialize) for s in statements),
        "atoms": sorted(set(dots)),
        "loads": sorted({s.region.memory.name for s in loads}),
        "gathers": sum(isinstance(s, ins.Gather) for s in inside),
    }


def decisions(form: Form, target: str) -> str:
    """What is kept of them: a line."""
    try:
        found = decided(scheduled(form, target))
    except DiagnosticError as problem:
        return problem.diagnostics[0].code
    words = ["producers" if found["producers"] else "no producers", *found["atoms"]]
    words += [f"loads {name}" for name in found["loads"]]
    words += ["gathers"] if found["gathers"] else []
    words += ["a kernel first"] if found["first"] else []
    return ", ".join(words)


def counted(code: Code) -> dict[str, Any]:
    """Of machine code: the main loop's length and matrix instructions, copies, spills."""
    loop = code.main_loop() or code
    matrix: dict[str, int] = {}
    for i in loop.instructions:
        if i.kind == "matrix":
            matrix[i.name] = matrix.get(i.name, 0) + 1
    names = ("UTMALDG", "UBLKCP", "LDGSTS", "LDG", "LDSM", "STS", "BAR")
    counts = {n: loop.count(n) for n in names if loop.count(n)}
    unit = code.count("UTMALDG", "UBLKCP")
    return {"loop": len(loop), "matrix": matrix, "copies": counts, "unit": unit,
            "spills": len(code.spills())}  # fmt: skip


# Measuring


def measure(forms: Iterable[Form], target: str) -> Iterator[tuple[Form, dict[str, Any]]]:
    """Each form's microseconds, the median of rounds; all are compiled first, on all cores."""
    forms = list(forms)
    with ProcessPoolExecutor(os.cpu_count(), mp_context=get_context("spawn")) as pool:
        made = list(pool.map(_artifact, forms, [target] * len(forms)))
    for form, artifact in zip(forms, made, strict=True):
        if isinstance(artifact, str):
            yield form, {"error": artifact}
            continue
        kernel = dslc.compile(FOLDER / f"{form.file}.tile", target=target, define=dict(form.define))
        parameters = kernel[form.kernel].origin.signature.parameters
        inputs = RandomBytes(parameters, form.sizes, numbers(parameters, form.numbers))
        try:
            with contextlib.ExitStack() as stack:
                bench = stack.enter_context(contextlib.closing(CudaBench(inputs)))
                loaded = stack.enter_context(contextlib.closing(bench.load(artifact)))
                times = [loaded.time(EFFORT) * 1e6 for _ in range(ROUNDS)]
            yield form, {"us": round(median(times), 2), "times": [round(t, 2) for t in times]}
        except DiagnosticError as problem:
            yield form, {"error": str(problem).splitlines()[0]}


def _artifact(form: Form, target: str) -> Any:
    try:
        return compiled(form, target).artifact
    except Exception as problem:
        return f"{type(problem).__name__} {problem}".splitlines()[0]


def numbers(parameters: Iterable[Parameter], sizes: Sizes) -> dict[str, Any]:
    """The ids and lengths of a form: all in bounds, no two of one tensor alike where it has as many."""
    rng = np.random.default_rng(0)
    found: dict[str, Any] = {}
    for p in parameters:
        if p.name not in _BELOW or p.dims is None:
            continue
        shape = [_number(d, sizes) for d in p.dims]
        low, below = (_number(e, sizes) for e in _BELOW[p.name])
        count = math.prod(shape)
        drawn = rng.permutation(np.resize(np.arange(low, below), count))
        found[p.name] = drawn.astype(np.int32).reshape(shape)
    return found


def _number(text: str, sizes: Sizes) -> int:
    """An extent's text in numbers; constants of the files are among the sizes."""
    found = evaluate(text, {**_CONSTANTS, **sizes})
    assert isinstance(found, int)
    return found


def checked(form: Form, target: str) -> float:
    """The distance of a form's results from the interpreter's, for few sizes, over their length."""
    path, rng = FOLDER / f"{form.file}.tile", np.random.default_rng(1)
    sizes = {d: min(n, _SMALL.get(d, n)) for d, n in form.numbers.items()}
    on, off = (
        dslc.compile(path, target=t, define=dict(form.define))[form.kernel]
        for t in (target, "interp")
    )
    sizes |= {d: n for d, n in (("sa", sizes.get("K", 0)), ("sb", sizes.get("N", 0))) if d in sizes}
    given = numbers(off.parameters, sizes)
    args: dict[str, Any] = {}
    for p in off.parameters:
        if p.dims is None:
            args[p.name] = sizes.get(p.name, 0.5)
        elif p.name in given:
            args[p.name] = given[p.name]
        else:
            args[p.name] = _random(p, [_number(d, sizes) for d in p.dims], rng)
    results = []
    for kernel in (on, off):
        own = {n: a.copy() if isinstance(a, np.ndarray) else a for n, a in args.items()}
        kernel(**own)
        written = [own[p.name] for p in off.parameters if p.is_written]
        results.append(np.concatenate([np.asarray(x, np.float64).ravel() for x in written]))
    got, wanted = results
    return float(np.linalg.norm(got - wanted) / np.linalg.norm(wanted))


def _told(form: Form, target: str) -> str:
    try:
        return f"{checked(form, target):.2e}"
    except Exception as problem:
        return f"{type(problem).__name__} {problem}".splitlines()[0][:110]


def _random(p: Parameter, shape: list[int], rng: np.random.Generator) -> Any:
    dtype = p.dtype
    if dtype.is_float and dtype.bits >= 16:
        deviation = 0.1 if p.name in _SMALL_NUMBERS else 0.5
        return (rng.standard_normal(shape) * deviation).astype(f"f{dtype.bits // 8}")
    if dtype.is_float:
        return rng.integers(0, 0x40, shape, np.uint8)  # f8e4m3 below 2
    if dtype.bits > 8:
        return np.zeros(shape, f"i{dtype.bits // 8}")
    signed = dtype.name.startswith("i")
    top = 1 << min(dtype.bits, 7) - signed
    return rng.integers(-top if signed else 0, top, shape).astype("i1" if signed else "u1")


def row(form: Form, found: Mapping[str, Any], base: Mapping[str, Any] | None) -> str:
    """A line of the table."""
    if "error" in found:
        return f"{form.name:34} {found['error'][:110]}"
    us = found.get("us")
    ratio = ""
    if us and base and base.get("us") and form.times:
        ratio = f"{us / base['us'] / form.times:.2f}"
    text = f"{form.name:34} {us or 0:9.1f} {ratio:>6}"
    if "loop" in found:
        matrix = " ".join(f"{n}{c}" for n, c in found["matrix"].items())
        copies = " ".join(f"{n}{c}" for n, c in found["copies"].items())
        aside = "ws" if found["producers"] else "  "
        text += f" {aside} {found['unit']:2} {found['loop']:5} {matrix:10} {copies:28}"
        text += f" spills {found['spills']}" if found["spills"] else ""
        text += f" loads {' '.join(found['loads'])}" if found["loads"] else ""
    return text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names of forms")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--measure", action="store_true", help="on the GPU that is there")
    parser.add_argument("--check", action="store_true", help="results against the interpreter")
    parser.add_argument("--decided", action="store_true", help="write decided.json")
    parser.add_argument("--json", type=Path, help="where everything goes")
    options = parser.parse_args()
    forms = [f for f in FORMS if not options.names or any(n in f.name for n in options.names)]
    if options.decided:
        lines = {f.name: decisions(f, options.target) for f in FORMS}
        DECIDED.write_text(json.dumps(lines, indent=1) + "\n", encoding="utf-8")
        return
    if options.check:
        for form in forms:
            print(f"{form.name:34} {_told(form, options.target)}", flush=True)
        return
    rows = (
        measure(forms, options.target)
        if options.measure
        else ((f, facts(f, options.target)) for f in forms)
    )
    found: dict[str, dict[str, Any]] = {}
    for form, values in rows:
        found[form.name] = values
        print(row(form, values, found.get(base_of(form).name)), flush=True)
        if options.json:
            options.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
