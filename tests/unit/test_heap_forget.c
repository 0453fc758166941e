/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What was freed with a secret in it is found and cleared; what holds it on
 * purpose stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/heap_forget.h"

#define LEN 300

static void fill(unsigned char *at)
{
    for (int i = 0; i < LEN; i++)
        at[i] = (unsigned char)(i * 7 + 13);
}

static void copies_are_cleared_and_the_secret_stays(void **state)
{
    static unsigned char want[LEN];
    unsigned char *secret = malloc(LEN), *inside = malloc(3 * LEN);

    fill(want);
    fill(secret);
    memset(inside, 0x55, 3 * LEN);
    fill(inside + LEN / 2);
    fill(inside + LEN / 2 + LEN);
    assert_int_equal(heap_forget(secret, LEN), 2);
    assert_memory_equal(secret, want, LEN);
    for (int i = 0; i < 2 * LEN; i++)
        assert_int_equal(inside[LEN / 2 + i], 0);
    assert_int_equal(inside[LEN / 2 - 1], 0x55);
    assert_int_equal(inside[LEN / 2 + 2 * LEN], 0x55);
    free(inside);
    free(secret);
}

/* Its beginning is the allocator's by then; what the library kept before it
 * stands there. */
static void what_was_freed_is_cleared(void **state)
{
    unsigned char *secret = malloc(LEN), *inside = malloc(2 * LEN);

    fill(secret);
    memset(inside, 0, 2 * LEN);
    fill(inside + 64);
    free(inside);
    assert_int_equal(heap_forget(secret, LEN), 1);
    assert_int_equal(heap_forget(secret, LEN), 0);
    free(secret);
}

/* Of more than is looked at in one go, and across two looks. */
static void a_long_secret_is_found_wherever_it_lies(void **state)
{
    size_t len = 100000;
    unsigned char *secret, *copy;

    /* As large as this, they would be no part of the heap. */
    secret = mmap(NULL, len, PROT_READ | PROT_WRITE,
                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    copy = malloc(len);
    for (size_t i = 0; i < len; i++)
        secret[i] = (unsigned char)(i >> 8 ^ i);
    memcpy(copy, secret, len);
    assert_int_equal(heap_forget(secret, len), 1);
    for (size_t i = 0; i < len; i++)
        assert_int_equal(copy[i], 0);
    free(copy);
    munmap(secret, len);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(copies_are_cleared_and_the_secret_stays),
        cmocka_unit_test(what_was_freed_is_cleared),
        cmocka_unit_test(a_long_secret_is_found_wherever_it_lies),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
