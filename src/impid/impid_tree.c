/* SPDX-License-Identifier: BSD-3-Clause */
#include "impid/impid_tree.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/tcp_peer.h"
#include "impi/agent_tree.h"
#include "impi/hostaddr.h"
#include "impid/impid.h"
#include "impid/impid_opening.h"
#include "impid/out_queue.h"

/* ---- one child --------------------------------------------------------- */

#define READ_SIZE 16384

struct tree_child {
    struct impid_tree *tree;
    int fd; /* -1: not attached */
    ev_io read, write;
    struct bytebuf in;
    struct out_queue out;
    uint32_t had; /* MERGED frames */
};

static struct ev_loop *loop_of(const struct impid_tree *t)
{
    return t->impid->loop;
}

/* What the agent waited for may have happened. */
static void stop_again(struct impid_tree *t)
{
    if (t->end != TREE_STAYS)
        ev_idle_start(loop_of(t), &t->impid->stop);
}

static uint32_t child_agent(const struct tree_child *c)
{
    return c->tree->first + (uint32_t)(c - c->tree->children);
}

/* After each call of agent_merge: rc is what it said. */
static void merged(struct impid_tree *t, int rc)
{
    uint64_t due = agent_merge_due(t->merge), now = (uint64_t)clock_ms();

    if (rc < 0)
        impid_fail(t->impid, 319, 1, NULL, "node %s: what goes up the tree: %s",
                   t->impid->node_name, strerror(ENOMEM));
    ev_timer_stop(loop_of(t), &t->hold);
    if (due == UINT64_MAX)
        return;
    ev_timer_set(&t->hold, due > now ? (double)(due - now) / 1000. : 0., 0.);
    ev_timer_start(loop_of(t), &t->hold);
}

/* Is it among what the parent has sent and we have not yet taken? */
static bool bye_waits(const struct impid_stream *s)
{
    struct bytebuf all;
    struct agent_msg m = {.type = 0};
    struct errbuf err;
    int unread = 0;
    uint8_t *room;
    ssize_t n;

    ioctl(s->fd, FIONREAD, &unread);
    bytebuf_init(&all, SIZE_MAX / 2);
    bytebuf_add(&all, bytebuf_data(&s->in), bytebuf_len(&s->in));
    room = unread > 0 ? bytebuf_room(&all, (size_t)unread) : NULL;
    n = room ? recv(s->fd, room, (size_t)unread, MSG_DONTWAIT | MSG_PEEK) : 0;
    if (n > 0)
        bytebuf_grow(&all, (size_t)n);
    while (m.type != AGENT_BYE &&
           (n = agent_msg_decode(&m, bytebuf_data(&all), bytebuf_len(&all),
                                 &err)) > 0)
        bytebuf_consume(&all, (size_t)n);
    bytebuf_free(&all);
    return m.type == AGENT_BYE;
}

/* Before anything may go to the parent.  An agent that stood still (a process
 * that was stopped, a machine without processors) must not write to one that
 * has left meanwhile, and said so. */
static void look_for_bye(struct impid_tree *t)
{
    if (t->stream.loop && t->stream.fd >= 0 && !t->parted &&
        bye_waits(&t->stream))
        merged(t, agent_merge_parent(t->merge, false));
}

static void child_close(struct tree_child *c)
{
    if (c->fd < 0)
        return;
    ev_io_stop(loop_of(c->tree), &c->read);
    ev_io_stop(loop_of(c->tree), &c->write);
    close(c->fd);
    c->fd = -1;
    out_free(&c->out);
    bytebuf_free(&c->in);
    merged(c->tree, agent_merge_gone(c->tree->merge, child_agent(c)));
    stop_again(c->tree);
}

static void child_name(const struct tree_child *c, char *name, size_t size)
{
    impid_conf_node_name(&c->tree->impid->conf, child_agent(c), name, size);
}

static void child_breaks_rules(struct tree_child *c, const char *why)
{
    struct impid *a = c->tree->impid;
    char name[SF_AGENT_NODE_MAX];

    child_name(c, name, sizeof(name));
    impid_fail(a, 327, 1, NULL,
               "node %s: the agent on node %s, which is below it: %s",
               a->node_name, name, why);
    child_close(c);
}

/* BYE: it has no more to say. */
static void child_frame(struct tree_child *c, const struct agent_msg *m)
{
    struct impid_tree *t = c->tree;
    struct errbuf err;
    int rc;

    if (m->type == AGENT_BYE) {
        child_close(c);
        return;
    }
    if (m->type != AGENT_MERGED) {
        child_breaks_rules(c, "it sent an unexpected frame");
        return;
    }
    c->had++;
    rc = agent_merge_child(t->merge, child_agent(c), &m->merged,
                           (uint64_t)clock_ms(), &err);
    merged(t, 0);
    if (rc < 0)
        child_breaks_rules(c, err.text);
}

static void child_frames(struct tree_child *c)
{
    struct agent_msg msg;
    struct errbuf err;
    ssize_t n = 1;

    while (c->fd >= 0 && n > 0) {
        n = agent_msg_decode(&msg, bytebuf_data(&c->in), bytebuf_len(&c->in),
                             &err);
        if (n > 0)
            child_frame(c, &msg);
        if (n > 0 && c->fd >= 0)
            bytebuf_consume(&c->in, (size_t)n);
    }
    if (n < 0)
        child_breaks_rules(c, err.text);
}

/* False: nothing more can be read now.  Of a child that is lost impi-server
 * hears by itself. */
static bool child_read(struct tree_child *c)
{
    uint8_t *room = bytebuf_room(&c->in, READ_SIZE);
    ssize_t n;

    if (!room) {
        child_breaks_rules(c, strerror(ENOMEM));
        return false;
    }
    n = recv(c->fd, room, READ_SIZE, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return false;
    if (n <= 0) {
        child_close(c);
        return false;
    }
    bytebuf_grow(&c->in, (size_t)n);
    child_frames(c);
    return c->fd >= 0;
}

static void on_child_readable(struct ev_loop *loop, ev_io *io, int revents)
{
    struct tree_child *c = io->data;

    look_for_bye(c->tree);
    child_read(c);
}

/* When the connection is broken the reading side says so. */
static void child_flush(struct tree_child *c)
{
    if (out_flush(&c->out, c->fd) < 0)
        out_free(&c->out);
    if (c->out.bytes > 0) {
        ev_io_start(loop_of(c->tree), &c->write);
        return;
    }
    ev_io_stop(loop_of(c->tree), &c->write);
    stop_again(c->tree);
}

static void on_child_writable(struct ev_loop *loop, ev_io *io, int revents)
{
    child_flush(io->data);
}

static void child_send(struct tree_child *c, struct chunk *frame)
{
    char name[SF_AGENT_NODE_MAX];

    if (out_add(&c->out, frame) == 0) {
        child_flush(c);
        return;
    }
    child_name(c, name, sizeof(name));
    impid_fail(c->tree->impid, 326, 1, NULL,
               "node %s cannot pass a result on to node %s: %s",
               c->tree->impid->node_name, name,
               errno == ENOBUFS ? "it does not read" : strerror(errno));
    child_close(c);
}

static void child_seat(struct impid_tree *t, uint32_t agent, int fd)
{
    struct tree_child *c = &t->children[agent - t->first];

    c->fd = fd;
    c->had = 0;
    out_init(&c->out, SF_AGENT_OUT_MAX);
    bytebuf_init(&c->in, SF_AGENT_FRAME_MAX + AGENT_HEADER_SIZE + READ_SIZE);
    agent_merge_attached(t->merge, agent);
    ev_io_init(&c->read, on_child_readable, fd, EV_READ);
    ev_io_init(&c->write, on_child_writable, fd, EV_WRITE);
    c->read.data = c->write.data = c;
    ev_io_start(loop_of(t), &c->read);
    log_debug("agent %u has attached", agent);
}

/* ---- those who come ---------------------------------------------------- */

struct tree_guest {
    struct guest guest; /* first: tcp_peer_choose() gives it */
    struct impid_tree *tree;
    int fd;
    ev_io io;
    struct impi_chan_open open;
};

static void guest_remove(struct tree_guest *g)
{
    guests_leave(&g->tree->guests, &g->guest);
    impi_chan_open_wipe(&g->open);
    ev_io_stop(loop_of(g->tree), &g->io);
    free(g);
}

static void guest_drop(struct tree_guest *g)
{
    close(g->fd);
    guest_remove(g);
}

static uint32_t check_guest(void *arg, const struct impi_chan_id *id)
{
    const struct impid_tree *t = arg;

    if (id->role != IMPI_CHAN_AGENT_AGENT)
        return IMPI_CHAN_REFUSE_ROLE;
    if (id->to != t->impid->conf.node)
        return IMPI_CHAN_REFUSE_TO;
    if (id->from < t->first || id->from - t->first >= t->nchildren)
        return IMPI_CHAN_REFUSE_FROM;
    return t->children[id->from - t->first].fd >= 0 ? IMPI_CHAN_REFUSE_TWICE
                                                    : IMPI_CHAN_ACCEPT;
}

static void on_guest(struct ev_loop *loop, ev_io *io, int revents)
{
    struct tree_guest *g = io->data;
    struct errbuf err = {""};
    int rc;

    g->guest.spoke = true;
    rc = impid_opening_run(g->fd, &g->open, &err);
    if (rc > 0) {
        child_seat(g->tree, g->open.id.from, g->fd);
        guest_remove(g);
    } else if (rc < 0) {
        log_debug("the tree refuses a connection: %s", err.text);
        guest_drop(g);
    }
}

static void guest_enter(struct impid_tree *t, int fd)
{
    struct tree_guest *g = calloc(1, sizeof(*g));
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    int one = 1;

    if (!g || mac_random(nonce, sizeof(nonce)) < 0 ||
        guests_enter(&t->guests, &g->guest, fd) < 0) {
        close(fd);
        free(g);
        return;
    }
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(fd, SF_SILENCE);
    g->tree = t;
    g->fd = fd;
    impi_chan_open_accept(&g->open, t->impid->conf.secret, nonce, check_guest,
                          t);
    ev_io_init(&g->io, on_guest, fd, EV_READ);
    g->io.data = g;
    ev_io_start(loop_of(t), &g->io);
}

static void on_accept(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_tree *t = io->data;
    int fd = accept_or_shed(t->listener, &t->spare);

    if (fd < 0)
        return;
    guest_enter(t, fd);
    if (t->guests.n > SF_GUESTS_EXTRA + t->nchildren)
        guest_drop(
            (struct tree_guest *)tcp_peer_choose(&t->guests, &t->netlink));
}

static void close_listener(struct impid_tree *t)
{
    if (t->listener < 0)
        return;
    ev_io_stop(loop_of(t), &t->accept);
    close(t->listener);
    t->listener = -1;
    while (t->guests.n > 0)
        guest_drop((struct tree_guest *)t->guests.all[0]);
    guests_free(&t->guests);
    accept_spare_close(&t->spare);
    tcp_peer_close(&t->netlink);
}

/* Who cannot be reached is told nothing: its children hear from impi-server. */
static void listen_for_children(struct impid_tree *t)
{
    struct agent_msg m = {.type = AGENT_LISTENS};
    struct impid *a = t->impid;
    struct netaddr at = impi_hostaddr(a->host_addr, 0);

    t->children = calloc(t->nchildren, sizeof(*t->children));
    if (!t->children)
        return;
    for (uint32_t i = 0; i < t->nchildren; i++)
        t->children[i] = (struct tree_child){.tree = t, .fd = -1};
    t->listener = netaddr_listen(&at.ip, a->conf.site.port_lo,
                                 a->conf.site.port_hi, &m.at.port);
    if (t->listener < 0) {
        log_warn("cannot listen for other agents: %s", strerror(errno));
        return;
    }
    ev_io_init(&t->accept, on_accept, t->listener, EV_READ);
    t->accept.data = t;
    ev_io_start(a->loop, &t->accept);
    memcpy(m.at.addr, a->host_addr, sizeof(m.at.addr));
    impid_link_send(&a->link, &m);
}

/* ---- the parent -------------------------------------------------------- */

static void parent_name(const struct impid_tree *t, char *name, size_t size)
{
    impid_conf_node_name(&t->impid->conf, t->parent, name, size);
}

static void on_lost(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid_tree *t = w->data;
    char name[SF_AGENT_NODE_MAX];

    parent_name(t, name, sizeof(name));
    impid_fail(t->impid, 325, 1, NULL,
               "node %s: the agent on node %s, by which its results come, "
               "closed the connection",
               t->impid->node_name, name);
}

/* It has left in order: with all that we had sent. */
static void parent_left(struct impid_tree *t, bool unsent)
{
    char name[SF_AGENT_NODE_MAX];

    if (t->had_known ? t->had == t->sent : !unsent)
        return;
    parent_name(t, name, sizeof(name));
    impid_fail(t->impid, 325, 1, NULL,
               "node %s: the agent on node %s left before it had all that "
               "goes by it",
               t->impid->node_name, name);
}

/* An agent that dies is missed by impi-server, which says more. */
static void on_parent_closed(struct impid_stream *s, void *arg, int error)
{
    struct impid_tree *t = arg;
    bool unsent = bytebuf_len(&s->out) > 0;

    impid_stream_close(s);
    if (t->impid->stopping)
        return;
    if (t->parted) {
        parent_left(t, unsent);
        return;
    }
    log_warn("the parent in the tree: %s",
             error ? strerror(error) : "it closed the connection");
    ev_timer_set(&t->lost, SF_AGENT_PARENT_SECONDS, 0.);
    ev_timer_start(loop_of(t), &t->lost);
}

static void parent_breaks_rules(struct impid_tree *t, const char *why)
{
    char name[SF_AGENT_NODE_MAX];

    parent_name(t, name, sizeof(name));
    impid_stream_close(&t->stream);
    impid_fail(t->impid, 325, 1, NULL, "node %s: the agent on node %s: %s",
               t->impid->node_name, name, why);
}

static void say_bye(struct impid_stream *s)
{
    struct agent_msg m = {.type = AGENT_BYE};

    agent_msg_encode(&s->out, &m);
    impid_stream_send(s);
}

/* 0, or -1: the stream is closed. */
static int parent_frame(struct impid_tree *t, const struct agent_msg *m,
                        const void *frame, size_t len)
{
    if (m->type == AGENT_BYE && !t->parted) {
        t->parted = true;
        log_debug("agent %u has left the tree", t->parent);
        merged(t, agent_merge_parent(t->merge, false));
        say_bye(&t->stream);
        return t->stream.fd < 0 ? -1 : 0;
    }
    if (m->type == AGENT_LEAVE && t->parted) {
        t->had_known = true;
        t->had = m->number;
        return 0;
    }
    if (m->type != AGENT_SPREAD ||
        impid_tree_spread(t->impid, &m->spread, frame, len) < 0) {
        parent_breaks_rules(t, "it sent an unexpected frame");
        return -1;
    }
    return t->stream.fd < 0 ? -1 : 0;
}

static int on_parent_input(struct impid_stream *s, void *arg)
{
    struct impid_tree *t = arg;
    struct agent_msg msg;
    struct errbuf err;
    ssize_t n;

    while ((n = agent_msg_decode(&msg, bytebuf_data(&s->in),
                                 bytebuf_len(&s->in), &err)) > 0) {
        if (parent_frame(t, &msg, bytebuf_data(&s->in), (size_t)n) < 0)
            return -1;
        bytebuf_consume(&s->in, (size_t)n);
    }
    if (n == 0)
        return 0;
    parent_breaks_rules(t, err.text);
    return -1;
}

static const struct impid_stream_ops parent_ops = {on_parent_input,
                                                   on_parent_closed};

/* It does not matter why: impi-server goes on sending to us. */
static void attempt_over(struct impid_tree *t, const char *why)
{
    if (t->fd < 0)
        return;
    ev_io_stop(loop_of(t), &t->io);
    close(t->fd);
    t->fd = -1;
    impi_chan_open_wipe(&t->open);
    if (why)
        log_debug("not attached to agent %u: %s", t->parent, why);
}

static void attached(struct impid_tree *t)
{
    struct agent_msg m = {.type = AGENT_ATTACHED};
    int fd = t->fd;

    ev_io_stop(loop_of(t), &t->io);
    t->fd = -1;
    impi_chan_open_wipe(&t->open);
    impid_stream_open(&t->stream, loop_of(t), fd, SF_AGENT_FRAME_MAX,
                      &parent_ops, t);
    impid_link_send(&t->impid->link, &m);
    log_debug("results come by agent %u", t->parent);
    merged(t, agent_merge_parent(t->merge, true));
}

static int begin_opening(struct impid_tree *t, struct errbuf *err)
{
    struct impi_chan_id id = {.role = IMPI_CHAN_AGENT_AGENT,
                              .from = t->impid->conf.node,
                              .to = t->parent};
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    socklen_t len = sizeof(int);
    int error = 0;

    if (getsockopt(t->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (error)
        return impid_opening_closed(err, error);
    if (mac_random(nonce, sizeof(nonce)) < 0)
        return errprintf(err, "no random numbers");
    impi_chan_open_connect(&t->open, &id, t->impid->conf.secret, nonce);
    t->opening = true;
    ev_io_stop(loop_of(t), &t->io);
    ev_io_set(&t->io, t->fd, EV_READ);
    ev_io_start(loop_of(t), &t->io);
    return 0;
}

static void on_attempt(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_tree *t = io->data;
    struct errbuf err = {""};
    int rc = t->opening ? 0 : begin_opening(t, &err);

    if (rc == 0)
        rc = impid_opening_run(t->fd, &t->open, &err);
    if (rc > 0)
        attached(t);
    else if (rc < 0)
        attempt_over(t, err.text);
}

void impid_tree_parent(struct impid *a, const struct agent_at *at)
{
    struct impid_tree *t = &a->tree;
    struct netaddr to = impi_hostaddr(at->addr, at->port);
    int one = 1;

    if (t->fanout == 0 || !t->merge || t->fd >= 0 || t->stream.loop ||
        t->end != TREE_STAYS ||
        at->agent != agent_tree_parent(a->conf.node, t->fanout))
        return;
    t->parent = at->agent;
    t->fd = netaddr_open(&to.ip);
    if (t->fd < 0)
        return;
    setsockopt(t->fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(t->fd, SF_SILENCE);
    ev_io_init(&t->io, on_attempt, t->fd, EV_WRITE);
    t->io.data = t;
    if (netaddr_connect(t->fd, &to) == 0 || errno == EINPROGRESS)
        ev_io_start(a->loop, &t->io);
    else
        attempt_over(t, strerror(errno));
}

/* ---- results ----------------------------------------------------------- */

static void pass_on(struct impid_tree *t, const struct agent_spread *m,
                    struct chunk *frame)
{
    uint32_t n = 0;

    for (uint32_t i = 0; t->children && i < t->nchildren; i++) {
        if (t->children[i].fd < 0 ||
            !agent_set_reaches(m->set.data, t->first + i,
                               t->impid->conf.map.nnodes, t->fanout))
            continue;
        child_send(&t->children[i], frame);
        n++;
    }
    if (n > 0)
        log_debug("a result of %u bytes is passed on to %u agents",
                  m->frame.len, n);
}

/* for_us: else we learn only that the key is complete. */
static int take(struct impid *a, const struct agent_blob *frame, bool for_us)
{
    struct agent_msg msg;
    struct errbuf err;

    if (agent_msg_decode(&msg, frame->data, frame->len, &err) !=
            (ssize_t)frame->len ||
        msg.type != AGENT_GOT)
        return -1;
    if (for_us)
        impid_link_got(&a->link, &msg.got);
    else
        impid_tree_result(a, msg.got.key);
    return 0;
}

int impid_tree_spread(struct impid *a, const struct agent_spread *m,
                      const void *frame, size_t len)
{
    struct impid_tree *t = &a->tree;
    struct chunk *c;
    int rc = 0;

    if (t->fanout == 0 || m->set.len != AGENT_SET_SIZE(a->conf.map.nnodes))
        return -1;
    c = chunk_new(frame, len);
    if (c)
        pass_on(t, m, c);
    else
        impid_fail(a, 326, 1, NULL, "node %s cannot pass a result on: %s",
                   a->node_name, strerror(ENOMEM));
    chunk_release(c);
    t->spreads++;
    rc = take(a, &m->frame, agent_set_has(m->set.data, a->conf.node));
    stop_again(t);
    return rc;
}

/* ---- contributions ----------------------------------------------------- */

static void on_hold(struct ev_loop *loop, ev_timer *w, int revents)
{
    struct impid_tree *t = w->data;

    look_for_bye(t);
    merged(t, agent_merge_tick(t->merge, (uint64_t)clock_ms()));
}

static void send_up(void *arg, bool to_parent, const void *frame, size_t len)
{
    struct impid_tree *t = arg;

    if (to_parent) {
        t->sent++;
        impid_stream_write(&t->stream, frame, len);
        log_debug("contributions of %zu bytes go to agent %u", len, t->parent);
    } else {
        impid_link_write(&t->impid->link, frame, len);
        log_debug("contributions of %zu bytes go to impi-server", len);
    }
}

bool impid_tree_put(struct impid *a, const struct agent_put *put, bool gather,
                    const uint8_t *set)
{
    struct impid_tree *t = &a->tree;

    if (t->fanout == 0 || !t->merge)
        return false;
    look_for_bye(t);
    merged(t,
           agent_merge_put(t->merge, put, gather, set, (uint64_t)clock_ms()));
    return true;
}

void impid_tree_result(struct impid *a, const char *key)
{
    if (a->tree.fanout != 0 && a->tree.merge)
        agent_merge_forget(a->tree.merge, key);
}

static void given(void *arg, const char *key)
{
    struct impid_tree *t = arg;

    merged(t, agent_merge_given(t->merge, key));
}

/* ---- start and end ----------------------------------------------------- */

void impid_tree_start(struct impid *a, uint32_t fanout)
{
    struct impid_tree *t = &a->tree;

    if (t->fanout != 0 || fanout == 0)
        return;
    t->impid = a;
    t->fanout = fanout;
    t->fd = t->listener = -1;
    ev_timer_init(&t->lost, on_lost, 0., 0.);
    t->lost.data = t;
    ev_timer_init(&t->hold, on_hold, 0., 0.);
    t->hold.data = t;
    t->merge = agent_merge_create(a->conf.node, a->conf.map.nnodes, fanout,
                                  send_up, t);
    if (t->merge)
        impid_link_each_wait(&a->link, given, t);
    t->nchildren = agent_tree_children(a->conf.node, a->conf.map.nnodes, fanout,
                                       &t->first);
    if (t->nchildren > 0 && t->merge)
        listen_for_children(t);
}

void impid_tree_leave(struct impid *a, uint32_t spreads)
{
    a->tree.due = spreads;
    a->tree.due_known = true;
    stop_again(&a->tree);
}

static bool any_child(const struct impid_tree *t)
{
    for (uint32_t i = 0; t->children && i < t->nchildren; i++)
        if (t->children[i].fd >= 0)
            return true;
    return false;
}

static void child_tell(struct tree_child *c, const struct agent_msg *m)
{
    struct bytebuf b;
    struct chunk *chunk = NULL;

    bytebuf_init(&b, 64);
    if (agent_msg_encode(&b, m) == 0)
        chunk = chunk_new(bytebuf_data(&b), bytebuf_len(&b));
    bytebuf_free(&b);
    if (chunk)
        child_send(c, chunk);
    chunk_release(chunk);
}

static void part(struct impid_tree *t)
{
    struct agent_msg bye = {.type = AGENT_BYE};

    t->end = TREE_PARTED;
    for (uint32_t i = 0; i < t->nchildren; i++)
        if (t->children[i].fd >= 0)
            child_tell(&t->children[i], &bye);
}

/* It stands still: whenever it goes on it must know whether all has come. */
static void dismiss(struct tree_child *c)
{
    struct agent_msg m = {.type = AGENT_LEAVE};

    while (c->fd >= 0 && child_read(c))
        ;
    m.number = c->had;
    if (c->fd >= 0)
        child_tell(c, &m);
}

bool impid_tree_holds_back(struct impid *a)
{
    struct agent_msg m = {.type = AGENT_LEAVING};
    struct impid_tree *t = &a->tree;

    if (t->fanout == 0)
        return false;
    close_listener(t);
    if (t->merge)
        merged(t, agent_merge_leave(t->merge));
    if (a->failed || a->link.state != LINK_UP || !any_child(t))
        return false;
    if (t->end == TREE_STAYS) {
        t->end = TREE_ASKED;
        impid_link_send(&a->link, &m);
    }
    if (t->end == TREE_ASKED && t->due_known && t->spreads == t->due)
        part(t);
    return true;
}

/* impi-server may stand still, as srun does: what it sends later goes past us,
 * for it has read LEAVING by then. */
bool impid_tree_give_up(struct impid *a)
{
    struct impid_tree *t = &a->tree;
    struct agent_msg m = {.type = AGENT_LEAVE, .number = t->spreads};

    for (uint32_t i = 0; t->end == TREE_PARTED && i < t->nchildren; i++)
        dismiss(&t->children[i]);
    if (t->end != TREE_ASKED)
        return false;
    log_warn("impi-server does not say after what to leave: leaving");
    impid_link_send(&a->link, &m);
    part(t);
    return any_child(t);
}

void impid_tree_goodbye(struct impid *a)
{
    struct impid_tree *t = &a->tree;
    char name[SF_AGENT_NODE_MAX];

    if (t->fanout == 0 || !t->stream.loop || t->stream.fd < 0 || t->parted)
        return;
    say_bye(&t->stream);
    if (impid_stream_flush(&t->stream, 2) == 0 || a->failed)
        return;
    parent_name(t, name, sizeof(name));
    impid_fail(a, 325, 1, NULL,
               "node %s: the agent on node %s does not take what goes by it",
               a->node_name, name);
}

void impid_tree_stop(struct impid *a)
{
    struct impid_tree *t = &a->tree;

    if (t->fanout == 0)
        return;
    t->end = TREE_STAYS;
    close_listener(t);
    for (uint32_t i = 0; t->children && i < t->nchildren; i++)
        child_close(&t->children[i]);
    free(t->children);
    t->children = NULL;
    attempt_over(t, NULL);
    ev_timer_stop(a->loop, &t->lost);
    impid_stream_close(&t->stream);
    ev_timer_stop(a->loop, &t->hold);
    agent_merge_destroy(t->merge);
    t->merge = NULL;
}
