/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/guests.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/netaddr.h"
#include "impid/impid.h"

struct impid_link_wait {
    LIST_ENTRY(impid_link_wait) link;
    char key[SF_AGENT_KEY_MAX];
    impid_got_f *got;
    void *arg; /* NULL: forgotten */
};

static void try_over(struct impid_link *l)
{
    ev_timer_stop(l->impid->loop, &l->again);
    ev_io_stop(l->impid->loop, &l->io);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
    impi_chan_open_wipe(&l->open);
}

/* The link ends for good: what hangs on it can not go on. */
static void link_down(struct impid_link *l, const char *why)
{
    bool was_up = l->state == LINK_UP;

    if (l->state == LINK_DOWN)
        return;
    snprintf(l->error, sizeof(l->error), "%s", why);
    if (l->state == LINK_UP)
        impid_stream_close(&l->stream);
    if (l->state == LINK_CONNECTING || l->state == LINK_OPENING)
        try_over(l);
    l->state = LINK_DOWN;
    if (l->impid->stopping)
        return;
    log_warn("%s", why);
    if (was_up)
        impid_killed(l->impid, why);
    else
        impid_refuse_waiting(l->impid, why); /* others need no server */
    impid_link_settled(l->impid);
}

static struct impid_link_wait *find_wait(struct impid_link *l, const char *key)
{
    struct impid_link_wait *w;

    LIST_FOREACH(w, &l->waits, link)
    if (strcmp(w->key, key) == 0)
        return w;
    return NULL;
}

void impid_link_got(struct impid_link *l, const struct agent_got *got)
{
    struct impid_link_wait *w = find_wait(l, got->key);
    struct agent_blob *blobs;
    struct be_reader r;
    uint32_t n = 0;

    impid_tree_result(l->impid, got->key);
    if (!w) {
        log_debug("an answer that nobody waits for: %s", got->key);
        return;
    }
    LIST_REMOVE(w, link);
    blobs = calloc(got->count ? got->count : 1, sizeof(*blobs));
    if (blobs && w->arg) {
        agent_blobs_init(&r, got);
        while (n < got->count && agent_blobs_next(&r, &blobs[n]))
            n++;
        w->got(w->arg, blobs, n);
    }
    free(blobs);
    free(w);
}

/* frame[0..len): what it was decoded from. */
static void on_msg(struct impid_link *l, const struct agent_msg *msg,
                   const void *frame, size_t len)
{
    switch (msg->type) {
    case AGENT_GOT:
        impid_link_got(l, &msg->got);
        break;
    case AGENT_WORLD_AT:
        impid_speaker_world_at(l->impid, &msg->world_at);
        break;
    case AGENT_KILL:
        impid_killed(l->impid, msg->abort.text);
        break;
    case AGENT_SPAWNED:
        impid_proc_spawned(l->impid, &msg->spawn);
        break;
    case AGENT_ERROR:
        impid_fail(l->impid, 318, 1, NULL, "impi-server: %s", msg->text);
        break;
    case AGENT_TREE:
        impid_tree_start(l->impid, msg->number);
        break;
    case AGENT_PARENT:
        impid_tree_parent(l->impid, &msg->at);
        break;
    case AGENT_LEAVE:
        impid_tree_leave(l->impid, msg->number);
        break;
    case AGENT_SPREAD:
        if (impid_tree_spread(l->impid, &msg->spread, frame, len) < 0)
            link_down(l, "impi-server sent a malformed SPREAD");
        break;
    default:
        link_down(l, "impi-server sent an unexpected frame");
    }
}

static int on_input(struct impid_stream *s, void *arg)
{
    struct impid_link *l = arg;
    struct agent_msg msg;
    struct errbuf err;
    ssize_t n;

    while ((n = agent_msg_decode(&msg, bytebuf_data(&s->in),
                                 bytebuf_len(&s->in), &err)) > 0) {
        on_msg(l, &msg, bytebuf_data(&s->in), (size_t)n);
        if (l->state != LINK_UP)
            return -1;
        bytebuf_consume(&s->in, (size_t)n);
    }
    if (n == 0)
        return 0;
    link_down(l, err.text);
    return -1;
}

static void on_closed(struct impid_stream *s, void *arg, int error)
{
    char text[256];

    snprintf(text, sizeof(text), "SF-E321: lost impi-server: %s",
             error ? strerror(error) : "it closed the connection");
    link_down(arg, text);
}

static const struct impid_stream_ops stream_ops = {on_input, on_closed};

/* The channel is open: from now on frames; those made before first. */
static void link_up(struct impid_link *l)
{
    struct agent_msg job = {.type = AGENT_JOB}, holds;
    struct impid *a = l->impid;

    ev_io_stop(a->loop, &l->io);
    impi_chan_open_wipe(&l->open);
    impid_stream_open(&l->stream, a->loop, l->fd, SF_AGENT_FRAME_MAX,
                      &stream_ops, l);
    l->state = LINK_UP;
    job.job.agent = a->conf.node;
    job.job.agents = a->conf.map.nnodes;
    job.job.component = a->conf.component;
    memcpy(job.job.node, a->node_name, sizeof(job.job.node));
    agent_msg_encode(&l->stream.out, &job);
    impid_holds(&holds, a, NULL);
    agent_msg_encode(&l->stream.out, &holds);
    if (bytebuf_len(&l->early) > 0)
        bytebuf_add(&l->stream.out, bytebuf_data(&l->early),
                    bytebuf_len(&l->early));
    bytebuf_free(&l->early);
    impid_stream_send(&l->stream);
    log_debug("impi-server knows of %s", holds.text);
    impid_link_settled(a);
}

/* Before the proof was answered: nothing has been decided. */
static void closed_early(struct impid_link *l, const char *why)
{
    uint64_t random = 0;

    if (l->impid->stopping ||
        ev_now(l->impid->loop) - l->since > SF_RETRY_SECONDS) {
        link_down(l, why);
        return;
    }
    try_over(l);
    l->state = LINK_CONNECTING;
    mac_random(&random, sizeof(random));
    ev_timer_set(&l->again, guests_pause(++l->tries, random) / 1000., 0.);
    ev_timer_start(l->impid->loop, &l->again);
    log_debug("%s: again", why);
}

static int opening_send(struct impid_link *l)
{
    const uint8_t *data;
    size_t len;

    while ((len = impi_chan_open_output(&l->open, &data)) > 0) {
        ssize_t n = send(l->fd, data, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0)
            return errno == EAGAIN || errno == EINTR ? 0 : -1;
        impi_chan_open_sent(&l->open, (size_t)n);
    }
    return 0;
}

/* Read exactly what the opening wants, never more.  1: it was closed. */
static int opening_read(struct impid_link *l, struct errbuf *err)
{
    uint8_t buf[IMPI_CHAN_REPLY_SIZE];
    size_t want = impi_chan_open_want(&l->open);
    ssize_t n;

    if (want == 0)
        return 0;
    n = recv(l->fd, buf, want < sizeof(buf) ? want : sizeof(buf), MSG_DONTWAIT);
    if (n > 0)
        return impi_chan_open_input(&l->open, buf, (size_t)n, err);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    errprintf(err, "SF-E320: impi-server: %s",
              n < 0 ? strerror(errno) : "it closed the connection");
    return n == 0 || errno == ECONNRESET ? 1 : -1;
}

static void opening_step(struct impid_link *l)
{
    struct errbuf err = {"SF-E320: impi-server: cannot send"};
    int rc = opening_read(l, &err);

    if (rc == 0 && opening_send(l) < 0)
        rc = errno == EPIPE || errno == ECONNRESET ? 1 : -1;
    if (rc > 0)
        closed_early(l, err.text);
    else if (rc < 0)
        link_down(l, err.text);
    else if (impi_chan_open_done(&l->open))
        link_up(l);
}

static void connected(struct impid_link *l)
{
    struct impi_chan_id id = {IMPI_CHAN_AGENT_SERVER, 0, l->impid->conf.node,
                              0};
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];

    if (mac_random(nonce, sizeof(nonce)) < 0) {
        link_down(l, "no random numbers");
        return;
    }
    impi_chan_open_connect(&l->open, &id, l->impid->conf.secret, nonce);
    l->state = LINK_OPENING;
    ev_io_stop(l->impid->loop, &l->io);
    ev_io_set(&l->io, l->fd, EV_READ);
    ev_io_start(l->impid->loop, &l->io);
    opening_step(l);
}

static void connect_failed(struct impid_link *l, int error)
{
    char text[256];

    snprintf(text, sizeof(text), "SF-E320: cannot reach impi-server: %s",
             strerror(error));
    if (error == ECONNRESET)
        closed_early(l, text);
    else
        link_down(l, text);
}

static void on_io(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_link *l = io->data;
    socklen_t len = sizeof(int);
    int error = 0;

    if (l->state == LINK_OPENING) {
        opening_step(l);
        return;
    }
    if (getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error)
        connect_failed(l, error);
    else
        connected(l);
}

static void try_connect(struct impid_link *l)
{
    const struct netaddr *to = &l->impid->conf.server;
    int one = 1;

    l->fd = netaddr_open(&to->ip);
    if (l->fd < 0) {
        connect_failed(l, errno);
        return;
    }
    ev_io_init(&l->io, on_io, l->fd, EV_WRITE);
    l->io.data = l;
    setsockopt(l->fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one));
    netaddr_keep_alive(l->fd, SF_SILENCE);
    if (netaddr_connect(l->fd, to) == 0)
        connected(l);
    else if (errno == EINPROGRESS)
        ev_io_start(l->impid->loop, &l->io);
    else
        connect_failed(l, errno);
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    try_connect(w->data);
}

void impid_link_start(struct impid_link *l, struct impid *impid)
{
    l->impid = impid;
    bytebuf_init(&l->early, SF_AGENT_FRAME_MAX);
    l->state = LINK_CONNECTING;
    l->since = ev_now(impid->loop);
    ev_io_init(&l->io, on_io, -1, EV_WRITE);
    ev_timer_init(&l->again, on_again, 0., 0.);
    l->again.data = l;
    try_connect(l);
}

void impid_link_send(struct impid_link *l, const struct agent_msg *msg)
{
    if (l->state == LINK_DOWN)
        return;
    if (l->state != LINK_UP) {
        agent_msg_encode(&l->early, msg);
        return;
    }
    agent_msg_encode(&l->stream.out, msg);
    impid_stream_send(&l->stream);
}

void impid_link_write(struct impid_link *l, const void *frame, size_t len)
{
    if (l->state == LINK_DOWN)
        return;
    bytebuf_add(l->state == LINK_UP ? &l->stream.out : &l->early, frame, len);
    if (l->state == LINK_UP)
        impid_stream_send(&l->stream);
}

void impid_link_each_wait(const struct impid_link *l,
                          void (*each)(void *arg, const char *key), void *arg)
{
    const struct impid_link_wait *w;

    LIST_FOREACH(w, &l->waits, link)
    each(arg, w->key);
}

/* got: NULL, no answer comes. */
static void contribute(struct impid_link *l, const struct agent_put *p,
                       bool gather, const uint8_t *set, impid_got_f *got,
                       void *arg)
{
    struct agent_msg msg = {.type = gather ? AGENT_GATHER : AGENT_PUT,
                            .put = *p};
    struct impid_link_wait *w = got ? calloc(1, sizeof(*w)) : NULL;

    if ((got && !w) || p->blob.len > SF_AGENT_BLOB_MAX) {
        impid_fail(l->impid, 319, 1, NULL, "exchange of %s: %s", p->key,
                   got && !w ? strerror(ENOMEM) : "too large");
        free(w);
        return;
    }
    if (w) {
        memcpy(w->key, p->key, sizeof(w->key));
        w->got = got;
        w->arg = arg;
        LIST_INSERT_HEAD(&l->waits, w, link);
    }
    if (!impid_tree_put(l->impid, p, gather, set))
        impid_link_send(l, &msg);
}

static struct agent_put contribution(const char *key, uint32_t index,
                                     uint32_t expected, const void *blob,
                                     size_t len)
{
    struct agent_put p = {.index = index, .expected = expected};

    snprintf(p.key, sizeof(p.key), "%s", key);
    p.blob.data = blob;
    p.blob.len = len < UINT32_MAX ? (uint32_t)len : UINT32_MAX;
    return p;
}

void impid_link_put(struct impid_link *l, const char *key, uint32_t index,
                    uint32_t expected, const uint8_t *set, const void *blob,
                    size_t len, impid_got_f *got, void *arg)
{
    struct agent_put p = contribution(key, index, expected, blob, len);

    contribute(l, &p, false, set, got, arg);
}

void impid_link_gather(struct impid_link *l, const char *key, uint32_t index,
                       uint32_t expected, const uint8_t *set, const void *blob,
                       size_t len, impid_got_f *got, void *arg)
{
    struct agent_put p = contribution(key, index, expected, blob, len);

    contribute(l, &p, true, set, index == 0 ? got : NULL, arg);
}

void impid_link_forget(struct impid_link *l, const void *arg)
{
    struct impid_link_wait *w;

    LIST_FOREACH(w, &l->waits, link)
    if (w->arg == arg)
        w->arg = NULL;
}

void impid_link_stop(struct impid_link *l)
{
    struct agent_msg bye = {.type = AGENT_BYE};
    struct impid_link_wait *w;

    if (l->state == LINK_UP) {
        agent_msg_encode(&l->stream.out, &bye);
        impid_stream_flush(&l->stream, 2);
    }
    link_down(l, "stopped");
    while ((w = LIST_FIRST(&l->waits))) {
        LIST_REMOVE(w, link);
        free(w);
    }
    bytebuf_free(&l->early);
}
