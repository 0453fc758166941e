/* SPDX-License-Identifier: BSD-3-Clause */
#define _DEFAULT_SOURCE /* sbrk */
#include "libimpi/buffer_page.h"

#include <sys/auxv.h>
#include <unistd.h>

/* What the kernel keeps free of mappings below the first stack's end, whatever
 * the limit of that stack is, is 16 times this. */
#define STACK_SPAN ((uintptr_t)8 << 20)

/* From the program's first page to the end of the heap behind its data. */
static bool is_of_program(uintptr_t at)
{
    uintptr_t program = (uintptr_t)getauxval(AT_PHDR);

    return program != 0 && at >= program && at < (uintptr_t)sbrk(0);
}

/* The program's name lies at its end. */
static bool is_of_stack(uintptr_t at)
{
    uintptr_t end = (uintptr_t)getauxval(AT_EXECFN);

    return at < end && end - at <= STACK_SPAN;
}

void buffer_page_keep(struct buffer_page *page, const void *buf)
{
    uintptr_t at = (uintptr_t)buf & ~(uintptr_t)(BUFFER_PAGE - 1);
    bool lasts = is_of_program(at) || is_of_stack(at);

    __atomic_store_n(&page->at, lasts ? at : BUFFER_NO_PAGE, __ATOMIC_RELAXED);
}
