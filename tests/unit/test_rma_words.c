/* SPDX-License-Identifier: BSD-3-Clause
 * The words that guard a target, between threads in place of processes.
 */
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "impi/rma_words.h"

enum { TIMES = 20000 };
static struct {
    _Alignas(64) uint8_t words[256];
    long locked, changed; /* under each of both */
    int readers;
} t;

static void *use_words(void *arg)
{
    struct impi_rma_words *words = (struct impi_rma_words *)(void *)t.words;
    uint32_t rank = (uint32_t)(uintptr_t)arg, who;

    for (int i = 0; i < TIMES; i++) {
        enum impi_rma_lock mode = i % 3 ? IMPI_RMA_EXCLUSIVE : IMPI_RMA_SHARED;
        uint32_t number = impi_rma_words_ask(words, mode, rank);
        bool next;

        while (!impi_rma_words_enter(words, number, mode, &next))
            sched_yield();
        if (mode == IMPI_RMA_EXCLUSIVE && t.readers == 0)
            t.locked++;
        else if (mode == IMPI_RMA_SHARED)
            __atomic_add_fetch(&t.readers, 1, __ATOMIC_SEQ_CST);
        if (mode == IMPI_RMA_SHARED)
            __atomic_sub_fetch(&t.readers, 1, __ATOMIC_SEQ_CST);
        impi_rma_words_leave(words, mode, rank);
        while (!impi_rma_words_begin(words, rank, &who))
            sched_yield();
        t.changed++;
        impi_rma_words_end(words);
    }
    return NULL;
}

static void words_hold_between_threads(void **state)
{
    pthread_t thread[3];

    (void)state;
    for (uintptr_t i = 0; i < 3; i++)
        assert_int_equal(pthread_create(&thread[i], NULL, use_words, (void *)i),
                         0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    assert_int_equal(t.changed, 3 * TIMES);
    assert_int_equal(t.locked, 3 * (TIMES - (TIMES + 2) / 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_hold_between_threads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
