/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a back end, and how it speaks to the user.
 */
#define _GNU_SOURCE /* recursive mutex */
#include "libimpi/state.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "libimpi/coll_run.h"
#include "libimpi/conns.h"
#include "libimpi/win.h"

struct backend impi_be = {
    .agent = {.fd = -1},
    /* A user's error handler may call MPI again. */
    .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
};

void be_note_pending(void)
{
    bool pending = impi_be.crowded || impi_p2p_busy(impi_be.p2p) ||
                   conns_opening() || coll_any();

    if (pending != impi_be.pending)
        __atomic_store_n(&impi_be.pending, pending, __ATOMIC_RELAXED);
}

void be_unlock(void)
{
    if (impi_be.p2p)
        be_note_pending();
    if (unlikely(impi_be.served > 0) && impi_be.inside <= 1)
        win_left();
    be_unlock_same();
}

void be_say(const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    fprintf(stderr, "slurm-fabric: rank %d: %s\n", impi_be.rank, text);
}

void be_end(int code, const char *text)
{
    agent_abort(&impi_be.agent, code, text);
    fflush(NULL);
    _exit(code);
}

void be_die(int code, const char *fmt, ...)
{
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    be_say("%s", text);
    be_end(code, text);
}
