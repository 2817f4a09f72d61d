	.arch armv8.2-a+dotprod+i8mm
	.text
// product: turns [begin, end) of m, n
	.p2align 4
	.globl product__i8mm
	.type product__i8mm, %function
product__i8mm:
	sub sp, sp, #272
	stp x19, x20, [sp, #128]
	stp x21, x22, [sp, #144]
	stp x23, x24, [sp, #160]
	stp x25, x26, [sp, #176]
	stp x27, x28, [sp, #192]
	stp x29, x30, [sp, #208]
	stp d8, d9, [sp, #224]
	stp d10, d11, [sp, #240]
	stp d12, d13, [sp, #256]
	movz x6, #0, lsl #0
	movz x7, #48, lsl #0
	str x1, [sp, #0]
	str x2, [sp, #80]
	ldr x4, [x0, #0]
	str x4, [sp, #16]
	ldr x4, [x0, #8]
	str x4, [sp, #96]
	ldr x4, [x0, #16]
	str x4, [sp, #112]
	ldr x9, [x0, #32]
	ldr x4, [x0, #40]
	str x4, [sp, #64]
	ldr x4, [sp, #0]
	ldr x5, [sp, #80]
	cmp x4, x5
	b.ge .Lproduct__i8mm_done1
	ldr x4, [sp, #64]
	add x4, x4, #7
	asr x10, x4, #3
	lsl x11, x9, #1
	lsl x12, x10, #8
	ldr x4, [sp, #64]
	lsl x13, x4, #2
.Lproduct__i8mm_turn2:
	ldr x4, [sp, #0]
	sdiv x4, x4, x10
	ldr x5, [sp, #0]
	msub x4, x4, x10, x5
	eor x5, x4, x10
	cmp x4, #0
	ccmp x5, #0, #0, ne
	cset x5, lt
	madd x4, x5, x10, x4
	lsl x4, x4, #3
	str x4, [sp, #48]
	ldr x4, [sp, #0]
	sdiv x4, x4, x10
	ldr x5, [sp, #0]
	msub x5, x4, x10, x5
	eor x8, x5, x10
	cmp x5, #0
	ccmp x8, #0, #0, ne
	cset x5, lt
	sub x4, x4, x5
	movz x5, #12, lsl #0
	mul x4, x4, x5
	str x4, [sp, #32]
	mov x4, x6
	movi v0.16b, #0
.Lproduct__i8mm_loop3:
	lsl x5, x4, #3
	asr x8, x4, #1
	mul x8, x8, x7
	add x5, x5, x8
	add x8, x3, x5
	str d0, [x8, #0]
	add x14, x5, #16
	add x14, x3, x14
	st1 { v0.d }[1], [x14]
	str d0, [x8, #32]
	add x5, x5, #48
	add x5, x3, x5
	st1 { v0.d }[1], [x5]
	add x4, x4, #1
	cmp x4, #12
	b.lt .Lproduct__i8mm_loop3
.Lproduct__i8mm_end4:
	mov x14, x6
	ldr x4, [sp, #32]
	mul x4, x9, x4
	ldr x5, [sp, #16]
	add x5, x5, x4
	mov x15, x5
	add x4, x9, x4
	ldr x5, [sp, #16]
	add x5, x5, x4
	mov x17, x5
	add x5, x4, #8
	ldr x8, [sp, #16]
	add x5, x8, x5
	mov x0, x5
	add x5, x4, #16
	ldr x8, [sp, #16]
	add x5, x8, x5
	mov x20, x5
	add x4, x4, #24
	ldr x5, [sp, #16]
	add x4, x5, x4
	mov x24, x4
	ldr x4, [sp, #48]
	asr x4, x4, #3
	lsl x4, x4, #8
	ldr x5, [sp, #96]
	add x4, x5, x4
	movi v8.16b, #15
	cmp x14, x9
	b.ge .Lproduct__i8mm_end6
.Lproduct__i8mm_loop5:
	mov x5, x6
	mov x8, x15
	mov x2, x17
	mov x1, x3
	mov x30, x0
	mov x19, x20
	mov x21, x24
.Lproduct__i8mm_loop7:
	mov x22, x6
	mov x23, x8
	mov x25, x2
	mov x26, x1
	mov x27, x30
	mov x28, x19
	mov x29, x21
.Lproduct__i8mm_loop9:
	// LLVM-MCA-BEGIN product.dot1_a macs=512
	ldr d0, [x23, #0]
	ld1 { v0.d }[1], [x25]
	str q0, [x26, #384]
	ldr d0, [x23, #8]
	ld1 { v0.d }[1], [x27]
	str q0, [x26, #400]
	ldr d0, [x23, #16]
	ld1 { v0.d }[1], [x28]
	str q0, [x26, #416]
	ldr d0, [x23, #24]
	ld1 { v0.d }[1], [x29]
	str q0, [x26, #432]
	add x23, x23, #32
	add x25, x25, #32
	add x26, x26, #64
	add x27, x27, #32
	add x28, x28, #32
	add x29, x29, #32
	add x22, x22, #1
	cmp x22, #2
	b.lt .Lproduct__i8mm_loop9
.Lproduct__i8mm_end10:
	// LLVM-MCA-END
	add x8, x8, x11
	add x2, x2, x11
	add x1, x1, #128
	add x30, x30, x11
	add x19, x19, x11
	add x21, x21, x11
	add x5, x5, #1
	cmp x5, #6
	b.lt .Lproduct__i8mm_loop7
.Lproduct__i8mm_end8:
	// LLVM-MCA-BEGIN product.dot1.12x8 macs=6144 k=64
	ldr q3, [x3, #0]
	ldr q4, [x3, #16]
	ldr q5, [x3, #32]
	ldr q6, [x3, #48]
	ldr q7, [x3, #64]
	ldr q16, [x3, #80]
	ldr q17, [x3, #96]
	ldr q18, [x3, #112]
	ldr q19, [x3, #128]
	ldr q20, [x3, #144]
	ldr q21, [x3, #160]
	ldr q22, [x3, #176]
	ldr q23, [x3, #192]
	ldr q24, [x3, #208]
	ldr q25, [x3, #224]
	ldr q26, [x3, #240]
	ldr q27, [x3, #256]
	ldr q28, [x3, #272]
	ldr q29, [x3, #288]
	ldr q30, [x3, #304]
	ldr q31, [x3, #320]
	ldr q9, [x3, #336]
	ldr q10, [x3, #352]
	ldr q11, [x3, #368]
	ldr q0, [x3, #384]
	ldr q1, [x4, #0]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #128]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #512]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #640]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #768]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #896]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1024]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #400]
	ldr q1, [x4, #16]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #144]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #528]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #656]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #784]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #912]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1040]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #416]
	ldr q1, [x4, #32]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #160]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #544]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #672]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #800]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #928]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1056]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #432]
	ldr q1, [x4, #48]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #176]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #560]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #688]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #816]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #944]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1072]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #448]
	ldr q1, [x4, #64]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #192]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #576]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #704]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #832]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #960]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1088]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #464]
	ldr q1, [x4, #80]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #208]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #592]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #720]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #848]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #976]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1104]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #480]
	ldr q1, [x4, #96]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #224]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #608]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #736]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #864]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #992]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1120]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	ldr q0, [x3, #496]
	ldr q1, [x4, #112]
	and v12.16b, v1.16b, v8.16b
	smmla v3.4s, v0.16b, v12.16b
	ushr v2.16b, v1.16b, #4
	smmla v4.4s, v0.16b, v2.16b
	ldr q1, [x4, #240]
	and v13.16b, v1.16b, v8.16b
	smmla v5.4s, v0.16b, v13.16b
	ushr v1.16b, v1.16b, #4
	smmla v6.4s, v0.16b, v1.16b
	ldr q0, [x3, #624]
	smmla v7.4s, v0.16b, v12.16b
	smmla v16.4s, v0.16b, v2.16b
	smmla v17.4s, v0.16b, v13.16b
	smmla v18.4s, v0.16b, v1.16b
	ldr q0, [x3, #752]
	smmla v19.4s, v0.16b, v12.16b
	smmla v20.4s, v0.16b, v2.16b
	smmla v21.4s, v0.16b, v13.16b
	smmla v22.4s, v0.16b, v1.16b
	ldr q0, [x3, #880]
	smmla v23.4s, v0.16b, v12.16b
	smmla v24.4s, v0.16b, v2.16b
	smmla v25.4s, v0.16b, v13.16b
	smmla v26.4s, v0.16b, v1.16b
	ldr q0, [x3, #1008]
	smmla v27.4s, v0.16b, v12.16b
	smmla v28.4s, v0.16b, v2.16b
	smmla v29.4s, v0.16b, v13.16b
	smmla v30.4s, v0.16b, v1.16b
	ldr q0, [x3, #1136]
	smmla v31.4s, v0.16b, v12.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v13.16b
	smmla v11.4s, v0.16b, v1.16b
	str q3, [x3, #0]
	str q4, [x3, #16]
	str q5, [x3, #32]
	str q6, [x3, #48]
	str q7, [x3, #64]
	str q16, [x3, #80]
	str q17, [x3, #96]
	str q18, [x3, #112]
	str q19, [x3, #128]
	str q20, [x3, #144]
	str q21, [x3, #160]
	str q22, [x3, #176]
	str q23, [x3, #192]
	str q24, [x3, #208]
	str q25, [x3, #224]
	str q26, [x3, #240]
	str q27, [x3, #256]
	str q28, [x3, #272]
	str q29, [x3, #288]
	str q30, [x3, #304]
	str q31, [x3, #320]
	str q9, [x3, #336]
	str q10, [x3, #352]
	str q11, [x3, #368]
	// LLVM-MCA-END
	add x15, x15, #64
	add x17, x17, #64
	add x0, x0, #64
	add x20, x20, #64
	add x24, x24, #64
	add x4, x4, x12
	add x14, x14, #64
	cmp x14, x9
	b.lt .Lproduct__i8mm_loop5
.Lproduct__i8mm_end6:
	mov x4, x6
	ldr x5, [sp, #48]
	lsl x5, x5, #2
	ldr x8, [sp, #64]
	ldr x14, [sp, #32]
	mul x8, x8, x14
	lsl x8, x8, #2
	add x5, x5, x8
	ldr x8, [sp, #112]
	add x5, x8, x5
.Lproduct__i8mm_loop11:
	lsl x8, x4, #3
	asr x14, x4, #1
	mul x14, x14, x7
	add x8, x8, x14
	add x14, x3, x8
	ldr d0, [x14, #0]
	add x15, x8, #16
	add x15, x3, x15
	ld1 { v0.d }[1], [x15]
	ldr d1, [x14, #32]
	add x8, x8, #48
	add x8, x3, x8
	ld1 { v1.d }[1], [x8]
	str q0, [x5, #0]
	str q1, [x5, #16]
	add x5, x5, x13
	add x4, x4, #1
	cmp x4, #12
	b.lt .Lproduct__i8mm_loop11
.Lproduct__i8mm_end12:
	ldr x4, [sp, #0]
	add x4, x4, #1
	str x4, [sp, #0]
	ldr x4, [sp, #0]
	ldr x5, [sp, #80]
	cmp x4, x5
	b.lt .Lproduct__i8mm_turn2
.Lproduct__i8mm_done1:
	mov w0, #0
.Lproduct__i8mm_product_exit:
	ldp x19, x20, [sp, #128]
	ldp x21, x22, [sp, #144]
	ldp x23, x24, [sp, #160]
	ldp x25, x26, [sp, #176]
	ldp x27, x28, [sp, #192]
	ldp x29, x30, [sp, #208]
	ldp d8, d9, [sp, #224]
	ldp d10, d11, [sp, #240]
	ldp d12, d13, [sp, #256]
	add sp, sp, #272
	ret
	.size product__i8mm, .-product__i8mm
