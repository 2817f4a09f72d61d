"""Loop bodies in the order of a table of latencies: what depends stays behind, nothing is lost."""

from __future__ import annotations

import random
import shutil
import subprocess

import pytest
from dslc.codegen.aarch64.machine_code.blocks import Effect, File, Inst, Label, Line, Reg, Remark
from dslc.codegen.aarch64.machine_code.scheduling import dependences, scheduled
from dslc.codegen.aarch64.machine_code.timing import timing
from dslc.codegen.aarch64.tools.mca import CPUS, mca_path


def vector() -> Reg:
    return Reg(File.V)


def load(out: Reg, base: Reg, alias: str = "inputs") -> Inst:
    return Inst("ldr {0:q}, [{1}]", (out, base), 1, effect=Effect.LOAD, alias=alias)


def store(x: Reg, base: Reg, alias: str = "global") -> Inst:
    return Inst("str {0:q}, [{1}]", (x, base), effect=Effect.STORE, alias=alias)


def multiplied(acc: Reg, a: Reg, b: Reg) -> Inst:
    text = "smmla {0}.4s, {1}.16b, {2}.16b"
    return Inst(text, (acc, a, b), 1, reads_result=True)


def looped(body: list[Line]) -> list[Line]:
    """The body in two loops."""
    outer, inner, count = Label(".Lo"), Label(".Li"), Reg(File.X)
    start = Inst("mov {0}, #0", (count,), 1)
    back = [Inst(f"cbnz {{0}}, {x.name}", (count,), target=x) for x in (inner, outer)]
    return [start, outer, inner, *body, *back]


def body_of(lines: list[Line]) -> list[Line]:
    return lines[3:-2]


def steps(count: int, accumulators: list[Reg], base: Reg) -> list[Line]:
    """Each step loads an operand for each accumulator right before it is used."""
    found: list[Line] = []
    for _ in range(count):
        for acc in accumulators:
            a = vector()
            found += [load(a, base), multiplied(acc, a, a)]
    return found


def test_loads_move_ahead_of_the_products_that_wait_for_them() -> None:
    accumulators, base = [vector() for _ in range(4)], Reg(File.X)
    body = steps(4, accumulators, base)
    found = body_of(scheduled(looped(body)))
    words = [x.mnemonic for x in found if isinstance(x, Inst)]
    assert sorted(words) == sorted(["ldr"] * 16 + ["smmla"] * 16)
    assert words.index("smmla") >= 4
    at = {x: i for i, x in enumerate(found)}
    assert all(at[body[i]] < at[body[i + 1]] for i in range(0, len(body), 2))


def test_code_outside_of_inner_loops_and_across_remarks_stays() -> None:
    accumulators, base = [vector() for _ in range(2)], Reg(File.X)
    body = steps(2, accumulators, base)
    assert scheduled(list(body)) == body
    parted: list[Line] = []
    for line in body:
        parted += [line, Remark("here")]
    assert body_of(scheduled(looped(parted))) == parted


def test_stores_and_loads_of_one_memory_keep_their_order() -> None:
    base, x, y = Reg(File.X), vector(), vector()
    body: list[Line] = [
        load(x, base, "tile"), store(x, base, "tile"), load(y, base, "tile"), store(y, base, "tile"),
    ]  # fmt: skip
    assert body_of(scheduled(looped(body))) == body


def test_a_store_waits_for_the_loads_before_it() -> None:
    base, x, y = Reg(File.X), vector(), vector()
    nodes = dependences([load(x, base, "tile"), store(y, base, "tile"), store(y, base, "other")])
    assert 1 in nodes[0].after
    assert 2 not in nodes[0].after


def test_an_order_does_not_need_more_registers_than_there_are() -> None:
    accumulators, base = [vector() for _ in range(26)], Reg(File.X)
    body = steps(3, accumulators, base)
    found = [x for x in body_of(scheduled(looped(body))) if isinstance(x, Inst)]
    ahead = most = 0
    for inst in found:
        ahead += 1 if inst.mnemonic == "ldr" else -1
        most = max(most, ahead)
    assert 1 < most <= 4


@pytest.mark.parametrize("count", [6, 40])  # more registers than an order may use, too
@pytest.mark.parametrize("seed", range(20))
def test_every_dependence_of_random_code_is_kept(seed: int, count: int) -> None:
    draw = random.Random(seed)
    regs, base = [vector() for _ in range(count)], Reg(File.X)
    body: list[Line] = []
    for _ in range(5 * count + 10):
        a, b, c = (draw.choice(regs) for _ in range(3))
        body.append(
            draw.choice([
                load(a, base, draw.choice("pq")), store(a, base, draw.choice("pq")),
                multiplied(a, b, c), Inst("fadd {0}.4s, {1}.4s, {2}.4s", (a, b, c), 1),
            ])
        )  # fmt: skip
    found = body_of(scheduled(looped(body)))
    assert sorted(map(id, found)) == sorted(map(id, body))
    at = {x: i for i, x in enumerate(found)}
    insts = [x for x in body if isinstance(x, Inst)]
    for node in dependences(insts):
        assert all(at[node.inst] < at[insts[second]] for second in node.after)


_TEXTS = {
    "smmla": "smmla v0.4s, v1.16b, v2.16b", "sdot": "sdot v0.4s, v1.16b, v2.16b",
    "usdot": "usdot v0.4s, v1.16b, v2.4b[1]", "fmla": "fmla v0.4s, v1.4s, v2.4s",
    "fsub": "fsub v0.4s, v1.4s, v2.4s", "fmul": "fmul v0.4s, v1.4s, v2.4s",
    "and": "and v0.16b, v1.16b, v2.16b", "zip1": "zip1 v0.4s, v1.4s, v2.4s",
    "ushr": "ushr v0.16b, v1.16b, #4", "fcvtn": "fcvtn v0.4h, v1.4s", "scvtf": "scvtf v0.4s, v1.4s",
    "ldr": "ldr q0, [x1]", "movi": "movi v0.2d, #0",
}  # fmt: skip


@pytest.mark.parametrize("word", _TEXTS)
def test_the_table_has_the_latencies_of_llvms_model(word: str) -> None:
    """Within a cycle: the guide's and the model's differ in a few places by that."""
    path = mca_path(22)
    if path is None or shutil.which(path) is None:
        pytest.skip("there is no llvm-mca of LLVM 22 (apt install llvm-22)")
    command = [path, "-mtriple=aarch64", f"-mcpu={CPUS[0]}", "-iterations=1"]
    said = subprocess.run(
        command, input=_TEXTS[word] + "\n", capture_output=True, text=True, check=True
    ).stdout
    table = said.partition("[6]    Instructions:")[2].partition("Resources:")[0]
    (row,) = (x.split() for x in table.splitlines() if x.lstrip()[:1].isdigit())
    operands = (vector(), vector(), vector())
    effect = Effect.LOAD if word == "ldr" else Effect.NONE
    found = timing(Inst(f"{word} {{0}}", operands, 1, effect=effect))
    assert abs(found.latency - int(row[1])) <= 1
