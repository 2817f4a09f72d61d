	.arch armv8.2-a+fp16+dotprod+i8mm
	.text
// add: turns [begin, end) of n
	.p2align 4
	.globl add__i8mm
	.type add__i8mm, %function
add__i8mm:
	ldr x4, [x0, #0]
	ldr x5, [x0, #8]
	ldr x6, [x0, #16]
	cmp x1, x2
	b.ge .Ladd__i8mm_done1
.Ladd__i8mm_turn2:
	lsl x7, x1, #6
	lsl x7, x7, #2
	add x8, x4, x7
	ldr q0, [x8, #0]
	ldr q1, [x8, #16]
	ldr q2, [x8, #32]
	ldr q3, [x8, #48]
	add x9, x5, x7
	ldr q4, [x9, #0]
	ldr q5, [x9, #16]
	ldr q6, [x9, #32]
	ldr q7, [x9, #48]
	fadd v0.4s, v0.4s, v4.4s
	fadd v1.4s, v1.4s, v5.4s
	fadd v2.4s, v2.4s, v6.4s
	fadd v3.4s, v3.4s, v7.4s
	add x7, x6, x7
	str q0, [x7, #0]
	str q1, [x7, #16]
	str q2, [x7, #32]
	str q3, [x7, #48]
	ldr q0, [x8, #64]
	ldr q1, [x8, #80]
	ldr q2, [x8, #96]
	ldr q3, [x8, #112]
	ldr q4, [x9, #64]
	ldr q5, [x9, #80]
	ldr q6, [x9, #96]
	ldr q7, [x9, #112]
	fadd v0.4s, v0.4s, v4.4s
	fadd v1.4s, v1.4s, v5.4s
	fadd v2.4s, v2.4s, v6.4s
	fadd v3.4s, v3.4s, v7.4s
	str q0, [x7, #64]
	str q1, [x7, #80]
	str q2, [x7, #96]
	str q3, [x7, #112]
	ldr q0, [x8, #128]
	ldr q1, [x8, #144]
	ldr q2, [x8, #160]
	ldr q3, [x8, #176]
	ldr q4, [x9, #128]
	ldr q5, [x9, #144]
	ldr q6, [x9, #160]
	ldr q7, [x9, #176]
	fadd v0.4s, v0.4s, v4.4s
	fadd v1.4s, v1.4s, v5.4s
	fadd v2.4s, v2.4s, v6.4s
	fadd v3.4s, v3.4s, v7.4s
	str q0, [x7, #128]
	str q1, [x7, #144]
	str q2, [x7, #160]
	str q3, [x7, #176]
	ldr q0, [x8, #192]
	ldr q1, [x8, #208]
	ldr q2, [x8, #224]
	ldr q3, [x8, #240]
	ldr q4, [x9, #192]
	ldr q5, [x9, #208]
	ldr q6, [x9, #224]
	ldr q7, [x9, #240]
	fadd v0.4s, v0.4s, v4.4s
	fadd v1.4s, v1.4s, v5.4s
	fadd v2.4s, v2.4s, v6.4s
	fadd v3.4s, v3.4s, v7.4s
	str q0, [x7, #192]
	str q1, [x7, #208]
	str q2, [x7, #224]
	str q3, [x7, #240]
	add x1, x1, #1
	cmp x1, x2
	b.lt .Ladd__i8mm_turn2
.Ladd__i8mm_done1:
	mov w0, #0
.Ladd__i8mm_add_exit:
	ret
	.size add__i8mm, .-add__i8mm
