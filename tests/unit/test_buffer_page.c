/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The page with a buffer that was right a moment ago.
 */
#define _DEFAULT_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cmocka.h>

#include "libimpi/buffer_page.h"

static char data[2 * BUFFER_PAGE];

/* The first whole page there. */
static char *page_in(char *p)
{
    uintptr_t mask = BUFFER_PAGE - 1;

    return (char *)(((uintptr_t)p + mask) & ~mask);
}

static bool is_kept(const void *buf)
{
    struct buffer_page page = {BUFFER_NO_PAGE};

    buffer_page_keep(&page, buf);
    return buffer_page_has(&page, buf, 1);
}

static void nothing_is_there_at_first(void **state)
{
    struct buffer_page page = {BUFFER_NO_PAGE};

    (void)state;
    assert_false(buffer_page_has(&page, data, 1));
    assert_false(buffer_page_has(&page, NULL, 1));
    assert_false(buffer_page_has(&page, NULL, 0));
}

static void all_of_the_kept_page_is_there(void **state)
{
    struct buffer_page page = {BUFFER_NO_PAGE};
    char *p = page_in(data);

    (void)state;
    buffer_page_keep(&page, p + 100);
    assert_true(buffer_page_has(&page, p + 100, 8));
    assert_true(buffer_page_has(&page, p, BUFFER_PAGE - 1));
    assert_true(buffer_page_has(&page, p + BUFFER_PAGE - 1, 0));
}

static void what_reaches_beyond_it_is_not(void **state)
{
    struct buffer_page page = {BUFFER_NO_PAGE};
    char *p = page_in(data);

    (void)state;
    buffer_page_keep(&page, p);
    assert_false(buffer_page_has(&page, p - 1, 8));
    assert_false(buffer_page_has(&page, p + BUFFER_PAGE - 1, 2));
    assert_false(buffer_page_has(&page, p + BUFFER_PAGE, 1));
    assert_false(buffer_page_has(&page, p, 2 * BUFFER_PAGE));
}

static void the_last_one_is_kept(void **state)
{
    struct buffer_page page = {BUFFER_NO_PAGE};
    char *p = page_in(data);

    (void)state;
    buffer_page_keep(&page, p);
    buffer_page_keep(&page, p - 1);
    assert_false(buffer_page_has(&page, p, 1));
    assert_true(buffer_page_has(&page, p - 1, 0));
}

static void forgotten_it_is_not_there(void **state)
{
    struct buffer_page page = {BUFFER_NO_PAGE};

    (void)state;
    buffer_page_keep(&page, data);
    buffer_page_forget(&page);
    assert_false(buffer_page_has(&page, data, 1));
    assert_false(buffer_page_has(&page, NULL, 1));
}

static void data_stack_and_heap_last(void **state)
{
    char *heap = sbrk(2 * BUFFER_PAGE);

    (void)state;
    assert_true(is_kept(data));
    assert_true(is_kept(__builtin_frame_address(0)));
    assert_true(is_kept(page_in(heap)));
}

static void *ask_on_stack(void *result)
{
    *(bool *)result = is_kept(__builtin_frame_address(0));
    return NULL;
}

static void stack_of_another_thread_does_not(void **state)
{
    pthread_t thread;
    bool kept = true;

    (void)state;
    assert_int_equal(pthread_create(&thread, NULL, ask_on_stack, &kept), 0);
    pthread_join(thread, NULL);
    assert_false(kept);
}

/* A driver may map its memory where the host's was. */
static void mapped_memory_does_not(void **state)
{
    struct buffer_page page = {BUFFER_NO_PAGE};
    char *p = mmap(NULL, BUFFER_PAGE, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    (void)state;
    assert_true(p != MAP_FAILED);
    assert_false(is_kept(p));
    assert_false(is_kept(NULL));
    buffer_page_keep(&page, data);
    buffer_page_keep(&page, p);
    assert_false(buffer_page_has(&page, data, 1));
    munmap(p, BUFFER_PAGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nothing_is_there_at_first),
        cmocka_unit_test(all_of_the_kept_page_is_there),
        cmocka_unit_test(what_reaches_beyond_it_is_not),
        cmocka_unit_test(the_last_one_is_kept),
        cmocka_unit_test(forgotten_it_is_not_there),
        cmocka_unit_test(data_stack_and_heap_last),
        cmocka_unit_test(stack_of_another_thread_does_not),
        cmocka_unit_test(mapped_memory_does_not),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
