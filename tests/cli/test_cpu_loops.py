"""The hottest loop of assembly, of both machines."""

from __future__ import annotations

import pytest
from dslc.cli.tables.cpu import hottest_loop

X86 = """
f:
	xorl	%eax, %eax
.LBB0_1:
	movq	(%rdi), %rcx
.LBB0_2:
	vmovups	(%rdi), %zmm0
	vfmadd231ps	%zmm0, %zmm1, %zmm2
	.p2align	4
	vfmadd231ps	%zmm0, %zmm1, %zmm3
	decq	%rcx
	jne	.LBB0_2
.LBB0_3:
	vmovups	(%rdi), %xmm0
	vfmadd231ps	%xmm0, %xmm1, %xmm2
	addq	$4, %rdi
	addq	$4, %rsi
	decq	%rdx
	jne	.LBB0_3
	incq	%rax
	jne	.LBB0_1
	retq
"""
ARM = """
f:
.LBB0_1:
	ldr	q0, [x0]
	fmla	v1.4s, v0.4s, v2.s[0]
	subs	x1, x1, #1
	b.ne	.LBB0_1
	ret
"""


@pytest.mark.parametrize(
    ("text", "title", "first", "last"),
    [
        (X86, "5 instructions, 2 of them products", "vmovups (%rdi), %zmm0", "jne .LBB0_2"),
        (ARM, "4 instructions, 1 of them products", "ldr q0, [x0]", "b.ne .LBB0_1"),
    ],
)
def test_it_is_the_innermost_with_the_most_products(
    text: str, title: str, first: str, last: str
) -> None:
    lines = hottest_loop(text).splitlines()
    assert lines[0] == f"the hottest loop: {title}"
    assert [" ".join(lines[n].split()) for n in (1, -1)] == [first, last]


def test_without_loops_there_is_nothing_to_show() -> None:
    assert hottest_loop("f:\n\tret\n") == ""
