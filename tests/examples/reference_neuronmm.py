"""References of the low-rank products in large blocks."""

from __future__ import annotations

import numpy as np
from inputs import Dims, Problem, Rng, blank, normal
from near import Near, exact, silu
from reference_products import factors, lowrank


def xw(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), dtype)
    w = normal(rng, (d["K"], d["N"]), dtype, max(d["K"], 1) ** -0.5)
    expected = (exact(x) @ exact(w)).rounded(dtype)
    return Problem({"x": x, "w": w, "y": blank((d["M"], d["N"]), dtype)}, {"y": expected})


def xuv(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    return lowrank(rng, d, dtype)


def xuv_to_t(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    posed = lowrank(rng, d, dtype)
    args = {**posed.args, "y": blank((d["N"], d["M"]), dtype)}
    return Problem(args, {"y": turned(posed.expected["y"])})


def xuv_from_t(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    posed = lowrank(rng, d, dtype)
    args = {**posed.args, "x": np.ascontiguousarray(posed.args["x"].T)}
    return Problem(args, posed.expected)


def up_and_gate(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    x = normal(rng, (d["M"], d["K"]), dtype)
    gate_u, gate_v = factors(rng, d["K"], d["R"], d["N"], dtype)
    up_u, up_v = factors(rng, d["K"], d["R"], d["N"], dtype)
    gate = (exact(x) @ exact(gate_u)).rounded(dtype) @ exact(gate_v)
    up = (exact(x) @ exact(up_u)).rounded(dtype) @ exact(up_v)
    hidden = (silu(gate) * up).rounded(dtype)
    args = {"x": x, "gate_u": gate_u, "gate_v": gate_v, "up_u": up_u, "up_v": up_v}
    return Problem({**args, "y": blank((d["N"], d["M"]), dtype)}, {"y": turned(hidden)})


def mlp_low_rank(rng: Rng, d: Dims, dtype: str, **_: str) -> Problem:
    posed = up_and_gate(rng, d, dtype)
    hidden = turned(posed.expected["y"])
    down_u, down_v = factors(rng, d["N"], d["Q"], d["K"], dtype)
    down = (hidden @ exact(down_u)).rounded(dtype) @ exact(down_v)
    args = {n: a for n, a in posed.args.items() if n != "y"}
    args |= {"down_u": down_u, "down_v": down_v, "y": blank((d["M"], d["K"]), dtype)}
    return Problem(args, {"y": down.rounded(dtype)})


def turned(near: Near) -> Near:
    """The transposed matrix."""
    error = np.broadcast_to(near.error, near.value.shape)
    return Near(near.value.T, error.T)
