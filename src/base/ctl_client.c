/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The client of control sockets: questions to one daemon, or to several at
 * once.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/bytebuf.h"
#include "base/clock.h"
#include "base/ctl.h"
#include "base/jsonx.h"
#include "base/local.h"

#define QUEUE_FULL_MS 5 /* until it is tried again */

/* One question on its way: what it waits for next. */
enum stage { CONNECTING, SENDING, READING, ENDED };
struct question {
    struct ctl_answer *to;
    enum stage stage;
    int fd;
    size_t sent; /* of the request and its newline */
    struct bytebuf in;
};

static void give_up(struct question *q, int code)
{
    errprintf(&q->to->why, "%s: %s", q->to->path, strerror(code));
    q->to->error = code;
    q->stage = ENDED;
}

/* EAGAIN: its queue is full. */
static void connect_on(struct question *q)
{
    q->fd = local_connect(q->to->path, SOCK_STREAM | SOCK_NONBLOCK, 0);
    if (q->fd >= 0)
        q->stage = SENDING;
    else if (errno != EAGAIN)
        give_up(q, errno);
}

static void send_on(struct question *q, const char *text, size_t len)
{
    while (q->stage == SENDING) {
        bool end = q->sent == len;
        ssize_t n = send(q->fd, end ? "\n" : text + q->sent,
                         end ? 1 : len - q->sent, MSG_NOSIGNAL);

        if (n > 0) {
            q->sent += (size_t)n;
            if (q->sent > len)
                q->stage = READING;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            give_up(q, errno);
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

/* Up to the end of a line. */
static void read_on(struct question *q)
{
    while (q->stage == READING) {
        uint8_t *room = bytebuf_room(&q->in, 65536);
        ssize_t n = room ? recv(q->fd, room, 65536, 0) : -1;

        if (!room) {
            give_up(q, EMSGSIZE);
        } else if (n == 0) {
            give_up(q, ECONNRESET);
        } else if (n > 0) {
            bytebuf_grow(&q->in, (size_t)n);
            if (!memchr(room, '\n', (size_t)n))
                continue;
            if (understand(&q->in, &q->to->reply, &q->to->why) < 0)
                q->to->error = errno;
            q->stage = ENDED;
        } else if (errno == EAGAIN) {
            return;
        } else if (errno != EINTR) {
            give_up(q, errno);
        }
    }
}

/* All that can be done for it without waiting; and what to wait for. */
static struct pollfd go_on(struct question *q, const char *text, size_t len)
{
    if (q->stage == CONNECTING)
        connect_on(q);
    if (q->stage == SENDING)
        send_on(q, text, len);
    if (q->stage == READING)
        read_on(q);
    return (struct pollfd){
        .fd = q->stage == SENDING || q->stage == READING ? q->fd : -1,
        .events = q->stage == SENDING ? POLLOUT : POLLIN};
}

static void go_on_all(struct question *q, size_t n, const char *text,
                      size_t len, int64_t end)
{
    struct pollfd waits[SF_CTL_ASK_MAX];

    for (;;) {
        bool open = false, full = false;
        int64_t left;

        for (size_t i = 0; i < n; i++) {
            waits[i] = go_on(&q[i], text, len);
            open = open || q[i].stage != ENDED;
            full = full || q[i].stage == CONNECTING;
        }
        left = end - clock_ms();
        if (!open || left <= 0)
            return;
        if (full && left > QUEUE_FULL_MS)
            left = QUEUE_FULL_MS;
        if (poll(waits, (nfds_t)n, (int)left) < 0 && errno != EINTR)
            return;
    }
}

/* request: borrowed; NULL: there was no memory for it. */
static void ask_all(struct ctl_answer *asked, size_t n,
                    struct json_object *request, int timeout_ms)
{
    int64_t end = clock_ms() + timeout_ms;
    struct question q[SF_CTL_ASK_MAX];
    size_t len = 0;
    const char *text = request ? jsonx_text(request, &len) : NULL;

    for (size_t i = 0; i < n; i++) {
        asked[i].reply = NULL;
        asked[i].error = 0;
        q[i] = (struct question){.to = &asked[i], .fd = -1};
        bytebuf_init(&q[i].in, SF_CTL_REPLY_MAX + 65536);
        if (!text)
            give_up(&q[i], ENOMEM);
    }
    go_on_all(q, n, text, len, end);
    for (size_t i = 0; i < n; i++) {
        if (q[i].stage != ENDED)
            give_up(&q[i], ETIMEDOUT);
        if (q[i].fd >= 0)
            close(q[i].fd);
        bytebuf_free(&q[i].in);
    }
}

void ctl_ask_all(struct ctl_answer *asked, size_t n, const char *verb,
                 int timeout_ms)
{
    struct json_object *request = json_object_new_object();

    if (request)
        jsonx_add_str(request, "verb", verb);
    ask_all(asked, n, request, timeout_ms);
    json_object_put(request);
}

static int one(const struct ctl_answer *a, struct json_object **reply,
               struct errbuf *err)
{
    *reply = a->reply;
    if (a->reply)
        return 0;
    errprintf(err, "%s", a->why.text);
    errno = a->error;
    return -1;
}

int ctl_call(const char *path, struct json_object *request,
             struct json_object **reply, int timeout_ms, struct errbuf *err)
{
    struct ctl_answer a = {.path = path};

    ask_all(&a, 1, request, timeout_ms);
    return one(&a, reply, err);
}

int ctl_ask(const char *path, const char *verb, struct json_object **reply,
            int timeout_ms, struct errbuf *err)
{
    struct ctl_answer a = {.path = path};

    ctl_ask_all(&a, 1, verb, timeout_ms);
    return one(&a, reply, err);
}
