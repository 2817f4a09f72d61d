"""What sequences do to a running array: control packets, resets, registers, parts of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from dslc.runtime.aie_simulator import AieFault, simulate

from support.npu.modules import ADD, passed_through, with_sequence

_X, _Y = "%x: memref<16xi32>", "%y: memref<16xi32>"


def numbers(count: int) -> Any:
    return np.arange(1, count + 1, dtype=np.int32)


def zeros(count: int) -> Any:
    return np.zeros(count, np.int32)


def fault(text: str, *arrays: Any, **options: Any) -> str:
    with pytest.raises(AieFault) as raised:
        simulate(text, list(arrays), **options)
    return raised.value.rule


def header(address: int, words: int = 1, operation: int = 0, answer: int = 0) -> int:
    """The first word of a control packet."""
    word = answer << 24 | operation << 22 | (words - 1) << 20 | address
    return word | (word.bit_count() + 1) % 2 << 31


def copy(name: str, number: int, at: int, count: int, channel: str, more: str = "") -> str:
    return f"""
      aiex.npu.dma_memcpy_nd(%{name}[0, 0, 0, {at}][1, 1, 1, {count}][0, 0, 0, 1]{more})
        {{id = {number} : i64, metadata = @{channel}, issue_token = true}} : memref<16xi32>"""


# A core counts up a word each time that its lock is released; it is not enabled again by itself.
_CORE = """%t = aie.tile(0, 2)
    %go = aie.lock(%t, 0)
    %full = aie.lock(%t, 1)
    %free = aie.lock(%t, 2) {init = 1 : i32}
    %n = aie.buffer(%t) {sym_name = "n", initial_value = dense<[5, 6, 7, 8]> : tensor<4xi32>}
      : memref<4xi32>
    aie.flow(%t, DMA : 0, %s, DMA : 1)
    aie.shim_dma_allocation @out(%s, S2MM, 1)
    aie.shim_dma_allocation @ask(%s, MM2S, 0)
    aie.shim_dma_allocation @told(%s, S2MM, 0)
    aie.core(%t) {
      %c0 = arith.constant 0 : index
      %ten = arith.constant 10 : i32
      aie.use_lock(%go, AcquireGreaterEqual, 1)
      aie.use_lock(%free, AcquireGreaterEqual, 1)
      %v = memref.load %n[%c0] : memref<4xi32>
      %w = arith.addi %v, %ten : i32
      memref.store %w, %n[%c0] : memref<4xi32>
      aie.use_lock(%full, Release, 1)
      aie.end
    }
    aie.mem(%t) {
      %0 = aie.dma_start(MM2S, 0, ^a, ^z)
    ^a:
      aie.use_lock(%full, AcquireGreaterEqual, 1)
      aie.dma_bd(%n : memref<4xi32>, 0, 4)
      aie.use_lock(%free, Release, 1)
      aie.next_bd ^a
    ^z:
      aie.end
    }"""
_PACKETS = """
    aie.packet_flow(7) {
      aie.packet_source<%s, DMA : 0>
      aie.packet_dest<%t, TileControl : 0>
    }
    aie.packet_flow(9) {
      aie.packet_source<%t, "TileControl" : 0>
      aie.packet_dest<%s, DMA : 0>
    }"""
_LOCK, _DATA = 0x1F000, 0x400


def test_control_packets_write_and_read_a_tile() -> None:
    to = ", packet = <pkt_id = 7, pkt_type = 1>"
    sequence = (
        copy("x", 0, 0, 4, "ask", to)
        + copy("x", 1, 4, 1, "ask", to)
        + copy("y", 2, 0, 4, "out")
        + copy("y", 3, 4, 2, "told")
        + "\naiex.npu.dma_wait {symbol = @told}\naiex.npu.dma_wait {symbol = @out}"
    )
    text = with_sequence(_CORE + _PACKETS, sequence, f"{_X}, {_Y}")
    words = [header(_DATA + 4), 60, header(_LOCK), 1, header(_DATA + 8, 2, 1, 9)]
    asked = np.array(words + [0] * 11, np.uint32).view(np.int32)
    result = zeros(16)
    simulate(text, [asked, result])
    assert result[:6].tolist() == [15, 60, 7, 8, 7, 8]
    even = asked.copy()
    even[2] ^= -(1 << 31)
    assert fault(text, even, zeros(16)) == "packet"
    asked[4] = np.array(header(_DATA, 1, 1, 3), np.uint32).view(np.int32)
    assert fault(text, asked, zeros(16)) == "packet"  # an answer that no flow takes
    asked[4] = np.array(header(_DATA, 1, 2), np.uint32).view(np.int32)
    assert fault(text, asked, zeros(16)) == "register"
    # The same without flows that are written: those of the compiler's overlay.
    own = text.replace(_PACKETS, "").replace(copy("y", 3, 4, 2, "told"), "")
    own = own.replace("aiex.npu.dma_wait {symbol = @told}", "").replace(
        copy("x", 1, 4, 1, "ask", to), ""
    )
    own = own.replace("pkt_id = 7", "pkt_id = 27")
    assert fault(own, asked, zeros(16)) == "symbol"
    simulate(own, [asked, result := zeros(16)], overlay=True)
    assert result[:4].tolist() == [15, 60, 7, 8]


def test_a_core_begins_anew() -> None:
    again = """
      aiex.core_reset(%t)
      aiex.npu.maskwrite32 {address = 0x32000 : ui32, column = 0 : i32, row = 2 : i32,
        value = 1 : ui32, mask = 1 : ui32}"""
    once = "\n      aiex.set_lock(%go, 1)" + "{}\n      aiex.npu.dma_wait {{symbol = @out}}"
    first = once.format(copy("y", 0, 0, 4, "out"))
    sequence = first + again + once.format(copy("y", 1, 4, 4, "out"))
    text = with_sequence(_CORE, sequence, f"{_X}, {_Y}")
    simulate(text, [numbers(16), result := zeros(16)])
    assert result[[0, 4]].tolist() == [15, 25]
    assert fault(text.replace("value = 1", "value = 0"), numbers(16), zeros(16)) == "deadlock"
    running = first + once.format(copy("y", 1, 4, 4, "out"))
    assert fault(with_sequence(_CORE, running, f"{_X}, {_Y}"), numbers(16), zeros(16)) == "deadlock"


def test_a_channel_forgets_and_the_switch_shuts() -> None:
    device = _CORE.replace("aie.next_bd ^a", "aie.next_bd ^b\n    ^b:\n      aie.dma_bd(%n : "
                           "memref<4xi32>, 2, 2) {bd_id = 5 : i32}\n      aie.next_bd ^z")  # fmt: skip
    push = """
      %bd = arith.constant 5 : i32
      %once = arith.constant 0 : i32
      aiex.npu.push_queue(0, 2, MM2S : 0) bd_id %bd repeat %once {issue_token = true} : i32, i32"""
    shut = (
        "aiex.npu.write32 {{address = 0x3f104 : ui32, column = 0 : i32, row = 2 : i32, "
        "value = {} : ui32}}"
    )
    sequence = (
        "aiex.dma_channel_reset(%t, MM2S, 0)\n"
        + push
        + copy("y", 0, 0, 2, "out")
        + "\naiex.npu.dma_wait {symbol = @out}\n"
        + shut.format(0)
        + push.replace("%", "%other_")
        + copy("y", 1, 4, 2, "out")
        + "\n"
        + shut.format("0x80000000")
        + "\naiex.npu.dma_wait {symbol = @out}\naiex.buffer_clear(%t, 1024, 2)"
    )
    text = with_sequence(device, sequence, f"{_X}, {_Y}")
    simulate(text, [numbers(16), result := zeros(16)])
    assert result[:6].tolist() == [7, 8, 0, 0, 7, 8]
    assert fault(text.replace("0x80000000", "0"), numbers(16), zeros(16)) == "deadlock"
    waiting = text.replace("aiex.dma_channel_reset(%t, MM2S, 0)", "")
    assert fault(waiting, numbers(16), zeros(16)) == "deadlock"


def test_words_that_no_buffer_has_and_masks() -> None:
    device = "aie.flow(%s, DMA : 0, %m, DMA : 0)\naie.flow(%m, DMA : 0, %s, DMA : 0)"
    fields = {"column": 0, "row": 1, "valid_bd": 1, "buffer_length": 4}

    def descriptor(number: int, offset: int) -> str:
        own = {**fields, "bd_id": number, "buffer_offset": offset}
        return f"aiex.npu.writebd {{{', '.join(f'{n} = {v} : i32' for n, v in own.items())}}}\n"

    def write(at: int, value: int, mask: int | None = None) -> str:
        name = "write32" if mask is None else "maskwrite32"
        more = "" if mask is None else f", mask = {mask} : ui32"
        return (
            f"aiex.npu.{name} {{address = {at} : ui32, column = 0 : i32, row = 1 : i32, "
            f"value = {value} : ui32{more}}}\n"
        )

    def task(name: str, where: str, array: str) -> str:
        return f"""%{name} = aiex.dma_configure_task(%s, {where}, 0) {{
        aie.dma_bd(%{array} : memref<16xi32> offset = 0 len = 4)
        aie.end
      }} {{issue_token = true}}
      aiex.dma_start_task(%{name})
      """

    sequence = (
        descriptor(0, 0x20000 + 32)
        + write(0xA0604, 0x80000000)
        + task("in", "MM2S", "x")
        + "aiex.npu.sync {column = 0 : i32, row = 1 : i32, direction = 0 : i32, channel = 0 : i32}\n"
        + write(136, 0xF0, 0xF0)
        + descriptor(1, 0x20000 + 33)
        + write(0xA0634, 1)
        + task("back", "S2MM", "y")
        + "aiex.dma_await_task(%back)"
    )
    text = with_sequence(device, sequence, f"{_X}, {_Y}")
    assert fault(text, numbers(16), zeros(16)) == "unwritten"  # one word more than came
    simulate(text, [numbers(16), result := zeros(16)], zeroed=True)
    assert result[:4].tolist() == [2, 0xF3, 4, 0]


def test_parts_of_arrays_and_commands_within_configurations() -> None:
    text = passed_through(ADD, old=False)
    main = """
  aie.device(npu2) @main {
    aie.runtime_sequence @whole(%p: memref<4x32xi32>) {
      aiex.configure @design {
        %0 = memref.subview %p[1, 0] [1, 32] [1, 1] : memref<4x32xi32> to memref<32xi32>
        %1 = memref.subview %p[2, 0] [2, 32] [1, 1] : memref<4x32xi32> to memref<64xi32>
        %2 = memref.reinterpret_cast %1 to offset: [0], sizes: [32], strides: [1]
          : memref<64xi32> to memref<32xi32>
        aiex.run @run(%0, %2) : (memref<32xi32>, memref<32xi32>)
      }
    }
  }
}
"""
    text = text.rstrip().removesuffix("}") + main
    array = np.arange(128, dtype=np.int32).reshape(4, 32)
    simulate(text, [array], device="main")
    expected = (np.arange(32, 64) + 3).reshape(2, 4, 4).transpose(0, 2, 1).reshape(-1)
    np.testing.assert_array_equal(array[2], expected)
    apart = text.replace("%p[1, 0] [1, 32]", "%p[1, 0] [2, 16]")
    assert fault(apart, array, device="main") == "operation"


_OLDER = """module {
  aie.device(npu1_1col) {
    %a = aie.logical_tile<ShimNOCTile>(?, ?)
    %b = aie.logical_tile<ShimNOCTile>(0, ?)
    %t = aie.logical_tile<CoreTile>(?, ?)
    aie.trace @events(%t) {
      aie.trace.mode "Event-Time"
      aie.trace.packet id=1 type=core
      aie.trace.event<"INSTR_EVENT_0">
      aie.trace.port<0> port=DMA channel=0 direction=S2MM
      aie.trace.stop event=<"NONE">
    }
    func.func private @scaled(memref<2x8xi16>, index)
    aie.objectfifo @in(%a, {%t}, 2 : i32) : !aie.objectfifo<memref<2x8xi16>>
    aie.objectfifo @out(%t, {%b}, 2 : i32) : !aie.objectfifo<memref<2x8xi32>>
    %gate = aie.lock(%t) {init = 2 : i32}
    %core = aie.core(%t) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %c4 = arith.constant 4 : index
      %pad = arith.constant 9 : i16
      %own = memref.alloc() : memref<2x8xi16>
      %x = aie.objectfifo.acquire @in(Consume, 1) : memref<2x8xi16>
      %y = aie.objectfifo.acquire @out(Produce, 1) : memref<2x8xi32>
      memref.copy %x, %own : memref<2x8xi16> to memref<2x8xi16>
      func.call @scaled(%own, %gate) : (memref<2x8xi16>, index) -> ()
      scf.for %i = %c0 to %c2 step %c1 {
        %v = vector.transfer_read %own[%i, %c4], %pad : memref<2x8xi16>, vector<8xi16>
        %e = arith.extsi %v : vector<8xi16> to vector<8xi32>
        vector.transfer_write %e, %y[%i, %c0] {in_bounds = [true]} : vector<8xi32>, memref<2x8xi32>
      }
      aie.objectfifo.release @in(Consume, 1)
      aie.objectfifo.release @out(Produce, 1)
      aie.end
    }
    func.func @sequence(%x : memref<16xi16>, %y : memref<16xi32>) {
      %c0 = arith.constant 0 : i64
      %c1 = arith.constant 1 : i64
      %c16 = arith.constant 16 : i64
      aie.trace.start_config @events
      aiex.npu.dma_memcpy_nd (0, 0, %y[%c0,%c0,%c0,%c0][%c1,%c1,%c1,%c16][%c0,%c0,%c0])
        { metadata = @out, id = 1 : i64 } : memref<16xi32>
      aiex.npu.dma_memcpy_nd (0, 0, %x[%c0,%c0,%c0,%c0][%c1,%c1,%c1,%c16][%c0,%c0,%c0])
        { metadata = @in, id = 0 : i64 } : memref<16xi16>
      aiex.npu.sync { column = 0 : i32, row = 0 : i32, direction = 0 : i32, channel = 0 : i32 }
      return
    }
  }
}
"""


def test_older_sequences_logical_tiles_traces_and_locks_of_functions() -> None:
    def scaled(x: Any, gate: Any) -> Any:
        yield from gate.acquire(2, equal=True)
        x *= 3
        gate.release(1)

    given, result = numbers(16).astype(np.int16), zeros(16)
    simulate(_OLDER, [given, result], functions={"scaled": scaled})
    expected = np.pad(3 * given.reshape(2, 8)[:, 4:], ((0, 0), (0, 4)), constant_values=9)
    np.testing.assert_array_equal(result.reshape(2, 8), expected)


def test_a_full_queue_a_larger_array_and_what_is_left() -> None:
    device = """aie.objectfifo @in(%s, {%m}, 2 : i32) : !aie.objectfifo<memref<4xi32>>
    aie.objectfifo @out(%m, {%s}, 2 : i32) : !aie.objectfifo<memref<4xi32>>
    aie.objectfifo.link [@in] -> [@out] ()"""
    rows = "[1, 1, 8, 2048][0, 0, 2048, 1]"  # one run, which needs no loop of more than 1023 steps
    sequence = f"""aiex.npu.dma_memcpy_nd(%y[0, 0, 0, 0]{rows})
        {{metadata = @out, id = 0 : i64}} : memref<16xi32>"""
    for number in range(8):
        sequence += f"""
      aiex.npu.dma_memcpy_nd(%x[0, 0, 0, {2048 * number}][1, 1, 1, 2048][0, 0, 0, 1])
        {{metadata = @in, id = {number + 1} : i64}} : memref<16xi32>"""
    text = with_sequence(device, sequence + "\naiex.npu.dma_wait {symbol = @out}", f"{_X}, {_Y}")
    given, result = numbers(16384), zeros(16384)
    assert fault(text, given, result) == "queue"
    assert fault(text, numbers(16), zeros(16), waits=True) == "bounds"
    assert simulate(text, [given, result], waits=True).left == ()
    np.testing.assert_array_equal(result, given)
    # A ninth piece, which nobody takes.
    ninth = copy("x", 9, 0, 16, "in") + "\naiex.npu.dma_wait {symbol = @out}"
    text = text.replace("\naiex.npu.dma_wait {symbol = @out}", ninth)
    assert fault(text, given, result, waits=True) == "leftover"
    left = simulate(text, [given, result], waits=True, lenient=True).left
    assert any("stay before" in line for line in left), left
