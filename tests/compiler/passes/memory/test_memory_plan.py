"""Memory planning."""

import meaning
import pytest
import random_ir
from dslc.compiler.analysis.buffer_liveness import Liveness
from dslc.compiler.diagnostics import DiagnosticError
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import walk
from dslc.compiler.ir.verify import verify
from dslc.compiler.passes.memory.memory_plan import MemoryPlan, buffer_bytes, describe_plan
from hypothesis import given, settings
from hypothesis import strategies as st

HEAD = "kernel f[M](@x: in f32[M], @y: out f32[M]) {\n  %v = load @x[0 : +4] : f32[4]\n"


def planned(body, **options):
    kernel = parse_program(f"{HEAD}{body}}}\n")
    verify(kernel)
    changed = MemoryPlan(**options)(kernel)
    verify(changed)
    return changed


def offsets(body, **options):
    kernel = planned(body, **options)
    allocs = [s.memory for s in walk(kernel.body) if isinstance(s, ins.Alloc)]
    return {m.name: m.offset for m in allocs}


def alloc(*names, size=4, place="shared"):
    return "".join(f"  alloc @{n}: buffer {place} f32[{size}]\n" for n in names)


def use(*names):
    return "".join(f"  store @{n}[0 : +4], %v\n" for n in names)


def sync():
    return "  sync\n"


COPY = "  copy_async @a[0 : +4], @x[0 : +4]\n  commit_group\n"


@pytest.mark.parametrize(
    ("body", "wanted"),
    [
        (alloc("a", "b") + use("a", "b"), {"a": 0, "b": 0}),
        (alloc("a", "b") + use("a", "b", "a"), {"a": 0, "b": 16}),
        # a loop keeps alive what was made before it
        (
            alloc("a", "b") + "  for k in range(0, M, 4) {\n" + use("a", "b") + "  }\n",
            {"a": 0, "b": 16},
        ),
        (
            "  for k in range(0, M, 4) {\n" + alloc("a", "b") + use("a", "b") + "  }\n",
            {"a": 0, "b": 0},
        ),
        # the two branches never meet
        (
            alloc("c")
            + use("c")
            + "  if M == 1 {\n"
            + alloc("a")
            + use("a", "c")
            + "  } else {\n"
            + alloc("b")
            + use("b", "c")
            + "  }\n",
            {"a": 16, "b": 16, "c": 0},
        ),
        # large ones first, small ones into the gaps
        (
            alloc("a", size=8)
            + alloc("big", size=64)
            + use("a", "big", "a")
            + alloc("b", size=4)
            + use("b", "big"),
            {"a": 256, "b": 256, "big": 0},
        ),
        # of what shares a start the longest counts
        (
            alloc("c") + alloc("big", size=64) + alloc("b", size=8) + use("c", "big", "b", "c"),
            {"c": 256, "big": 0, "b": 0},
        ),
        # buffers without a place count, registers do not
        (alloc("a", place="") + use("a"), {"a": 0}),
        (alloc("a", place="register") + use("a"), {"a": None}),
        # barriers by hand: reuse needs one between the two lives
        (alloc("a", "b") + use("a") + sync() + use("b"), {"a": 0, "b": 0}),
        (alloc("a", "b") + use("a", "b") + sync(), {"a": 0, "b": 16}),
        (
            alloc("a", "b") + use("a") + "  if M == 1 {\n  sync\n  }\n" + use("b"),
            {"a": 0, "b": 16},
        ),
        (
            "  for k in range(0, M, 4) {\n"
            + alloc("a", "b")
            + use("a")
            + sync()
            + use("b")
            + "  }\n",
            {"a": 0, "b": 16},
        ),
        (
            "  for k in range(0, M, 4) {\n"
            + alloc("a", "b")
            + use("a")
            + sync()
            + use("b")
            + sync()
            + "  }\n",
            {"a": 0, "b": 0},
        ),
        # a copy holds its buffer until the wait that retires it
        (
            alloc("a", "b") + COPY + sync() + use("b") + "  wait_group pending=0\n",
            {"a": 0, "b": 16},
        ),
        (
            alloc("a", "b") + COPY + "  wait_group pending=0\n" + sync() + use("b"),
            {"a": 0, "b": 0},
        ),
        (
            alloc("a", "b") + COPY + "  wait_group pending=1\n" + sync() + use("b"),
            {"a": 0, "b": 16},
        ),
        (
            alloc("a", "b") + COPY + "  commit_group\n  wait_group pending=1\n" + sync() + use("b"),
            {"a": 0, "b": 0},
        ),
        (
            alloc("a", "b")
            + "  for k in range(0, M, 4) {\n"
            + COPY
            + "  wait_group pending=1\n  }\n"
            + sync()
            + use("b")
            + "  wait_group pending=0\n",
            {"a": 0, "b": 16},
        ),
        (alloc("a", "b") + COPY + sync() + use("b"), {"a": 0, "b": 16}),
    ],
)
def test_offsets(body, wanted):
    assert offsets(body) == wanted


def test_allocs_sink_to_their_first_use():
    text = print_program(planned(alloc("a", "b") + use("a", "b")))
    assert text.index("store @a") < text.index("alloc @b")


def test_offsets_are_aligned():
    body = alloc("a", "b", "c", size=5) + use("a", "b", "c", "a", "b")
    assert sorted(offsets(body).values()) == [0, 32, 64]
    assert sorted(offsets(body, alignment=128).values()) == [0, 128, 256]


@pytest.mark.parametrize(
    ("memory", "size"),
    [("u4[3, 5]", 8), ("f6e3m2[4]", 3), ("bool[3]", 3), ("f64[2]", 16), ("f16[4, 8]", 64)],
)
def test_the_size_of_a_buffer(memory, size):
    kernel = parse_program(f"kernel f[]() {{\n  alloc @a: buffer {memory}\n}}\n")
    assert buffer_bytes(kernel.body[0].memory) == size


def test_over_the_capacity_the_table_is_shown():
    body = alloc("a", "b", size=1000) + use("a", "b", "a")
    assert offsets(body, capacity=8000) == {"a": 0, "b": 4000}
    with pytest.raises(DiagnosticError) as raised:
        planned(body, capacity=7999)
    (diagnostic,) = raised.value.diagnostics
    assert diagnostic.code == "DSL0501"
    assert diagnostic.message == (
        "kernel f needs 8000 bytes of shared memory at one time\n"
        "buffer  type       bytes  offset  statements\n"
        "a       f32[1000]   4000       0  1..5\n"
        "b       f32[1000]   4000    4000  3..4\n"
    )


def test_an_unknown_size_is_an_error():
    with pytest.raises(DiagnosticError, match="not known at compile time") as raised:
        planned(alloc("a", size="M") + use("a"))
    assert raised.value.diagnostics[0].code == "DSL0502"


def test_the_description_of_a_plan():
    kernel = planned(alloc("a", "b") + use("a", "b"))
    assert describe_plan(kernel) == (
        "kernel f: 16 bytes, 32 without sharing\n"
        "buffer  type    bytes  offset  statements\n"
        "a       f32[4]     16       0  1..2\n"
        "b       f32[4]     16       0  3..4\n"
    )


@given(random_ir.kernels(statements=14), st.integers(0, 9))
@settings(max_examples=60)
def test_a_plan_keeps_the_meaning(kernel, seed):
    # Planned buffers share one array of bytes in the interpreter: an overlap corrupts them.
    meaning.assert_same_meaning(kernel, MemoryPlan()(kernel), random_ir.inputs(kernel, seed))


@given(random_ir.kernels(statements=20))
@settings(max_examples=60)
def test_live_buffers_never_overlap_and_the_total_is_at_most_the_sum(kernel):
    lives = Liveness(MemoryPlan(alignment=1)(kernel).body).lives
    spans = [(v, v.memory.offset, v.memory.offset + buffer_bytes(v.memory)) for v in lives]
    for i, (a, start, end) in enumerate(spans):
        for b, first, last in spans[:i]:
            assert not a.overlaps(b) or end <= first or last <= start
    assert max((e for *_, e in spans), default=0) <= sum(e - s for _, s, e in spans)
