"""Traversal, the rewriter and clones."""

import random_ir
from dslc.compiler.ir import instructions as ins
from dslc.compiler.ir.expr import Var, index
from dslc.compiler.ir.rewrite import (
    Rewriter,
    Substitution,
    clone_body,
    fresh_name,
    map_kernels,
    scalar_names,
)
from dslc.compiler.ir.text.parser import parse_program
from dslc.compiler.ir.text.printer import print_program
from dslc.compiler.ir.traverse import (
    INSTRUCTIONS,
    definitions,
    fields,
    memories,
    names_in,
    operands,
    results,
    users,
    uses_of,
    walk,
)
from dslc.compiler.ir.values import Value
from hypothesis import given

LOOP = """\
kernel f[M](@x: in f32[M], @y: out f32[M]) {
  %a = load @x[0 : +4] : f32[4]
  %s, n = for k in range(0, M, 4) carry (%acc : f32[4] = %a, i : index = 0) {
    alloc @b: buffer f32[4]
    let j = i + k
    %c = load @x[j : +4] : f32[4]
    %d = add %acc, %c : f32[4]
    yield %d, j
  }
  store @y[n : +4], %s
}
"""


@given(random_ir.kernels())
def test_a_rewriter_that_changes_nothing_gives_the_same_object(kernel):
    assert Rewriter().kernel(kernel) is kernel
    assert map_kernels(kernel, Rewriter().kernel) is kernel


@given(random_ir.kernels())
def test_a_clone_prints_the_same_but_shares_no_definition(kernel):
    taken = scalar_names(kernel)
    copy, _ = clone_body(kernel.body, taken)
    old, new = definitions(kernel.body), definitions(copy)
    assert not set(old) & set(new)
    assert len(old) == len(new)
    used = {v for s in walk(copy) for v in operands(s)}
    assert not used & {v for v in old if isinstance(v, Value)}
    allocated = {m for s in walk(kernel.body) if isinstance(s, ins.Alloc) for m in memories(s)}
    assert not allocated & {m for s in walk(copy) for m in memories(s)}


@given(random_ir.kernels())
def test_every_name_that_is_read_has_its_users(kernel):
    found = users(kernel.body)
    mentions = [(n, s) for s in walk(kernel.body) for u in uses_of(s) for n in names_in(u)]
    assert sum(map(len, found.values())) == len(mentions)
    assert all(s in found[n] for n, s in mentions)


def test_every_instruction_has_its_fields():
    for kind in INSTRUCTIONS:
        assert [f.name for f in fields(kind)] == list(kind.__dataclass_fields__)


def test_a_loop_defines_its_results_and_reads_what_it_carries():
    kernel = parse_program(LOOP)
    loop = kernel.body[1]
    assert [getattr(r, "name", "") for r in results(loop)] == ["s", "n"]
    assert {v.name for v in operands(loop)} == {"a", "d"}
    assert definitions(kernel.body)[loop.var] is loop
    assert definitions(kernel.body)[Var("i", loop.var.dtype)] is loop


def test_substitution_replaces_uses_everywhere():
    kernel = parse_program(LOOP)
    m = kernel.dims[0]
    text = print_program(Substitution(scalars={m: index(64)}).kernel(kernel))
    assert "@x: in f32[64]" in text
    assert "range(0, 64, 4)" in text


def test_one_statement_may_become_many():
    class Twice(Rewriter):
        def statement(self, stmt):
            return (stmt, stmt) if isinstance(stmt, ins.Store) else super().statement(stmt)

    kernel = parse_program(LOOP)
    text = print_program(Twice().kernel(kernel))
    assert text.count("store @y[n : +4], %s") == 2
    assert text.replace("  store @y[n : +4], %s\n", "", 1) == print_program(kernel)


def test_fresh_names_do_not_repeat():
    taken = {"k", "k_1"}
    assert [fresh_name("k", taken) for _ in range(2)] == ["k_2", "k_3"]
    assert fresh_name("k_1", taken) == "k_4"
    assert fresh_name("m", taken) == "m"
