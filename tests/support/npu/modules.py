"""Modules of the aie dialect as others write them: both spellings of locks and descriptors."""

from __future__ import annotations


def passed_through(body: str, *, old: bool = True, device: str = "npu2", more: str = "") -> str:
    """A tile whose DMA takes objects of 16 numbers and sends them when the core has seen them.

    `body` is what the core does with %x and %y between its waits.
    """
    core = f"""
      {_use("full_in", "AcquireGreaterEqual", old, "0")}
      {_use("free_out", "AcquireGreaterEqual", old, "1")}
      {body}
      {_use("free_in", "Release", old, "2")}
      {_use("full_out", "Release", old, "3")}"""
    return f"""// A comment.
module @top {{
  aie.device({device}) {{
    %s = aie.tile(0, 0)
    %t = aie.tile(0, 2)
    %x = aie.buffer(%t) {{sym_name = "x"}} : memref<4x4xi32>
    %y = aie.buffer(%t) {{sym_name = "y"}} : memref<4x4xi32, 2 : i32>
    %free_in = aie.lock(%t, 5) {{init = 1 : i32}}
    %full_in = aie.lock(%t) {{sym_name = "full_in"}}
    %free_out = aie.lock(%t, 0) {{init = 1 : i32}}
    %full_out = aie.lock(%t, 1)
    {more}
    aie.flow(%s, "DMA" : 0, %t, DMA : 0)
    aie.flow(%t, DMA : 1, %s, DMA : 1)
    aie.shim_dma_allocation @in {"(MM2S, 0, 0)" if old else "(%s, MM2S, 0)"}
    aie.shim_dma_allocation @out {"(S2MM, 1, 0)" if old else "(%s, S2MM, 1)"}
    %core = aie.core(%t) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %c3_i32 = arith.constant 3 : i32
      cf.br ^loop
    ^loop:  // 2 preds
      {core}
      cf.br ^loop
    }} {{elf_file = "core.elf", stack_size = 2048 : i32}}
    %mem = aie.mem(%t) {{
      %0 = aie.dma_start(S2MM, 0, ^in, ^next)
    ^in:
      {_descriptor("free_in", "x", "full_in", old, "")}
      aie.next_bd ^in
    ^next:
      %1 = aie.dma_start(MM2S, 1, ^out, ^end)
    ^out:
      {_descriptor("full_out", "y", "free_out", old, ", 2 : i32")}
      aie.next_bd ^out
    ^end:
      aie.end
    }}
    {"aiex" if old else "aie"}.runtime_sequence @run(%a: memref<32xi32>, %b: memref<32xi32>) {{
      aiex.npu.dma_memcpy_nd({"0, 0, " if old else ""}%b[0, 0, 0, 0][1, 1, 1, 32]
        [0, 0, 0{"" if old else ", 1"}]) {{metadata = @out, id = 1 : i64, issue_token = true}}
        : memref<32xi32>
      aiex.npu.dma_memcpy_nd(%a[0, 0, 0, 0][1, 1, 1, 32][0, 0, 0, 1]) {{metadata = @in, id = 0 : i64}}
        : memref<32xi32>
      aiex.npu.dma_wait {{symbol = @out}}
    }}
  }} {{sym_name = "design"}}
}}
"""


ADD = """scf.for %i = %c0 to %c4 step %c1 {
        scf.for %j = %c0 to %c4 step %c1 {
          %v = memref.load %x[%i, %j] : memref<4x4xi32>
          %w = arith.addi %v, %c3_i32 : i32
          memref.store %w, %y[%j, %i] : memref<4x4xi32, 2 : i32>
        }
      }"""


def _use(lock: str, action: str, old: bool, number: str) -> str:
    if old:
        return f"aie.use_lock(%{lock}, {action}, 1)"
    return f"""%n{number} = arith.constant 1 : i32
      aie.use_lock(%{lock}, {action}, %n{number})"""


def _descriptor(taken: str, buffer: str, given: str, old: bool, space: str) -> str:
    how = " offset = 0 len = 16 sizes = [4, 4] strides = [4, 1]"
    if old:
        how = ", 0, 16, [<size = 4, stride = 4>, <size = 4, stride = 1>]"
    return f"""{_use(taken, "AcquireGreaterEqual", old, f"{buffer}_taken")}
      aie.dma_bd(%{buffer} : memref<4x4xi32{space}>{how})
      {_use(given, "Release", old, f"{buffer}_given")}"""


def with_sequence(device: str, sequence: str, arguments: str) -> str:
    """A device with a shim and a memory tile, and what a sequence does with them."""
    return f"""
module {{
  aie.device(npu2_1col) {{
    %s = aie.tile(0, 0) {{controller_id = #aie.packet_info<pkt_type = 0, pkt_id = 3>}}
    %m = aie.tile(0, 1)
    {device}
    aie.runtime_sequence({arguments}) {{
      {sequence}
    }}
  }}
}}
"""
