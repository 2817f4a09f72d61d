"""Mathematical functions, which the texts bring along, in the emulator against NumPy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from dslc.codegen.hip.generate import emit
from dslc.codegen.hip.toolchain import compile_isa
from dslc.compiler.ir import Kernel
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.targets import find_target
from dslc.runtime.hip_emulator import Module, compiler

pytestmark = [
    pytest.mark.usefixtures("clang"),
    pytest.mark.skipif(compiler() is None, reason="needs a C compiler"),
]
UNARY = {
    "exp": np.exp, "exp2": np.exp2, "log": np.log, "log2": np.log2, "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x), "sin": np.sin, "cos": np.cos, "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "erf": np.vectorize(math.erf, otypes=[float]),
    "floor": np.floor, "ceil": np.ceil, "round": np.rint, "abs": np.abs,
}  # fmt: skip
BINARY = {"pow": np.power, "mod": np.mod, "floordiv": np.floor_divide, "div": np.divide}
COUNT = 1024
PLACES = {"f32": 4.0, "f64": 64.0}  # units in the last place


def kernel(dtype: str) -> Kernel:
    """Each function of x, or of x and y, into an output of its own."""
    layout = "`local(16).spatial(64)`"
    names = [*UNARY, *BINARY]
    params = [f"@{n}: in {dtype}[{COUNT}]" for n in "xy"]
    params += [f"@o{i}: out {dtype}[{COUNT}]" for i in range(len(names))]
    lines = [f"%{n} = load @{n}[0 : +{COUNT}!] : {dtype}[{COUNT}] {layout}" for n in "xy"]
    for i, name in enumerate(names):
        given = "%x" if name in UNARY else "%x, %y"
        lines.append(f"%z{i} = {name} {given} : {dtype}[{COUNT}] {layout}")
        lines.append(f"store @o{i}[0 : +{COUNT}!], %z{i}")
    body = "".join(f"  {line}\n" for line in lines)
    found = parse_program(f"kernel k[]({', '.join(params)}) {{\n  threads(64)\n{body}}}\n")
    assert isinstance(found, Kernel)
    return found


@pytest.mark.parametrize("dtype", ["f32", "f64"])
def test_functions_are_within_some_places(dtype: str) -> None:
    made = kernel(dtype)
    isa = compile_isa(emit(made, find_target("hip:gfx950"))[0], "gfx950")
    real = np.dtype({"f32": np.float32, "f64": np.float64}[dtype])
    rng = np.random.default_rng(0)
    x = np.concatenate(
        [rng.uniform(-9, 9, 512), rng.uniform(-1, 1, 256), np.geomspace(1e-6, 80, 256)]
    )
    y = rng.uniform(0.25, 5, COUNT) * np.where(np.arange(COUNT) % 2, 1, -1)
    x, y = x.astype(real), y.astype(real)
    outputs = [np.full(COUNT, np.nan, real) for _ in [*UNARY, *BINARY]]
    Module(isa).launch("k_kernel", [x, y, *outputs], 1, 64)
    wide = np.float64 if dtype == "f32" else np.longdouble
    with np.errstate(all="ignore"):
        for (name, f), got in zip([*UNARY.items(), *BINARY.items()], outputs, strict=True):
            given = (x.astype(wide),) if name in UNARY else (x.astype(wide), y.astype(wide))
            wanted = f(*given).astype(np.float64)
            known = np.isfinite(wanted)
            assert (np.isnan(got) == np.isnan(wanted)).all(), name
            off = np.abs(got.astype(np.float64) - wanted)[known]
            places = off / np.spacing(np.maximum(np.abs(wanted[known]), 1e-3).astype(real))
            assert places.max() <= PLACES[dtype], (name, places.max(), x[known][places.argmax()])
