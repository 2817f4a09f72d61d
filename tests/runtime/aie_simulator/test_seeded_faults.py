"""Every rule broken once in the text of a module that runs: the simulator must say which."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from dslc.runtime.aie_simulator import RULES, AieFault, simulate

from support.npu.kernels import EXAMPLES, Case, case

_ADD = case(EXAMPLES / "vector_add.tile", "vector_add", N=4096)
_LOOP = case(
    """
kernel total(x: f32[8, N], y: out f32[8]):
    for m in parallel(range(0, 8, 8)):
        acc = zeros(f32, [8])
        for n in range(0, N, 16):
            acc = acc * 0.5 + sum(x[m : m + 8, n : n + 16], 1)
        y[m : m + 8] = acc
""",
    "total",
    N=96,
)
_NORM = case(EXAMPLES / "rmsnorm.tile", "rmsnorm", T="bf16", M=40, H=64)
_GEMM = case(
    EXAMPLES / "gemm.tile", "gemm", {"BM": 16, "BN": 64, "BK": 32}, T="bf16", M=32, N=64, K=64
)
_CASCADE = case(
    """
kernel total(x: f32[8, N], y: out f32[8]):
    for m in parallel(range(0, 8, 8)):
        acc = zeros(f32, [8])
        for n in range(0, N, 16):
            acc += sum(x[m : m + 8, n : n + 16], 1)
        y[m : m + 8] = acc
""",
    "total",
    N=128,
)
_SHARED = case(
    """
kernel scaled(x: u4[8, N], s: f32[8], t: bf16[N], y: out f32[8, N]):
    for m in parallel(range(0, 8, 4)):
        w = cast(x[m : m + 4, :], f32) * s[m : m + 4, None]
        y[m : m + 4, :] = w + cast(t[:], f32)
""",
    "scaled",
    N=64,
)
_PANELS = case(
    EXAMPLES / "gemm.tile", "gemm", {"BM": 16, "BN": 64, "BK": 32}, T="bf16", M=128, N=2048, K=64
)

Edit = Callable[[str], str]


def swap(old: str, new: str, count: int = 1) -> Edit:
    def edit(text: str) -> str:
        found, done = re.subn(old, new, text, count=count)
        assert done, f"{old} is not in the module"
        return found

    return edit


def drop(pattern: str) -> Edit:
    return swap(rf"\n[^\n]*{pattern}[^\n]*", "")


def both(*edits: Edit) -> Edit:
    def edit(text: str) -> str:
        for one in edits:
            text = one(text)
        return text

    return edit


_FAULTS: list[tuple[str, Case, str, Edit]] = [
    ("unknown operation", _ADD, "syntax", swap(r"arith\.addf", "arith.addq")),
    ("unclosed region", _ADD, "syntax", swap(r"\n  \}\n\}\n", "\n")),
    ("unknown device", _ADD, "tile", swap("npu2", "npu7")),
    ("tile outside", _ADD, "tile", swap(r"aie\.tile\(0, 2\)", "aie.tile(0, 9)")),
    ("tile twice", _ADD, "symbol", swap(r"aie\.tile\(1, 2\)", "aie.tile(0, 2)")),
    ("unknown FIFO", _ADD, "fifo", swap(r"acquire @x_0", "acquire @w_0")),
    ("FIFO twice", _ADD, "symbol", swap(r"objectfifo @y_0", "objectfifo @x_0")),
    ("FIFO in an unlinked memory tile", _NORM, "link", drop(r"objectfifo\.link \[@x_0_l2\]")),
    ("parts that leave a gap", _NORM, "link", swap(r"\(\[\] \[0, 256", "([] [0, 260")),
    ("parts that are too few", _NORM, "link", swap(r"memref<512xbf16>", "memref<516xbf16>")),
    ("objects too large for a core", _ADD, "memory", swap(r"memref<1024xf32>", "memref<9000xf32>", 99)),
    ("a buffer too large", _NORM, "memory", swap(r"memref<4xf32>", "memref<20000xf32>", 99)),
    ("a stack too large", _ADD, "memory", swap("stack_size = 1024", "stack_size = 60000")),
    ("a third input", _ADD, "channels",
     swap(r"(\n +)(aie\.objectfifo) @y_0(.*)", r"\1\2 @y_0\3\1\2 @w_0\3\1\2 @v_0\3")),
    ("too many descriptors", _ADD, "descriptors",
     swap(r"2 : i32\) : (!aie\.objectfifo<memref<)1024", r"6 : i32) : \g<1>64", 99)),
    ("a deep FIFO", _ADD, "lock-value",
     swap(r"2 : i32\) : (!aie\.objectfifo<memref<)1024", r"64 : i32) : \g<1>4")),
    ("loops that pass too few", _GEMM, "length", swap(r"\[<size = 2,", "[<size = 1,")),
    ("a run of half a word", _GEMM, "word",
     swap(r"<size = 8, stride = 1>\]", "<size = 8, stride = 3>]")),
    ("five loops", _GEMM, "dims",
     swap(r"<size = 8, stride = 1>\]", "<size = 2, stride = 4>, <size = 4, stride = 1>]")),
    ("a stride of nothing", _GEMM, "step",
     swap(r"\[<size = 2, stride = \d+>", "[<size = 2, stride = 0>")),
    ("an odd stride", _GEMM, "word", swap(r"\[<size = 2, stride = \d+>", "[<size = 2, stride = 33>")),
    ("a task of too many turns", _ADD, "iteration",
     swap(r"\[1, 1, 1, 1024\]\[0, 0, 0, 1\]", "[65, 1, 1, 4][4, 0, 0, 1]")),
    ("a task that counts too far", _ADD, "wrap",
     swap(r"\[1, 1, 1, 1024\]\[0, 0, 0, 1\]", "[1, 1, 1024, 1][0, 0, 2, 1]")),
    ("a task that steps too far", _ADD, "step",
     swap(r"\[1, 1, 1, 1024\]\[0, 0, 0, 1\]", "[1, 1, 2, 512][0, 0, 2097152, 1]")),
    ("a task that goes backwards", _ADD, "step",
     swap(r"\[1, 1, 1, 1024\]\[0, 0, 0, 1\]", "[1, 1, 2, 512][0, 0, -512, 1]")),
    ("a task past the tensor", _ADD, "bounds",
     swap(r"0, 0, 0, 3072\]", "0, 0, 0, 3076]")),
    ("a task that begins within a word", _GEMM, "word",
     swap(r"%a_host\[0, 0, 0, 0\]", "%a_host[0, 0, 0, 1]")),
    ("a descriptor that is not there", _ADD, "descriptors", swap("id = 0 :", "id = 16 :")),
    ("a descriptor in use", _ADD, "descriptor-reuse",
     swap(r"id = 1 : (.*@y_0)", r"id = 0 : \1")),
    ("five tasks at once", _ADD, "queue", swap(
        r"\n([^\n]*)id = 0 :([^\n]*@x_0[^\n]*)",
        "".join(rf"\n\1id = {n} :\2" for n in (8, 9, 10, 11, 12, 13)))),
    ("a task that is missing", _ADD, "deadlock", drop(r"dma_memcpy_nd\(%y_host.*@y_0\b")),
    ("a task that is too short", _ADD, "deadlock",
     swap(r"(%x_host\[0, 0, 0, 0\])\[1, 1, 1, 1024\]", r"\1[1, 1, 1, 1020]")),
    ("a task too many", _ADD, "leftover",
     swap(r"(%x_host\[0, 0, 0, 0\])\[1, 1, 1, 1024\]\[0, 0, 0, 1\]",
          r"\1[2, 1, 1, 1024][0, 0, 0, 1]")),
    ("a token that nobody issues", _ADD, "deadlock",
     swap(r"issue_token = true, (metadata = @x_0)", r"\1")),
    ("a wait too many", _ADD, "deadlock",
     swap(r"(\n *aiex\.npu\.dma_wait \{symbol = @x_0\})", r"\1\1")),
    ("a wait for nobody", _ADD, "symbol", swap("symbol = @x_0", "symbol = @q")),
    ("a release that is missing", _LOOP, "deadlock", drop(r"release @x\(Consume")),
    ("a release too many", _LOOP, "fifo",
     swap(r"(\n *aie\.objectfifo\.release @x\(Consume, 1\))", r"\1\1")),
    ("one acquired more than is released", _LOOP, "deadlock",
     swap(r"(acquire @x\(Consume), 1\)", r"\1, 2)")),
    ("more objects than there are", _ADD, "fifo",
     swap(r"(acquire @x_0\(Consume), 1\)", r"\1, 3)")),
    ("the wrong end", _ADD, "fifo", swap(r"acquire @x_0\(Consume", "acquire @x_0(Produce")),
    ("half an object written", _ADD, "partial",
     both(swap("constant 64 : index", "constant 63 : index"))),
    ("a read past the object", _ADD, "bounds", swap("constant 64 : index", "constant 65 : index")),
    ("a buffer read before it is written", _NORM, "unwritten",
     drop(r"memref\.store %total")),
    ("an object read after it is given back", _ADD, "unwritten", both(
        drop(r"release @x_0\(Consume"),
        swap(r"(\n *)(scf\.for %i = )", r"\1aie.objectfifo.release @x_0(Consume, 1)\1\2"))),
    ("FIFOs of different objects", _NORM, "link",
     swap(r"(@x_0_2\(.*)memref<256xbf16>", r"\1memref<128xbf16>")),
    ("a vector that is not passed", _CASCADE, "deadlock", drop("put_cascade")),
    ("a vector passed twice", _CASCADE, "leftover",
     swap(r"(\n *aie\.put_cascade[^\n]*)(?![\s\S]*put_cascade)", r"\1\1")),
    ("a vector that nobody takes", _CASCADE, "leftover", both(
        swap(r"(?s)(.*)(\n +%(\w+) = aie\.get_cascade\(\) : vector<16xf32>)",
             r"\1\n        %\3 = arith.constant dense<0.0> : vector<16xf32>"))),
    ("a vector taken twice", _CASCADE, "deadlock",
     swap(r"(\n +%)(\w+)( = aie\.get_cascade[^\n]*)", r"\1again\3\1\2\3")),
    ("half a vector passed", _CASCADE, "cascade|syntax", swap(r"get_cascade\(\) : vector<16xf32>",
                                                      "get_cascade() : vector<8xf32>")),
    ("a cascade upwards", _CASCADE, "cascade",
     swap(r"cascade_flow\(%core_0_3, %core_0_2\)", "cascade_flow(%core_0_2, %core_0_3)")),
    ("a cascade over a neighbour", _CASCADE, "cascade",
     swap(r"cascade_flow\(%core_0_3, %core_0_2\)", "cascade_flow(%core_0_4, %core_0_2)")),
    ("two cascades from a core", _CASCADE, "cascade",
     swap(r"(\n *aie\.cascade_flow\(%core_0_3, %core_0_2\))", r"\1\1")),
    ("a cascade that is not there", _CASCADE, "cascade", drop(r"cascade_flow\(%core_0_3")),
    ("bytes viewed past the object", _SHARED, "bounds|syntax",
     swap(r"(memref\.view .* to memref<)(\d+)x", r"\g<1>99999x")),
    ("a view of what is no bytes", _SHARED, "syntax",
     swap(r"(memref\.view .*?)xi8> to", r"\1xf32> to")),
    ("codes of more bits than there are", _SHARED, "operation|syntax",
     swap(r"vector<(\d+)xi4>", r"vector<\1xi5>")),
    ("a panel sent once too often", _PANELS, "deadlock|leftover",
     swap(r"\{repeat_count = 4", "{repeat_count = 5")),
    ("a panel sent too few times", _PANELS, "deadlock|leftover",
     swap(r"\{repeat_count = 4", "{repeat_count = 3")),
    ("parts of a panel", _PANELS, "length|link",
     swap(r"(@a_0_l2.*)memref<1024xbf16>", r"\1memref<1000xbf16>")),
    ("a result nobody takes", _ADD, "deadlock", drop(r"dma_memcpy_nd\(%z_host.*@z_out_0\b")),
]  # fmt: skip


@pytest.mark.parametrize(("title", "of", "rule", "edit"), _FAULTS, ids=[f[0] for f in _FAULTS])
def test_a_fault_is_found(title: str, of: Case, rule: str, edit: Edit) -> None:
    with pytest.raises(AieFault) as found:
        simulate(edit(of.text), of.padded)
    assert found.value.rule in rule.split("|"), f"{title}: {found.value}"


@pytest.mark.parametrize("of", [_ADD, _LOOP, _NORM, _GEMM, _CASCADE, _SHARED])
def test_the_modules_themselves_run(of: Case) -> None:
    simulate(of.text, of.padded)


def test_a_deadlock_names_who_waits_for_what() -> None:
    with pytest.raises(AieFault) as found:
        simulate(drop(r"dma_memcpy_nd\(%z_host.*@z_out_0\b")(_ADD.text), _ADD.padded)
    assert "S2MM 0 of tile 0, 0 waits for a task for S2MM 0 of tile 0, 0 from the host" in str(
        found.value
    )
    with pytest.raises(AieFault) as found:
        simulate(drop(r"release @x\(Consume")(_LOOP.text), _LOOP.padded)
    text = str(found.value)
    assert "the host waits for a token of MM2S 0 of tile 0, 0 (1 tasks left)" in text
    assert "waits for lock x_cons_0_2_free (now 0, wanted 1) from core 0, 2" in text


def test_most_rules_are_broken_here() -> None:
    # What is left is about programs, locks and flows (test_modules.py), or cannot be said in a text.
    others = {
        "padding",
        "reach",
        "packet",
        "register",
        "function",
        "locks",
        "program",
        "size",
        "ports",
        "token",
        "operation",
        "argument",
        "configuration",
    }
    found = {r for _, _, rule, _ in _FAULTS for r in rule.split("|")}
    assert set(RULES) - found <= others


def test_arguments_of_another_size_are_refused() -> None:
    with pytest.raises(AieFault, match="argument"):
        simulate(_ADD.text, _ADD.padded[:2])
    with pytest.raises(AieFault, match="argument"):
        simulate(_ADD.text, [x[:-1] for x in _ADD.padded])
