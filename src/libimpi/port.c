/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The two roots meet at a port, prove that they know its key, and tell each
 * other of their groups.  Each group then takes the other's processes into its
 * tables and makes the intercommunicator; when both have, the roots say GO.
 */
#define _GNU_SOURCE
#include "libimpi/port.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/limits.h"
#include "base/mac.h"
#include "base/netaddr.h"
#include "impi/couple_guest.h"
#include "impi/hostaddr.h"
#include "libimpi/assist.h"
#include "libimpi/comm_make.h"
#include "libimpi/descriptors.h"
#include "libimpi/failed.h"
#include "libimpi/foreign.h"
#include "libimpi/progress.h"
#include "libimpi/state.h"

/* How long a root waits in poll() before it looks after other things. */
#define LOOK_MS 2
/* A caller that was sent away half way comes again after this. */
#define AGAIN_MS 50
#define NEVER INT64_MAX

/* How long one that was chosen may take until its whole group is ready. */
#define READY_MS (SF_IMPI_CONNECT_SECONDS * INT64_C(1000))

/* One who has called and is not chosen yet. */
struct caller {
    int fd;
    struct impi_couple_guest guest;
};

struct port {
    struct impi_port name;
    int fd;
    struct caller callers[SF_IMPI_PORT_CALLERS_MAX]; /* the oldest first */
    unsigned ncallers;
    struct accept_rest rest; /* there is no descriptor for one more */
    struct port *next;
};

static struct port *ports;
static unsigned nports;
static pthread_mutex_t ports_lock = PTHREAD_MUTEX_INITIALIZER;

/* ---- bytes ---- */

/* Everything else goes on meanwhile.  -1: the time is over. */
static int go_on(struct pollfd *fds, unsigned n, int64_t until)
{
    while (poll(fds, n, LOOK_MS) <= 0) {
        be_lock();
        progress_once();
        be_unlock();
        if (clock_ms() >= until) {
            errno = ETIMEDOUT;
            return -1;
        }
    }
    return 0;
}

static int wait_for(int fd, short events, int64_t until)
{
    struct pollfd p = {.fd = fd, .events = events};

    return go_on(&p, 1, until);
}

static bool not_now(void)
{
    return errno == EAGAIN || errno == EINTR;
}

static int send_all(int fd, const void *data, size_t len, int64_t until)
{
    const uint8_t *at = data;

    while (len > 0) {
        ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (n < 0 && (!not_now() || wait_for(fd, POLLOUT, until) < 0))
            return -1;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int recv_all(int fd, void *data, size_t len, int64_t until)
{
    uint8_t *at = data;

    while (len > 0) {
        ssize_t n = recv(fd, at, len, MSG_DONTWAIT);

        if (n == 0)
            errno = ECONNRESET;
        if (n == 0 ||
            (n < 0 && (!not_now() || wait_for(fd, POLLIN, until) < 0)))
            return -1;
        if (n > 0) {
            at += n;
            len -= (size_t)n;
        }
    }
    return 0;
}

static int send_frame(int fd, uint32_t type, const void *data, size_t len,
                      int64_t until)
{
    uint8_t head[IMPI_COUPLE_HEADER_SIZE];

    impi_couple_header_put(head, type, (uint32_t)len);
    if (send_all(fd, head, sizeof(head), until) < 0)
        return -1;
    return send_all(fd, data, len, until);
}

static void refuse(int fd, const char *why, int64_t until)
{
    send_frame(fd, IMPI_COUPLE_REFUSE, why, strnlen(why, SF_IMPI_REFUSAL_MAX),
               until);
}

/* ---- the proof ---- */

/* As far as it goes now: 1 proved, 0 not yet, -1 failed. */
static int drive_opening(int fd, struct impi_chan_open *o, struct errbuf *err)
{
    uint8_t in[IMPI_CHAN_REPLY_SIZE];
    const uint8_t *out;
    size_t want;
    ssize_t n;

    for (;;) {
        while ((want = impi_chan_open_output(o, &out)) > 0) {
            n = send(fd, out, want, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0)
                return not_now() ? 0 : errprintf(err, "%s", strerror(errno));
            impi_chan_open_sent(o, (size_t)n);
        }
        if (impi_chan_open_done(o))
            return 1;
        want = impi_chan_open_want(o);
        n = recv(fd, in, want, MSG_DONTWAIT);
        if (n < 0 && not_now())
            return 0;
        if (n <= 0) {
            errprintf(err, "%s", n < 0 ? strerror(errno) : "closed");
            errno = n < 0 ? errno : ECONNRESET;
            return -1;
        }
        if (impi_chan_open_input(o, in, (size_t)n, err) < 0)
            return -1;
    }
}

/* ---- ports of this process ---- */

static struct port **find_port(const char *name)
{
    char text[IMPI_PORT_NAME_SIZE];
    struct port **at = &ports;

    for (; *at; at = &(*at)->next) {
        impi_port_print(text, &(*at)->name);
        if (strcmp(text, name) == 0)
            break;
    }
    return at;
}

static void drop_caller(struct port *p, unsigned i)
{
    impi_couple_guest_free(&p->callers[i].guest);
    p->ncallers--;
    memmove(&p->callers[i], &p->callers[i + 1],
            (p->ncallers - i) * sizeof(p->callers[0]));
}

static void send_callers_back(struct port *p);

static void free_port(struct port *p)
{
    send_callers_back(p);
    close(p->fd);
    explicit_bzero(p, sizeof(*p));
    free(p);
}

static struct port *new_port(struct errbuf *err)
{
    struct netaddr own = impi_hostaddr(impi_be.own_addr, 0);
    struct port *p = calloc(1, sizeof(*p));

    if (!p) {
        errprintf(err, "no memory");
        return NULL;
    }
    memcpy(p->name.addr, impi_be.own_addr, sizeof(p->name.addr));
    p->fd = netaddr_listen(&own.ip, impi_be.port_lo, impi_be.port_hi,
                           &p->name.port);
    if (p->fd >= 0 && mac_random(p->name.key, sizeof(p->name.key)) == 0 &&
        mac_random(&p->name.number, sizeof(p->name.number)) == 0)
        return p;
    errprintf(err, "cannot listen: %s", strerror(errno));
    if (p->fd >= 0)
        close(p->fd);
    free(p);
    return NULL;
}

static int open_port(char *name, struct errbuf *err)
{
    struct port *p;

    if (world_open(err) < 0)
        return -1;
    if (nports >= SF_IMPI_PORTS_MAX)
        return errprintf(err, "%u ports are open already", nports);
    p = new_port(err);
    if (!p)
        return -1;
    impi_port_print(name, &p->name);
    p->next = ports;
    ports = p;
    nports++;
    return 0;
}

static int close_port(const char *name)
{
    struct port **at = find_port(name), *p = *at;

    if (!p)
        return -1;
    *at = p->next;
    nports--;
    free_port(p);
    return 0;
}

int impi_Open_port(MPI_Info info, char *port_name)
{
    struct errbuf err = {""};
    int rc;

    _Static_assert(IMPI_PORT_NAME_SIZE <= MPI_MAX_PORT_NAME, "fits");
    pthread_mutex_lock(&ports_lock);
    rc = open_port(port_name, &err);
    pthread_mutex_unlock(&ports_lock);
    return rc == 0 ? MPI_SUCCESS
                   : failed_note_why(MPI_COMM_WORLD, MPI_ERR_OTHER, err.text);
}

int impi_Close_port(const char *port_name)
{
    int rc;

    pthread_mutex_lock(&ports_lock);
    rc = close_port(port_name);
    pthread_mutex_unlock(&ports_lock);
    return rc == 0 ? MPI_SUCCESS
                   : failed_note_why(MPI_COMM_WORLD, MPI_ERR_PORT,
                                     "this process has no such port open");
}

void port_end(void)
{
    names_end();
    while (ports) {
        struct port *p = ports;

        ports = p->next;
        free_port(p);
    }
    nports = 0;
}

/* ---- a root that accepts ---- */

/* What all callers are told: the SIDE of the own group, as a frame. */
struct said {
    uint8_t *frame;
    size_t len;
};

static uint32_t check_caller(void *arg, const struct impi_chan_id *id)
{
    const struct port *p = arg;

    if (id->role != IMPI_CHAN_PORT)
        return IMPI_CHAN_REFUSE_ROLE;
    return id->to == p->name.number ? IMPI_CHAN_ACCEPT : IMPI_CHAN_REFUSE_TO;
}

static int64_t now_s(void)
{
    return clock_ms() / 1000;
}

static bool rests(const struct port *p)
{
    return accept_resting(&p->rest, now_s());
}

static void drop_oldest(struct port *p)
{
    close(p->callers[0].fd);
    drop_caller(p, 0);
}

/* accept has failed with `error`.  True: try again.  Where there is no
 * descriptor left the one in reserve is for one caller at a time; another one
 * waits, but not for ever. */
static bool make_room(struct port *p, int error)
{
    bool waited = p->rest.until != 0;

    p->rest.until = 0;
    if (p->ncallers == 0 && descriptors_lend(error))
        return true;
    if (waited && p->ncallers > 0) {
        drop_oldest(p);
        return true;
    }
    accept_rest_begin(&p->rest, error, now_s());
    return false;
}

static int take_caller(struct port *p)
{
    int fd;

    do
        fd = accept4(p->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    while (fd < 0 && !not_now() && make_room(p, errno));
    if (fd >= 0)
        p->rest.until = 0;
    return fd;
}

/* If too many call, the oldest is closed; it comes again if it is honest. */
static void enter_callers(struct port *p, const struct said *said)
{
    descriptors_keep();
    for (int i = 0; i < SF_ACCEPTS_MAX && !rests(p); i++) {
        int fd = take_caller(p);
        uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
        struct caller *c;

        if (fd < 0)
            return;
        if (mac_random(nonce, sizeof(nonce)) < 0) {
            close(fd);
            return;
        }
        if (p->ncallers == SF_IMPI_PORT_CALLERS_MAX)
            drop_oldest(p);
        c = &p->callers[p->ncallers++];
        c->fd = fd;
        netaddr_keep_alive(fd, SF_SILENCE);
        impi_couple_guest_init(&c->guest, p->name.key, nonce, check_caller, p,
                               said->frame, said->len);
    }
}

/* As far as it goes now: 1 ready, 0 not yet, -1 failed. */
static int drive_guest(struct caller *c, struct errbuf *err)
{
    struct impi_couple_guest *g = &c->guest;
    uint8_t in[IMPI_COUPLE_GUEST_READ];
    const uint8_t *out;
    size_t want;
    ssize_t n;

    for (;;) {
        while ((want = impi_couple_guest_output(g, &out)) > 0) {
            n = send(c->fd, out, want, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && !not_now())
                return errprintf(err, "%s", strerror(errno));
            if (n < 0)
                break;
            impi_couple_guest_sent(g, (size_t)n);
        }
        if (impi_couple_guest_ready(g))
            return 1;
        want = impi_couple_guest_want(g);
        if (want == 0)
            return 0;
        n = recv(c->fd, in, want, MSG_DONTWAIT);
        if (n < 0 && not_now())
            return 0;
        if (n <= 0)
            return errprintf(err, "%s", n < 0 ? strerror(errno) : "closed");
        if (impi_couple_guest_input(g, in, (size_t)n, err) < 0)
            return -1;
    }
}

static void say_sent_away(const char *why)
{
    be_say("SF-E517: a caller at a port of this process was turned away: %s",
           why);
}

/* The first that has said all; false: none has yet.  Its guest is the
 * caller's. */
static bool ready_caller(struct port *p, struct caller *ready)
{
    for (unsigned i = 0; i < p->ncallers;) {
        struct caller *c = &p->callers[i];
        struct errbuf err = {""};
        int rc = drive_guest(c, &err);

        if (rc == 0) {
            i++;
            continue;
        }
        if (rc > 0) {
            *ready = *c;
            memset(&c->guest, 0, sizeof(c->guest));
            drop_caller(p, i);
            return true;
        }
        if (impi_couple_guest_proved(&c->guest))
            say_sent_away(err.text);
        close(c->fd);
        drop_caller(p, i);
    }
    return false;
}

/* Where something else has to be looked after, too. */
static int64_t soon(void)
{
    return clock_ms() + 1;
}

static short events_of(const struct caller *c)
{
    const uint8_t *out;

    return impi_couple_guest_output(&c->guest, &out) > 0 ? POLLIN | POLLOUT
                                                         : POLLIN;
}

static int wait_for_callers(const struct port *p, int64_t until)
{
    struct pollfd fds[SF_IMPI_PORT_CALLERS_MAX + 1];

    if (rests(p))
        until = soon();
    fds[0] = (struct pollfd){.fd = rests(p) ? -1 : p->fd, .events = POLLIN};
    for (unsigned i = 0; i < p->ncallers; i++)
        fds[1 + i] = (struct pollfd){.fd = p->callers[i].fd,
                                     .events = events_of(&p->callers[i])};
    return go_on(fds, 1 + p->ncallers, until);
}

/* All have been told of a group that they shall not meet: they come again. */
static void send_callers_back(struct port *p)
{
    while (p->ncallers > 0)
        drop_oldest(p);
}

/* ---- a root that connects ---- */

/* 1 proved; 0 sent away, to come again; -1 failed. */
static int call_once(const struct impi_port *to, int fd, int64_t until,
                     struct errbuf *err)
{
    const struct netaddr at = impi_hostaddr(to->addr, to->port);
    const struct impi_chan_id id = {.role = IMPI_CHAN_PORT, .to = to->number};
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    struct impi_chan_open open;
    int rc, soerr = 0;
    socklen_t len = sizeof(soerr);

    if (netaddr_connect(fd, &at) < 0 && errno != EINPROGRESS)
        return errprintf(err, "%s", strerror(errno));
    if (wait_for(fd, POLLOUT, until) < 0)
        return errprintf(err, "no answer in time");
    getsockopt(fd, SOL_SOCKET, SO_ERROR, &soerr, &len);
    if (soerr)
        return errprintf(err, "%s", strerror(soerr));
    if (mac_random(nonce, sizeof(nonce)) < 0)
        return errprintf(err, "no random numbers");
    impi_chan_open_connect(&open, &id, to->key, nonce);
    while ((rc = drive_opening(fd, &open, err)) == 0) {
        if (wait_for(fd, POLLIN, until) < 0)
            rc = errprintf(err, "nobody accepted there in time");
        if (rc < 0)
            break;
    }
    impi_chan_open_wipe(&open);
    if (rc < 0 && (errno == ECONNRESET || errno == EPIPE))
        return 0;
    return rc;
}

static int open_socket(const struct in6_addr *ip)
{
    int fd = netaddr_open(ip);

    return fd < 0 && descriptors_lend(errno) ? netaddr_open(ip) : fd;
}

static int call(const struct impi_port *to, int64_t until, struct errbuf *err)
{
    const struct netaddr at = impi_hostaddr(to->addr, to->port);
    char where[NETADDR_TEXT_MAX];
    struct errbuf why = {""};

    netaddr_print(where, &at);
    for (;;) {
        int fd = open_socket(&at.ip), rc = -1;

        if (fd < 0)
            errprintf(&why, "%s", strerror(errno));
        else
            rc = call_once(to, fd, until, &why);
        if (rc > 0) {
            netaddr_keep_alive(fd, SF_SILENCE);
            return fd;
        }
        if (fd >= 0)
            close(fd);
        if (rc < 0 || clock_ms() >= until)
            return errprintf(err, "port at %s: %s", where, why.text);
        poll(NULL, 0, AGAIN_MS);
    }
}

/* ---- both groups ---- */

/* How it has ended: each library has numbers of its own for MPI's classes, and
 * a group may have several libraries. */
enum outcome { MET, FAILED, FAILED_OTHER, FAILED_PORT, FAILED_SPAWN };

static int class_of(int outcome)
{
    switch (outcome) {
    case MET:
        return MPI_SUCCESS;
    case FAILED_OTHER:
        return MPI_ERR_OTHER;
    case FAILED_PORT:
        return MPI_ERR_PORT;
    case FAILED_SPAWN:
        return MPI_ERR_SPAWN;
    default:
        return MPI_ERR_INTERN;
    }
}

struct meeting {
    MPI_Comm comm;
    int root, rank, size;
    bool acceptor;
    int64_t until;
    /* The root's. */
    struct port *port;     /* of an acceptor */
    struct impi_port name; /* of the port */
    int fd;
    struct impi_side own;
    int deaf;    /* of the other group: impi_side_deaf() */
    bool closed; /* the other one has closed the connection */
    bool barred; /* there is no own world */
    bool agreed; /* the roots, of a port for this meeting alone */
    struct port_children *children; /* that are accepted, or NULL */
    struct errbuf err;
    /* What it tells the others. */
    struct {
        int outcome;
        uint32_t number, len, wanted;
        uint64_t cid;
        uint8_t secret[IMPI_CHAN_SECRET_SIZE];
        uint8_t group_secret[IMPI_CHAN_SECRET_SIZE];
        char share;
        char why[SF_IMPI_REFUSAL_MAX];
    } told;
    uint8_t *table; /* the other side, encoded */
    uint8_t *group; /* processes of the own one, likewise: the root's first */
};

/* A frame of that type; free(*data), which has a NUL behind it. */
static int recv_frame(struct meeting *m, uint32_t type, uint8_t **data,
                      size_t *len, struct errbuf *err)
{
    uint8_t head[IMPI_COUPLE_HEADER_SIZE];
    uint32_t got = 0;
    ssize_t n;

    *data = NULL;
    if (recv_all(m->fd, head, sizeof(head), m->until) < 0) {
        m->closed = errno != ETIMEDOUT;
        return errprintf(err, "%s", strerror(errno));
    }
    n = impi_couple_header_get(&got, head);
    if (n < 0)
        return errprintf(err, "the other world says nonsense");
    *data = calloc(1, (size_t)n + 1);
    if (!*data)
        return errprintf(err, "no memory");
    *len = (size_t)n;
    if (recv_all(m->fd, *data, *len, m->until) < 0)
        errprintf(err, "%s", strerror(errno));
    else if (got == type)
        return 0;
    else if (got == IMPI_COUPLE_REFUSE)
        errprintf(err, "the other world refuses: %s", (char *)*data);
    else
        errprintf(err, "the other world sent an unexpected message");
    free(*data);
    *data = NULL;
    return -1;
}

static bool is_root(const struct meeting *m)
{
    return m->rank == m->root;
}

/* What is wrong, for all of the group. */
static int fail(struct meeting *m, enum outcome outcome, const char *why)
{
    m->told.outcome = (int)outcome;
    memset(m->told.why, 0, sizeof(m->told.why));
    memcpy(m->told.why, why, strnlen(why, sizeof(m->told.why) - 1));
    return -1;
}

static void fill_own(struct impi_side_proc *p)
{
    struct impi_proc own =
        impi_world_proc(&impi_be.world, (uint32_t)impi_be.rank);

    memcpy(p->addr, own.addr, sizeof(p->addr));
    memcpy(p->hostid, own.hostid, sizeof(p->hostid));
    p->port = own.port;
    p->pid = own.pid;
    p->client = own.client;
    if (impi_be.world.flags & IMPI_WORLD_FILES)
        p->can |= IMPI_SIDE_FILES;
    if (impi_be.world.flags & IMPI_WORLD_RMA)
        p->can |= IMPI_SIDE_WINDOWS;
}

/* With port 0 if it could take no connection, and why. */
static void find_own(struct meeting *m, struct impi_side_proc *p)
{
    bool opened;

    descriptors_left(); /* raises the limit before it listens */
    opened = world_open(&m->err) == 0;
    if (impi_be.p2p)
        fill_own(p);
    m->barred = !opened && !impi_be.p2p;
    if (!opened) {
        p->port = 0; /* perhaps its world may meet no other */
    } else if (!descriptors_left()) {
        p->port = 0;
        errprintf(&m->err, "no file descriptor is left for connections");
    }
}

/* All processes of the group, at the root.  Port 0: that one cannot listen, and
 * says why for itself. */
static int gather(struct meeting *m)
{
    uint8_t own[IMPI_SIDE_PROC_SIZE];
    struct impi_side_proc p = {.port = 0};

    find_own(m, &p);
    impi_side_proc_encode(own, &p);
    m->group = malloc((size_t)m->size * sizeof(own));
    if (!m->group)
        be_die(1, "SF-E403: no memory for the processes of a communicator");
    return impi_Gather(own, sizeof(own), MPI_BYTE, m->group, sizeof(own),
                       MPI_BYTE, m->root, m->comm);
}

/* Processes of several worlds may be in the group, each with a client number of
 * its own world: the other side gets numbers as the root tells them apart. */
static int number_clients(struct meeting *m)
{
    uint32_t *number = calloc(impi_be.world.nclients, sizeof(*number)), n = 0;
    int *world = malloc((size_t)m->size * sizeof(*world));

    if (!world || !number ||
        comm_members(m->comm, world, m->size) != MPI_SUCCESS) {
        free(number);
        free(world);
        return fail(m, FAILED, "no memory");
    }
    for (int i = 0; i < m->size; i++) {
        uint32_t *at = &number[client_of(world[i])]; /* from 1 on */

        if (*at == 0)
            *at = ++n;
        m->own.procs[i].client = *at - 1;
    }
    free(number);
    free(world);
    return n <= SF_IMPI_CLIENTS_MAX
               ? 0
               : fail(m, FAILED_OTHER, "the group has too many IMPI clients");
}

/* The table is put together from encoded pieces, so it goes through the same
 * checks as a foreign one. */
static int fill_side(struct meeting *m)
{
    const struct impi_world *w = &impi_be.world;
    struct impi_side *s = &m->own;

    s->maxdatalen = w->maxdatalen;
    s->ackmark = w->ackmark;
    s->hiwater = w->hiwater;
    s->coll_xsize = w->coll_xsize;
    s->coll_maxlinear = w->coll_maxlinear;
    s->share = w->flags & IMPI_WORLD_SHARE;
    s->cid = comm_foreign_cid();
    impi_repr_own(s->repr);
    s->nprocs = (uint32_t)m->size;
    if (mac_random(s->nonce, sizeof(s->nonce)) < 0 ||
        mac_random(m->told.group_secret, sizeof(m->told.group_secret)) < 0 ||
        mac_random(&s->number, sizeof(s->number)) < 0)
        return fail(m, FAILED, "no random numbers");
    if (m->barred)
        return fail(m, FAILED_OTHER, m->err.text);
    if (impi_side_put_procs(s, m->group, &m->err) < 0)
        return fail(m, FAILED_OTHER, m->err.text);
    return number_clients(m);
}

static int make_said(const struct meeting *m, struct said *said)
{
    uint8_t *side;
    size_t len;

    if (impi_side_encode(&m->own, &side, &len) < 0)
        return -1;
    said->len = IMPI_COUPLE_HEADER_SIZE + len;
    said->frame = malloc(said->len);
    if (said->frame) {
        impi_couple_header_put(said->frame, IMPI_COUPLE_SIDE, (uint32_t)len);
        memcpy(said->frame + IMPI_COUPLE_HEADER_SIZE, side, len);
    }
    free(side);
    return said->frame ? 0 : -1;
}

/* What both know now, for the own group. */
static int agree(struct meeting *m, const struct impi_side *other, size_t len,
                 struct errbuf *err)
{
    const struct impi_side *a = m->acceptor ? &m->own : other;
    const struct impi_side *c = m->acceptor ? other : &m->own;

    if (impi_side_deaf(&m->own) < 0 && impi_side_deaf(other) < 0 &&
        impi_side_fits(&m->own, other, err) < 0)
        return -1; /* those who are deaf shall hear of that */
    if (impi_couple_secret(m->told.secret, &m->name, a, c) < 0)
        return errprintf(err, "no memory");
    m->told.outcome = MET;
    m->told.number = a->number;
    m->told.cid = a->cid;
    m->told.share = a->share && c->share;
    m->told.len = (uint32_t)len;
    return 0;
}

static int take_side(struct meeting *m, size_t len, struct errbuf *err)
{
    struct impi_side other;
    int rc;

    if (impi_side_decode(&other, m->table, len, err) < 0)
        return -1;
    rc = agree(m, &other, len, err);
    m->deaf = impi_side_deaf(&other);
    impi_side_free(&other);
    return rc;
}

/* Say who the own user is. */
static int send_proof(struct meeting *m, int64_t until, struct errbuf *err)
{
    uint8_t about[IMPI_COUPLE_ABOUT_SIZE];
    char credential[SF_IMPI_CREDENTIAL_MAX];

    if (impi_couple_about(about, m->told.secret, m->acceptor) < 0)
        return errprintf(err, "no memory");
    if (agent_prove(&impi_be.agent, about, credential, err) < 0)
        return -1;
    if (send_frame(m->fd, IMPI_COUPLE_PROOF, credential, strlen(credential),
                   until) == 0)
        return 0;
    m->closed = true;
    return errprintf(err, "%s", strerror(errno));
}

/* Is the other one's user one that this world may meet? */
static int check_proof(const struct meeting *m, const char *credential,
                       struct errbuf *err)
{
    uint8_t about[IMPI_COUPLE_ABOUT_SIZE];

    if (impi_couple_about(about, m->told.secret, !m->acceptor) < 0)
        return errprintf(err, "no memory");
    return agent_check(&impi_be.agent, about, credential, err);
}

static void hang_up(struct meeting *m)
{
    if (m->fd >= 0)
        close(m->fd);
    m->fd = -1;
    free(m->table);
    m->table = NULL;
}

/* -1: nobody came in time, or will (text). */
static int next_caller(const struct meeting *m, const struct said *said,
                       struct caller *ready, struct errbuf *err)
{
    for (;;) {
        enter_callers(m->port, said);
        if (ready_caller(m->port, ready))
            return 0;
        if (m->children && m->children->has_failed(m->children->arg, err))
            return -1;
        if (wait_for_callers(m->port, m->children ? soon() : m->until) < 0 &&
            clock_ms() >= m->until)
            return errprintf(err, "nobody connected in time");
    }
}

/* One that has said all: does it fit, and whose is it? */
static int choose(struct meeting *m, struct caller *c, struct errbuf *err)
{
    m->fd = c->fd;
    m->table = c->guest.side;
    c->guest.side = NULL;
    if (take_side(m, c->guest.side_len, err) < 0 ||
        check_proof(m, c->guest.credential, err) < 0)
        return -1;
    return send_proof(m, clock_ms(), err);
}

/* One who knows the key and may not come in is sent away, and the next one is
 * waited for. */
static int accept_one(struct meeting *m)
{
    struct said said = {NULL, 0};
    int rc = -1;

    if (make_said(m, &said) < 0)
        return fail(m, FAILED, "no memory");
    while (rc < 0) {
        struct errbuf err = {""};
        struct caller c;

        if (next_caller(m, &said, &c, &err) < 0) {
            fail(m, m->children ? FAILED_SPAWN : FAILED_PORT, err.text);
            break;
        }
        rc = choose(m, &c, &err);
        impi_couple_guest_free(&c.guest);
        if (rc == 0)
            break;
        say_sent_away(err.text);
        refuse(m->fd, err.text, clock_ms());
        hang_up(m);
    }
    send_callers_back(m->port);
    free(said.frame);
    return rc;
}

/* Who speaks first is read first, so neither waits for the other to take what
 * it says.  The acceptor's PROOF says that it has chosen us. */
static int speak(struct meeting *m, struct errbuf *err)
{
    struct said said = {NULL, 0};
    uint8_t *credential = NULL;
    size_t len;
    int rc;

    if (recv_frame(m, IMPI_COUPLE_SIDE, &m->table, &len, err) < 0)
        return -1;
    if (take_side(m, len, err) < 0) {
        refuse(m->fd, err->text, m->until);
        return -1;
    }
    if (make_said(m, &said) < 0)
        return errprintf(err, "no memory");
    rc = send_all(m->fd, said.frame, said.len, m->until);
    free(said.frame);
    if (rc < 0) {
        m->closed = true;
        return errprintf(err, "%s", strerror(errno));
    }
    if (send_proof(m, m->until, err) < 0) {
        if (!m->closed)
            refuse(m->fd, err->text, m->until);
        return -1;
    }
    if (recv_frame(m, IMPI_COUPLE_PROOF, &credential, &len, err) < 0)
        return -1;
    rc = check_proof(m, (char *)credential, err);
    free(credential);
    if (rc < 0)
        refuse(m->fd, err->text, m->until);
    return rc;
}

/* The acceptor sends those back that it has not chosen. */
static int connect_one(struct meeting *m)
{
    for (;;) {
        struct errbuf err = {""};

        m->closed = false;
        m->fd = call(&m->name, m->until, &err);
        if (m->fd >= 0 && speak(m, &err) == 0)
            return 0;
        hang_up(m);
        if (!m->closed || clock_ms() >= m->until)
            return fail(m, FAILED_PORT, err.text);
        poll(NULL, 0, AGAIN_MS);
    }
}

static int fail_deaf(struct meeting *m, int who, const char *whose)
{
    char why[SF_IMPI_REFUSAL_MAX];

    snprintf(why, sizeof(why),
             "process %d of %s group cannot listen for connections", who,
             whose);
    return fail(m, m->children ? FAILED_SPAWN : FAILED_OTHER, why);
}

/* Who has met a group knows whether it can be talked to: both roots come to the
 * same result, each for its group. */
static void meet(struct meeting *m)
{
    int deaf = impi_side_deaf(&m->own);

    if (m->told.outcome != MET)
        return;
    if ((m->acceptor ? accept_one(m) : connect_one(m)) < 0)
        return;
    if (deaf >= 0)
        fail_deaf(m, deaf, "this");
    else if (m->deaf >= 0)
        fail_deaf(m, m->deaf, "the other");
}

/* ---- each process of the group ---- */

static int hear(struct meeting *m)
{
    int rc = impi_Bcast(&m->told, sizeof(m->told), MPI_BYTE, m->root, m->comm);

    if (rc != MPI_SUCCESS)
        return rc;
    if (m->told.outcome != MET)
        return failed_note_why(m->comm, class_of(m->told.outcome),
                               *m->err.text ? m->err.text : m->told.why);
    if (!is_root(m))
        m->table = malloc(m->told.len);
    if (!m->table)
        be_die(1, "SF-E403: no memory for the processes of another world");
    rc = impi_Bcast(m->table, (int)m->told.len, MPI_BYTE, m->root, m->comm);
    if (rc != MPI_SUCCESS)
        return rc;
    return impi_Bcast(m->group, m->size * IMPI_SIDE_PROC_SIZE, MPI_BYTE,
                      m->root, m->comm);
}

/* Own group and the other one, the acceptor's in front. */
static int *both_groups(const struct meeting *m, const struct couple *c)
{
    int size = m->size, n = (int)c->n;
    int *world = malloc((size_t)(size + n) * sizeof(int));
    int own = m->acceptor ? 0 : n, other = m->acceptor ? size : 0;

    if (!world)
        be_die(1, "SF-E403: no memory for a communicator");
    if (comm_members(m->comm, world + own, size) != MPI_SUCCESS) {
        free(world);
        return NULL;
    }
    for (int i = 0; i < n; i++)
        world[other + i] = (int)c->first + i;
    return world;
}

/* Which the own group is of the own tables. */
static int *own_group(const struct meeting *m)
{
    int *group = malloc((size_t)m->size * sizeof(*group));

    if (!group || comm_members(m->comm, group, m->size) != MPI_SUCCESS)
        be_die(1, "SF-E403: no memory for the processes of a communicator");
    return group;
}

/* A world of more clients knows where its processes are. */
static void know_group(const struct meeting *m, const struct couple *c)
{
    struct impi_side own = {.nprocs = (uint32_t)m->size};
    struct errbuf err;

    if (impi_be.spanning)
        return;
    if (impi_side_put_procs(&own, m->group, &err) < 0)
        be_die(1, "SF-E403: %s", err.text);
    foreign_know_group(c, &own);
    impi_side_free(&own);
}

static struct couple *take_in(struct meeting *m)
{
    struct couple like = {.number = m->told.number,
                          .acceptor = m->acceptor,
                          .share = m->told.share,
                          .children = m->children != NULL,
                          .own = (uint32_t)m->rank,
                          .group = own_group(m),
                          .ngroup = (uint32_t)m->size};
    struct impi_side other;
    struct couple *c;
    struct errbuf err;

    if (impi_side_decode(&other, m->table, m->told.len, &err) < 0)
        be_die(1, "SF-E403: %s", err.text);
    memcpy(like.secret, m->told.secret, sizeof(like.secret));
    memcpy(like.group_secret, m->told.group_secret, sizeof(like.group_secret));
    be_lock();
    c = foreign_add(&like, &other);
    if (c)
        know_group(m, c);
    be_unlock();
    if (!c)
        free(like.group);
    explicit_bzero(&like, sizeof(like));
    impi_side_free(&other);
    return c;
}

static int make(struct meeting *m, MPI_Comm *newcomm)
{
    struct couple *c = take_in(m);
    int *world = c ? both_groups(m, c) : NULL;
    int rc, low;

    if (!world)
        return failed_note_why(m->comm, MPI_ERR_INTERN,
                               "too many processes of other worlds");
    low = m->acceptor ? m->size : (int)c->n;
    rc = comm_couple(m->comm, world, low, m->size + (int)c->n, m->told.cid,
                     newcomm);
    free(world);
    return be_raise(m->comm, rc);
}

/* All of both groups take calls: only now may one of them call another. */
static void wait_for_other(struct meeting *m)
{
    struct errbuf err = {""};
    uint8_t *data = NULL;
    size_t len;

    m->until = clock_ms() + READY_MS;
    if (send_frame(m->fd, IMPI_COUPLE_GO, NULL, 0, m->until) < 0)
        errprintf(&err, "%s", strerror(errno));
    else if (recv_frame(m, IMPI_COUPLE_GO, &data, &len, &err) == 0)
        m->told.outcome = MET;
    if (!data)
        fail(m, FAILED_PORT, err.text);
    free(data);
}

static int go(struct meeting *m, MPI_Comm *newcomm)
{
    int rc = impi_Barrier(m->comm);

    if (rc != MPI_SUCCESS)
        return rc;
    if (is_root(m))
        wait_for_other(m);
    rc = impi_Bcast(&m->told, sizeof(m->told), MPI_BYTE, m->root, m->comm);
    if (rc != MPI_SUCCESS || m->told.outcome == MET)
        return rc;
    impi_Comm_free(newcomm);
    return failed_note_why(m->comm, class_of(m->told.outcome), m->told.why);
}

/* ---- the calls ---- */

static int64_t time_from(MPI_Info info, bool acceptor)
{
    char text[16] = "";
    int flag = 0, seconds;

    if (info != MPI_INFO_NULL)
        impi_real.Info_get(info, "timeout", sizeof(text) - 1, text, &flag);
    seconds = flag ? atoi(text) : 0;
    if (seconds <= 0)
        seconds = acceptor ? 0 : SF_IMPI_CONNECT_SECONDS;
    return seconds ? clock_ms() + (int64_t)seconds * 1000 : NEVER;
}

static void find_named(struct meeting *m, const char *name)
{
    if (m->agreed && !*name) {
        fail(m, FAILED_OTHER,
             m->acceptor ? "the root of this group cannot listen"
                         : "the root of the other group cannot listen");
        return;
    }
    if (!m->acceptor) {
        if (impi_port_parse(&m->name, name, &m->err) < 0)
            fail(m, FAILED_PORT, m->err.text);
        return;
    }
    pthread_mutex_lock(&ports_lock);
    m->port = *find_port(name);
    pthread_mutex_unlock(&ports_lock);
    if (m->port)
        m->name = m->port->name;
    else
        fail(m, FAILED_PORT, "this process has no such port open");
}

/* A port of their own, and they are started. */
static void start_children(struct meeting *m)
{
    char name[IMPI_PORT_NAME_SIZE];

    pthread_mutex_lock(&ports_lock);
    if (open_port(name, &m->err) == 0) {
        m->port = *find_port(name);
        m->name = m->port->name;
    }
    pthread_mutex_unlock(&ports_lock);
    if (!m->port || m->children->start(m->children->arg, name, &m->err) < 0)
        fail(m, FAILED_SPAWN, m->err.text);
    explicit_bzero(name, sizeof(name));
}

static void close_port_of_children(struct meeting *m)
{
    char name[IMPI_PORT_NAME_SIZE];

    if (!m->children || !m->port)
        return;
    impi_port_print(name, &m->name);
    impi_Close_port(name);
    explicit_bzero(name, sizeof(name));
}

/* No children are started for a group that they cannot meet. */
static void find(struct meeting *m, const char *name)
{
    int deaf;

    m->told.wanted = m->children ? m->children->wanted : 0;
    if (fill_side(m) < 0)
        return;
    deaf = impi_side_deaf(&m->own);
    if (!m->children)
        find_named(m, name);
    else if (deaf >= 0)
        fail_deaf(m, deaf, "this");
    else
        start_children(m);
}

static int run(struct meeting *m, const char *name, MPI_Comm *newcomm)
{
    int rc = gather(m);

    if (rc == MPI_SUCCESS && is_root(m)) {
        find(m, name);
        meet(m);
        close_port_of_children(m);
    }
    if (rc == MPI_SUCCESS)
        rc = hear(m);
    if (rc == MPI_SUCCESS)
        rc = make(m, newcomm);
    if (rc == MPI_SUCCESS)
        rc = go(m, newcomm);
    return rc;
}

static int begin_meeting(struct meeting *m, const char *name, MPI_Comm *newcomm)
{
    int inter = 0, rc = impi_Comm_test_inter(m->comm, &inter);

    if (rc == MPI_SUCCESS)
        rc = impi_Comm_size(m->comm, &m->size);
    if (rc == MPI_SUCCESS)
        rc = impi_Comm_rank(m->comm, &m->rank);
    if (rc != MPI_SUCCESS)
        return rc;
    if (inter)
        return be_raise(m->comm, MPI_ERR_COMM);
    if (m->root < 0 || m->root >= m->size)
        return be_raise(m->comm, MPI_ERR_ROOT);
    *newcomm = MPI_COMM_NULL;
    rc = run(m, name, newcomm);
    if (m->children)
        m->children->wanted = m->told.wanted;
    hang_up(m);
    free(m->group);
    descriptors_keep();
    impi_side_free(&m->own);
    explicit_bzero(m, sizeof(*m));
    return rc;
}

static int meet_other(const char *name, MPI_Info info, int root, MPI_Comm comm,
                      bool acceptor, MPI_Comm *newcomm)
{
    struct meeting m = {.comm = comm,
                        .root = root,
                        .acceptor = acceptor,
                        .fd = -1,
                        .until = time_from(info, acceptor)};

    return begin_meeting(&m, name, newcomm);
}

int port_meet_children(struct port_children *children, int root, MPI_Comm comm,
                       MPI_Comm *newcomm)
{
    struct meeting m = {.comm = comm,
                        .root = root,
                        .acceptor = true,
                        .fd = -1,
                        .until = NEVER,
                        .children = children};

    return begin_meeting(&m, NULL, newcomm);
}

int impi_Comm_accept(const char *port_name, MPI_Info info, int root,
                     MPI_Comm comm, MPI_Comm *newcomm)
{
    return meet_other(port_name, info, root, comm, true, newcomm);
}

int impi_Comm_connect(const char *port_name, MPI_Info info, int root,
                      MPI_Comm comm, MPI_Comm *newcomm)
{
    return meet_other(port_name, info, root, comm, false, newcomm);
}

/* ---- two who can talk already ---- */

/* A port that was for one meeting alone. */
static void drop_agreed(char name[IMPI_PORT_NAME_SIZE], bool acceptor)
{
    if (acceptor && *name)
        impi_Close_port(name);
    explicit_bzero(name, IMPI_PORT_NAME_SIZE);
}

int port_agree(port_swap_f *swap, void *arg, char name[IMPI_PORT_NAME_SIZE],
               bool *acceptor)
{
    char other[IMPI_PORT_NAME_SIZE] = "";
    uint64_t mine = 0, theirs = 0;

    memset(name, 0, IMPI_PORT_NAME_SIZE);
    if (mac_random(&mine, sizeof(mine)) < 0 ||
        swap(arg, &mine, &theirs, sizeof(mine)) < 0)
        return -1;
    *acceptor = memcmp(&mine, &theirs, sizeof(mine)) > 0;
    if (*acceptor && impi_Open_port(MPI_INFO_NULL, name) != MPI_SUCCESS)
        *name = '\0';
    if (swap(arg, name, other, sizeof(other)) < 0) {
        int saved = errno;

        drop_agreed(name, *acceptor);
        errno = saved;
        return -1;
    }
    if (!*acceptor) {
        memcpy(name, other, sizeof(other));
        name[IMPI_PORT_NAME_SIZE - 1] = '\0';
    }
    explicit_bzero(other, sizeof(other));
    return 0;
}

int port_meet(char name[IMPI_PORT_NAME_SIZE], bool acceptor, int root,
              MPI_Comm comm, MPI_Comm *newcomm)
{
    struct meeting m = {.comm = comm,
                        .root = root,
                        .acceptor = acceptor,
                        .fd = -1,
                        .agreed = true,
                        .until = clock_ms() + READY_MS};
    int rc = begin_meeting(&m, name, newcomm);

    drop_agreed(name, acceptor);
    return rc;
}

/* ---- MPI_Comm_join ---- */

struct socket_talk {
    int fd;
    int64_t until;
};

static int swap_by_socket(void *arg, const void *out, void *in, size_t len)
{
    const struct socket_talk *t = arg;

    if (send_all(t->fd, out, len, t->until) < 0)
        return -1;
    return recv_all(t->fd, in, len, t->until);
}

int impi_Comm_join(int fd, MPI_Comm *newintercomm)
{
    struct socket_talk talk = {fd, clock_ms() + READY_MS};
    char name[IMPI_PORT_NAME_SIZE];
    struct errbuf err = {""};
    bool acceptor = false;

    *newintercomm = MPI_COMM_NULL;
    if (port_agree(swap_by_socket, &talk, name, &acceptor) == 0)
        return port_meet(name, acceptor, 0, MPI_COMM_SELF, newintercomm);
    errprintf(&err, "the socket: %s", strerror(errno));
    return failed_note_why(MPI_COMM_SELF, MPI_ERR_OTHER, err.text);
}
