// A process in which kernels run: it waits for a request in a page that it shares with its host, makes
// one call (of a function, or of the kernel), answers, and waits again. Faults are answers, too.
//
// The page is that of control.py: words by these offsets. File 0 is the memory that both map.

    .equ REQUEST, 0             // u32: the number of the latest request; the host counts it up
    .equ REPLY, 4               // u32: the number of the latest request that is answered
    .equ PARENT, 8              // u64: the process of the host; without it there is nothing to wait for
    .equ FUNCTION, 16           // u64: the address to call, or 0 for a call of the kernel
    .equ NUMBER, 24             // u64: which call of the kernel
    .equ ARGUMENTS, 32          // u64[6]
    .equ RESULT, 80             // u64
    .equ SIGNAL, 88             // u64: the fault that ended the call, or 0
    .equ ADDRESS, 96            // u64: what it is about
    .equ PC, 104                // u64: where it happened
    .equ CLOBBERED, 112         // u64: registers that a function has to keep and did not: bit n is xn,
                                // bit 32 + n is dn, bit 31 the stack pointer
    .equ CAPABILITIES, 120      // u64[2]: AT_HWCAP, AT_HWCAP2

    .equ SPINS, 2000            // looks at the request before it sleeps
    .equ CONTROL_HIGH, 0x10     // the page is mapped at 0x10_0000_0000
    .equ KEPT, 0x5a5a           // what the registers that a function keeps hold

    .equ SYS_exit, 93
    .equ SYS_futex, 98
    .equ SYS_sigaltstack, 132
    .equ SYS_rt_sigaction, 134
    .equ SYS_getppid, 173
    .equ SYS_mmap, 222
    .equ FUTEX_WAIT, 0
    .equ FUTEX_WAKE, 1

    .text
    .globl _start
    .p2align 2
_start:
    ldr x0, [sp]                // argc; behind it argv, a null, envp, a null, and the auxiliary vector
    add x1, sp, #8
    add x1, x1, x0, lsl #3
    add x1, x1, #8
.Lenvironment:
    ldr x2, [x1], #8
    cbnz x2, .Lenvironment
    mov x21, #0
    mov x22, #0
.Lauxiliary:
    ldp x2, x3, [x1], #16
    cmp x2, #16                 // AT_HWCAP
    csel x21, x3, x21, eq
    cmp x2, #26                 // AT_HWCAP2
    csel x22, x3, x22, eq
    cbnz x2, .Lauxiliary

    mov x0, #0
    movk x0, CONTROL_HIGH, lsl #32
    mov x1, #4096
    mov x2, #3                  // read, write
    mov x3, #0x11               // shared, fixed
    mov x4, #0
    mov x5, #0
    mov x8, #SYS_mmap
    svc #0
    mov x19, x0
    stp x21, x22, [x19, #CAPABILITIES]

    adrp x1, stack
    add x1, x1, :lo12:stack
    sub sp, sp, #64
    mov x3, #16384
    stp x1, xzr, [sp]
    str x3, [sp, #16]
    mov x0, sp
    mov x1, #0
    mov x8, #SYS_sigaltstack
    svc #0
    adr x0, .Lfault
    mov x1, #0x4                // SA_SIGINFO
    movk x1, #0x4800, lsl #16   // SA_ONSTACK, SA_NODEFER
    stp x0, x1, [sp]
    stp xzr, xzr, [sp, #16]
    adr x23, .Lsignals
.Lhandle:
    ldrb w0, [x23], #1
    cbz w0, .Lready
    mov x1, sp
    mov x2, #0
    mov x3, #8
    mov x8, #SYS_rt_sigaction
    svc #0
    b .Lhandle
.Lready:
    add sp, sp, #64
    adrp x0, top
    add x0, x0, :lo12:top
    mov x1, sp
    str x1, [x0]
    ldr w20, [x19, #REPLY]

.Lwait:
    mov w1, #SPINS
.Llook:
    ldar w0, [x19]
    cmp w0, w20
    b.ne .Lrequest
    subs w1, w1, #1
    b.ne .Llook
    mov x0, x19
    mov x1, #FUTEX_WAIT
    mov w2, w20
    adr x3, .Lpatience
    mov x4, #0
    mov x5, #0
    mov x8, #SYS_futex
    svc #0
    mov x8, #SYS_getppid
    svc #0
    ldr x1, [x19, #PARENT]
    cmp x0, x1
    b.eq .Lwait
    mov x0, #0
    mov x8, #SYS_exit
    svc #0

.Lrequest:
    mov w20, w0
    str xzr, [x19, #SIGNAL]
    str xzr, [x19, #CLOBBERED]
    ldr x16, [x19, #FUNCTION]
    cbnz x16, .Lcall
    ldp x0, x1, [x19, #ARGUMENTS]
    ldp x2, x3, [x19, #ARGUMENTS + 16]
    ldp x4, x5, [x19, #ARGUMENTS + 32]
    ldr x8, [x19, #NUMBER]
    svc #0
.Lanswer:
    str x0, [x19, #RESULT]
.Lreply:
    add x0, x19, #REPLY
    stlr w20, [x0]
    mov x1, #FUTEX_WAKE
    mov x2, #1
    mov x3, #0
    mov x8, #SYS_futex
    svc #0
    b .Lwait

// Every register that is no argument holds what no program expects: those to be kept KEPT, vectors NaN.
.Lcall:
    .irp n, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    mov x\n, #KEPT
    .endr
    .irp n, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17
    mov x\n, #-1
    .endr
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
    movi v\n\().16b, #0xff
    .endr
    .irp n, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    movi v\n\().16b, #0xff
    .endr
    mov x30, #0
    movk x30, CONTROL_HIGH, lsl #32
    ldp x0, x1, [x30, #ARGUMENTS]
    ldp x2, x3, [x30, #ARGUMENTS + 16]
    ldp x4, x5, [x30, #ARGUMENTS + 32]
    blr x16

    mov x1, #0
    mov x2, #KEPT
    .irp n, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
    cmp x\n, x2
    cset x3, ne
    orr x1, x1, x3, lsl #\n
    .endr
    .irp n, 8, 9, 10, 11, 12, 13, 14, 15
    fmov x3, d\n
    cmn x3, #1
    cset x3, ne
    orr x1, x1, x3, lsl #(32 + \n)
    .endr
    bl .Lrestore
    str x1, [x19, #CLOBBERED]
    b .Lanswer

// The registers of the loop; bit 31 of x1 where the stack pointer was not that of the loop.
.Lrestore:
    mov x19, #0
    movk x19, CONTROL_HIGH, lsl #32
    ldr w20, [x19, #REQUEST]
    adrp x4, top
    add x4, x4, :lo12:top
    ldr x4, [x4]
    mov x5, sp
    cmp x4, x5
    cset x3, ne
    orr x1, x1, x3, lsl #31
    mov sp, x4
    ret

// A signal: (number, siginfo, ucontext). Back to the loop, with the fault as the answer.
.Lfault:
    mov x3, #0
    movk x3, CONTROL_HIGH, lsl #32
    sxtw x0, w0
    str x0, [x3, #SIGNAL]
    ldr x1, [x1, #16]           // si_addr
    str x1, [x3, #ADDRESS]
    ldr x1, [x2, #440]          // uc_mcontext.pc
    str x1, [x3, #PC]
    adr x1, .Lrecover
    str x1, [x2, #440]
    ret
.Lrecover:
    bl .Lrestore
    b .Lreply

    .p2align 3
.Lpatience:
    .quad 1, 0                  // seconds, nanoseconds
.Lsignals:
    .byte 4, 5, 7, 8, 11, 0     // ILL, TRAP, BUS, FPE, SEGV

    .bss
    .p2align 4
stack:
    .skip 16384
top:
    .skip 8
