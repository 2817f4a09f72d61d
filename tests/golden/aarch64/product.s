	.arch armv8.2-a+fp16+dotprod+i8mm
	.text
// product: turns [begin, end) of m, n
	.p2align 4
	.globl product__i8mm
	.type product__i8mm, %function
product__i8mm:
	sub sp, sp, #448
	stp x19, x20, [sp, #288]
	stp x21, x22, [sp, #304]
	stp x23, x24, [sp, #320]
	stp x25, x26, [sp, #336]
	stp x27, x28, [sp, #352]
	stp x29, x30, [sp, #368]
	stp d8, d9, [sp, #384]
	stp d10, d11, [sp, #400]
	stp d12, d13, [sp, #416]
	stp d14, d15, [sp, #432]
	movz x6, #0, lsl #0
	str x1, [sp, #144]
	str x2, [sp, #240]
	ldr x4, [x0, #0]
	str x4, [sp, #160]
	ldr x4, [x0, #8]
	str x4, [sp, #256]
	ldr x4, [x0, #16]
	str x4, [sp, #272]
	ldr x4, [x0, #32]
	str x4, [sp, #208]
	ldr x4, [x0, #40]
	str x4, [sp, #224]
	ldr x4, [sp, #144]
	ldr x5, [sp, #240]
	cmp x4, x5
	b.ge .Lproduct__i8mm_done1
	ldr x4, [sp, #224]
	add x4, x4, #7
	asr x4, x4, #3
	str x4, [sp, #128]
	ldr x4, [sp, #208]
	add x4, x4, #4095
	asr x4, x4, #12
	str x4, [sp, #64]
	ldr x4, [sp, #208]
	add x4, x4, #63
	asr x4, x4, #6
	str x4, [sp, #80]
	ldr x4, [sp, #208]
	lsl x8, x4, #1
	ldr x4, [sp, #128]
	lsl x4, x4, #14
	str x4, [sp, #96]
	ldr x4, [sp, #128]
	lsl x9, x4, #8
	ldr x4, [sp, #224]
	lsl x4, x4, #2
	str x4, [sp, #112]
.Lproduct__i8mm_turn2:
	ldr x4, [sp, #144]
	ldr x5, [sp, #128]
	sdiv x4, x4, x5
	ldr x5, [sp, #128]
	ldr x7, [sp, #144]
	msub x4, x4, x5, x7
	ldr x5, [sp, #128]
	eor x5, x4, x5
	cmp x4, #0
	ccmp x5, #0, #0, ne
	cset x5, lt
	ldr x7, [sp, #128]
	madd x4, x5, x7, x4
	lsl x4, x4, #3
	str x4, [sp, #192]
	ldr x4, [sp, #144]
	ldr x5, [sp, #128]
	sdiv x4, x4, x5
	ldr x5, [sp, #128]
	ldr x7, [sp, #144]
	msub x5, x4, x5, x7
	ldr x7, [sp, #128]
	eor x7, x5, x7
	cmp x5, #0
	ccmp x7, #0, #0, ne
	cset x5, lt
	sub x4, x4, x5
	movz x5, #12, lsl #0
	mul x4, x4, x5
	str x4, [sp, #176]
	mov x4, x6
	movi v0.2d, #0
.Lproduct__i8mm_loop3:
	asr x5, x4, #1
	lsl x7, x4, #3
	add x4, x4, #1
	movz x10, #48, lsl #0
	mul x5, x5, x10
	add x5, x7, x5
	add x7, x3, x5
	add x10, x5, #16
	add x5, x5, #48
	str d0, [x7, #0]
	add x10, x3, x10
	add x5, x3, x5
	st1 { v0.d }[1], [x10]
	str d0, [x7, #32]
	st1 { v0.d }[1], [x5]
	cmp x4, #12
	b.lt .Lproduct__i8mm_loop3
.Lproduct__i8mm_end4:
	mov x10, x6
	ldr x4, [sp, #208]
	ldr x5, [sp, #176]
	mul x4, x4, x5
	ldr x5, [sp, #160]
	add x5, x5, x4
	str x5, [sp, #48]
	ldr x5, [sp, #208]
	add x4, x5, x4
	ldr x5, [sp, #160]
	add x5, x5, x4
	str x5, [sp, #32]
	add x5, x4, #8
	ldr x7, [sp, #160]
	add x5, x7, x5
	str x5, [sp, #16]
	add x5, x4, #16
	ldr x7, [sp, #160]
	add x5, x7, x5
	str x5, [sp, #0]
	add x4, x4, #24
	ldr x5, [sp, #160]
	add x4, x5, x4
	mov x2, x4
	ldr x4, [sp, #192]
	asr x4, x4, #3
	lsl x4, x4, #8
	ldr x5, [sp, #256]
	add x4, x5, x4
	mov x20, x4
	ldr x4, [sp, #64]
	cmp x10, x4
	b.ge .Lproduct__i8mm_end6
.Lproduct__i8mm_loop5:
	lsl x4, x10, #6
	mov x21, x6
	ldr x5, [sp, #48]
	mov x22, x5
	ldr x5, [sp, #32]
	mov x19, x5
	mov x23, x3
	ldr x5, [sp, #16]
	mov x24, x5
	ldr x5, [sp, #80]
	sub x4, x5, x4
	ldr x5, [sp, #0]
	mov x26, x5
	mov x27, x2
	movz x5, #64, lsl #0
	cmp x4, x5
	csel x29, x4, x5, lt
	cmp x21, x29
	b.ge .Lproduct__i8mm_end8
.Lproduct__i8mm_loop7:
	mov x4, x6
	mov x5, x22
	mov x7, x19
	mov x11, x23
	mov x12, x24
	mov x13, x26
	mov x14, x27
.Lproduct__i8mm_loop9:
	mov x15, x6
	mov x17, x5
	mov x1, x7
	mov x0, x11
	mov x30, x12
	mov x25, x13
	mov x28, x14
.Lproduct__i8mm_loop11:
	// LLVM-MCA-BEGIN product.dot1_a macs=512
	ldr d0, [x17, #0]
	ldr d1, [x17, #8]
	ldr d2, [x17, #16]
	add x15, x15, #1
	ldr d3, [x17, #24]
	add x17, x17, #32
	ld1 { v0.d }[1], [x1]
	ld1 { v1.d }[1], [x30]
	ld1 { v2.d }[1], [x25]
	add x1, x1, #32
	add x30, x30, #32
	add x25, x25, #32
	ld1 { v3.d }[1], [x28]
	add x28, x28, #32
	str q0, [x0, #384]
	str q1, [x0, #400]
	str q2, [x0, #416]
	str q3, [x0, #432]
	add x0, x0, #64
	cmp x15, #2
	b.lt .Lproduct__i8mm_loop11
.Lproduct__i8mm_end12:
	// LLVM-MCA-END
	add x5, x5, x8
	add x7, x7, x8
	add x11, x11, #128
	add x12, x12, x8
	add x13, x13, x8
	add x14, x14, x8
	add x4, x4, #1
	cmp x4, #6
	b.lt .Lproduct__i8mm_loop9
.Lproduct__i8mm_end10:
	add x22, x22, #64
	add x19, x19, #64
	add x23, x23, #768
	add x24, x24, #64
	add x26, x26, #64
	add x27, x27, #64
	add x21, x21, #1
	cmp x21, x29
	b.lt .Lproduct__i8mm_loop7
.Lproduct__i8mm_end8:
	// LLVM-MCA-BEGIN product.dot1.12x8_begin macs=393216
	ldr q4, [x3, #0]
	ldr q5, [x3, #16]
	ldr q6, [x3, #32]
	ldr q7, [x3, #48]
	ldr q16, [x3, #64]
	ldr q17, [x3, #80]
	ldr q18, [x3, #96]
	ldr q19, [x3, #112]
	ldr q20, [x3, #128]
	ldr q21, [x3, #144]
	ldr q22, [x3, #160]
	ldr q23, [x3, #176]
	ldr q24, [x3, #192]
	ldr q25, [x3, #208]
	ldr q26, [x3, #224]
	ldr q27, [x3, #240]
	ldr q28, [x3, #256]
	ldr q29, [x3, #272]
	ldr q30, [x3, #288]
	ldr q31, [x3, #304]
	ldr q8, [x3, #320]
	ldr q9, [x3, #336]
	ldr q10, [x3, #352]
	ldr q11, [x3, #368]
	// LLVM-MCA-END
	mov x4, x6
	mov x5, x3
	mov x7, x20
	movi v12.16b, #15
	cmp x4, x29
	b.ge .Lproduct__i8mm_end14
.Lproduct__i8mm_loop13:
	// LLVM-MCA-BEGIN product.dot1.12x8 macs=6144 k=64
	ldr q0, [x7, #0]
	ldr q1, [x7, #16]
	ldr q13, [x5, #384]
	and v2.16b, v0.16b, v12.16b
	and v3.16b, v1.16b, v12.16b
	ushr v0.16b, v0.16b, #4
	ushr v15.16b, v1.16b, #4
	zip1 v14.4s, v2.4s, v3.4s
	zip2 v1.4s, v2.4s, v3.4s
	zip1 v2.4s, v0.4s, v15.4s
	zip2 v15.4s, v0.4s, v15.4s
	smmla v4.4s, v13.16b, v14.16b
	ldr q0, [x5, #512]
	smmla v5.4s, v13.16b, v1.16b
	smmla v6.4s, v13.16b, v2.16b
	smmla v7.4s, v13.16b, v15.16b
	ldr q3, [x5, #640]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v1.16b
	smmla v18.4s, v0.16b, v2.16b
	smmla v19.4s, v0.16b, v15.16b
	ldr q0, [x5, #768]
	smmla v20.4s, v3.16b, v14.16b
	smmla v21.4s, v3.16b, v1.16b
	smmla v22.4s, v3.16b, v2.16b
	smmla v23.4s, v3.16b, v15.16b
	ldr q3, [x5, #896]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v1.16b
	smmla v26.4s, v0.16b, v2.16b
	smmla v27.4s, v0.16b, v15.16b
	ldr q13, [x5, #1024]
	smmla v28.4s, v3.16b, v14.16b
	smmla v29.4s, v3.16b, v1.16b
	smmla v30.4s, v3.16b, v2.16b
	smmla v31.4s, v3.16b, v15.16b
	ldr q0, [x7, #32]
	smmla v8.4s, v13.16b, v14.16b
	ldr q3, [x7, #48]
	smmla v9.4s, v13.16b, v1.16b
	ldr q1, [x5, #400]
	smmla v10.4s, v13.16b, v2.16b
	smmla v11.4s, v13.16b, v15.16b
	and v2.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v3.16b, v12.16b
	ushr v14.16b, v3.16b, #4
	zip1 v3.4s, v2.4s, v0.4s
	zip2 v2.4s, v2.4s, v0.4s
	zip1 v15.4s, v13.4s, v14.4s
	zip2 v13.4s, v13.4s, v14.4s
	smmla v4.4s, v1.16b, v3.16b
	ldr q0, [x5, #528]
	smmla v5.4s, v1.16b, v2.16b
	smmla v6.4s, v1.16b, v15.16b
	smmla v7.4s, v1.16b, v13.16b
	ldr q1, [x5, #656]
	smmla v16.4s, v0.16b, v3.16b
	smmla v17.4s, v0.16b, v2.16b
	smmla v18.4s, v0.16b, v15.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #784]
	smmla v20.4s, v1.16b, v3.16b
	smmla v21.4s, v1.16b, v2.16b
	smmla v22.4s, v1.16b, v15.16b
	smmla v23.4s, v1.16b, v13.16b
	ldr q1, [x5, #912]
	smmla v24.4s, v0.16b, v3.16b
	smmla v25.4s, v0.16b, v2.16b
	smmla v26.4s, v0.16b, v15.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q14, [x5, #1040]
	smmla v28.4s, v1.16b, v3.16b
	smmla v29.4s, v1.16b, v2.16b
	smmla v30.4s, v1.16b, v15.16b
	smmla v31.4s, v1.16b, v13.16b
	ldr q0, [x7, #64]
	smmla v8.4s, v14.16b, v3.16b
	ldr q1, [x7, #80]
	smmla v9.4s, v14.16b, v2.16b
	ldr q2, [x5, #416]
	smmla v10.4s, v14.16b, v15.16b
	smmla v11.4s, v14.16b, v13.16b
	and v3.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v1.16b, v12.16b
	ushr v15.16b, v1.16b, #4
	zip1 v14.4s, v3.4s, v0.4s
	zip2 v1.4s, v3.4s, v0.4s
	zip1 v3.4s, v13.4s, v15.4s
	zip2 v13.4s, v13.4s, v15.4s
	smmla v4.4s, v2.16b, v14.16b
	ldr q0, [x5, #544]
	smmla v5.4s, v2.16b, v1.16b
	smmla v6.4s, v2.16b, v3.16b
	smmla v7.4s, v2.16b, v13.16b
	ldr q2, [x5, #672]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v1.16b
	smmla v18.4s, v0.16b, v3.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #800]
	smmla v20.4s, v2.16b, v14.16b
	smmla v21.4s, v2.16b, v1.16b
	smmla v22.4s, v2.16b, v3.16b
	smmla v23.4s, v2.16b, v13.16b
	ldr q2, [x5, #928]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v1.16b
	smmla v26.4s, v0.16b, v3.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q15, [x5, #1056]
	smmla v28.4s, v2.16b, v14.16b
	smmla v29.4s, v2.16b, v1.16b
	smmla v30.4s, v2.16b, v3.16b
	smmla v31.4s, v2.16b, v13.16b
	ldr q0, [x7, #96]
	smmla v8.4s, v15.16b, v14.16b
	ldr q2, [x7, #112]
	smmla v9.4s, v15.16b, v1.16b
	ldr q1, [x5, #432]
	smmla v10.4s, v15.16b, v3.16b
	smmla v11.4s, v15.16b, v13.16b
	and v3.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v2.16b, v12.16b
	ushr v15.16b, v2.16b, #4
	zip1 v14.4s, v3.4s, v0.4s
	zip2 v2.4s, v3.4s, v0.4s
	zip1 v3.4s, v13.4s, v15.4s
	zip2 v13.4s, v13.4s, v15.4s
	smmla v4.4s, v1.16b, v14.16b
	ldr q0, [x5, #560]
	smmla v5.4s, v1.16b, v2.16b
	smmla v6.4s, v1.16b, v3.16b
	smmla v7.4s, v1.16b, v13.16b
	ldr q1, [x5, #688]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v2.16b
	smmla v18.4s, v0.16b, v3.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #816]
	smmla v20.4s, v1.16b, v14.16b
	smmla v21.4s, v1.16b, v2.16b
	smmla v22.4s, v1.16b, v3.16b
	smmla v23.4s, v1.16b, v13.16b
	ldr q1, [x5, #944]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v2.16b
	smmla v26.4s, v0.16b, v3.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q15, [x5, #1072]
	smmla v28.4s, v1.16b, v14.16b
	smmla v29.4s, v1.16b, v2.16b
	smmla v30.4s, v1.16b, v3.16b
	smmla v31.4s, v1.16b, v13.16b
	ldr q0, [x7, #128]
	smmla v8.4s, v15.16b, v14.16b
	ldr q1, [x7, #144]
	smmla v9.4s, v15.16b, v2.16b
	ldr q2, [x5, #448]
	smmla v10.4s, v15.16b, v3.16b
	smmla v11.4s, v15.16b, v13.16b
	and v3.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v1.16b, v12.16b
	ushr v15.16b, v1.16b, #4
	zip1 v14.4s, v3.4s, v0.4s
	zip2 v1.4s, v3.4s, v0.4s
	zip1 v3.4s, v13.4s, v15.4s
	zip2 v13.4s, v13.4s, v15.4s
	smmla v4.4s, v2.16b, v14.16b
	ldr q0, [x5, #576]
	smmla v5.4s, v2.16b, v1.16b
	smmla v6.4s, v2.16b, v3.16b
	smmla v7.4s, v2.16b, v13.16b
	ldr q2, [x5, #704]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v1.16b
	smmla v18.4s, v0.16b, v3.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #832]
	smmla v20.4s, v2.16b, v14.16b
	smmla v21.4s, v2.16b, v1.16b
	smmla v22.4s, v2.16b, v3.16b
	smmla v23.4s, v2.16b, v13.16b
	ldr q2, [x5, #960]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v1.16b
	smmla v26.4s, v0.16b, v3.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q15, [x5, #1088]
	smmla v28.4s, v2.16b, v14.16b
	smmla v29.4s, v2.16b, v1.16b
	smmla v30.4s, v2.16b, v3.16b
	smmla v31.4s, v2.16b, v13.16b
	ldr q0, [x7, #160]
	smmla v8.4s, v15.16b, v14.16b
	ldr q2, [x7, #176]
	smmla v9.4s, v15.16b, v1.16b
	ldr q1, [x5, #464]
	smmla v10.4s, v15.16b, v3.16b
	smmla v11.4s, v15.16b, v13.16b
	and v3.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v2.16b, v12.16b
	ushr v15.16b, v2.16b, #4
	zip1 v14.4s, v3.4s, v0.4s
	zip2 v2.4s, v3.4s, v0.4s
	zip1 v3.4s, v13.4s, v15.4s
	zip2 v13.4s, v13.4s, v15.4s
	smmla v4.4s, v1.16b, v14.16b
	ldr q0, [x5, #592]
	smmla v5.4s, v1.16b, v2.16b
	smmla v6.4s, v1.16b, v3.16b
	smmla v7.4s, v1.16b, v13.16b
	ldr q1, [x5, #720]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v2.16b
	smmla v18.4s, v0.16b, v3.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #848]
	smmla v20.4s, v1.16b, v14.16b
	smmla v21.4s, v1.16b, v2.16b
	smmla v22.4s, v1.16b, v3.16b
	smmla v23.4s, v1.16b, v13.16b
	ldr q1, [x5, #976]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v2.16b
	smmla v26.4s, v0.16b, v3.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q15, [x5, #1104]
	smmla v28.4s, v1.16b, v14.16b
	smmla v29.4s, v1.16b, v2.16b
	smmla v30.4s, v1.16b, v3.16b
	smmla v31.4s, v1.16b, v13.16b
	ldr q0, [x7, #192]
	smmla v8.4s, v15.16b, v14.16b
	ldr q1, [x7, #208]
	smmla v9.4s, v15.16b, v2.16b
	ldr q2, [x5, #480]
	smmla v10.4s, v15.16b, v3.16b
	smmla v11.4s, v15.16b, v13.16b
	and v3.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v1.16b, v12.16b
	ushr v15.16b, v1.16b, #4
	zip1 v14.4s, v3.4s, v0.4s
	zip2 v1.4s, v3.4s, v0.4s
	zip1 v3.4s, v13.4s, v15.4s
	zip2 v13.4s, v13.4s, v15.4s
	smmla v4.4s, v2.16b, v14.16b
	ldr q0, [x5, #608]
	smmla v5.4s, v2.16b, v1.16b
	smmla v6.4s, v2.16b, v3.16b
	smmla v7.4s, v2.16b, v13.16b
	ldr q2, [x5, #736]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v1.16b
	smmla v18.4s, v0.16b, v3.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #864]
	smmla v20.4s, v2.16b, v14.16b
	smmla v21.4s, v2.16b, v1.16b
	smmla v22.4s, v2.16b, v3.16b
	smmla v23.4s, v2.16b, v13.16b
	ldr q2, [x5, #992]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v1.16b
	smmla v26.4s, v0.16b, v3.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q15, [x5, #1120]
	smmla v28.4s, v2.16b, v14.16b
	smmla v29.4s, v2.16b, v1.16b
	smmla v30.4s, v2.16b, v3.16b
	smmla v31.4s, v2.16b, v13.16b
	ldr q0, [x7, #224]
	smmla v8.4s, v15.16b, v14.16b
	ldr q2, [x7, #240]
	smmla v9.4s, v15.16b, v1.16b
	ldr q1, [x5, #496]
	smmla v10.4s, v15.16b, v3.16b
	smmla v11.4s, v15.16b, v13.16b
	and v3.16b, v0.16b, v12.16b
	ushr v13.16b, v0.16b, #4
	and v0.16b, v2.16b, v12.16b
	ushr v15.16b, v2.16b, #4
	zip1 v14.4s, v3.4s, v0.4s
	zip2 v2.4s, v3.4s, v0.4s
	zip1 v3.4s, v13.4s, v15.4s
	zip2 v13.4s, v13.4s, v15.4s
	smmla v4.4s, v1.16b, v14.16b
	ldr q0, [x5, #624]
	smmla v5.4s, v1.16b, v2.16b
	smmla v6.4s, v1.16b, v3.16b
	smmla v7.4s, v1.16b, v13.16b
	ldr q1, [x5, #752]
	smmla v16.4s, v0.16b, v14.16b
	smmla v17.4s, v0.16b, v2.16b
	smmla v18.4s, v0.16b, v3.16b
	smmla v19.4s, v0.16b, v13.16b
	ldr q0, [x5, #880]
	smmla v20.4s, v1.16b, v14.16b
	smmla v21.4s, v1.16b, v2.16b
	smmla v22.4s, v1.16b, v3.16b
	smmla v23.4s, v1.16b, v13.16b
	ldr q1, [x5, #1008]
	smmla v24.4s, v0.16b, v14.16b
	smmla v25.4s, v0.16b, v2.16b
	smmla v26.4s, v0.16b, v3.16b
	smmla v27.4s, v0.16b, v13.16b
	ldr q0, [x5, #1136]
	smmla v28.4s, v1.16b, v14.16b
	smmla v29.4s, v1.16b, v2.16b
	smmla v30.4s, v1.16b, v3.16b
	smmla v31.4s, v1.16b, v13.16b
	add x5, x5, #768
	add x7, x7, x9
	add x4, x4, #1
	smmla v8.4s, v0.16b, v14.16b
	smmla v9.4s, v0.16b, v2.16b
	smmla v10.4s, v0.16b, v3.16b
	smmla v11.4s, v0.16b, v13.16b
	cmp x4, x29
	b.lt .Lproduct__i8mm_loop13
.Lproduct__i8mm_end14:
	// LLVM-MCA-END
	// LLVM-MCA-BEGIN product.dot1.12x8_end macs=393216
	str q4, [x3, #0]
	str q5, [x3, #16]
	str q6, [x3, #32]
	str q7, [x3, #48]
	str q16, [x3, #64]
	str q17, [x3, #80]
	str q18, [x3, #96]
	str q19, [x3, #112]
	str q20, [x3, #128]
	str q21, [x3, #144]
	str q22, [x3, #160]
	str q23, [x3, #176]
	str q24, [x3, #192]
	str q25, [x3, #208]
	str q26, [x3, #224]
	str q27, [x3, #240]
	str q28, [x3, #256]
	str q29, [x3, #272]
	str q30, [x3, #288]
	str q31, [x3, #304]
	str q8, [x3, #320]
	str q9, [x3, #336]
	str q10, [x3, #352]
	str q11, [x3, #368]
	// LLVM-MCA-END
	ldr x4, [sp, #48]
	movz x5, #4096, lsl #0
	add x4, x4, x5
	str x4, [sp, #48]
	ldr x4, [sp, #32]
	movz x5, #4096, lsl #0
	add x4, x4, x5
	str x4, [sp, #32]
	ldr x4, [sp, #16]
	movz x5, #4096, lsl #0
	add x4, x4, x5
	str x4, [sp, #16]
	ldr x4, [sp, #0]
	movz x5, #4096, lsl #0
	add x4, x4, x5
	str x4, [sp, #0]
	movz x4, #4096, lsl #0
	add x2, x2, x4
	ldr x4, [sp, #96]
	add x20, x20, x4
	add x10, x10, #1
	ldr x4, [sp, #64]
	cmp x10, x4
	b.lt .Lproduct__i8mm_loop5
.Lproduct__i8mm_end6:
	mov x4, x6
	ldr x5, [sp, #192]
	lsl x5, x5, #2
	ldr x7, [sp, #224]
	ldr x10, [sp, #176]
	mul x7, x7, x10
	lsl x7, x7, #2
	add x5, x5, x7
	ldr x7, [sp, #272]
	add x5, x7, x5
.Lproduct__i8mm_loop15:
	// LLVM-MCA-BEGIN product.dot1_out results=8
	asr x7, x4, #1
	lsl x10, x4, #3
	movz x11, #48, lsl #0
	mul x7, x7, x11
	add x7, x10, x7
	add x10, x3, x7
	add x11, x7, #16
	add x7, x7, #48
	ldr d0, [x10, #0]
	ldr d1, [x10, #32]
	add x10, x3, x11
	add x7, x3, x7
	ld1 { v0.d }[1], [x10]
	ld1 { v1.d }[1], [x7]
	str q0, [x5, #0]
	str q1, [x5, #16]
	// LLVM-MCA-END
	ldr x7, [sp, #112]
	add x5, x5, x7
	add x4, x4, #1
	cmp x4, #12
	b.lt .Lproduct__i8mm_loop15
.Lproduct__i8mm_end16:
	ldr x4, [sp, #144]
	add x4, x4, #1
	str x4, [sp, #144]
	ldr x4, [sp, #144]
	ldr x5, [sp, #240]
	cmp x4, x5
	b.lt .Lproduct__i8mm_turn2
.Lproduct__i8mm_done1:
	mov w0, #0
.Lproduct__i8mm_product_exit:
	ldp x19, x20, [sp, #288]
	ldp x21, x22, [sp, #304]
	ldp x23, x24, [sp, #320]
	ldp x25, x26, [sp, #336]
	ldp x27, x28, [sp, #352]
	ldp x29, x30, [sp, #368]
	ldp d8, d9, [sp, #384]
	ldp d10, d11, [sp, #400]
	ldp d12, d13, [sp, #416]
	ldp d14, d15, [sp, #432]
	add sp, sp, #448
	ret
	.size product__i8mm, .-product__i8mm
