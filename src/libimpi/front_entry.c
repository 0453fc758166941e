/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The trampolines.  A function is one jump through its slot; a slot points at
 * first to instructions that say its number and go to front_lazy, which saves
 * every register an argument may be in (MPI_Pcontrol is variadic), asks
 * front_resolve() and goes on to its answer as if nothing had been there.
 */
#include "libimpi/front.h"

#define STR2(x) #x
#define STR(x) STR2(x)

#if defined(__x86_64__)

/* Where indirect branches are checked, what one leads to begins with this. */
#if defined(__CET__) && __CET__ & 1
#define LANDS "endbr64\n "
#else
#define LANDS
#endif

__asm__(".pushsection .data.front_slots,\"aw\"\n"
        ".balign 16\n"
        ".globl front_slots\n.hidden front_slots\n"
        ".type front_slots, @object\n"
        "front_slots:\n"
        ".size front_slots, 16*" STR(FRONT_NCALLS) "\n"
                                                   ".popsection\n");

/* One exported name: a jump through slot number slot, and behind it what the
 * slot points at first. */
#define ENTRY(slot, symbol)                                                    \
    ".balign 16\n"                                                             \
    ".globl " symbol "\n.type " symbol ", @function\n" symbol ": " LANDS       \
    "jmp *front_slots+8*(" slot ")(%rip)\n"                                    \
    ".size " symbol ", .-" symbol "\n"                                         \
    "0: " LANDS "pushq $(" slot ")\n jmp front_lazy\n"                         \
    ".pushsection .data.front_slots,\"aw\"\n.quad 0b\n.popsection\n"

#define F(n, name)                                                             \
    __asm__(".pushsection .text\n" ENTRY("2*" #n, #name)                       \
                ENTRY("2*" #n "+1", "P" #name) ".popsection\n");

__asm__(".pushsection .text\n"
        ".type front_lazy, @function\n"
        "front_lazy:\n"
        " .cfi_startproc\n"
        " .cfi_def_cfa_offset 16\n"
        " pushq %rdi\n pushq %rsi\n pushq %rdx\n pushq %rcx\n"
        " pushq %r8\n pushq %r9\n pushq %rax\n"
        " subq $136, %rsp\n"
        " .cfi_def_cfa_offset 208\n"
        " movups %xmm0, (%rsp)\n movups %xmm1, 16(%rsp)\n"
        " movups %xmm2, 32(%rsp)\n movups %xmm3, 48(%rsp)\n"
        " movups %xmm4, 64(%rsp)\n movups %xmm5, 80(%rsp)\n"
        " movups %xmm6, 96(%rsp)\n movups %xmm7, 112(%rsp)\n"
        " movq 192(%rsp), %rdi\n"
        " call front_resolve\n"
        " movq %rax, %r11\n"
        " movups (%rsp), %xmm0\n movups 16(%rsp), %xmm1\n"
        " movups 32(%rsp), %xmm2\n movups 48(%rsp), %xmm3\n"
        " movups 64(%rsp), %xmm4\n movups 80(%rsp), %xmm5\n"
        " movups 96(%rsp), %xmm6\n movups 112(%rsp), %xmm7\n"
        " addq $136, %rsp\n"
        " .cfi_def_cfa_offset 72\n"
        " popq %rax\n popq %r9\n popq %r8\n"
        " popq %rcx\n popq %rdx\n popq %rsi\n popq %rdi\n"
        " .cfi_def_cfa_offset 16\n"
        " addq $8, %rsp\n"
        " .cfi_def_cfa_offset 8\n"
        " jmp *%r11\n"
        " .cfi_endproc\n"
        ".size front_lazy, .-front_lazy\n"
        ".popsection\n");

#else
#error "no trampolines for this processor yet"
#endif

#include "libimpi/front_list.h"
