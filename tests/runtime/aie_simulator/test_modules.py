"""Modules as others write them: their forms, what they use of the array, and the faults in them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.compiler.mlir import generic, parse
from dslc.runtime.aie_simulator import AieFault, blank_arguments, simulate

from support.npu.modules import ADD, passed_through, with_sequence

_LOOPED = "aie.flow(%s, DMA : 0, %m, DMA : 0)\naie.flow(%m, DMA : 0, %s, DMA : 0)"
_BUFFER = '%b = aie.buffer(%m) {sym_name = "b", address = 4096 : i32} : memref<16xi32>'
_LOCKS = "%p = aie.lock(%m, 0) {init = 1 : i32}\n%c = aie.lock(%m, 1)"
_TURNS = "#aie.bd_iteration<size = 4, stride = 4, current = 1>"
_X, _Y = "%x: memref<16xi32>", "%y: memref<16xi32>"


def numbers(count: int) -> Any:
    return np.arange(1, count + 1, dtype=np.int32)


def run(text: str, *arrays: Any, **options: Any) -> Any:
    """The last argument after a run."""
    simulate(text, list(arrays), **options)
    return arrays[-1]


def zeros(count: int) -> Any:
    return np.zeros(count, np.int32)


def fault(text: str, *arrays: Any, **options: Any) -> str:
    with pytest.raises(AieFault) as found:
        simulate(text, list(arrays), **options)
    return found.value.rule


@pytest.mark.parametrize("old", [True, False], ids=["1.2", "1.4"])
@pytest.mark.parametrize("form", ["custom", "generic"])
def test_both_releases_in_both_forms(old: bool, form: str) -> None:
    text = passed_through(ADD, old=old, device="npu1_1col")
    text = generic(parse(text)) if form == "generic" else text
    expected = (numbers(32) + 3).reshape(2, 4, 4).transpose(0, 2, 1).reshape(-1)
    np.testing.assert_array_equal(run(text, numbers(32), zeros(32)), expected)
    assert list(blank_arguments(text)) == ["a", "b"]


def test_functions_are_python() -> None:
    call = "func.call @double(%x, %y) : (memref<4x4xi32>, memref<4x4xi32, 2 : i32>) -> ()"
    more = "func.func private @double(memref<4x4xi32>, memref<4x4xi32, 2 : i32>)"
    text = passed_through(call, more=more)

    def double(x: Any, y: Any) -> None:
        assert x.shape == (4, 4)
        y[:] = 2 * x

    found = run(text, numbers(32), zeros(32), functions={"double": double})
    np.testing.assert_array_equal(found, 2 * numbers(32))
    assert fault(text, numbers(32), zeros(32)) == "function"


def test_constants_initial_values_and_switches() -> None:
    more = """%k = aie.buffer(%t) {sym_name = "k"} : memref<4xi32> = dense<[10, 20, 30, 40]>
    memref.global "private" constant @shift : memref<1xi32> = dense<[5]>"""
    body = """%shift = memref.get_global @shift : memref<1xi32>
      %s0 = memref.load %shift[%c0] : memref<1xi32>
      affine.for %i = 0 to 4 {
        %k0 = memref.load %k[%i] : memref<4xi32>
        %sum = scf.index_switch %i -> i32
        case 2 {
          scf.yield %s0 : i32
        }
        default {
          scf.yield %k0 : i32
        }
        scf.for %j = %c0 to %c4 step %c1 {
          memref.store %sum, %y[%i, %j] : memref<4x4xi32, 2 : i32>
        }
      }"""
    found = run(passed_through(body, more=more), numbers(32), zeros(32))
    np.testing.assert_array_equal(found, np.tile(np.repeat([10, 20, 5, 40], 4), 2))


def task(name: str, end: str, body: str, options: str = "") -> str:
    return f"%{name} = aiex.dma_configure_task({end}) {{\n{body}\n}} {options}\n"


def started(*names: str) -> str:
    return "\n".join(f"aiex.dma_start_task(%{n})" for n in names)


def moved(array: str, how: str = "") -> str:
    return f"aie.dma_bd(%{array} : memref<16xi32>{how})\naie.end"


def locked(taken: str, given: str, how: str = "", amount: int = 1) -> str:
    return f"""aie.use_lock(%{taken}, AcquireGreaterEqual, {amount})
      aie.dma_bd(%b : memref<16xi32>{how})
      aie.use_lock(%{given}, Release, {amount})
      aie.end"""


def test_tasks_tokens_and_iterations() -> None:
    sequence = (
        task("a", "%s, MM2S, 0", moved("x"))
        + task("in", "%m, S2MM, 0",
               locked("p", "c", " offset = 0 len = 4").replace(
                   "len = 4)", f"len = 4) {{iteration = {_TURNS}}}"),
               "{repeat_count = 3 : i32}")
        + started("a", "in")
        + task("out", "%m, MM2S, 0", locked("c", "p", amount=4))
        + task("z", "%s, S2MM, 0", moved("y"), "{issue_token = true}")
        + started("out", "z") + "\naiex.dma_await_task(%z)\naiex.dma_free_task(%a)"
    )  # fmt: skip
    locks = _LOCKS.replace("init = 1", "init = 4")
    text = with_sequence(f"{_LOOPED}\n{_BUFFER}\n{locks}", sequence, f"{_X}, {_Y}")
    found = run(text, numbers(16), zeros(16))
    np.testing.assert_array_equal(found, np.roll(numbers(16), 4))
    unasked = text.replace("{issue_token = true}", "")
    assert fault(unasked, numbers(16), zeros(16)) == "token"


def test_chains_of_descriptors_and_loops_of_sequences() -> None:
    chain = """aie.bd_chain @halves(%v: memref<16xi32>) {
      aie.dma_bd(%v : memref<16xi32>, 8, 8) {bd_id = 3 : i32}
      aie.next_bd ^second
    ^second:
      aie.dma_bd(%v : memref<16xi32>, 0, 8)
      aie.end
    }
    aie.objectfifo @in(%s, {%m}, [2, 1]) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @out(%m, {%s}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo.link [@in] -> [@out] ([] [])"""
    sequence = """%c0 = arith.constant 0 : index
      %c2 = arith.constant 2 : index
      %c1 = arith.constant 1 : index
      scf.for %i = %c0 to %c2 step %c1 {
        %t = aiex.dma_start_bd_chain @halves(%x) : (memref<16xi32>) on (%s, MM2S, 0)
        %u = aiex.dma_configure_task_for @out {
          aie.dma_bd(%y : memref<16xi32>, 0, 16)
          aie.end
        } {issue_token = true}
        aiex.dma_start_task(%u)
        aiex.dma_await_task(%u)
        aiex.dma_free_task(%t)
      }"""
    found = run(with_sequence(chain, sequence, f"{_X}, {_Y}"), numbers(16), zeros(16))
    np.testing.assert_array_equal(found, np.roll(numbers(16), 8))


def test_padding_in_a_memory_tile() -> None:
    device = f"""{_LOOPED}\n{_BUFFER}\n{_LOCKS}
    %dma = aie.memtile_dma(%m) {{
      %0 = aie.dma(S2MM, 0) [{{
        aie.use_lock(%p, AcquireGreaterEqual, 1)
        aie.dma_bd(%b : memref<16xi32>, 0, 6)
        aie.use_lock(%c, Release, 1)
      }}]
      %1 = aie.dma(MM2S, 0) {{pad_value = 7 : i32}} [{{
        aie.use_lock(%c, AcquireGreaterEqual, 1)
        aie.dma_bd(%b : memref<16xi32>, 0, 16, [<size = 2, stride = 3>, <size = 3, stride = 1>],
          [<const_pad_before = 1, const_pad_after = 1>, <const_pad_before = 1, const_pad_after = 0>])
        aie.use_lock(%p, Release, 1)
      }}]
      aie.end
    }}"""
    sequence = (
        task("a", "%s, MM2S, 0", moved("x", " len = 6"))
        + task("z", "%s, S2MM, 0", moved("y"), "{issue_token = true}")
        + started("a", "z")
        + "\naiex.npu.sync {column = 0 : i32, row = 0 : i32, direction = 0 : i32, channel = 0 : i32}"
    )
    text = with_sequence(device, sequence, f"{_X}, {_Y}")
    expected = np.pad(numbers(6).reshape(2, 3), ((1, 1), (1, 0)), constant_values=7)
    np.testing.assert_array_equal(run(text, numbers(16), zeros(16)), expected.reshape(-1))
    beyond = text.replace("const_pad_after = 1>,", "const_pad_after = 99>,").replace(
        "0, 16, [", "0, 408, ["
    )
    assert fault(beyond, numbers(16), zeros(16)) == "padding"
    none = "<const_pad_before = 0, const_pad_after = 0>"
    core = passed_through(ADD, old=False)
    core = core.replace("strides = [4, 1]", f"strides = [4, 1] pad [{none}, {none}]")
    assert fault(core, numbers(32), zeros(32)) == "padding"


def test_registers_say_what_tasks_do() -> None:
    device = f"""{_LOOPED}\n{_BUFFER}\n{_LOCKS}
    memref.global "private" constant @shim : memref<8xi32>
      = dense<[16, 0, 0, 0, 0, 0, 0, 0x2000000]>"""
    fields = {
        "bd_id": 0, "buffer_length": 16, "buffer_offset": 1024, "column": 0, "row": 1, "valid_bd": 1,
        "lock_acq_enable": 1, "lock_acq_id": 64, "lock_acq_val": -1, "lock_rel_id": 65,
        "lock_rel_val": 1,
    }  # fmt: skip
    taken = {**fields, "bd_id": 1, "lock_acq_id": 65, "lock_rel_id": 64}
    write, again = (
        ", ".join(f"{name} = {value} : i32" for name, value in f.items()) for f in (fields, taken)
    )
    sequence = f"""%w = memref.get_global @shim : memref<8xi32>
      aiex.npu.blockwrite(%w) {{address = 0x1d000 : ui32, column = 0 : i32,
        row = 0 : i32}} : memref<8xi32>
      aiex.npu.address_patch {{addr = 0x1d004 : ui32, arg_idx = 0 : i32, arg_plus = 0 : i32}}
      aiex.npu.blockwrite(%w) {{address = 0x1d020 : ui32}} : memref<8xi32>
      %plus = arith.constant 0 : i32
      aiex.npu.address_patch(%plus : i32) {{addr = 0x1d024 : ui32, arg_idx = 1 : i32}}
      aiex.npu.writebd {{{write}}}
      aiex.npu.writebd {{{again}}}
      aiex.npu.write32 {{address = 0xa0604 : ui32, column = 0 : i32, row = 1 : i32,
        value = 0 : ui32}}
      %bd = arith.constant 1 : i32
      aiex.npu.push_queue(0, 1, MM2S : 0) bd_id %bd repeat %plus {{issue_token = false}} : i32, i32
      %queue = arith.constant 0x1d214 : i32
      aiex.npu.write32(%queue, %plus) : i32, i32
      aiex.npu.maskwrite32 {{address = 0x34000 : ui32, column = 0 : i32, row = 0 : i32, mask = 1 : ui32,
        value = 1 : ui32}}
      aiex.npu.write32 {{address = 0x1d204 : ui32, column = 0 : i32, row = 0 : i32,
        value = 0x80000001 : ui32}}
      aiex.npu.sync {{column = 0 : i32, row = 0 : i32, direction = 0 : i32, channel = 0 : i32,
        column_num = 1 : i32, row_num = 1 : i32}}"""
    text = with_sequence(device, sequence, f"{_X}, {_Y}")
    np.testing.assert_array_equal(run(text, numbers(16), zeros(16)), numbers(16))
    assert fault(text.replace("0x34000", "0x36048"), numbers(16), zeros(16)) == "register"


def test_numbers_and_locks_that_the_host_sets() -> None:
    more = '%n = aie.buffer(%t) {sym_name = "n"} : memref<2xi32>\n%go = aie.lock(%t, 9)'
    body = ADD.replace("%c3_i32 :", "%k :")
    body = "%k = memref.load %n[%c1] : memref<2xi32>\n" + body
    text = passed_through(body, more=more)
    text = text.replace(
        "cf.br ^loop\n    ^loop", "aie.use_lock(%go, Acquire, 1)\n      cf.br ^loop\n    ^loop"
    )
    text = text.replace("aiex.npu.dma_wait", """aiex.npu.rtp_write(@n, 1, 9)
      aiex.set_lock(%go, 1)
      aiex.npu.dma_wait""")  # fmt: skip
    expected = (numbers(32) + 9).reshape(2, 4, 4).transpose(0, 2, 1).reshape(-1)
    np.testing.assert_array_equal(run(text, numbers(32), zeros(32)), expected)


_PACKETS = """%t = aie.tile(0, 2)
    %u = aie.tile(0, 3)
    aie.packet_flow(1) {{ aie.packet_source<%s, DMA : 0> aie.packet_dest<%t, DMA : 0> }}
    aie.packet_flow(0x2) {{
      aie.packet_source<%s, DMA : 0>
      aie.packet_dest<%u, DMA : 1>
    }} {{keep_pkt_header = true}}
    aie.packet_flow(9) {{ aie.packet_source<%t, Trace : 0> aie.packet_dest<%s, DMA : 1> }}
    aie.packet_flow(3) {{ aie.packet_source<%t, DMA : 0> aie.packet_dest<%s, DMA : 0> }}
    aie.packet_flow(4) {{ aie.packet_source<%u, DMA : 0> aie.packet_dest<%s, DMA : 0> }}
    aie.shim_dma_allocation @first(%s, MM2S, 0, <pkt_id = 1>)
    aie.shim_dma_allocation @result(%s, S2MM, 0)
    %tb = aie.buffer(%t) : memref<4xi32>
    %ub = aie.buffer(%u) : memref<5xi32>
    %tl = aie.lock(%t)
    %ul = aie.lock(%u)
    aie.mem(%t) {{
      %0 = aie.dma_start(S2MM, 0, ^a, ^n)
    ^a:
      aie.dma_bd(%tb : memref<4xi32>, 0, 4)
      aie.use_lock(%tl, Release, 1)
      aie.next_bd ^z
    ^n:
      %1 = aie.dma_start(MM2S, 0, ^b, ^z)
    ^b:
      aie.use_lock(%tl, AcquireGreaterEqual, 1)
      aie.dma_bd_packet(0, 3)
      aie.dma_bd(%tb : memref<4xi32>, 0, 4)
      aie.next_bd ^z
    ^z:
      aie.end
    }}
    aie.mem(%u) {{
      %0 = aie.dma_start(S2MM, 1, ^a, ^n, repeat_count = 0)
    ^a:
      aie.dma_bd(%ub : memref<5xi32>, 0, 5)
      aie.use_lock(%ul, Release, 1)
      aie.next_bd ^z
    ^n:
      %1 = aie.dma_start(MM2S, 0, ^b, ^z)
    ^b:
      aie.use_lock(%ul, AcquireGreaterEqual, 1)
      aie.dma_bd(%ub : memref<5xi32>, 1, 4) {{
        packet = #aie.packet_info<pkt_type = 0, pkt_id = {number}>}}
      aie.next_bd ^z
    ^z:
      aie.end
    }}"""


def test_packets_find_their_ways() -> None:
    sequence = """
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1])
        {metadata = @result, id = 0 : i64} : memref<16xi32>
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 4][0, 0, 0, 1])
        {metadata = @first, id = 1 : i64} : memref<16xi32>
      %t2 = aiex.dma_configure_task(%s, MM2S, 0, <pkt_id = 2>) {
        aie.dma_bd(%x : memref<16xi32>, 4, 4) {bd_id = 2 : i32}
        aie.end
      }
      aiex.dma_start_task(%t2)
      aiex.npu.dma_wait {symbol = @result}"""
    text = with_sequence(_PACKETS.format(number=4), sequence, f"{_X}, {_Y}")
    found = run(text, numbers(16), zeros(16))
    np.testing.assert_array_equal(np.sort(found[:8]), numbers(8))
    astray = with_sequence(_PACKETS.format(number=5), sequence, f"{_X}, {_Y}")
    assert fault(astray, numbers(16), zeros(16)) == "symbol"


def test_neighbours_share_objects_without_channels() -> None:
    device = """%t = aie.tile(0, 2)
    %u = aie.tile(0, 3)
    aie.objectfifo @in(%s, {%m}, 2 : i32) : !aie.objectfifo<memref<8xi32>>
    aie.objectfifo @in1(%m,
      {%t dimensionsFromStream [<size = 2, stride = 1>, <size = 2, stride = 2>]}, 1 : i32)
      {repeat_count = 2 : i32} : !aie.objectfifo<memref<4xi32>>
    aie.objectfifo.link [@in] -> [@in1] ([] [])
    aie.objectfifo @middle(%t, {%u}, 2 : i32) : !aie.objectfifo<memref<4xi32>>
      = [dense<7> : memref<4xi32>]
    aie.objectfifo @out(%u, {%s}, 2 : i32) : !aie.objectfifo<memref<4xi32>>"""

    def core(tile: str, source: str, target: str, count: int) -> str:
        return f"""aie.core(%{tile}) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c4 = arith.constant 4 : index
      %n = arith.constant {count} : index
      scf.for %i = %c0 to %n step %c1 {{
        %a = aie.objectfifo.acquire @{source} (Consume, 1)
          : !aie.objectfifosubview<memref<4xi32>>
        %x = aie.objectfifo.subview.access %a[0]
          : !aie.objectfifosubview<memref<4xi32>> -> memref<4xi32>
        %b = aie.objectfifo.acquire @{target}(Produce, 1)
          : !aie.objectfifosubview<memref<4xi32>>
        %y = aie.objectfifo.subview.access %b[0]
          : !aie.objectfifosubview<memref<4xi32>> -> memref<4xi32>
        scf.for %j = %c0 to %c4 step %c1 {{
          %v = memref.load %x[%j] : memref<4xi32>
          memref.store %v, %y[%j] : memref<4xi32>
        }}
        aie.objectfifo.release @{source}(Consume, 1)
        aie.objectfifo.release @{target}(Produce, 1)
      }}
      aie.end
    }}
    """

    sequence = """
      aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0][1, 1, 1, 20][0, 0, 0, 1])
        {metadata = @out, id = 0 : i64} : memref<20xi32>
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, 0][1, 1, 1, 8][0, 0, 0, 1])
        {metadata = @in, id = 1 : i64} : memref<8xi32>
      aiex.npu.dma_wait {symbol = @out}"""
    device += core("t", "in1", "middle", 4) + core("u", "middle", "out", 5)
    text = with_sequence(device, sequence, "%x: memref<8xi32>, %y: memref<20xi32>")
    blocks = numbers(8).reshape(2, 2, 2).transpose(0, 2, 1).reshape(-1)
    expected = np.concatenate([np.full(4, 7), np.tile(blocks, 2)])
    np.testing.assert_array_equal(run(text, numbers(8), zeros(20)), expected)


def test_a_device_is_loaded_by_its_sequence() -> None:
    text = passed_through(ADD).replace(
        "module @top {", "module @top {\n  aie.device(npu2) @empty {}"
    )
    text = text.replace("%b: memref<32xi32>) {", """%b: memref<32xi32>) {
      aiex.npu.load_pdi {device_ref = @empty}
      aiex.npu.load_pdi {device_ref = @design}""")  # fmt: skip
    arrays = [numbers(32), zeros(32)]
    assert simulate(text, arrays, device="design").configurations == 2
    assert arrays[1][0] == 4
