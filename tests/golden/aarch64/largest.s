	.arch armv8.2-a+fp16+dotprod+i8mm
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
	str h0, [x3, #0]
	mov x8, x4
	ldr q1, .Llargest__i8mm_const1
	mul x9, x7, x1
	lsl x9, x9, #1
	add x9, x5, x9
	cmp x8, x7
	b.ge .Llargest__i8mm_end4
.Llargest__i8mm_loop3:
	mov v2.16b, v1.16b
	mov v3.16b, v1.16b
	mov v4.16b, v1.16b
	mov v5.16b, v1.16b
	mov x10, x4
	mov x11, x9
.Llargest__i8mm_loop5:
	ldr q6, [x11, #0]
	ldr q7, [x11, #16]
	add x11, x11, #32
	add x10, x10, #1
	fcvtl v16.4s, v6.4h
	fcvtl2 v6.4s, v6.8h
	fcvtl v17.4s, v7.4h
	fcvtl2 v7.4s, v7.8h
	fmax v2.4s, v2.4s, v16.4s
	fmax v3.4s, v3.4s, v6.4s
	fmax v4.4s, v4.4s, v17.4s
	fmax v5.4s, v5.4s, v7.4s
	cmp x10, #4
	b.lt .Llargest__i8mm_loop5
.Llargest__i8mm_end6:
	fmax v2.4s, v2.4s, v4.4s
	fmax v3.4s, v3.4s, v5.4s
	ldr h4, [x3, #0]
	add x9, x9, #128
	add x8, x8, #64
	fmax v2.4s, v2.4s, v3.4s
	ext v3.16b, v2.16b, v2.16b, #8
	fmax v2.4s, v2.4s, v3.4s
	ext v3.16b, v2.16b, v2.16b, #4
	fmax v2.4s, v2.4s, v3.4s
	fcvtn v2.4h, v2.4s
	str h2, [x3, #64]
	ldr h2, [x3, #64]
	fmax v2.8h, v4.8h, v2.8h
	str h2, [x3, #0]
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
	.word 0xfc00fc00, 0xfc00fc00, 0xfc00fc00, 0xfc00fc00
.Llargest__i8mm_const1:
	.word 0xff800000, 0xff800000, 0xff800000, 0xff800000
	.size largest__i8mm, .-largest__i8mm
