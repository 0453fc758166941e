/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a back end, and how it speaks to the user.
 */
#define _GNU_SOURCE /* recursive mutex */
#include "libimpi/state.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "libimpi/coll_run.h"
#include "libimpi/net.h"

/* When a peer is lost, impid most likely knows why and is about to end this
 * process; its message is the better one. */
#define LAST_WORDS_MS 3000

struct backend impi_be = {
    .agent = {.fd = -1},
    /* A user's error handler may call MPI again. */
    .lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP,
};

void be_note_pending(void)
{
    bool pending = impi_be.crowded || impi_p2p_busy(impi_be.p2p) ||
                   net_opening() || coll_any();

    if (pending != impi_be.pending)
        __atomic_store_n(&impi_be.pending, pending, __ATOMIC_RELAXED);
}

void be_unlock(void)
{
    if (impi_be.p2p)
        be_note_pending();
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

void be_die(int code, const char *fmt, ...)
{
    struct pollfd p = {.fd = impi_be.agent.fd, .events = 0};
    char text[SF_ERRBUF_SIZE];
    va_list ap;

    if (impi_be.spanning)
        poll(&p, 1, LAST_WORDS_MS);
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    be_say("%s", text);
    agent_abort(&impi_be.agent, code, text);
    fflush(NULL);
    _exit(code);
}

static bool errors_are_fatal(MPI_Comm comm)
{
    MPI_Errhandler handler;
    bool fatal;

    if (impi_real.Comm_get_errhandler(comm, &handler) != MPI_SUCCESS)
        return false;
    fatal = handler == MPI_ERRORS_ARE_FATAL;
    impi_real.Errhandler_free(&handler);
    return fatal;
}

/* The native library would end only its own client, and its message is lost
 * when the job ends for a rank that vanished. */
void be_fatal(int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    impi_real.Error_string(code, text, &len);
    be_die(1, "%s", text);
}

int be_raise_error(MPI_Comm comm, int code)
{
    if (impi_be.spanning && errors_are_fatal(comm))
        be_fatal(code);
    impi_real.Comm_call_errhandler(comm, code);
    return code;
}
