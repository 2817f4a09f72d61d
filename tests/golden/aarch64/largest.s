	.arch armv8.2-a+dotprod+i8mm
	.text
// largest: turns [begin, end) of m
	.p2align 4
	.globl largest__i8mm
	.type largest__i8mm, %function
largest__i8mm:
	movz x4, #0, lsl #0
	ldr x5, [x0, #0]
	ldr x6, [x0, #8]
	ldr x7, [x0, #24]
	cmp x1, x2
	b.ge .Llargest__i8mm_done1
	ldr q0, .Llargest__i8mm_const0
.Llargest__i8mm_turn2:
	fcvtn v1.4h, v0.4s
	str h1, [x3, #0]
	mov x8, x4
	mul x9, x7, x1
	lsl x9, x9, #1
	add x9, x5, x9
	cmp x8, x7
	b.ge .Llargest__i8mm_end4
.Llargest__i8mm_loop3:
	mov v1.16b, v0.16b
	mov v2.16b, v0.16b
	mov v3.16b, v0.16b
	mov v4.16b, v0.16b
	mov x10, x4
	mov x11, x9
.Llargest__i8mm_loop5:
	ldr q5, [x11, #0]
	ldr q6, [x11, #16]
	add x11, x11, #32
	add x10, x10, #1
	fcvtl v7.4s, v5.4h
	fcvtl2 v5.4s, v5.8h
	fcvtl v16.4s, v6.4h
	fcvtl2 v6.4s, v6.8h
	fmax v1.4s, v1.4s, v7.4s
	fmax v2.4s, v2.4s, v5.4s
	fmax v3.4s, v3.4s, v16.4s
	fmax v4.4s, v4.4s, v6.4s
	cmp x10, #4
	b.lt .Llargest__i8mm_loop5
.Llargest__i8mm_end6:
	fmax v1.4s, v1.4s, v3.4s
	fmax v2.4s, v2.4s, v4.4s
	ldr h3, [x3, #0]
	add x9, x9, #128
	add x8, x8, #64
	fmax v1.4s, v1.4s, v2.4s
	ext v2.16b, v1.16b, v1.16b, #8
	fmax v1.4s, v1.4s, v2.4s
	fcvtl v2.4s, v3.4h
	ext v3.16b, v1.16b, v1.16b, #4
	fmax v1.4s, v1.4s, v3.4s
	fcvtn v1.4h, v1.4s
	str h1, [x3, #64]
	ldr h1, [x3, #64]
	fcvtl v1.4s, v1.4h
	fmax v1.4s, v2.4s, v1.4s
	fcvtn v1.4h, v1.4s
	str h1, [x3, #0]
	cmp x8, x7
	b.lt .Llargest__i8mm_loop3
.Llargest__i8mm_end4:
	ldr h1, [x3, #0]
	lsl x8, x1, #1
	add x8, x6, x8
	str h1, [x8, #0]
	add x1, x1, #1
	cmp x1, x2
	b.lt .Llargest__i8mm_turn2
.Llargest__i8mm_done1:
	mov w0, #0
.Llargest__i8mm_largest_exit:
	ret
	.p2align 4
.Llargest__i8mm_const0:
	.word 0xff800000, 0xff800000, 0xff800000, 0xff800000
	.size largest__i8mm, .-largest__i8mm
