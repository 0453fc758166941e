/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Listeners for reports and their connections: a 32-bit length and a report in
 * a credential, or under the key that such a one brought, in; one byte out.
 *
 * Anybody can connect.  A connection that no report was accepted from yet is a
 * stranger's; when there is no room the stranger that came first makes it, so
 * that idle connections keep no reporter out.  Strangers of an address that
 * sends nothing but bad reports are turned away for a while, and so is any
 * connection that has sent too many in a row.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/be.h"
#include "base/bytebuf.h"
#include "base/clerk.h"
#include "base/host_names.h"
#include "base/limits.h"
#include "base/local.h"
#include "base/netaddr.h"
#include "base/seal.h"
#include "base/sitedir.h"
#include "health/report_key.h"
#include "switchmgrd/collector.h"

/* ---- who may report ---------------------------------------------------- */

/* Who may report: a credential made by root or the service user on the node
 * that the report is about. */

enum verdict {
    ACCEPTED,
    REFUSED, /* of a reporter, who may be right next time */
    BAD      /* of nobody who may report, or no report */
};

/* What proves the reports of a connection: a credential, and what was proven
 * by it. */
struct proof {
    struct seal_info info;
    bool has_key;
    struct report_key key;
    int64_t since;     /* steady */
    struct told *last; /* the last that was accepted, if it is short; owned */
};

/* An accepted report, and what the model made of it. */
struct told {
    struct report report;
    struct model_word word;
};
/* What it takes of the proof it sets to NULL there. */
typedef void auth_done_f(enum verdict verdict, struct proof *proof, void *arg);

static enum verdict refuse(struct collector *n, uint64_t *counter,
                           const char *who, const char *why)
{
    char text[192];

    (*counter)++;
    snprintf(text, sizeof(text), "report of %.60s refused: %.110s", who, why);
    collector_events_alarm(text, steady_now(), n);
    return BAD;
}

/* A liar, or a node whose munged goes by another address than NodeAddr. */
static enum verdict refuse_host(struct collector *n, const char *who,
                                in_addr_t from, struct in_addr own)
{
    char a[INET_ADDRSTRLEN], b[INET_ADDRSTRLEN], why[128];

    inet_ntop(AF_INET, &from, a, sizeof(a));
    inet_ntop(AF_INET, &own, b, sizeof(b));
    snprintf(why, sizeof(why),
             "made on another host (%s, not %s; see Reporters in "
             "switchmgr.conf)",
             a, b);
    return refuse(n, &n->count.refused_host, who, why);
}

/* A mapper that is cut off goes on reporting: that is no alarm. */
static enum verdict not_taken(struct collector *n, const char *who,
                              const char *why)
{
    if (errno != EAGAIN)
        refuse(n, &n->count.refused_model, who, why);
    else
        n->count.refused_model++;
    return REFUSED;
}

/* The machine's own loopback is as good as its sockets in the file system. */
static bool is_here(struct in_addr from)
{
    return from.s_addr == 0 || from.s_addr == htonl(INADDR_LOOPBACK);
}

static enum verdict refuse_source(struct collector *n, const char *who,
                                  struct in_addr from, struct in_addr own)
{
    char a[INET_ADDRSTRLEN], b[INET_ADDRSTRLEN], why[160];

    inet_ntop(AF_INET, &from, a, sizeof(a));
    inet_ntop(AF_INET, &own, b, sizeof(b));
    snprintf(why, sizeof(why),
             "sent from another host (%s, not %s; see CheckSource in "
             "switchmgr.conf)",
             a, b);
    return refuse(n, &n->count.refused_host, who, why);
}

static bool listed(const char *list, const char *name)
{
    struct host_names names;
    bool found = false;

    if (!list || !*list)
        return true; /* no list: any */
    if (host_names_expand(&names, list, SF_ELAN_NODES_MAX, NULL) < 0)
        return false;
    for (uint32_t i = 0; i < names.n && !found; i++)
        found = strcmp(names.name[i], name) == 0;
    host_names_free(&names);
    return found;
}

static bool check_role(struct collector *n, const struct report *r)
{
    switch (r->from) {
    case REPORT_MAPPERD:
        return listed(n->conf.mapper_nodes, r->node);
    case REPORT_LINKS:
        return n->conf.link_nodes && listed(n->conf.link_nodes, r->node);
    case REPORT_HSND:
    case REPORT_NICD:
        break;
    }
    return true;
}

/* Into the model: by the short way if it says the same as what `word` is of. */
static int into_model(struct collector *n, const struct report *r,
                      struct model_word *word, bool again, struct errbuf *err)
{
    int64_t now = steady_now();

    if (again && model_again(n->model, r, word, now))
        return 0;
    return model_take(n->model, r, word, now, err);
}

/* info has the address at which the credential was made, as the munged there
 * says, and that node's root could have it say anything: so the report must
 * also have come from there (from).  What the model makes of it goes to *word;
 * again: *word has it already. */
static enum verdict take(struct collector *n, const struct report *r,
                         const struct seal_info *info, struct in_addr from,
                         struct model_word *word, bool again)
{
    struct collector_node *p = collector_node_find(n, r->node);
    struct in_addr own = {p ? collector_node_addr(p).s_addr : 0};
    struct errbuf err;

    if (info->uid != 0 && info->uid != n->service_uid &&
        (info->uid != n->mapper_uid || r->from != REPORT_MAPPERD))
        return refuse(n, &n->count.refused_uid, r->node,
                      "made by an ordinary user");
    if (own.s_addr == 0)
        return refuse(n, &n->count.refused_host, r->node,
                      "its address is not known");
    if (info->addr_be != own.s_addr)
        return refuse_host(n, r->node, info->addr_be, own);
    if (n->conf.check_source && !is_here(from) && from.s_addr != own.s_addr)
        return refuse_source(n, r->node, from, own);
    if (!check_role(n, r)) {
        errno = EPERM;
        return not_taken(n, r->node, "it may not report this");
    }
    if (into_model(n, r, word, again, &err) < 0)
        return not_taken(n, r->node, err.text);
    n->count.accepted++;
    return ACCEPTED;
}

/* A credential at munged, which may let one wait. */
struct opening {
    struct clerk_job job; /* first */
    struct collector *collector;
    auth_done_f *done;
    void *arg;
    char *cred, *munge_socket;
    struct in_addr from;
    struct seal_info info;
    struct errbuf err;
    void *text;
    size_t len;
    int rc;
};

static void opening_free(struct opening *o)
{
    if (!o)
        return;
    free(o->cred);
    free(o->munge_socket);
    free(o->text);
    free(o);
}

/* In the clerk's thread. */
static void ask_munged(struct clerk_job *job)
{
    struct opening *o = (struct opening *)job;

    o->rc = seal_open(&o->text, &o->len, &o->info, o->cred, o->munge_socket,
                      &o->err);
}

static void forget_last(struct proof *proof)
{
    if (proof->last)
        report_free(&proof->last->report);
    free(proof->last);
    proof->last = NULL;
}

/* Keep an accepted one, whose contents are taken over. */
static void keep_last(struct proof *proof, struct told *t, size_t len)
{
    forget_last(proof);
    if (len <= SF_REPORT_KEPT_MAX && (proof->last = malloc(sizeof(*t))))
        *proof->last = *t;
    else
        report_free(&t->report);
}

/* A report's text, by whose word it counts; a key in it goes to the proof. */
static enum verdict take_text(struct collector *n, const char *text, size_t len,
                              struct proof *proof, struct in_addr from)
{
    enum verdict verdict;
    struct told t;
    struct errbuf err;

    if (report_decode(&t.report, text, len, &err) < 0)
        return refuse(n, &n->count.malformed, "somebody", err.text);
    if (t.report.has_key &&
        !proof->has_key) { /* only a credential brings one */
        proof->has_key = true;
        report_key_set(&proof->key, t.report.key);
    }
    verdict = take(n, &t.report, &proof->info, from, &t.word, false);
    if (verdict == ACCEPTED)
        keep_last(proof, &t, len);
    else
        report_free(&t.report);
    return verdict;
}

/* What the last one said, once more. */
static enum verdict take_again(struct collector *n, uint64_t seq,
                               struct proof *proof, struct in_addr from)
{
    struct told *t = proof->last;

    if (!t)
        return refuse(n, &n->count.malformed, "somebody",
                      "the same as a report that is not known");
    t->report.seq = seq & INT64_MAX;
    return take(n, &t->report, &proof->info, from, &t->word, true);
}

static enum verdict take_opened(struct opening *o, struct proof *proof)
{
    struct collector *n = o->collector;

    if (o->rc < 0)
        return refuse(n, &n->count.refused_munge, "somebody", o->err.text);
    if (o->info.replayed || o->info.expired)
        return refuse(n, &n->count.refused_munge, "somebody",
                      o->info.replayed ? "a credential seen before"
                                       : "too old");
    *proof = (struct proof){.info = o->info, .since = steady_now()};
    return take_text(n, o->text, o->len, proof, o->from);
}

static void answered(struct clerk_job *job, bool cancelled)
{
    struct opening *o = (struct opening *)job;
    auth_done_f *done = o->done;
    void *arg = o->arg;
    struct proof proof = {.has_key = false};
    enum verdict verdict = cancelled ? REFUSED : take_opened(o, &proof);

    opening_free(o);
    if (!cancelled && done)
        done(verdict, &proof, arg);
    forget_last(&proof);
}

/* Have munged open a credential beside the loop: one that hangs holds up
 * reports and nothing else.  `from` is the address that it was sent from, 0
 * when it was sent on this machine.  done() tells what became of the report,
 * unless the asker forgot it.  NULL: too many wait, or no memory. */
static struct opening *auth_ask(struct collector *n, const char *cred,
                                size_t len, struct in_addr from,
                                auth_done_f *done, void *arg)
{
    struct opening *o = calloc(1, sizeof(*o));

    if (!o)
        return NULL;
    *o = (struct opening){.job = {ask_munged, answered, NULL},
                          .collector = n,
                          .from = from,
                          .done = done,
                          .arg = arg};
    o->cred = strndup(cred, len);
    if (n->conf.munge_socket)
        o->munge_socket = strdup(n->conf.munge_socket);
    if (o->cred && (o->munge_socket || !n->conf.munge_socket) &&
        clerk_give(n->clerk, &o->job) == 0) {
        n->count.credentials++;
        return o;
    }
    opening_free(o);
    return NULL;
}

static void auth_forget(struct opening *o)
{
    o->done = NULL;
}

/* ---- listeners and their connections ----------------------------------- */

/* What the source of a connection is, above its 32 bits. */
#define OF_NOBODY 1ull /* gone before it was asked */
#define OF_ADDRESS 2ull
#define OF_USER 3ull
#define KEY_MS (SF_REPORT_KEY_SECONDS * 1000ll)

struct conn {
    struct collector *collector;
    ev_io io;
    ev_timer timer; /* runs while a report is half here */
    struct bytebuf rx;
    struct opening *asked; /* munged, for a report of this connection */
    struct proof proof;    /* the last that brought a key */
    int fd;
    uint64_t source; /* for offenders; 0: root and the service user, here */
    unsigned bad;    /* reports in a row */
    bool stranger;
    TAILQ_ENTRY(conn) link; /* of strangers */
};

static void conn_free(struct conn *c)
{
    ev_io_stop(c->collector->loop, &c->io);
    ev_timer_stop(c->collector->loop, &c->timer);
    if (c->stranger)
        TAILQ_REMOVE(&c->collector->strangers, c, link);
    if (c->asked)
        auth_forget(c->asked);
    forget_last(&c->proof);
    c->collector->nconns--;
    close(c->fd);
    bytebuf_free(&c->rx);
    free(c);
}

static void on_stall(struct ev_loop *loop, ev_timer *w, int events)
{
    conn_free(w->data);
}

static bool take_next(struct conn *c);

static bool is_heard(const struct collector *n, uint64_t source)
{
    return source == 0 ||
           offenders_may_send(&n->offenders, source, steady_now());
}

/* A reporter's connection is heard whatever else comes from its address: other
 * users there do not silence it. */
static bool is_shut_out(const struct conn *c)
{
    return c->bad >= SF_SWITCHMGR_BAD_MAX ||
           (c->stranger && !is_heard(c->collector, c->source));
}

static void name_source(uint64_t source, char *text, size_t size)
{
    struct in_addr a = {(in_addr_t)source};
    char addr[INET_ADDRSTRLEN];

    if (source >> 32 == OF_USER)
        snprintf(text, size, "uid %u", (unsigned)(uint32_t)source);
    else
        snprintf(text, size, "%s", inet_ntop(AF_INET, &a, addr, sizeof(addr)));
}

static void count_bad(struct conn *c)
{
    struct collector *n = c->collector;
    char text[128], who[INET_ADDRSTRLEN];

    c->bad++;
    if (c->source == 0 ||
        !offenders_count(&n->offenders, c->source, steady_now()))
        return;
    name_source(c->source, who, sizeof(who));
    snprintf(text, sizeof(text),
             "too many bad reports from %s: not heard for now", who);
    collector_events_alarm(text, steady_now(), n);
}

static void count(struct conn *c, enum verdict verdict)
{
    if (verdict == BAD) {
        count_bad(c);
        return;
    }
    c->bad = 0;
    if (verdict == ACCEPTED && c->stranger) {
        TAILQ_REMOVE(&c->collector->strangers, c, link);
        c->stranger = false;
    }
}

/* Who does not read its answers loses the connection: false. */
static bool answer(struct conn *c, char how)
{
    return send(c->fd, &how, 1, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
}

static void on_answer(enum verdict verdict, struct proof *proof, void *arg)
{
    struct conn *c = arg;
    bool key = verdict == ACCEPTED && proof->has_key;

    c->asked = NULL;
    count(c, verdict);
    if (verdict == ACCEPTED) {
        forget_last(&c->proof);
        if (key)
            c->proof = *proof;
        else
            c->proof.last = proof->last;
        proof->last = NULL;
    }
    if (!answer(c, key                   ? 'K'
                   : verdict == ACCEPTED ? 'A'
                                         : 'R') ||
        !take_next(c))
        conn_free(c);
}

static struct in_addr address_of(uint64_t source)
{
    return (struct in_addr){source >> 32 == OF_ADDRESS ? (in_addr_t)source : 0};
}

/* The next is read when this one is answered. */
static bool ask_for(struct conn *c, const uint8_t *text, size_t len)
{
    ev_io_stop(c->collector->loop, &c->io);
    ev_timer_stop(c->collector->loop, &c->timer);
    c->asked = auth_ask(c->collector, (const char *)text, len,
                        address_of(c->source), on_answer, c);
    return c->asked != NULL;
}

static bool refuse_key(struct conn *c)
{
    struct collector *n = c->collector;

    refuse(n, &n->count.refused_key, "somebody",
           c->proof.has_key ? "not under the key of its connection"
                            : "under a key that nobody brought");
    count_bad(c);
    return false;
}

/* Is it a report under the connection's key, which is as good as the credential
 * that brought it, for an hour? */
static bool is_keyed(struct proof *proof, const uint8_t *text, size_t len)
{
    return proof->has_key && steady_now() - proof->since <= KEY_MS &&
           report_key_check(&proof->key, text, len);
}

static bool take_keyed(struct conn *c, const uint8_t *text, size_t len)
{
    struct in_addr from = address_of(c->source);
    enum verdict verdict;

    if (!is_keyed(&c->proof, text, len))
        return refuse_key(c);
    if (len == REPORT_AGAIN_SIZE + REPORT_TAG_SIZE)
        verdict = take_again(c->collector, be_load64(text), &c->proof, from);
    else
        verdict = take_text(c->collector, (const char *)text,
                            len - REPORT_TAG_SIZE, &c->proof, from);
    count(c, verdict);
    return answer(c, verdict == ACCEPTED ? 'A' : 'R');
}

static bool take_one(struct conn *c, const uint8_t *text, size_t len,
                     bool keyed)
{
    if (is_shut_out(c)) {
        c->collector->count.turned_away++;
        return false;
    }
    return keyed ? take_keyed(c, text, len) : ask_for(c, text, len);
}

/* Wait for the rest of a report. */
static void await_more(struct conn *c)
{
    ev_io_start(c->collector->loop, &c->io);
    if (bytebuf_len(&c->rx) == 0) {
        bytebuf_free(&c->rx); /* thousands of idle ones cost nothing */
        ev_timer_stop(c->collector->loop, &c->timer);
    } else {
        ev_timer_again(c->collector->loop, &c->timer);
    }
}

/* Take the reports at the front of at[0..len) that are whole, until one has to
 * wait for munged; *used are their bytes.  False: the connection is of no more
 * use. */
static bool take_whole(struct conn *c, const uint8_t *at, size_t have,
                       size_t *used)
{
    *used = 0;
    while (!c->asked && have - *used >= 4) {
        uint32_t head = be_load32(at + *used);
        size_t len = head & ~REPORT_KEYED;

        if (len == 0 || len > SF_REPORT_CREDENTIAL_MAX)
            return false;
        if (have - *used < 4 + len)
            break;
        if (!take_one(c, at + *used + 4, len, (head & REPORT_KEYED) != 0))
            return false;
        *used += 4 + len;
    }
    return true;
}

static bool take_next(struct conn *c)
{
    size_t used;

    if (!take_whole(c, bytebuf_data(&c->rx), bytebuf_len(&c->rx), &used))
        return false;
    bytebuf_consume(&c->rx, used);
    if (!c->asked)
        await_more(c);
    return true;
}

/* Most come whole and alone: these are taken from where they were read, and
 * only what is left over is kept. */
static bool take_read(struct conn *c, const uint8_t *some, size_t len)
{
    size_t used = 0;

    if (bytebuf_len(&c->rx) == 0 && !take_whole(c, some, len, &used))
        return false;
    if (used < len)
        bytebuf_add(&c->rx, some + used, len - used);
    return !c->rx.bad && take_next(c);
}

/* A part of a map has a quarter of a megabyte, and a turn of the loop hears all
 * reporters: so a reporter is read until there is no more, up to so many times.
 * A stranger is read once. */
#define READS_MAX 16

static void on_readable(struct ev_loop *loop, ev_io *w, int events)
{
    struct conn *c = w->data;
    uint8_t some[16384];
    ssize_t n = sizeof(some);

    for (int i = c->stranger ? 1 : READS_MAX;
         i > 0 && n == (ssize_t)sizeof(some) && !c->asked; i--) {
        n = recv(c->fd, some, sizeof(some), 0);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0 || !take_read(c, some, (size_t)n)) {
            conn_free(c);
            return;
        }
    }
}

/* Whose it is; 0: a source without a limit. */
static uint64_t source_of(const struct collector *n, int fd)
{
    struct sockaddr_storage sa = {0};
    socklen_t len = sizeof(sa), clen = sizeof(struct ucred);
    struct ucred peer;

    if (getpeername(fd, (struct sockaddr *)&sa, &len) == 0 &&
        sa.ss_family == AF_INET)
        return OF_ADDRESS << 32 |
               ((const struct sockaddr_in *)&sa)->sin_addr.s_addr;
    if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &clen) < 0)
        return OF_NOBODY << 32;
    if (peer.uid == 0 || peer.uid == n->service_uid ||
        peer.uid == n->mapper_uid)
        return 0;
    return OF_USER << 32 | peer.uid;
}

static struct conn *make_conn(struct collector *n, int fd, uint64_t source)
{
    struct conn *c;

    if (n->nconns >= n->conns_max && !TAILQ_EMPTY(&n->strangers))
        conn_free(TAILQ_FIRST(&n->strangers));
    c = n->nconns < n->conns_max ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return NULL;
    c->collector = n;
    c->fd = fd;
    c->source = source;
    c->stranger = true;
    TAILQ_INSERT_TAIL(&n->strangers, c, link);
    bytebuf_init(&c->rx, SF_REPORT_CREDENTIAL_MAX + 4 + 16384);
    ev_io_init(&c->io, on_readable, fd, EV_READ);
    ev_init(&c->timer, on_stall);
    ev_set_priority(&c->timer, EV_MINPRI); /* after what a long turn kept */
    c->timer.repeat = SF_SWITCHMGR_STALL_SECONDS;
    c->io.data = c->timer.data = c;
    n->nconns++;
    n->count.connections++;
    return c;
}

/* All connections are reporters', or there is no memory. */
static void turn_away(struct collector *n, int fd)
{
    char text[256];

    n->count.turned_away++;
    close(fd);
    if (n->nconns < n->conns_max)
        return;
    snprintf(text, sizeof(text),
             "SF-E710: a reporter is left out: all %u connections that the "
             "limit on descriptors allows are other reporters'; raise "
             "LimitNOFILE of switchmgrd.service",
             n->conns_max);
    collector_events_alarm(text, steady_now(), n);
}

/* False: nobody is there. */
static bool take_in(struct collector *n, ev_io *w)
{
    int fd = accept_or_shed(w->fd, &n->spare);
    struct conn *c;
    uint64_t source;

    if (fd < 0)
        return false;
    source = source_of(n, fd);
    if (!is_heard(n, source)) { /* before it sends us a megabyte */
        n->count.turned_away++;
        close(fd);
        return true;
    }
    c = make_conn(n, fd, source);
    if (!c) {
        turn_away(n, fd);
        return true;
    }
    if (w == &n->tcp.io)
        netaddr_keep_alive(fd, SF_SILENCE);
    ev_io_start(n->loop, &c->io);
    return true;
}

/* The more reporters have their say in a turn of the loop, the longer it is: a
 * part of as many come in, so that thousands need some hundred turns. */
#define CONNS_PER_NEW 16

static void on_connect(struct ev_loop *loop, ev_io *w, int events)
{
    struct collector *n = w->data;

    for (uint32_t left = 1 + n->nconns / CONNS_PER_NEW; left > 0; left--) {
        if (!take_in(n, w))
            return;
    }
}

static void start(struct collector *n, struct collector_listener *l, int fd)
{
    l->fd = fd;
    ev_io_init(&l->io, on_connect, fd, EV_READ);
    l->io.data = n;
}

/* Until the nodes' addresses are known every report would be refused: those
 * who come early wait in the kernel's queue. */
void collector_reports_start(struct collector *n)
{
    if (n->tcp.fd > 0 && !ev_is_active(&n->tcp.io))
        ev_io_start(n->loop, &n->tcp.io);
    if (n->unix_.fd > 0 && !ev_is_active(&n->unix_.io))
        ev_io_start(n->loop, &n->unix_.io);
}

static int open_tcp(struct collector *n, const char *text, struct errbuf *err)
{
    struct sockaddr_in sa;
    int one = 1, fd;

    if (collector_address("Listen", text, SF_REPORT_PORT, &sa, err) < 0)
        return -1;
    fd = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return errprintf(err, "Listen: %m");
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (bind(fd, (struct sockaddr *)&sa, sizeof(sa)) < 0 ||
        listen(fd, 4096) < 0) {
        errprintf(err, "Listen: %s: %m", text);
        close(fd);
        return -1;
    }
    start(n, &n->tcp, fd);
    return 0;
}

/* In the directory of the collector's user, where root may not write when its
 * unit leaves it no right beside those to become that user. */
static int listen_as_user(const struct collector *n, const char *path)
{
    const char *user = n->conf.user;
    struct passwd *pw = user && *user ? getpwnam(user) : NULL;
    int fd, e;

    if (!pw || geteuid() != 0 || seteuid(pw->pw_uid) < 0)
        return errno = EACCES, -1;
    fd = local_listen(path, SOCK_STREAM);
    e = errno;
    if (seteuid(0) == 0)
        return errno = e, fd;
    e = errno;
    if (fd >= 0)
        close(fd);
    return errno = e, -1;
}

static int open_unix(struct collector *n, const char *path, struct errbuf *err)
{
    int fd = local_listen(path, SOCK_STREAM);

    if (fd < 0 && errno == EACCES)
        fd = listen_as_user(n, path);

    if (fd < 0)
        return errprintf(err, "ReportSocket: %s: %m", path);
    start(n, &n->unix_, fd);
    return 0;
}

/* Of so many descriptors some are for other things. */
static uint32_t conns_that_fit(size_t fds)
{
    if (fds < 2 * SF_SWITCHMGR_FDS_OTHER)
        return (uint32_t)fds / 2;
    fds -= SF_SWITCHMGR_FDS_OTHER;
    return fds < SF_SWITCHMGR_CONNS_MAX ? (uint32_t)fds
                                        : SF_SWITCHMGR_CONNS_MAX;
}

int collector_reports_open(struct collector *n, struct errbuf *err)
{
    const char *tcp = n->conf.listen, *local = n->conf.report_socket;
    char any[16];

    TAILQ_INIT(&n->strangers);
    offenders_init(&n->offenders);
    n->conns_max = conns_that_fit(accept_room());
    snprintf(any, sizeof(any), ":%d", SF_REPORT_PORT);
    if ((!tcp || *tcp) && open_tcp(n, tcp ? tcp : any, err) < 0)
        return -1;
    if (local && !*local)
        return 0;
    return open_unix(n, local ? local : SITEDIR_RUN(MGRCONF_REPORTS), err);
}
