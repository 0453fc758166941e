/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/bytebuf.h"
#include "base/clock.h"
#include "base/ctl.h"
#include "base/jsonx.h"
#include "base/local.h"

static int fail(struct errbuf *err, int code, const char *path)
{
    errprintf(err, "%s: %s", path, strerror(code));
    errno = code;
    return -1;
}

static int await(int fd, short what, int64_t end)
{
    struct pollfd p = {.fd = fd, .events = what};

    for (;;) {
        int64_t left = end - clock_ms();
        int n = left > 0 ? poll(&p, 1, (int)left) : 0;

        if (n > 0)
            return 0;
        if (n == 0) {
            errno = ETIMEDOUT;
            return -1;
        }
        if (errno != EINTR)
            return -1;
    }
}

static int open_socket(const char *path, int64_t end)
{
    struct timespec pause = {0, 5000000};
    int fd;

    for (;;) {
        fd = local_connect(path, SOCK_STREAM | SOCK_NONBLOCK, 0);
        if (fd >= 0 || errno != EAGAIN) /* EAGAIN: its queue is full */
            return fd;
        if (clock_ms() >= end)
            return errno = ETIMEDOUT, -1;
        nanosleep(&pause, NULL);
    }
}

static int send_all(int fd, const char *text, size_t len, int64_t end)
{
    while (len > 0) {
        ssize_t n = send(fd, text, len, MSG_NOSIGNAL);

        if (n > 0) {
            text += n;
            len -= (size_t)n;
        } else if (errno == EAGAIN) {
            if (await(fd, POLLOUT, end) < 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
    return 0;
}

/* Read up to the end of a line; in holds it without its newline. */
static int read_line(int fd, struct bytebuf *in, int64_t end)
{
    for (;;) {
        uint8_t *room = bytebuf_room(in, 65536);
        ssize_t n;

        if (!room) {
            errno = EMSGSIZE;
            return -1;
        }
        n = recv(fd, room, 65536, 0);
        if (n == 0) {
            errno = ECONNRESET;
            return -1;
        }
        if (n > 0) {
            bool whole = memchr(room, '\n', (size_t)n) != NULL;

            bytebuf_grow(in, (size_t)n);
            if (whole)
                return 0;
        } else if (errno == EAGAIN) {
            if (await(fd, POLLIN, end) < 0)
                return -1;
        } else if (errno != EINTR) {
            return -1;
        }
    }
}

static int understand(const struct bytebuf *in, struct json_object **reply,
                      struct errbuf *err)
{
    const char *why;
    bool ok = false, denied = false;
    struct json_object *o =
        jsonx_parse((const char *)bytebuf_data(in), bytebuf_len(in), err);

    if (!o)
        return -1;
    if (jsonx_bool(o, "ok", &ok) && ok) {
        *reply = o;
        return 0;
    }
    why = jsonx_str(o, "error", SF_ERRBUF_SIZE);
    errprintf(err, "%s", why ? why : "refused without a reason");
    denied = jsonx_bool(o, "denied", &denied) && denied;
    json_object_put(o);
    errno = denied ? EACCES : EREMOTEIO;
    return -1;
}

int ctl_call(const char *path, struct json_object *request,
             struct json_object **reply, int timeout_ms, struct errbuf *err)
{
    int64_t end = clock_ms() + timeout_ms;
    struct bytebuf in;
    size_t len;
    const char *text = jsonx_text(request, &len);
    int fd, rc = -1, e;

    *reply = NULL;
    if (!text)
        return fail(err, ENOMEM, path);
    fd = open_socket(path, end);
    if (fd < 0)
        return fail(err, errno, path);
    bytebuf_init(&in, SF_CTL_REPLY_MAX + 65536);
    if (send_all(fd, text, len, end) < 0 || send_all(fd, "\n", 1, end) < 0 ||
        read_line(fd, &in, end) < 0)
        fail(err, errno, path);
    else
        rc = understand(&in, reply, err);
    e = errno;
    close(fd);
    bytebuf_free(&in);
    errno = e;
    return rc;
}

int ctl_ask(const char *path, const char *verb, struct json_object **reply,
            int timeout_ms, struct errbuf *err)
{
    struct json_object *request = json_object_new_object();
    int rc;

    if (!request)
        return fail(err, ENOMEM, path);
    jsonx_add_str(request, "verb", verb);
    rc = ctl_call(path, request, reply, timeout_ms, err);
    json_object_put(request);
    return rc;
}
