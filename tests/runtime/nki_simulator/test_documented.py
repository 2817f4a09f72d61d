"""What AWS's pages say and a simulator could believe otherwise: faults that follow from each difference.

The names are of the 25 differences that a reading of the pages beside the simulator found, one or more
faults each; what is a matter of numbers, not of refusals, is in test_documented_numbers.py.
"""

# ruff: noqa: E501 - a fault is a line of a table

from __future__ import annotations

import numpy as np
import pytest
from dslc.runtime.nki_simulator import NkiFault

from support.nki.kernels import compute, tile

OUT = f"out = {tile((128, 64))}\n"
INTS = f"a, out = {tile((128, 64), 'int32')}, {tile((128, 64), 'int32')}\nnisa.memset(dst=a, value=1)\n"
HALVES = f"h = {tile((128, 64), 'bfloat16')}\nnisa.tensor_copy(dst=h, src=tx)\n"
PSUM = f"p = {tile((128, 64), buffer='psum')}\nnisa.tensor_copy(dst=p, src=tx)\n"
HBM = (
    "far = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.hbm)\nnisa.dma_copy(dst=far, src=tx)\n"
)
COUNT = f"n = {tile((1, 1), 'int32')}\nnisa.memset(dst=n, value=2)\nr = nisa.register_alloc()\nnisa.register_load(r, n)\n"
MANY = f"out = {tile((32, 256), 'bfloat16')}\nhalves = nl.ndarray((512, 32), dtype=nl.bfloat16, buffer=nl.hbm)\nnisa.dma_copy(dst=halves[0:128], src=h[0:128, 0:32])\n"


def scalar(op: str, more: str = "") -> str:
    return OUT + f"nisa.tensor_scalar(dst=out, data=tx, op0=nl.{op}, operand0=2.0{more})"


def tensor(op: str, more: str = "") -> str:
    return OUT + f"nisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.{op}{more})"


# what is written, on which machine, the rule
FAULTS = {
    "1 divide by a number": (scalar("divide"), "trn2", "operator"),
    "1 divide a number": (scalar("divide", ", reverse0=True"), "trn2", "operator"),
    "1 divide tiles": (tensor("divide"), "trn3", "operator"),
    "1 divide as the second operator": (scalar("multiply", ", op1=nl.divide, operand1=3.0"), "trn2", "operator"),
    "1 divide tiles as a function": ("out = nl.divide(tx, ty)", "trn2", "operator"),
    "1 divide by scalar_tensor_tensor": (OUT + "nisa.scalar_tensor_tensor(dst=out, data=tx, op0=nl.multiply, operand0=2.0, op1=nl.divide, operand1=ty)", "trn2", "operator"),
    "1 divide where no program comes": (OUT + "if x.shape[0] == 7:\n    nisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.divide)\nnisa.tensor_copy(dst=out, src=tx)", "trn2", "operator"),
    "2 mod by a number": (scalar("mod"), "trn2", "operator"),
    "2 mod of tiles": (tensor("mod"), "trn2", "operator"),
    "2 fmod as a function": ("out = nl.fmod(tx, ty)", "trn2", "operator"),
    "3 a right shift of floats": (OUT + "nisa.tensor_scalar(dst=out, data=tx, op0=nl.right_shift, operand0=1)", "trn2", "dtype"),
    "3 an arithmetic shift by its name": (INTS + "nisa.tensor_scalar(dst=out, data=a, op0=nl.arithmetic_shift_right, operand0=1)", "trn2", "operator"),
    "3 a right shift that reduces": (INTS + f"one = {tile((128, 1), 'int32')}\nnisa.tensor_reduce(dst=one, op=nl.right_shift, data=a, axis=1)", "trn2", "operator"),
    "4 a power by tensor_scalar": (scalar("power"), "trn2", "operator"),
    "4 a power as the second operator": (scalar("add", ", op1=nl.power, operand1=-0.5"), "trn2", "operator"),
    "4 a power on the vector engine": (tensor("power", ", engine=nisa.engine.vector") + "\nnisa.tensor_tensor(dst=out, data1=tx, data2=ty, op=nl.add, engine=nisa.engine.scalar)", "trn2", "engine"),
    "4 a power in PSUM": (PSUM + OUT + "nisa.tensor_tensor(dst=out, data1=p, data2=tx, op=nl.power)", "trn2", "memory"),
    "4 a power in a scan": (OUT + "nisa.tensor_tensor_scan(dst=out, data0=tx, data1=ty, initial=0.0, op0=nl.power, op1=nl.add)", "trn2", "operator"),
    "5 a sum with a number on GpSimd": (scalar("add", ", engine=nisa.engine.gpsimd"), "trn2", "operator"),
    "5 rsqrt and a product on GpSimd": (OUT + "nisa.tensor_scalar(dst=out, data=tx, op0=nl.rsqrt, operand0=0, op1=nl.multiply, operand1=2.0, engine=nisa.engine.gpsimd)", "trn2", "operator"),
    "5 a difference on the Scalar Engine": (scalar("subtract", ", engine=nisa.engine.scalar"), "trn2", "operator"),
    "6 the larger of floats on GpSimd": (tensor("maximum", ", engine=nisa.engine.gpsimd"), "trn2", "operator"),
    "6 a comparison of floats on GpSimd": (tensor("less", ", engine=nisa.engine.gpsimd"), "trn2", "operator"),
    "6 bits on GpSimd": (INTS + "nisa.tensor_tensor(dst=out, data1=a, data2=a, op=nl.bitwise_and, engine=nisa.engine.gpsimd)", "trn2", "engine"),
    "7 places of seven values": (f"out = {tile((128, 7), 'uint32')}\nnisa.nc_find_index8(dst=out, data=tx, vals=tx[0:128, 0:7])", "trn2", "shape"),
    "7 places in floats": (f"out = {tile((128, 8))}\nnisa.nc_find_index8(dst=out, data=tx, vals=tx[0:128, 0:8])", "trn2", "dtype"),
    "8 a replacement among seven elements": (f"out = {tile((128, 7))}\nnisa.nc_match_replace8(dst=out, data=tx[0:128, 0:7], vals=tx[0:128, 0:8], imm=0.0)", "trn2", "window"),
    "9 an identity as the argument of a DMA transpose from HBM": ("i = nl.shared_identity_matrix(128, dtype=nl.float32)\nfar = i.reshape((64, 256))\n" + OUT, "trn2", "shape"),
    "9 an identity into a tile of another shape": (OUT + "nl.shared_identity_matrix(128, dtype=nl.float32, dst=out)", "trn2", "shape"),
    "10 partition 3 by its number": (f"out = {tile((1, 64))}\nnisa.tensor_copy(dst=out, src=tx[3, :])", "trn2", "start-partition"),
    "10 partition 0 as if its axis were gone": (f"out = {tile((64, 1))}\nnisa.tensor_copy(dst=out, src=tx[0, :])", "trn2", "partitions"),
    "11 a column as if its axis were gone": ("out = tx[:, 3].reshape((1, 128))", "trn2", "shape"),
    "12 an index before the first": (OUT + "nisa.tensor_copy(dst=out[:, 0:1], src=tx[:, -65])", "trn2", "bounds"),
    "12 a slice that ends before it begins": (OUT + "nisa.tensor_copy(dst=out, src=tx[:, -1:-3])", "trn2", "bounds"),
    "13 an address that no tile starts at": ("out = nl.ndarray((32, 64), dtype=nl.float32, buffer=nl.sbuf, address=(16, 0))", "trn2", "start-partition"),
    "13 an address past the end": ("out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.sbuf, address=(0, 300000))", "trn2", "sbuf-capacity"),
    "13 an address past the end of PSUM": ("out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.psum, address=(0, 16300))", "trn2", "psum-capacity"),
    "13 an address in HBM": ("out = nl.ndarray((128, 64), dtype=nl.float32, buffer=nl.hbm, address=(0, 0))", "trn2", "memory"),
    "14 a first value without its command": (OUT + "nisa.tensor_scalar_reduce(dst=out, data=tx, op0=nl.add, operand0=1.0, reduce_op=nl.add, reduce_init=2.0)", "trn2", "signature"),
    "14 a difference as reduction": (OUT + "nisa.tensor_scalar_reduce(dst=out, data=tx, op0=nl.add, operand0=1.0, reduce_op=nl.subtract)", "trn2", "operator"),
    "15 a transpose of bytes": (f"b, out = {tile((64, 64), 'uint8')}, {tile((64, 64), 'uint8')}\nnisa.memset(dst=b, value=1)\nnisa.dma_transpose(dst=out, src=b)", "trn2", "dtype"),
    "16 a transpose by software descriptors": (f"out = {tile((64, 128))}\nnisa.dma_transpose(dst=out, src=x, dge_mode=nisa.dge_mode.swdge)", "trn2", "signature"),
    "16 a transpose of 4 bytes by hardware": (f"out = {tile((64, 16))}\nnisa.dma_transpose(dst=out, src=x[0:16, 0:64], dge_mode=nisa.dge_mode.hwdge)", "trn2", "dtype"),
    "16 a transpose of 128 rows by hardware": (HALVES + f"out = {tile((64, 128), 'bfloat16')}\nnisa.dma_transpose(dst=out, src=h, dge_mode=nisa.dge_mode.hwdge)", "trn2", "window"),
    "16 a transpose of 32 rows from a register's place": (HALVES + MANY + COUNT + "nisa.dma_transpose(dst=out[0:32, 0:32], src=halves[nl.ds(r, 32), 0:32])", "trn2", "window"),
    "17 a queue without hardware descriptors": (OUT + "nisa.dma_copy(dst=out, src=x, engine=nisa.engine.sync)", "trn2", "engine"),
    "17 a queue of the vector engine": (OUT + "nisa.dma_copy(dst=out, src=x, engine=nisa.engine.vector, dge_mode=nisa.dge_mode.hwdge)", "trn2", "engine"),
    "17 a cast by hardware descriptors": (f"out = {tile((128, 64), 'bfloat16')}\nnisa.dma_copy(dst=out, src=x, dge_mode=nisa.dge_mode.hwdge)", "trn2", "dtype"),
    "18 abs_max before v4": (tensor("abs_max"), "trn2", "version"),
    "18 abs_min that reduces": (f"out = {tile((128, 1))}\nnisa.tensor_reduce(dst=out, op=nl.abs_min, data=tx, axis=1)", "trn3", "operator"),
    "19 an instruction waits for a tile": (OUT + "nisa.tensor_copy(dst=out, src=tx).depends_on(tx)", "trn2", "signature"),
    "19 an instruction waits for one of a loop": (OUT + "made = []\ndef body(i):\n    made.append(nisa.tensor_copy(dst=out, src=tx))\nnl.fori_loop(0, 2, body)\nnisa.tensor_copy(dst=out, src=ty).depends_on(made[0])", "trn2", "dependency"),
    "20 twice a counter": (OUT + "def body(i):\n    nisa.tensor_copy(dst=out, src=tx[:, nl.ds(i * 2, 64)])\nnl.fori_loop(0, 1, body)", "trn2", "scalar"),
    "20 a register and one": (OUT + COUNT + "nisa.tensor_copy(dst=out[:, 0:1], src=tx[:, nl.ds(r + 1, 1)])", "trn2", "scalar"),
    "20 a counter out of a list": (OUT + "def body(i):\n    both = [i]\n    nisa.tensor_copy(dst=out, src=tx[:, nl.ds(both[0] - 1, 64)])\nnl.fori_loop(0, 1, body)", "trn2", "scalar"),
    "20 a counter that decides": (OUT + "def body(i):\n    if i == 0:\n        nisa.tensor_copy(dst=out, src=tx)\nnl.fori_loop(0, 1, body)", "trn2", "scalar"),
    "21 a loop that goes by a tile": (OUT + "nl.while_loop(tx, lambda r: r)", "trn2", "signature"),
    "21 a step that the machine knows": (OUT + COUNT + "nl.fori_loop(0, 4, lambda i: None, step=r)", "trn2", "signature"),
    "22 the second axis of a grid": ("out = tx\nnl.program_id(1)", "trn2", "signature"),
    "23 double rows of half the columns": (f"a = {tile((128, 2, 32), 'float8_e4m3')}\nnisa.memset(dst=a, value=1.0)\nout, acc = {tile((32, 32))}, {tile((32, 32), buffer='psum')}\nnisa.nc_matmul(dst=acc, stationary=a, moving=a, accumulate=False, perf_mode=nisa.matmul_perf_mode.double_row, tile_position=(0, 0), tile_size=(128, 64))\nnisa.tensor_copy(dst=out, src=acc)", "trn2", "window"),
    "24 a register of a float": (f"f, out = {tile((1, 1))}, tx\nnisa.memset(dst=f, value=2.0)\nr = nisa.register_alloc()\nnisa.register_load(r, f)", "trn2", "dtype"),
    "24 a register from PSUM": (f"f, out = {tile((1, 1), 'int32', 'psum')}, tx\nnisa.memset(dst=f, value=2)\nr = nisa.register_alloc()\nnisa.register_load(r, f)", "trn2", "memory"),
    "24 a register of two elements": (f"f, out = {tile((1, 2), 'int32')}, tx\nnisa.memset(dst=f, value=2)\nr = nisa.register_alloc()\nnisa.register_load(r, f)", "trn2", "shape"),
    "25 an MX product before v4": ("out = tx\nnisa.nc_matmul_mx(dst=tx, stationary=tx, moving=tx, stationary_scale=tx, moving_scale=tx)", "trn2", "version"),
    "25 an MX product": ("out = tx\nnisa.nc_matmul_mx(dst=tx, stationary=tx, moving=tx, stationary_scale=tx, moving_scale=tx)", "trn3", "simulator"),
    "25 the largest of float32": (f"v, i, out = {tile((16, 1), 'bfloat16')}, {tile((16, 1), 'uint32')}, tx\nnisa.topk(val_dst=v, idx_dst=i, src=tx[0:16, 0:64], n=64)", "trn2", "dtype"),
    "25 places of what is not zero, without their number": (f"o, out = {tile((128, 64), 'int32')}, tx\nnisa.nonzero_with_count(dst=o, src=tx)", "trn2", "shape"),
    "25 a gather by 32-bit indices": (f"i, o, out = {tile((128, 2), 'uint32')}, {tile((128, 32))}, tx\nnisa.memset(dst=i, value=1)\nnisa.local_gather(dst=o, src_buffer=tx, index=i)", "trn2", "dtype"),
    "an engine that an instruction has not": (OUT + "if x.shape[0] == 7:\n    nisa.memset(dst=out, value=0.0, engine=nisa.engine.scalar)\nnisa.tensor_copy(dst=out, src=tx)", "trn2", "engine"),
    "an argument that an instruction has not": (OUT + "if x.shape[0] == 7:\n    nisa.tensor_copy(dst=out, src=tx, dtype=nl.float32)\nnisa.tensor_copy(dst=out, src=tx)", "trn2", "signature"),
    "a name that the language has not": (OUT + "if x.shape[0] == 7:\n    nl.par_dim(128)\nnisa.tensor_copy(dst=out, src=tx)", "trn2", "signature"),
    "a mode that does not exist": (OUT + "if x.shape[0] == 7:\n    nisa.dma_copy(dst=out, src=x, dge_mode=nisa.dge_mode.fast)\nnisa.tensor_copy(dst=out, src=tx)", "trn2", "signature"),
}  # fmt: skip


def test_every_difference_has_its_fault() -> None:
    numbers = {int(name.split()[0]) for name in FAULTS if name.split()[0].isdigit()}
    assert numbers == set(range(1, 26))


@pytest.mark.parametrize("name", FAULTS)
def test_what_the_pages_do_not_have_is_refused(name: str) -> None:
    body, target, rule = FAULTS[name]
    x = np.linspace(0.5, 2, 128 * 64, dtype=np.float32).reshape(128, 64)
    with pytest.raises(NkiFault) as fault:
        compute(body, x, x, target=target)
    assert fault.value.rule == rule, str(fault.value)
    assert fault.value.line > 0
