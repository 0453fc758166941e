/* SPDX-License-Identifier: BSD-3-Clause
 * From native worlds to the one world.  When all local processes of a client
 * listen, their records go to the client's first host, the speaker, which
 * joins the clients (below) and spreads the world.
 *
 * Key "join.G.C", gathered by the first host, by host: u16 port for other
 * hosts, or 0; then per process u32 rank, u32 pid, 16 bytes address, u16 port,
 * u16 processors.  Key "world.G.C": the world from the speaker, nothing from
 * others. Key "fini.G.C": all local processes of a host have finished.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/be.h"
#include "base/guests.h"
#include "base/log.h"
#include "base/mac.h"
#include "base/seal.h"
#include "base/sealed.h"
#include "impi/derive.h"
#include "impi/join.h"
#include "impi/table.h"
#include "impid/impid.h"
#include "impid/impid_relay.h"

static void impid_speaker_start(struct impid_client *c,
                                const struct agent_blob *blobs, uint32_t n);
static void impid_speaker_fini(struct impid_client *c);

static struct impid *agent(const struct impid_client *c)
{
    return c->round->impid;
}

typedef void contribute_f(struct impid_link *link, const char *key,
                          uint32_t index, uint32_t expected, const uint8_t *set,
                          const void *blob, size_t len, impid_got_f *got,
                          void *arg);

static void contribute(struct impid_client *c, contribute_f *how,
                       const char *what, const void *blob, size_t len,
                       impid_got_f *got)
{
    char key[64];

    snprintf(key, sizeof(key), "%s.%u.%u", what, c->round->generation,
             c->number);
    how(&agent(c)->link, key, c->host, c->nhosts, c->agents, blob, len, got, c);
}

static void client_put(struct impid_client *c, const char *what,
                       const void *blob, size_t len, impid_got_f *got)
{
    contribute(c, impid_link_put, what, blob, len, got);
}

/* Most processes of other clients that any process may talk to. */
static uint32_t count_peers(const struct impi_clients *all)
{
    uint32_t most = 0;

    for (uint32_t i = 0; i < all->nclients; i++)
        if (all->nprocs - all->clients[i].nprocs > most)
            most = all->nprocs - all->clients[i].nprocs;
    return most;
}

/* Shall only hosts be connected?  Always with another IMPI implementation, else
 * where each process would need more connections than it may have.  All hosts
 * decide alike; if their limits differ, what the world says counts
 * (impid_relay_start). */
static bool wants_relay(const struct impid_client *c)
{
    const struct impid_conf *conf = &agent(c)->conf;

    return conf->foreign.port != 0 ||
           count_peers(&c->round->clients) > conf->direct_max;
}

/* Each process gets a socket to us in place of ways to all others. */
static int start_relay(struct impid_client *c, const struct agent_blob *world)
{
    struct errbuf err = {""};
    int *fds = calloc(c->nlocal, sizeof(*fds)), rc = -1;

    for (uint32_t i = 0; fds && i < c->nlocal; i++)
        fds[i] = -1;
    if (fds)
        rc = impid_relay_start(c, world->data, world->len, fds, &err);
    if (rc < 0)
        impid_fail(agent(c), 322, 1, NULL, "%s",
                   fds ? err.text : strerror(errno));
    for (uint32_t i = 0; fds && i < c->nlocal; i++) {
        if (rc == 0 && c->procs[i])
            impid_proc_send_relay(c->procs[i], fds[i]);
        if (fds[i] >= 0)
            close(fds[i]);
    }
    free(fds);
    return rc;
}

/* All processes of the round here read the same table: their clients have
 * joined the same world. */
static int keep_table(struct impid_round *r, const uint8_t *image, size_t len,
                      struct errbuf *err)
{
    if (r->image && r->image_len == len && memcmp(r->image, image, len) == 0)
        return 0;
    impid_join_drop_table(r);
    r->table = sealed_make("impi-world", image, len);
    if (r->table < 0)
        return errprintf(err, "%s", strerror(errno));
    r->image = sealed_map(r->table, IMPI_TABLE_MAX, &r->image_len, err);
    return r->image ? 0 : -1;
}

void impid_join_drop_table(struct impid_round *r)
{
    if (r->image)
        munmap((void *)r->image, r->image_len);
    if (r->table >= 0)
        close(r->table);
    r->image = NULL;
    r->table = -1;
}

static int make_table(struct impid_round *r, const struct impi_world *world,
                      struct errbuf *err)
{
    uint32_t *clients = calloc(r->nlocal, sizeof(*clients));
    uint8_t *image = NULL;
    size_t len;
    int rc;

    for (uint32_t i = 0; clients && i < r->nlocal; i++)
        clients[i] = impid_client_number(&r->local[i]);
    if (!clients ||
        impi_table_build(&image, &len, world, clients, r->nlocal) < 0)
        rc = errprintf(err, "%s", strerror(ENOMEM));
    else
        rc = keep_table(r, image, len, err);
    free(clients);
    free(image);
    return rc;
}

/* The world to the client's processes. */
static void hand_out(struct impid_client *c, const struct agent_blob *blob)
{
    struct errbuf err = {""};
    struct impi_world world;

    if (impi_world_decode(&world, blob->data, blob->len, &err) < 0 ||
        make_table(c->round, &world, &err) < 0) {
        impid_fail(agent(c), 324, 1, NULL, "%s", err.text);
        impi_world_free(&world);
        return;
    }
    for (uint32_t i = 0; i < c->nlocal; i++)
        if (c->procs[i])
            impid_proc_send_world(c->procs[i], &world, c->round->table);
    impi_world_free(&world);
}

static void on_world(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    struct impid_client *c = arg;

    if (n > 0 && c->relay && start_relay(c, &blobs[0]) < 0)
        return;
    c->spread = n > 0;
    if (n > 0)
        hand_out(c, &blobs[0]);
}

static void impid_join_spread(struct impid_client *c, const void *world,
                              size_t len)
{
    struct agent_blob blob = {world, (uint32_t)len};

    if (c->nhosts == 1)
        on_world(c, &blob, 1);
    else
        client_put(c, "world", world, len, on_world);
}

static void on_records(void *arg, const struct agent_blob *blobs, uint32_t n)
{
    impid_speaker_start(arg, blobs, n);
}

/* To the client's first host, which gives the world in return. */
static void send_records(struct impid_client *c, const struct agent_blob *own)
{
    if (c->nhosts == 1) {
        on_records(c, own, 1);
        return;
    }
    contribute(c, impid_link_gather, "join", own->data, own->len, on_records);
    if (c->host != 0)
        client_put(c, "world", NULL, 0, on_world);
}

/* The pid as this node counts: processes of different namespaces may all call
 * themselves 1.  (What the kernel cannot see from here it calls 0.) */
static uint32_t pid_here(const struct impid_proc *p, const struct task_join *j)
{
    return p && p->pid > 0 ? (uint32_t)p->pid : j->pid;
}

static void put_records(struct impid_client *c)
{
    struct errbuf err = {""};
    struct bytebuf blob;
    struct agent_blob own;
    uint16_t port = 0;

    if (wants_relay(c) && impid_relay_listen(c, &port, &err) < 0) {
        impid_fail(agent(c), 322, 1, NULL, "%s", err.text);
        return;
    }
    bytebuf_init(&blob, SF_AGENT_BLOB_MAX);
    bytebuf_add16(&blob, port);
    for (uint32_t i = 0; i < c->nlocal; i++) {
        const struct task_join *j = &c->joins[i];

        bytebuf_add32(&blob, c->procs[i] ? c->procs[i]->task->rank : 0);
        bytebuf_add32(&blob, pid_here(c->procs[i], j));
        bytebuf_add(&blob, j->addr, sizeof(j->addr));
        bytebuf_add16(&blob, j->port);
        bytebuf_add16(&blob, j->cpus);
    }
    own =
        (struct agent_blob){bytebuf_data(&blob), (uint32_t)bytebuf_len(&blob)};
    send_records(c, &own);
    bytebuf_free(&blob);
}

void impid_join_add(struct impid_proc *p, const struct task_join *join)
{
    struct impid_client *c = p->client;

    c->joins[p->local] = *join;
    if (++c->njoined == c->nlocal)
        put_records(c);
}

static void on_all_finished(void *arg, const struct agent_blob *blobs,
                            uint32_t n)
{
    struct impid_client *c = arg;

    impid_speaker_fini(c);
}

void impid_join_finished(struct impid_client *c)
{
    if (c->round->clients.nclients == 1 && !c->relay)
        return;
    if (c->nhosts == 1)
        on_all_finished(c, NULL, 0);
    else
        client_put(c, "fini", NULL, 0, on_all_finished);
}

/* ---- the speaker of a client ------------------------------------------- */

/* The speaker of a client: gives the records of all its processes to the
 * joining engine and moves the engine's bytes to and from the IMPI server of
 * the generation. */

#define RECORD_SIZE 28 /* of impid_join.c */
#define PORT_SIZE 2
#define RELAY_DATALEN_MIN 512
/* Connections that were closed before the server said a word: it had too many,
 * or has nothing to say to us, which shall be known within a second or two. */
#define SPEAKER_TRIES 8

struct impid_speaker {
    struct impid_client *client;
    struct impi_join_host *hosts;
    struct impi_join_proc *procs;
    uint32_t nprocs;
    struct impi_auth_munge_arg munge;
    struct impi_auth_method methods[3];
    struct impi_join *engine;
    struct netaddr server;
    int fd; /* while it connects */
    ev_io connecting;
    ev_timer again;
    unsigned tries;
    bool answered; /* the server has said something */
    struct impid_stream stream;
    bool spread;   /* the world is out */
    bool finished; /* FINI is said */
};

/* The clients meet at a server that is not the step's own. */
static bool is_foreign(const struct impid_client *c)
{
    return agent(c)->conf.foreign.port != 0;
}

static void join_failed_hint(struct impid_speaker *j, const char *text,
                             const char *hint)
{
    const struct impid_conf *conf = &agent(j->client)->conf;
    char server[NETADDR_TEXT_MAX];

    netaddr_print(server, &conf->foreign);
    if (is_foreign(j->client))
        impid_fail(agent(j->client), 315, 1, NULL,
                   "joining client %u at the IMPI server %s: %s%s",
                   conf->client, server, text, hint);
    else
        impid_fail(agent(j->client), 315, 1, NULL, "joining client %u: %s",
                   j->client->number, text);
}

static void join_failed(struct impid_speaker *j, const char *text)
{
    join_failed_hint(j, text, "");
}

static void spread_world(struct impid_speaker *s)
{
    struct impi_world world;
    uint8_t *buf = NULL;
    size_t len = 0;

    s->spread = true;
    impi_join_take_world(s->engine, &world);
    if (impi_world_encode(&world, &buf, &len) == 0)
        impid_join_spread(s->client, buf, len);
    else
        join_failed(s, strerror(errno));
    free(buf);
    impi_world_free(&world);
}

static int start_engine(struct impid_speaker *j, struct errbuf *err);

/* Before the server has said a word nothing is decided: begin anew, unless it
 * has been so too often.  False: it has. */
static bool try_again(struct impid_speaker *j)
{
    struct errbuf err = {""};
    uint64_t random = 0;

    if (j->answered || j->tries == SPEAKER_TRIES)
        return false;
    impi_join_destroy(j->engine);
    j->engine = NULL;
    if (start_engine(j, &err) < 0) {
        join_failed(j, err.text);
        return true;
    }
    mac_random(&random, sizeof(random));
    ev_timer_set(&j->again, guests_pause(++j->tries, random) / 1000., 0.);
    ev_timer_start(agent(j->client)->loop, &j->again);
    log_debug("the IMPI server closed the connection: again");
    return true;
}

static void push(struct impid_speaker *j)
{
    const uint8_t *data;
    size_t len;

    while ((len = impi_join_output(j->engine, &data)) > 0) {
        bytebuf_add(&j->stream.out, data, len);
        impi_join_sent(j->engine, len);
    }
    impid_stream_send(&j->stream);
}

static int on_input(struct impid_stream *s, void *arg)
{
    struct impid_speaker *j = arg;
    struct errbuf err = {""};
    int rc = impi_join_input(j->engine, bytebuf_data(&s->in),
                             bytebuf_len(&s->in), &err);

    j->answered = true;
    bytebuf_consume(&s->in, bytebuf_len(&s->in));
    if (rc < 0) {
        impid_stream_close(s);
        join_failed(j, err.text);
        return -1;
    }
    push(j);
    if (impi_join_done(j->engine) && !j->spread)
        spread_world(j);
    return 0;
}

static void on_closed(struct impid_stream *s, void *arg, int error)
{
    struct impid_speaker *j = arg;
    struct errbuf err = {""};

    impid_stream_close(s);
    if (impi_join_eof(j->engine, &err) == 0 || agent(j->client)->stopping ||
        try_again(j))
        return;
    join_failed_hint(j, err.text,
                     j->spread ? "" : "; the server's own messages say why");
}

static const struct impid_stream_ops stream_ops = {on_input, on_closed};

static void connected(struct impid_speaker *j)
{
    int one = 1;

    setsockopt(j->fd, IPPROTO_TCP, 1 /* TCP_NODELAY */, &one, sizeof(one));
    impid_stream_open(&j->stream, agent(j->client)->loop, j->fd,
                      SF_AGENT_FRAME_MAX, &stream_ops, j);
    j->fd = -1;
    push(j);
}

static void on_connect(struct ev_loop *loop, ev_io *io, int revents)
{
    struct impid_speaker *j = io->data;
    socklen_t len = sizeof(int);
    int error = 0;

    ev_io_stop(loop, io);
    if (getsockopt(j->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
        error = errno;
    if (!error) {
        connected(j);
        return;
    }
    close(j->fd);
    j->fd = -1;
    if (error != ECONNRESET || !try_again(j))
        join_failed(j, strerror(error));
}

static void join_connect(struct impid_speaker *j)
{
    const struct netaddr *to = &j->server;

    j->fd = netaddr_open(&to->ip);
    if (j->fd < 0) {
        join_failed(j, strerror(errno));
        return;
    }
    ev_io_init(&j->connecting, on_connect, j->fd, EV_WRITE);
    j->connecting.data = j;
    if (netaddr_connect(j->fd, to) == 0)
        connected(j);
    else if (errno == EINPROGRESS)
        ev_io_start(agent(j->client)->loop, &j->connecting);
    else
        join_failed(j, strerror(errno));
}

static void on_again(struct ev_loop *loop, ev_timer *w, int revents)
{
    join_connect(w->data);
}

void impid_speaker_world_at(struct impid *a, const struct agent_world_at *at)
{
    struct impid_round *r;

    SLIST_FOREACH(r, &a->rounds, link)
    {
        if (r->generation != at->generation)
            continue;
        for (uint32_t i = 0; i < r->nlocal; i++) {
            struct impid_speaker *j = r->local[i].speaker;

            if (j && j->fd < 0 && !j->stream.loop) {
                j->server = (struct netaddr){a->conf.server.ip, at->port};
                join_connect(j);
            }
        }
    }
}

/* Only the user's own processes can open it: the server runs as the user. */
static int munge_seal(void *arg, const void *payload, size_t len,
                      struct bytebuf *cred, struct errbuf *err)
{
    const struct impid_conf *conf = arg;
    char *text;

    if (seal_make(&text, payload, len, getuid(), 0,
                  conf->munge && conf->munge[0] ? conf->munge : NULL, err) < 0)
        return -1;
    bytebuf_add(cred, text, strlen(text));
    free(text);
    return 0;
}

/* A server that was started by hand belongs to no step. */
static void bind_munge(struct impid_speaker *j)
{
    const struct impid_conf *conf = &agent(j->client)->conf;

    if (!is_foreign(j->client))
        j->munge.binding =
            (struct impi_auth_binding){conf->job, conf->stepid, conf->component,
                                       j->client->round->generation};
    j->munge.seal = munge_seal;
    j->munge.arg = (void *)conf;
}

/* MUNGE, and KEY where the user has set IMPI_AUTH_KEY.  With a foreign server
 * the user's choice (NONE, KEY) stands alone when there is one: MUNGE may not
 * reach that far. */
static int choose_methods(struct impid_speaker *j, size_t *n,
                          struct errbuf *err)
{
    const struct impid_conf *conf = &agent(j->client)->conf;
    const char *none = is_foreign(j->client) ? conf->auth_none : NULL;
    int found = impi_auth_from_env(j->methods, none, conf->auth_key, err);

    if (found < 0)
        return -1;
    *n = (size_t)found;
    bind_munge(j);
    if (found == 0 || !is_foreign(j->client))
        j->methods[(*n)++] = impi_auth_munge(&j->munge);
    return 0;
}

/* A host in between keeps what a process does not read: at most half of what
 * it has room for, when all others send it all that they may. */
static void choose_relay_flow(struct impi_join_options *o, uint32_t nprocs)
{
    uint64_t room = SF_IMPI_RELAY_QUEUE_MAX / 2;
    uint64_t each = room / nprocs / o->hiwater;

    if (each >= o->maxdatalen)
        return;
    o->maxdatalen =
        each > RELAY_DATALEN_MIN ? (uint32_t)each : RELAY_DATALEN_MIN;
}

/* With clients of others the usual values stay, but for the mark of ours. */
static void choose_flow(struct impi_join_options *o,
                        const struct impid_client *c)
{
    if (is_foreign(c)) {
        o->maxdatalen = IMPI_STRICT_MAXDATALEN;
        return;
    }
    if (c->relay) {
        choose_relay_flow(o, c->round->clients.nprocs);
        return;
    }
    o->maxdatalen = IMPI_OWN_MAXDATALEN;
    o->ackmark = IMPI_OWN_ACKMARK;
    o->hiwater = IMPI_OWN_HIWATER;
}

static int start_engine(struct impid_speaker *j, struct errbuf *err)
{
    const struct impid_client *c = j->client;
    const struct impid_conf *conf = &agent(c)->conf;
    struct impi_join_options o;

    impi_join_defaults(&o);
    o.client = impid_client_number(c);
    o.nclients = is_foreign(c) ? 0 : c->round->clients.nclients;
    o.methods = j->methods;
    o.extensions = !is_foreign(c);
    o.reorder =
        is_foreign(c) || (conf->reorder && strcmp(conf->reorder, "1") == 0);
    o.hosts = j->hosts;
    o.nhosts = c->nhosts;
    o.procs = j->procs;
    o.nprocs = j->nprocs;
    impi_repr_own(o.repr);
    choose_flow(&o, c);
    if (impi_join_threshold(&o.coll_xsize, "IMPI_COLL_XSIZE", conf->coll_xsize,
                            err) < 0 ||
        impi_join_threshold(&o.coll_maxlinear, "IMPI_COLL_MAXLINEAR",
                            conf->coll_maxlinear, err) < 0 ||
        choose_methods(j, &o.nmethods, err) < 0)
        return -1;
    if (impi_derive_channel(o.secret, conf->secret, c->round->generation) < 0)
        return errprintf(err, "%s", strerror(errno));
    j->engine = impi_join_create(&o, err);
    explicit_bzero(o.secret, sizeof(o.secret));
    return j->engine ? 0 : -1;
}

static int parse_host(struct impid_speaker *j, uint32_t host,
                      const struct agent_blob *blob)
{
    const struct impi_clients *all = &j->client->round->clients;
    const struct impi_client_host *h =
        &all->hosts[all->clients[j->client->number].first_host + host];
    struct be_reader r;

    if (blob->len != PORT_SIZE + (size_t)h->nprocs * RECORD_SIZE)
        return -1;
    be_reader_init(&r, blob->data, blob->len);
    j->hosts[host].port = be_get16(&r);
    for (uint32_t i = 0; i < h->nprocs; i++) {
        struct impi_join_proc *p = &j->procs[j->nprocs++];

        p->rank = be_get32(&r);
        p->pid = be_get32(&r);
        be_copy_bytes(&r, p->addr, sizeof(p->addr));
        p->port = be_get16(&r);
        p->cpus = be_get16(&r);
        memcpy(p->hostid, p->addr, sizeof(p->hostid));
        if (i == 0)
            memcpy(j->hosts[host].addr, p->addr, sizeof(p->addr));
    }
    j->hosts[host].nprocs = h->nprocs;
    return 0;
}

/* The standard numbers the processes host by host, a native library as Slurm
 * has dealt them out. */
static int check_rank_order(const struct impid_speaker *j, struct errbuf *err)
{
    for (uint32_t i = 1; i < j->nprocs; i++)
        if (j->procs[i].rank < j->procs[i - 1].rank)
            return errprintf(err, "with an IMPI server of others ranks have "
                                  "to follow the nodes: use --distribution="
                                  "block");
    return 0;
}

static int parse_records(struct impid_speaker *j,
                         const struct agent_blob *blobs, uint32_t n,
                         struct errbuf *err)
{
    const struct impid_client *c = j->client;

    j->hosts = calloc(c->nhosts, sizeof(*j->hosts));
    j->procs =
        calloc(c->round->clients.clients[c->number].nprocs, sizeof(*j->procs));
    if (!j->hosts || !j->procs || n != c->nhosts)
        return errprintf(err, "%s", strerror(ENOMEM));
    for (uint32_t i = 0; i < n; i++)
        if (parse_host(j, i, &blobs[i]) < 0)
            return errprintf(err, "records of host %u are malformed", i);
    return is_foreign(c) ? check_rank_order(j, err) : 0;
}

/* The records of all hosts of the client are here: join. */
static void impid_speaker_start(struct impid_client *c,
                                const struct agent_blob *blobs, uint32_t n)
{
    struct agent_msg msg = {.type = AGENT_WORLD};
    struct errbuf err = {""};

    c->speaker = calloc(1, sizeof(*c->speaker));
    if (!c->speaker) {
        impid_fail(agent(c), 315, 1, NULL, "%s", strerror(errno));
        return;
    }
    c->speaker->client = c;
    c->speaker->fd = -1;
    ev_timer_init(&c->speaker->again, on_again, 0., 0.);
    c->speaker->again.data = c->speaker;
    if (parse_records(c->speaker, blobs, n, &err) < 0 ||
        start_engine(c->speaker, &err) < 0) {
        join_failed(c->speaker, err.text);
        return;
    }
    if (is_foreign(c)) {
        c->speaker->server = agent(c)->conf.foreign;
        join_connect(c->speaker);
        return;
    }
    msg.world.generation = c->round->generation;
    msg.world.nclients = c->round->clients.nclients;
    impid_link_send(&agent(c)->link, &msg);
}

/* All processes of the client have finished. */
static void impid_speaker_fini(struct impid_client *c)
{
    struct impid_speaker *j = c->speaker;

    if (!j || !j->engine || !j->spread)
        return;
    j->finished = true;
    impi_join_fini(j->engine);
    push(j);
}

bool impid_speaker_active(const struct impid_client *c)
{
    return c->speaker &&
           (c->speaker->fd >= 0 || !c->speaker->finished ||
            (c->speaker->stream.loop && c->speaker->stream.fd >= 0));
}

void impid_speaker_free(struct impid_client *c)
{
    struct impid_speaker *j = c->speaker;

    if (!j)
        return;
    c->speaker = NULL;
    ev_io_stop(agent(c)->loop, &j->connecting);
    ev_timer_stop(agent(c)->loop, &j->again);
    if (j->fd >= 0)
        close(j->fd);
    if (j->stream.loop)
        impid_stream_close(&j->stream);
    impi_join_destroy(j->engine);
    free(j->hosts);
    free(j->procs);
    free(j);
}
