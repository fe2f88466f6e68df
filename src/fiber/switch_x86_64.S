/* fiber/switch_x86_64.S — the switch between two stacks, System V x86-64.
 *
 *     int  weft__switch(void **save, void *to, int value)
 *
 * Keeps what the ABI says a callee keeps, rbx, rbp, r12 to r15, on the stack it leaves and takes the same from
 * the stack it goes to; `value` is what the call on the other side returns. The x87 and SSE control words are not
 * switched: code that changes the rounding mode puts it back before it suspends.
 *
 * It leaves by a jump and not by `ret`: a return to another stack is always mispredicted by the processor's return
 * stack, the jump is predicted by its history (round trip of a bare loop 6 ns against 28). The jump is "notrack"
 * because its target is a return address. Shadow stacks are not switched either, so the note below claims IBT
 * alone, and the linker then does not mark the program as ready for shadow stacks.
 */
        .text
        .globl  weft__switch
        .hidden weft__switch
        .type   weft__switch, @function
        .p2align 4
weft__switch:
        .cfi_startproc
        endbr64
        pushq   %rbp
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbp, 0
        pushq   %rbx
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %rbx, 0
        pushq   %r12
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r12, 0
        pushq   %r13
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r13, 0
        pushq   %r14
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r14, 0
        pushq   %r15
        .cfi_adjust_cfa_offset 8
        .cfi_rel_offset %r15, 0
        movl    %edx, %eax
        movq    %rsp, (%rdi)
        movq    %rsi, %rsp              /* the frame here has the same form: the unwind rules stay true */
        popq    %r15
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r15
        popq    %r14
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r14
        popq    %r13
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r13
        popq    %r12
        .cfi_adjust_cfa_offset -8
        .cfi_restore %r12
        popq    %rbx
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbx
        popq    %rbp
        .cfi_adjust_cfa_offset -8
        .cfi_restore %rbp
        popq    %rcx
        .cfi_adjust_cfa_offset -8
        .cfi_register %rip, %rcx
        notrack jmp *%rcx
        .cfi_endproc
        .size   weft__switch, .-weft__switch

/* Where a new stack begins: calls what weft__switch_frame (switch.c) left in r12. Outermost frame: unwinding ends here. */
        .globl  weft__switch_begin
        .hidden weft__switch_begin
        .type   weft__switch_begin, @function
        .p2align 4
weft__switch_begin:
        .cfi_startproc
        .cfi_undefined %rip
        endbr64
        xorl    %ebp, %ebp
        callq   *%r12
        ud2                             /* an entry function does not return */
        .cfi_endproc
        .size   weft__switch_begin, .-weft__switch_begin

        .section .note.gnu.property, "a"
        .p2align 3
        .long   4                       /* name size, then the size of what follows, then NT_GNU_PROPERTY_TYPE_0 */
        .long   16
        .long   5
        .asciz  "GNU"
        .long   0xc0000002              /* GNU_PROPERTY_X86_FEATURE_1_AND */
        .long   4
        .long   1                       /* IBT */
        .long   0
        .section .note.GNU-stack, "", @progbits
