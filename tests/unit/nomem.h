/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Allocations that fail: the program's linker flags (NOMEM_WRAP) send every
 * allocation of what it tests through here.  For one file of a program.
 */
#ifndef SF_TESTS_NOMEM_H
#define SF_TESTS_NOMEM_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static long left = -1; /* allocations that still work; -1: all */
static bool once;      /* only one fails, and those behind it work again */

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *p, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *p, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

static bool fails(void)
{
    if (left < 0)
        return false;
    if (left > 0) {
        left--;
        return false;
    }
    if (once)
        left = -1;
    errno = ENOMEM;
    return true;
}

void *__wrap_malloc(size_t size)
{
    return fails() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
    return fails() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *p, size_t size)
{
    return fails() ? NULL : __real_realloc(p, size);
}

char *__wrap_strdup(const char *s)
{
    return fails() ? NULL : __real_strdup(s);
}

char *__wrap_strndup(const char *s, size_t n)
{
    return fails() ? NULL : __real_strndup(s, n);
}

#endif
