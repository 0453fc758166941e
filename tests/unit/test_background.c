/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The program comes back while the thread is in its place (background.h).  The
 * connections are played.
 */
#define _GNU_SOURCE /* gettid */
#include <linux/membarrier.h>
#include <poll.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <cmocka.h>

#include "libimpi/background.h"
#include "libimpi/conns.h"
#include "libimpi/state.h"

/* Who is next was a matter of luck before. */
#define TIMES 10

struct backend impi_be = {.lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP};

static struct {
    pid_t program;
    sem_t first; /* its first round has begun */
    bool coming; /* the program is about to take the lock */
    unsigned rounds;
} play;

static bool sleeps(pid_t thread)
{
    char path[64], text[512] = "";
    const char *state;
    FILE *f;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)thread);
    f = fopen(path, "r");
    assert_non_null(f);
    assert_true(fread(text, 1, sizeof(text) - 1, f) > 0);
    fclose(f);
    state = strrchr(text, ')');
    return state && state[2] == 'S';
}

/* There is always more.  The first round lasts until the program waits for its
 * end. */
bool conns_progress_whole(void)
{
    if (__atomic_add_fetch(&play.rounds, 1, __ATOMIC_SEQ_CST) > 1)
        return true;
    sem_post(&play.first);
    while (!__atomic_load_n(&play.coming, __ATOMIC_SEQ_CST) ||
           !sleeps(play.program))
        sched_yield();
    return true;
}

bool conns_sleep(void)
{
    return true;
}

unsigned conns_fds(struct pollfd *fds, unsigned max)
{
    (void)fds;
    (void)max;
    return 0;
}

unsigned conns_rounds(void)
{
    return 0;
}

bool win_progress(void)
{
    return false;
}

void be_note_pending(void)
{
}

static void program_is_next_however_much_comes(void **state)
{
    int can = (int)syscall(SYS_membarrier, MEMBARRIER_CMD_QUERY, 0, 0);

    (void)state;
    if (can < 0 || !(can & MEMBARRIER_CMD_PRIVATE_EXPEDITED))
        skip();
    play.program = gettid();
    for (int i = 0; i < TIMES; i++) {
        play.rounds = 0;
        play.coming = false;
        assert_int_equal(sem_init(&play.first, 0, 0), 0);
        background_start();
        sem_wait(&play.first);
        __atomic_store_n(&play.coming, true, __ATOMIC_SEQ_CST);
        be_lock();
        assert_int_equal(play.rounds, 1);
        be_unlock_same();
        background_stop();
        sem_destroy(&play.first);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(program_is_next_however_much_comes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
