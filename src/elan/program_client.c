/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/limits.h"
#include "base/local.h"
#include "elan/capability.h"
#include "elan/program_client.h"

#define PATIENCE (SF_PROGRAM_KILL_SECONDS + 20)

int program_socket_path(char *path, size_t size, const char *rundir, int number)
{
    struct sockaddr_un un;
    int n = snprintf(path, size, "%s/prg-%d", rundir, number);

    if (n > 0 && (size_t)n < size && (size_t)n < sizeof(un.sun_path))
        return 0;
    errno = ENAMETOOLONG;
    return -1;
}

/* One message there and one back; -1 with errno. */
static ssize_t exchange(int fd, const void *request, size_t len, void *reply,
                        size_t size)
{
    ssize_t n;

    /* A client that was refused may find the answer although it could not
     * ask. */
    if (send(fd, request, len, MSG_NOSIGNAL) < 0 && errno != EPIPE)
        return -1;
    do
        n = recv(fd, reply, size, 0);
    while (n < 0 && errno == EINTR);
    if (n == 0)
        errno = ECONNRESET;
    else if (n < 0 && errno == EAGAIN)
        errno = ETIMEDOUT;
    return n > 0 ? n : -1;
}

static ssize_t call_once(const char *path, const void *request, size_t len,
                         void *reply)
{
    int fd = local_connect(path, SOCK_SEQPACKET, PATIENCE);
    ssize_t n;
    int e;

    if (fd < 0)
        return -1;
    n = exchange(fd, request, len, reply, PROGRAM_REPLY_MAX);
    e = errno;
    close(fd);
    errno = e;
    return n;
}

/* A holder with too many clients drops the oldest: it may be us, and the
 * request was not looked at. */
#define TRIES 20

int program_call(const char *path, const struct program_request *request,
                 struct be_reader *answer, void **buf)
{
    uint8_t out[PROGRAM_REQUEST_MAX];
    size_t len = program_request_put(out, request);
    void *reply = malloc(PROGRAM_REPLY_MAX);
    ssize_t n = -1;
    int error;

    if (!reply)
        return -1;
    for (int i = 0; i < TRIES && n < 0; i++) {
        n = call_once(path, out, len, reply);
        if (n < 0 && errno != ECONNRESET && errno != EPIPE)
            break;
    }
    error = n < 0 ? errno : program_reply_open(answer, reply, (size_t)n);
    explicit_bzero(out, sizeof(out));
    if (error == 0) {
        *buf = reply;
        return 0;
    }
    free(reply);
    errno = error;
    return -1;
}

/* A request whose answer says only whether it was done. */
static int tell(const char *path, const struct program_request *request)
{
    struct be_reader answer;
    void *buf;

    if (program_call(path, request, &answer, &buf) < 0)
        return -1;
    free(buf);
    return 0;
}

int program_tell(const char *path, uint32_t verb, int a, int b)
{
    return tell(path, &(struct program_request){.verb = verb, .a = a, .b = b});
}

int program_call_stats(const char *path, uint32_t verb,
                       struct program_stats *stats)
{
    struct program_request request = {.verb = verb};
    struct be_reader answer;
    void *buf;

    if (program_call(path, &request, &answer, &buf) < 0)
        return -1;
    program_stats_get(&answer, stats);
    free(buf);
    return 0;
}

int program_call_addcap(const char *path, int index,
                        const struct elan_capability *cap)
{
    struct program_request request = {.verb = PROGRAM_ADDCAP,
                                      .a = index,
                                      .cap = (struct elan_capability *)cap};

    return tell(path, &request);
}

int program_call_getcap(const char *path, int index,
                        struct elan_capability *cap)
{
    struct program_request request = {.verb = PROGRAM_GETCAP, .a = index};
    struct be_reader answer;
    void *buf;
    int rc;

    if (program_call(path, &request, &answer, &buf) < 0)
        return -1;
    rc = elan_capability_get(&answer, cap, NULL);
    explicit_bzero(buf, 64);
    free(buf);
    return rc;
}
