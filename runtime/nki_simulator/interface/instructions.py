"""The instructions of `nki.isa` (nki 0.6, Neuron SDK 2.32) as their pages describe them.

A row has the parameters, the choices of `engine`, the kind of operator that a parameter takes
(operators.py), and the NeuronCore from which on the instruction exists. The page of a row is
`nki.isa.NAME` of the API reference; `place` says where else a row stands.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_PAGE = "nki/api/generated/nki.isa.{}.rst"
_NOTES = "release-notes/components/nki.rst"


@dataclass(frozen=True)
class Row:
    """One instruction: `parameters` is the text between the parentheses of its page, without `name`."""

    name: str
    parameters: str
    engines: tuple[str, ...] = ()
    operators: Mapping[str, str] = field(default_factory=dict)
    since: int = 2
    place: str = ""
    simulated: bool = True

    @property
    def page(self) -> str:
        """The page of the Neuron documentation that says so."""
        return self.place or _PAGE.format(self.name)

    @cached_property
    def signature(self) -> inspect.Signature:
        """The parameters, to which calls are bound; defaults are their texts."""
        stub = ast.parse(f"def f({self.parameters}): pass").body[0]
        assert isinstance(stub, ast.FunctionDef)
        given, texts = stub.args.args, [ast.unparse(d) for d in stub.args.defaults]
        padded: list[Any] = [inspect.Parameter.empty] * (len(given) - len(texts)) + texts
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Signature(
            [inspect.Parameter(a.arg, kind, default=d) for a, d in zip(given, padded, strict=True)]
        )


_COMPUTE = ("vector", "scalar", "gpsimd")
_TWO = {"op0": "alu", "op1": "alu"}
_ARITHMETIC = {"op0": "arithmetic", "op1": "arithmetic"}
_STATE = "reduce_cmd=reduce_cmd.reset_reduce"

_ROWS = (
    # data movement
    Row("dma_copy", "dst, src, priority=None, oob_mode=oob_mode.error, dge_mode=dge_mode.unknown, "
        "engine=engine.unknown", ("sync", "scalar")),
    Row("dma_transpose", "dst, src, axes=None, priority=None, dge_mode=dge_mode.unknown, "
        "oob_mode=oob_mode.error"),
    Row("dma_compute", "dst, srcs, reduce_op, scales=None, unique_indices=True, "
        "oob_mode=oob_mode.error", operators={"reduce_op": "add"}),
    Row("tensor_copy", "dst, src, engine=engine.unknown", _COMPUTE),
    Row("tensor_copy_predicated", "dst, src, predicate, reverse_pred=False"),
    Row("memset", "dst, value, engine=engine.unknown", ("vector", "gpsimd")),
    Row("sendrecv", "src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine=dma_engine.dma",
        since=3, simulated=False),
    Row("core_barrier", "data, cores, engine=engine.gpsimd", (*_COMPUTE, "tensor", "sync"),
        since=3, simulated=False),
    # the tensor engine
    Row("nc_matmul", "dst, stationary, moving, is_stationary_onezero=False, is_moving_onezero=False, "
        "is_transpose=False, accumulate=None, tile_position=(), tile_size=(), "
        "perf_mode=matmul_perf_mode.none"),
    Row("nc_matmul_mx", "dst, stationary, moving, stationary_scale, moving_scale, tile_position=None, "
        "tile_size=None, accumulate=None", since=4, simulated=False),
    Row("quantize_mx", "dst, src, dst_scale", since=4, simulated=False),
    Row("nc_transpose", "dst, data, engine=engine.unknown", ("tensor", "vector")),
    # element by element
    Row("tensor_tensor", "dst, data1, data2, op, engine=engine.unknown", ("vector", "gpsimd"),
        {"op": "binary"}),
    Row("tensor_scalar", "dst, data, op0, operand0, reverse0=False, op1=None, operand1=None, "
        "reverse1=False, engine=engine.unknown", _COMPUTE, _TWO),
    Row("scalar_tensor_tensor", "dst, data, op0, operand0, op1, operand1, reverse0=False, "
        "reverse1=False", operators=_ARITHMETIC),
    Row("reciprocal", "dst, data"),
    Row("activation", "dst, op, data, bias=None, scale=1.0, reduce_op=None, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle", operators={"op": "activation", "reduce_op": "add"}),
    Row("activation_reduce", "dst, op, data, reduce_op, reduce_res, bias=None, scale=1.0",
        operators={"op": "activation", "reduce_op": "add"}),
    Row("activate2", "dst, op, data, imm0, imm1, op0, op1, relu_param=0.0, reverse0=False, "
        "reverse1=False, reduce_op=None, reduce_res=None, reduce_cmd=reduce_cmd.idle",
        operators={"op": "activation", "op0": "stage", "op1": "stage", "reduce_op": "accumulation"},
        since=4),
    Row("exponential", "dst, src, max_value=0.0, reduce_res=None, reduce_cmd=reduce_cmd.idle, "
        "reduce_init=0.0", since=4),
    Row("select_reduce", "dst, predicate, on_true, on_false, reduce_res=None, "
        "reduce_cmd=reduce_cmd.idle, reduce_op=maximum, reverse_pred=False",
        operators={"reduce_op": "maximum"}),
    # reductions and scans
    Row("tensor_reduce", "dst, op, data, axis, negate=False, keepdims=False",
        operators={"op": "reduction"}),
    Row("tensor_partition_reduce", "dst, op, data", operators={"op": "partition"}),
    Row("tensor_scalar_reduce", "dst, data, op0, operand0, reduce_op, reduce_res=None, "
        f"reverse0=False, {_STATE}, reduce_init=None, reduce_res_negate=False",
        operators={"op0": "arithmetic", "reduce_op": "fold"}, place=_NOTES),
    Row("tensor_scalar_cumulative", f"dst, src, op0, op1, imm0, imm1=None, {_STATE}",
        operators={"op0": "arithmetic", "op1": "cumulative"}),
    Row("tensor_tensor_scan", "dst, data0, data1, initial, op0, op1, reverse0=False, reverse1=False",
        operators=_ARITHMETIC),
    Row("bn_stats", "dst, data"),
    Row("bn_aggr", "dst, data"),
    Row("max8", "dst, src"),
    Row("nc_find_index8", "dst, data, vals"),
    Row("nc_match_replace8", "dst, data, vals, imm, dst_idx=None"),
    Row("topk", "val_dst, idx_dst, src, n", since=3),
    # by index patterns
    Row("iota", "dst, pattern, offset=0, channel_multiplier=0"),
    Row("affine_select", "dst, pattern, channel_multiplier, on_true_tile, on_false_value, "
        "cmp_op=equal, offset=0", operators={"cmp_op": "comparison"}),
    Row("range_select", "dst, on_true_tile, comp_op0, comp_op1, bound0, bound1, "
        f"{_STATE}, reduce_res=None, reduce_op=maximum, range_start=0, on_false_value=-3.4028235e38",
        operators={"comp_op0": "ordering", "comp_op1": "ordering", "reduce_op": "maximum"}, since=3),
    Row("nc_stream_shuffle", "dst, src, shuffle_mask"),
    Row("nc_n_gather", "dst, data, indices"),
    Row("local_gather", "dst, src_buffer, index, num_elem_per_idx=1, num_valid_indices=None"),
    Row("sequence_bounds", "dst, segment_ids"),
    Row("nonzero_with_count", "dst, src, index_offset=0, padding_val=-1", since=3),
    # random numbers
    Row("rng", "dst, engine=engine.unknown", ("vector", "gpsimd"), simulated=False),
    Row("rand2", "dst, min, max", since=4, simulated=False),
    Row("dropout", "dst, data, prob", simulated=False),
    Row("set_rng_seed", "src_seeds", simulated=False),
    Row("rand_set_state", "src_seeds, engine=engine.unknown", ("vector", "gpsimd"), since=3,
        simulated=False),
    Row("rand_get_state", "dst, engine=engine.unknown", ("vector", "gpsimd"), since=3,
        simulated=False),
    # registers
    Row("register_alloc", "x=None"),
    Row("register_move", "dst, src"),
    Row("register_load", "dst, src"),
    Row("register_store", "dst, src"),
    Row("get_nc_version", ""),
)  # fmt: skip

INSTRUCTION_ROWS: Mapping[str, Row] = {row.name: row for row in _ROWS}
"""By name, in the order of the reference's themes."""

ENUMERATIONS: Mapping[str, tuple[str, ...]] = {
    "engine": ("tensor", "vector", "scalar", "gpsimd", "dma", "sync", "unknown"),
    "reduce_cmd": ("idle", "reset", "reduce", "reset_reduce", "load_reduce"),
    "dge_mode": ("unknown", "swdge", "hwdge", "none"),
    "oob_mode": ("error", "skip"),
    "matmul_perf_mode": ("none", "double_row"),
    "nc_version": ("gen2", "gen3", "gen4"),
    "dma_engine": ("dma", "gpsimd_dma"),
}
"""The enumerations of `nki.isa` with their members (each has a page of its name)."""

TYPES = ("VirtualRegister", "NkiInstruction")
"""The classes of `nki.isa` that are no enumerations."""
