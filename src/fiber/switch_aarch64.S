/* fiber/switch_aarch64.S — the switch between two stacks, AAPCS64.
 *
 *     int  weft__switch(void **save, void *to, int value)
 *
 * Keeps x19 to x30 and the low halves of v8 to v15 on the stack it leaves and takes the same from the stack it goes
 * to; `value` is what the call on the other side returns. FPCR is not switched, x18 belongs to the platform. It
 * leaves by a branch through x9 and not by `ret`, for the reason given in switch_x86_64.S; under BTI a branch
 * through x16 or x17 may land on `bti c` only, one through x9 needs `bti j`: return addresses have neither, so with
 * BTI in force (__ARM_FEATURE_BTI_DEFAULT) it is a `ret` after all.
 */
#define FRAME 160

        .text
        .globl  weft__switch
        .hidden weft__switch
        .type   weft__switch, %function
        .p2align 4
weft__switch:
        .cfi_startproc
        hint    #34                     /* bti c */
        sub     sp, sp, #FRAME
        .cfi_adjust_cfa_offset FRAME
        stp     x19, x20, [sp, #0]
        stp     x21, x22, [sp, #16]
        stp     x23, x24, [sp, #32]
        stp     x25, x26, [sp, #48]
        stp     x27, x28, [sp, #64]
        stp     x29, x30, [sp, #80]
        .cfi_rel_offset x19, 0
        .cfi_rel_offset x20, 8
        .cfi_rel_offset x21, 16
        .cfi_rel_offset x22, 24
        .cfi_rel_offset x23, 32
        .cfi_rel_offset x24, 40
        .cfi_rel_offset x25, 48
        .cfi_rel_offset x26, 56
        .cfi_rel_offset x27, 64
        .cfi_rel_offset x28, 72
        .cfi_rel_offset x29, 80
        .cfi_rel_offset x30, 88
        stp     d8, d9, [sp, #96]
        stp     d10, d11, [sp, #112]
        stp     d12, d13, [sp, #128]
        stp     d14, d15, [sp, #144]
        mov     x9, sp
        str     x9, [x0]
        mov     sp, x1                  /* the frame here has the same form: the unwind rules stay true */
        mov     w0, w2
        ldp     x19, x20, [sp, #0]
        ldp     x21, x22, [sp, #16]
        ldp     x23, x24, [sp, #32]
        ldp     x25, x26, [sp, #48]
        ldp     x27, x28, [sp, #64]
        ldp     x29, x30, [sp, #80]
        ldp     d8, d9, [sp, #96]
        ldp     d10, d11, [sp, #112]
        ldp     d12, d13, [sp, #128]
        ldp     d14, d15, [sp, #144]
        add     sp, sp, #FRAME
        .cfi_adjust_cfa_offset -FRAME
        .cfi_restore x19
        .cfi_restore x20
        .cfi_restore x21
        .cfi_restore x22
        .cfi_restore x23
        .cfi_restore x24
        .cfi_restore x25
        .cfi_restore x26
        .cfi_restore x27
        .cfi_restore x28
        .cfi_restore x29
        .cfi_restore x30
#if defined(__ARM_FEATURE_BTI_DEFAULT) && __ARM_FEATURE_BTI_DEFAULT
        ret
#else
        mov     x9, x30
        br      x9
#endif
        .cfi_endproc
        .size   weft__switch, .-weft__switch

/* Where a new stack begins: calls what weft__switch_frame (switch.c) left in x19. Outermost frame: unwinding ends here. */
        .globl  weft__switch_begin
        .hidden weft__switch_begin
        .type   weft__switch_begin, %function
        .p2align 4
weft__switch_begin:
        .cfi_startproc
        .cfi_undefined x30
        hint    #38                     /* bti jc */
        mov     x29, #0
        mov     x30, #0
        blr     x19
        brk     #1                      /* an entry function does not return */
        .cfi_endproc
        .size   weft__switch_begin, .-weft__switch_begin

#if defined(__ARM_FEATURE_BTI_DEFAULT) && __ARM_FEATURE_BTI_DEFAULT
        .section .note.gnu.property, "a"
        .p2align 3
        .long   4
        .long   16
        .long   5
        .asciz  "GNU"
        .long   0xc0000000              /* GNU_PROPERTY_AARCH64_FEATURE_1_AND */
        .long   4
        .long   3                       /* BTI and PAC: x30 is never spilled signed here, and is restored as it came */
        .long   0
#endif
        .section .note.GNU-stack, "", %progbits
