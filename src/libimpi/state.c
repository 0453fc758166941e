/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The state of a back end, and how it speaks to the user.
 */
#include "libimpi/state.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "libimpi/net.h"

/* When a peer is lost, impid most likely knows why and is about to end this
 * process; its message is the better one. */
#define LAST_WORDS_MS 3000

struct backend impi_be = {
    .agent = {.fd = -1},
    .lock = PTHREAD_MUTEX_INITIALIZER,
};

void be_unlock(void)
{
    if (impi_be.p2p) {
        bool pending = impi_p2p_busy(impi_be.p2p) || net_opening();

        if (pending != impi_be.pending)
            __atomic_store_n(&impi_be.pending, pending, __ATOMIC_RELAXED);
    }
    if (impi_be.threads)
        pthread_mutex_unlock(&impi_be.lock);
}

static void vsay(char *line, size_t size, const char *fmt, va_list ap)
{
    size_t n =
        (size_t)snprintf(line, size, "slurm-fabric: rank %d: ", impi_be.rank);

    vsnprintf(line + n, size - n, fmt, ap);
    fprintf(stderr, "%s\n", line);
}

void be_say(const char *fmt, ...)
{
    char line[SF_ERRBUF_SIZE + 128];
    va_list ap;

    va_start(ap, fmt);
    vsay(line, sizeof(line), fmt, ap);
    va_end(ap);
}

void be_die(int code, const char *fmt, ...)
{
    struct pollfd p = {.fd = impi_be.agent.fd, .events = 0};
    char line[SF_ERRBUF_SIZE + 128];
    va_list ap;

    if (impi_be.spanning)
        poll(&p, 1, LAST_WORDS_MS);
    va_start(ap, fmt);
    vsay(line, sizeof(line), fmt, ap);
    va_end(ap);
    agent_abort(&impi_be.agent, code, line);
    fflush(NULL);
    _exit(code);
}

int be_raise(MPI_Comm comm, int code)
{
    if (code != MPI_SUCCESS)
        impi_real.Comm_call_errhandler(comm, code);
    return code;
}
