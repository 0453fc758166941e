/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to the processes of other clients: how they open, by what their
 * bytes go (link.h), short messages one by one, rounds over all of them, and
 * their end.
 */
#define _GNU_SOURCE
#include "libimpi/conns.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/accept.h"
#include "base/clock.h"
#include "base/guests.h"
#include "base/limits.h"
#include "base/mac.h"
#include "base/tcp_peer.h"
#include "impi/fast.h"
#include "impi/hostaddr.h"
#include "impi/packet.h"
#include "libimpi/descriptors.h"
#include "libimpi/fabric.h"
#include "libimpi/foreign.h"
#include "libimpi/link.h"
#include "libimpi/loss.h"
#include "libimpi/share.h"
#include "libimpi/state.h"

/* How long a half open connection counts as something that is under way, s:
 * a stranger who only holds one shall not slow the program down for ever. */
#define GUEST_NEWS 10
/* Above this many, ask the kernel which are ready instead of trying each. */
#define TRY_EACH_MAX 4
/* Look for new connections at every n-th round without any other reason. */
#define LOOK_EVERY 32
/* The same where looking for data takes no system call, and how often the
 * bells are looked at then, which also tell of a dead peer. */
#define LOOK_EVERY_SHARED 1024
/* Looks into shared memory that make a round of conns_look(). */
#define LOOKS 16
/* Where some links have shared memory: look at sockets every n-th round. */
#define SOCKETS_EVERY 8
/* A round at least at every n-th short message that goes without one. */
#define SKIP_MOST 32
/* The listener and the fabric, before the guests. */
#define FDS_FIRST 2
/* In place of a rank: everybody, behind impid. */
#define PEER_RELAY UINT32_MAX

struct conns {
    int listener;
    struct accept_rest rest; /* of the listener */
    bool told_full;          /* no descriptors: said so */
    int silence;             /* seconds after which a machine is lost */
    time_t watch_at;         /* when to look for that */
    size_t nprocs;
    struct link **by_peer; /* [nprocs] */
    struct link **links;   /* all that is not a guest, dense */
    size_t nlinks;
    size_t nopening;      /* of them: not open yet */
    size_t nshared;       /* of them: by shared memory, */
    size_t nfabric;       /* and by libfabric, agreeing included */
    bool unlooked;        /* the fabric was not looked at in the last round */
    bool asleep;          /* those with shared memory may ring their bells */
    struct guests guests; /* have not proved who they are */
    size_t guests_max;
    time_t guest_came;  /* the last one */
    int netlink;        /* base/tcp_peer.h */
    struct pollfd *fds; /* listener, guests, links */
    unsigned round;
    bool finishing;
};

/* ---- descriptors and lives ----------------------------------------------- */

/* Looks in the time of silence; packets repeated in vain that say more than
 * that this process was away. */
#define WATCHES 12
#define REPEATS_LEAST 4

static struct conns conns = {.listener = -1};

/* What a link may go by, the best first. */
static const struct way *const ways[] = {&way_share, &way_fabric, &way_socket};
#define NWAYS (sizeof(ways) / sizeof(ways[0]))

/* ---- descriptors ---- */

static void link_set_up_socket(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(fd, conns.silence);
}

int conns_listen(const uint8_t addr[16], unsigned lo, unsigned hi,
                 struct errbuf *err)
{
    struct netaddr own = impi_hostaddr(addr, 0);
    uint16_t port = 0;
    int fd = netaddr_listen(&own.ip, (uint16_t)lo, (uint16_t)hi, &port);

    if (fd < 0)
        return errprintf(err,
                         "cannot listen for other clients in ports %u-%u: %s",
                         lo, hi, strerror(errno));
    conns.listener = fd;
    return port;
}

/* Who only waits for a message would not see that none can come. */
static int choose_silence(struct errbuf *err)
{
    const char *text = getenv("IMPI_SILENCE");
    char *end;
    long n = SF_SILENCE;

    if (text && *text) {
        n = strtol(text, &end, 10);
        if (*end || n < SF_IMPI_SILENCE_MIN || n > SF_IMPI_SILENCE_MAX)
            return errprintf(
                err,
                "IMPI_SILENCE is not a number of seconds from %d to "
                "%d: %s",
                SF_IMPI_SILENCE_MIN, SF_IMPI_SILENCE_MAX, text);
    }
    conns.silence = (int)n;
    return 0;
}

int conns_silence(void)
{
    return conns.silence;
}

int conns_start(struct errbuf *err)
{
    size_t n = impi_be.world.nprocs;

    if (choose_silence(err) < 0)
        return -1;
    descriptors_want(n);
    conns.guests_max = n + SF_GUESTS_EXTRA;
    conns.nprocs = n;
    conns.by_peer = calloc(n, sizeof(struct link *));
    conns.links = calloc(n, sizeof(struct link *));
    conns.fds = calloc(n + conns.guests_max + FDS_FIRST, sizeof(struct pollfd));
    if (!conns.by_peer || !conns.links || !conns.fds)
        return errprintf(err, "no memory");
    return 0;
}

int conns_grow(void)
{
    size_t n = impi_be.world.nprocs, old = conns.nprocs;
    void *by_peer = realloc(conns.by_peer, n * sizeof(struct link *)), *links,
         *fds;

    if (!by_peer)
        return -1;
    conns.by_peer = by_peer;
    memset(conns.by_peer + old, 0, (n - old) * sizeof(struct link *));
    links = realloc(conns.links, n * sizeof(struct link *));
    if (!links)
        return -1;
    conns.links = links;
    fds = realloc(conns.fds, (2 * n + SF_GUESTS_EXTRA + FDS_FIRST) *
                                 sizeof(struct pollfd));
    if (!fds)
        return -1;
    conns.fds = fds;
    conns.guests_max = n + SF_GUESTS_EXTRA;
    conns.nprocs = n;
    descriptors_want(n);
    return 0;
}

static time_t conns_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

/* -1 while it rests, for there was no descriptor left.  Who sleeps on it looks
 * again before long. */
static int conns_listener(void)
{
    if (conns.rest.until == 0)
        return conns.listener;
    return accept_resting(&conns.rest, conns_now_s()) ? -1 : conns.listener;
}

bool conns_opening(void)
{
    if (conns.nopening > 0 || conns.guests.n == 0)
        return conns.nopening > 0;
    return conns_now_s() - conns.guest_came < GUEST_NEWS;
}

/* ---- life of a link ---- */

static struct link *link_create(int fd, enum link_state state)
{
    struct link *l = calloc(1, sizeof(*l));

    if (!l)
        be_die(1, "SF-E403: no memory for a connection");
    l->fd = fd;
    l->state = state;
    return l;
}

/* By what it goes, or tries to. */
static void count_way(const struct link *l, int n)
{
    if (l->way == &way_share)
        conns.nshared += (size_t)n;
    else if (l->way == &way_fabric)
        conns.nfabric += (size_t)n;
}

static void use_way(struct link *l, const struct way *way)
{
    count_way(l, -1);
    l->way = way;
    count_way(l, 1);
}

static void link_close_fd(struct link *l)
{
    if (l->fd >= 0)
        count_way(l, -1);
    for (size_t i = 0; i < NWAYS; i++)
        if (ways[i]->drop)
            ways[i]->drop(l);
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

/* It is the one to this peer. */
static void link_add(struct link *l, uint32_t peer)
{
    l->peer = peer;
    conns.by_peer[peer] = l;
    conns.links[conns.nlinks++] = l;
}

/* A connection whose loss ends the process stays open until the cause has been
 * told: a peer that sees it close has nothing else to tell. */
static void link_fail(struct link *l, const char *why)
{
    bool is_foreign = foreign_of(l->peer) != NULL;

    if (!conns.finishing && !is_foreign) {
        if (l->state == LINK_CONNECTING)
            loss_unreachable(l->peer, why);
        if (l->peer == PEER_RELAY)
            loss_of_relay(why);
        loss_of_peer(l->peer, why);
    }
    link_close_fd(l);
    if (l->state != LINK_OPEN && l->state != LINK_CLOSED)
        conns.nopening--;
    l->state = LINK_CLOSED;
    if (!conns.finishing)
        foreign_lost(l->peer, why);
}

/* Its way is known: hand it over to the engine. */
static void link_opened(struct link *l)
{
    l->channel = impi_p2p_attach(impi_be.p2p, l->peer);
    if (!l->channel)
        be_die(1, "SF-E403: no channel to rank %u: %s", l->peer,
               strerror(errno));
    l->state = LINK_OPEN;
    conns.nopening--;
}

/* ---- machines that do not answer ---- */

/* The kernel itself repeats what is not acknowledged for a quarter of an hour,
 * and probes for as long where it could not send at all.  A machine whose
 * process takes nothing acknowledges both, so TCP_USER_TIMEOUT, which does not
 * care, is of no use. */
static bool is_silent(int fd)
{
    struct tcp_info t = {0};
    socklen_t len = sizeof(t);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &len) == 0 &&
           (t.tcpi_retransmits >= REPEATS_LEAST ||
            t.tcpi_probes >= REPEATS_LEAST) &&
           t.tcpi_last_ack_recv / 1000 >= (unsigned)conns.silence;
}

/* Lose what has not answered for too long.  Looks only now and then. */
static void conns_watch(void)
{
    time_t now = conns_now_s();

    if (now < conns.watch_at)
        return;
    conns.watch_at = now + conns.silence / WATCHES;
    for (size_t i = 0; i < conns.nlinks; i++) {
        struct link *l = conns.links[i];

        if (l->fd >= 0 && l->state != LINK_CONNECTING && is_silent(l->fd))
            link_fail(l, strerror(ETIMEDOUT));
    }
}

/* ---- agreeing ---------------------------------------------------------- */

/* The way that the bytes of a proved link take (link.h).  One after the other
 * is tried until both ends agree; the last one, the socket, needs no agreement.
 */

/* Send what is to be sent.  1 done, 0 not now, -1 failed. */
static int flush_words(struct link *l, struct errbuf *err)
{
    const uint8_t *out;
    size_t n;

    while ((n = l->way->output(l, &out)) > 0) {
        ssize_t done = send(l->fd, out, n, MSG_NOSIGNAL | MSG_DONTWAIT);

        if (done < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (done < 0)
            return errprintf(err, "%s", strerror(errno));
        l->way->sent(l, (size_t)done);
    }
    return 1;
}

/* The same for one piece of input. */
static int take_words(struct link *l, struct errbuf *err)
{
    uint8_t in[LINK_WANT_MAX];
    size_t want = l->way->want(l);
    ssize_t n;

    if (want == 0)
        return 0;
    n = recv(l->fd, in, want, MSG_DONTWAIT);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (n <= 0)
        return errprintf(err, "%s", n < 0 ? strerror(errno) : "closed");
    return l->way->input(l, in, (size_t)n, err) < 0 ? -1 : 1;
}

/* 1 both have said all, 0 not yet, -1 failed. */
static int run_agreeing(struct link *l, struct errbuf *err)
{
    int rc = 1;

    if (!l->way->begin)
        return 1;
    while (rc > 0) {
        l->way->look(l);
        rc = flush_words(l, err);
        if (rc > 0 && l->way->done(l))
            return 1;
        if (rc > 0)
            rc = take_words(l, err);
    }
    return rc;
}

/* What both ends know, of their world or of their two worlds. */
static uint32_t flags_of(const struct link *l)
{
    const struct couple *c = foreign_of(l->peer);

    return c ? (c->share ? IMPI_WORLD_SHARE : 0) : impi_be.world.flags;
}

/* The first one behind the link's `way` (NULL: of all) that both have. */
static const struct way *next_way(const struct link *l)
{
    size_t i = 0;

    while (l->way && ways[i++] != l->way)
        ;
    while (ways[i]->flag && !(flags_of(l) & ways[i]->flag))
        i++;
    return ways[i];
}

static void try_next_way(struct link *l)
{
    if (l->way && l->way->drop)
        l->way->drop(l);
    use_way(l, next_way(l));
    if (l->way->begin)
        l->way->begin(l, l->initiator);
}

static bool link_drive_agreeing(struct link *l)
{
    struct errbuf err;
    bool moved = false;
    int rc;

    while ((rc = run_agreeing(l, &err)) > 0 &&
           (rc = l->way->end(l, &err)) == 0) {
        try_next_way(l);
        moved = true;
    }
    if (rc < 0)
        link_fail(l, err.text);
    else if (rc > 0)
        link_opened(l);
    return moved || rc != 0;
}

/* The peer is proved. */
static void link_proved(struct link *l, bool initiator)
{
    l->key_out = impi_chan_open_key(&l->open, initiator);
    l->key_in = impi_chan_open_key(&l->open, !initiator);
    impi_chan_open_wipe(&l->open);
    l->initiator = initiator;
    l->state = LINK_AGREEING;
    try_next_way(l);
    link_drive_agreeing(l);
}

/* Cheap: has something come by shared memory? */
static bool conns_share_has_news(void)
{
    for (size_t i = 0; i < conns.nlinks; i++) {
        struct share *s = conns.links[i]->share;

        if (s && ring_stream_has_news(&s->stream))
            return true;
    }
    return false;
}

/* ---- sleeping ---- */

/* About to sleep: false when a ring or the fabric has news. */
static bool conns_share_sleep(void)
{
    bool quiet = true;

    if (conns.nshared == 0 && conns.nfabric == 0)
        return true;
    conns.asleep = true;
    if (conns.nfabric > 0)
        quiet = fabric_sleep();
    for (size_t i = 0; i < conns.nlinks && quiet; i++) {
        struct link *l = conns.links[i];

        if (l->state == LINK_OPEN && l->way->sleep)
            quiet = l->way->sleep(l);
    }
    return quiet;
}

static void conns_share_awake(void)
{
    for (size_t i = 0; i < conns.nlinks && conns.asleep; i++) {
        struct link *l = conns.links[i];

        if (l->state == LINK_OPEN && l->way->awake)
            l->way->awake(l);
    }
    conns.asleep = false;
}

/* Which takes a system call for each. */
static void conns_look_at_bells(void)
{
    conns_share_awake();
    for (size_t i = 0; i < conns.nlinks; i++) {
        struct link *l = conns.links[i];

        if (l->state == LINK_OPEN && l->way->bell)
            l->way->bell(l);
    }
}

/* ---- opening ------------------------------------------------------------- */

/* Opening connections to the processes of other clients. Two processes may
 * want each other at the same time. The connection that the lower rank began
 * is kept: it refuses the other one (REFUSE_TWICE), and the higher rank lets
 * go of its own when it is refused or when the lower rank's is proved,
 * whichever comes first. */

static void fresh_nonce(uint8_t nonce[IMPI_CHAN_NONCE_SIZE])
{
    if (mac_random(nonce, IMPI_CHAN_NONCE_SIZE) < 0)
        be_die(1, "SF-E403: no random numbers: %s", strerror(errno));
}

/* Who calls whom; the secret that both have. */
static const uint8_t *name_both(uint32_t peer, struct impi_chan_id *id)
{
    const struct couple *c = foreign_of(peer);
    uint32_t to = peer;

    *id = (struct impi_chan_id){.role = IMPI_CHAN_PROC_PROC,
                                .generation = impi_be.generation,
                                .from = (uint32_t)impi_be.rank,
                                .to = peer};
    if (c) {
        *id = (struct impi_chan_id){.role = IMPI_CHAN_COUPLED,
                                    .generation = c->number,
                                    .from = c->own,
                                    .to = peer - c->first};
        return c->secret;
    }
    if (!impi_be.spanning && (c = foreign_beside(peer, &to))) {
        *id = (struct impi_chan_id){.role = IMPI_CHAN_GROUP,
                                    .generation = c->number,
                                    .from = c->own,
                                    .to = to};
        return c->group_secret;
    }
    return impi_be.world.secret;
}

static void begin_opening(struct link *l)
{
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    struct impi_chan_id id;
    const uint8_t *secret = name_both(l->peer, &id);

    fresh_nonce(nonce);
    impi_chan_open_connect(&l->open, &id, secret, nonce);
    l->state = LINK_OPENING;
}

static void start_connect(struct link *l)
{
    struct netaddr to = listens_at(l->peer);

    l->state = LINK_CONNECTING;
    l->fd = netaddr_open(&to.ip);
    if (l->fd < 0)
        be_die(1, "SF-E403: no socket for rank %u: %s", l->peer,
               strerror(errno));
    link_set_up_socket(l->fd);
    if (netaddr_connect(l->fd, &to) == 0)
        begin_opening(l);
    else if (errno != EINPROGRESS)
        link_fail(l, strerror(errno));
}

void conns_connect(void *arg, uint32_t peer)
{
    struct link *l;

    if (conns.by_peer[peer])
        return;
    l = link_create(-1, LINK_CONNECTING);
    link_add(l, peer);
    conns.nopening++;
    start_connect(l);
}

int conns_use_relay(int fd)
{
    const struct impi_world *w = &impi_be.world;
    struct link *l = link_create(fd, LINK_OPEN);

    if (fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK) < 0)
        return -1;
    l->peer = PEER_RELAY;
    l->way = &way_socket;
    for (uint32_t i = 0; i < w->nprocs; i++) {
        if (client_of((int)i) == impi_be.client)
            continue;
        conns.by_peer[i] = l;
        if (!l->channel)
            l->channel = impi_p2p_attach(impi_be.p2p, i);
        else if (impi_p2p_attach_more(impi_be.p2p, l->channel, i) < 0)
            return -1;
        if (!l->channel)
            return -1;
    }
    close(conns.listener); /* nobody else connects */
    conns.listener = -1;
    if (l->channel)
        conns.links[conns.nlinks++] = l;
    else
        free(l); /* no other client */
    return 0;
}

/* Processes of the own client only where flat collective calls want them. */
static bool may_meet(uint32_t rank)
{
    return client_of((int)rank) != impi_be.client ||
           (impi_be.flat && rank != (uint32_t)impi_be.rank);
}

/* Of two that call each other the lower one's connection is kept. */
static bool is_lower(uint32_t peer)
{
    const struct couple *c = foreign_of(peer);

    return c ? c->acceptor : (uint32_t)impi_be.rank < peer;
}

static uint32_t check_peer(uint32_t peer)
{
    const struct link *own = conns.by_peer[peer];

    if (own && (own->state == LINK_AGREEING || own->state == LINK_OPEN ||
                own->state == LINK_CLOSED ||
                (own->state != LINK_AWAITED && is_lower(peer))))
        return IMPI_CHAN_REFUSE_TWICE;
    return IMPI_CHAN_ACCEPT;
}

/* A process of another world. */
static uint32_t check_foreign(struct link *g, const struct impi_chan_id *id)
{
    const struct couple *c = foreign_find(id->generation);

    if (!c)
        return IMPI_CHAN_REFUSE_GENERATION;
    if (id->to != c->own)
        return IMPI_CHAN_REFUSE_TO;
    impi_chan_open_use(&g->open, c->secret);
    if (id->from >= c->n)
        return IMPI_CHAN_REFUSE_FROM;
    g->peer = c->first + id->from;
    return check_peer(g->peer);
}

/* A process of the own world, which is one client: both are in a group that has
 * met another world. */
static uint32_t check_beside(struct link *g, const struct impi_chan_id *id)
{
    const struct couple *c = foreign_find(id->generation);

    if (!c || impi_be.spanning)
        return IMPI_CHAN_REFUSE_GENERATION;
    if (id->to != c->own)
        return IMPI_CHAN_REFUSE_TO;
    impi_chan_open_use(&g->open, c->group_secret);
    if (id->from >= c->ngroup || id->from == c->own ||
        (uint32_t)c->group[id->from] >= impi_be.home)
        return IMPI_CHAN_REFUSE_FROM;
    g->peer = (uint32_t)c->group[id->from];
    return check_peer(g->peer);
}

/* Asked when the initiator of a guest connection is proved. */
static uint32_t check_guest(void *arg, const struct impi_chan_id *id)
{
    struct link *g = arg;

    if (id->role == IMPI_CHAN_COUPLED)
        return check_foreign(g, id);
    if (id->role == IMPI_CHAN_GROUP)
        return check_beside(g, id);
    if (id->role != IMPI_CHAN_PROC_PROC)
        return IMPI_CHAN_REFUSE_ROLE;
    if (id->generation != impi_be.generation)
        return IMPI_CHAN_REFUSE_GENERATION;
    if (id->to != (uint32_t)impi_be.rank)
        return IMPI_CHAN_REFUSE_TO;
    if (id->from >= impi_be.home || !may_meet(id->from))
        return IMPI_CHAN_REFUSE_FROM;
    g->peer = id->from;
    return check_peer(g->peer);
}

/* Once a guest is let in we begin no connection to its rank: each side would
 * keep the one that the other gives up. */
static void expect_guest(const struct link *g)
{
    if (conns.by_peer[g->peer])
        return;
    link_add(link_create(-1, LINK_AWAITED), g->peer);
    conns.nopening++;
}

/* A guest knows that it is let in: it becomes the link to its rank, in place of
 * our own attempt if there was one. */
static void seat_guest(struct link *g)
{
    struct link *own;

    expect_guest(g);
    own = conns.by_peer[g->peer];
    link_close_fd(own);
    own->fd = g->fd;
    own->open = g->open;
    impi_chan_open_wipe(&g->open);
    free(g);
    link_proved(own, false);
}

static bool refused_twice(const struct link *l)
{
    return l->open.initiator && l->open.verdict == IMPI_CHAN_REFUSE_TWICE;
}

static int opening_closed(struct errbuf *err, int error)
{
    errprintf(err, "%s", error ? strerror(error) : "closed");
    return !error || error == ECONNRESET || error == EPIPE ? -2 : -1;
}

/* Send and receive for the opening until the socket has no more.
 * Returns 1 done, 0 not yet, -1 failed, -2 closed by the peer (text). */
static int run_opening(struct link *l, struct errbuf *err)
{
    const uint8_t *out;
    uint8_t in[IMPI_CHAN_REPLY_SIZE];
    size_t want;
    ssize_t n;

    for (;;) {
        while ((want = impi_chan_open_output(&l->open, &out)) > 0) {
            n = send(l->fd, out, want, MSG_NOSIGNAL | MSG_DONTWAIT);
            if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return 0;
            if (n < 0)
                return opening_closed(err, errno);
            impi_chan_open_sent(&l->open, (size_t)n);
        }
        if (impi_chan_open_done(&l->open))
            return 1;
        want = impi_chan_open_want(&l->open);
        if (want == 0)
            return errprintf(err, "the opening failed");
        n = recv(l->fd, in, want, MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (n <= 0)
            return opening_closed(err, n < 0 ? errno : 0);
        l->guest.spoke = true;
        if (impi_chan_open_input(&l->open, in, (size_t)n, err) < 0) {
            if (impi_chan_open_output(&l->open, &out) > 0)
                (void)!send(l->fd, out, IMPI_CHAN_CODE_SIZE,
                            MSG_NOSIGNAL | MSG_DONTWAIT);
            return -1;
        }
    }
}

/* A refused or overtaken attempt waits for the peer's own connection. */
static void await_peer(struct link *l)
{
    link_close_fd(l);
    impi_chan_open_wipe(&l->open);
    l->state = LINK_AWAITED;
}

static uint64_t any_number(void)
{
    uint64_t random = 0;

    mac_random(&random, sizeof(random));
    return random;
}

/* The peer hung up half way: it had too many guests, or it is gone, which the
 * next attempt shows. */
static void try_again(struct link *l, const char *why)
{
    time_t now = conns_now_s();

    if (l->tries++ == 0)
        l->since = now;
    if (now - l->since > SF_RETRY_SECONDS) {
        link_fail(l, why);
        return;
    }
    link_close_fd(l);
    impi_chan_open_wipe(&l->open);
    l->state = LINK_PAUSED;
    l->again = clock_ms() + guests_pause(l->tries, any_number());
}

static bool link_drive_paused(struct link *l)
{
    if (clock_ms() < l->again)
        return false;
    start_connect(l);
    return true;
}

static bool link_drive_opening(struct link *l)
{
    struct errbuf err;
    int rc, soerr = 0;
    socklen_t len = sizeof(soerr);

    if (l->state == LINK_CONNECTING) {
        struct pollfd p = {.fd = l->fd, .events = POLLOUT};

        if (poll(&p, 1, 0) <= 0)
            return false;
        getsockopt(l->fd, SOL_SOCKET, SO_ERROR, &soerr, &len);
        if (soerr == ECONNRESET) {
            try_again(l, strerror(soerr));
            return true;
        }
        if (soerr) {
            link_fail(l, strerror(soerr));
            return true;
        }
        begin_opening(l);
    }
    rc = run_opening(l, &err);
    if (rc > 0)
        link_proved(l, true);
    else if (rc < 0 && refused_twice(l))
        await_peer(l);
    else if (rc == -2)
        try_again(l, err.text);
    else if (rc < 0)
        link_fail(l, err.text);
    return rc != 0;
}

static struct link *link_of(const struct guest *g)
{
    return (struct link *)((char *)g - offsetof(struct link, guest));
}

static void free_guest(struct link *g)
{
    link_close_fd(g);
    impi_chan_open_wipe(&g->open);
    free(g);
}

static void drop_guest(struct link *g)
{
    guests_leave(&conns.guests, &g->guest);
    free_guest(g);
}

/* Strangers, and those that stall, are dropped without a word: a real peer
 * comes back with the job's secret. */
static bool drive_guest(struct link *g)
{
    struct errbuf err;
    int rc = run_opening(g, &err);

    if (rc == 0) {
        if (impi_chan_open_accepted(&g->open))
            expect_guest(g);
        return false;
    }
    if (rc > 0) {
        guests_leave(&conns.guests, &g->guest);
        seat_guest(g);
    } else {
        drop_guest(g);
    }
    return true;
}

static void enter_guest(int fd)
{
    uint8_t nonce[IMPI_CHAN_NONCE_SIZE];
    struct link *g = link_create(fd, LINK_OPENING);

    if (guests_enter(&conns.guests, &g->guest, fd) < 0) {
        free_guest(g);
        return;
    }
    conns.guest_came = conns_now_s();
    link_set_up_socket(fd);
    fresh_nonce(nonce);
    impi_chan_open_accept(&g->open, impi_be.world.secret, nonce, check_guest,
                          g);
    if (conns.guests.n > conns.guests_max)
        drop_guest(link_of(tcp_peer_choose(&conns.guests, &conns.netlink)));
}

/* Others wait for us: once, the user is told why. */
static void accept_failed(int error)
{
    accept_rest_begin(&conns.rest, error, conns_now_s());
    if ((error != EMFILE && error != ENFILE) || conns.told_full)
        return;
    conns.told_full = true;
    be_say("SF-E403: processes of other clients wait for a connection: %s",
           strerror(error));
}

/* accept4() makes a socket before it finds that nobody has come, which costs as
 * much as a short message. */
static bool somebody_calls(void)
{
    struct pollfd p = {.fd = conns_listener(), .events = POLLIN};

    return p.fd >= 0 && poll(&p, 1, 0) > 0;
}

static bool accept_guests(void)
{
    bool any = false;

    if (!somebody_calls())
        return false;
    for (int i = 0; i < SF_ACCEPTS_MAX; i++) {
        int fd =
            accept4(conns.listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

        if (fd < 0) {
            accept_failed(errno);
            return any;
        }
        any = true;
        enter_guest(fd);
    }
    return any;
}

static bool conns_look_for_guests(void)
{
    bool moved = accept_guests();

    for (size_t i = conns.guests.n; i > 0; i--)
        moved |= drive_guest(link_of(conns.guests.all[i - 1]));
    return moved;
}

/* ---- moving bytes -------------------------------------------------------- */

/* Moving bytes between the channels of the message engine and their ways. */

/* Behind a header as much as this is not worth reading it by itself. */
#define SMALL 2048

void link_failed(struct link *l)
{
    uint32_t culprit = impi_channel_culprit(l->channel);
    char why[SF_ERRBUF_SIZE];

    if (culprit != IMPI_ANY_PEER && !conns.finishing)
        loss_by_breach(culprit);

    strncpy(why, impi_channel_error(l->channel), sizeof(why) - 1);
    why[sizeof(why) - 1] = '\0';
    link_fail(l, why);
}

int link_places(struct link *l, struct iovec *iov, size_t ready)
{
    int n = impi_channel_rx(l->channel, iov, IMPI_RX_IOV);

    if (n == 1 && ready > SMALL && iov[0].iov_len > IMPI_PACKET_SIZE)
        iov[0].iov_len = IMPI_PACKET_SIZE;
    return n;
}

static int next_bytes(struct link *l, struct iovec *iov)
{
    if (l->way->apart)
        return impi_channel_tx_apart(l->channel, iov, IMPI_TX_IOV);
    return impi_channel_tx(l->channel, iov,
                           l->way->socket ? IMPI_PIECES_IOV : IMPI_TX_IOV);
}

static bool link_pump_out(struct link *l)
{
    struct iovec iov[IMPI_PIECES_IOV];
    bool moved = false;

    l->blocked = false;
    while (impi_channel_tx_ready(l->channel)) {
        int n = next_bytes(l, iov);
        size_t done = n > 0 ? l->way->write(l, iov, n) : 0;

        if (done == 0)
            break;
        impi_channel_tx_done(l->channel, done);
        moved = true;
    }
    return moved;
}

static bool pump(struct link *l)
{
    bool moved = link_pump_out(l);

    moved |= l->way->in(l);
    /* What came in may have released something to send. */
    if (l->state == LINK_OPEN && moved && impi_channel_tx_ready(l->channel))
        link_pump_out(l);
    if (l->state == LINK_OPEN && impi_channel_finished(l->channel) &&
        (!l->way->leave || l->way->leave(l))) {
        link_close_fd(l);
        l->state = LINK_CLOSED;
    }
    return moved;
}

/* Whatever its state wants.  True when something moved. */
static bool link_drive(struct link *l)
{
    switch (l->state) {
    case LINK_OPEN:
        return pump(l);
    case LINK_PAUSED:
        return link_drive_paused(l);
    case LINK_CONNECTING:
    case LINK_OPENING:
        return link_drive_opening(l);
    case LINK_AGREEING:
        return link_drive_agreeing(l);
    default:
        return false;
    }
}

/* ---- all of them --------------------------------------------------------- */

/* ---- rounds ---- */

static short link_events(const struct link *l)
{
    switch (l->state) {
    case LINK_CONNECTING:
        return POLLOUT;
    case LINK_OPENING:
    case LINK_AGREEING:
        return POLLIN;
    case LINK_OPEN:
        return l->blocked && l->way->socket ? POLLIN | POLLOUT : POLLIN;
    default:
        return 0;
    }
}

/* Fill conns.fds: listener, fabric, guests, links.  Returns how many. */
static nfds_t fill_fds(void)
{
    nfds_t n = 0;

    conns.fds[n++] = (struct pollfd){.fd = conns_listener(), .events = POLLIN};
    conns.fds[n++] = (struct pollfd){.fd = conns.nfabric > 0 ? fabric_fd() : -1,
                                     .events = POLLIN};
    for (size_t i = 0; i < conns.guests.n; i++)
        conns.fds[n++] = (struct pollfd){.fd = link_of(conns.guests.all[i])->fd,
                                         .events = POLLIN};
    for (size_t i = 0; i < conns.nlinks; i++)
        conns.fds[n++] = (struct pollfd){.fd = conns.links[i]->fd,
                                         .events = link_events(conns.links[i])};
    return n;
}

static bool has_output(const struct link *l)
{
    return l->state == LINK_OPEN && impi_channel_tx_ready(l->channel);
}

/* A link has something to read from the fabric that has come before, or to send
 * what was not tried yet. */
static bool fabric_is_ripe(void)
{
    for (size_t i = 0; i < conns.nlinks; i++) {
        const struct link *l = conns.links[i];

        if (l->fabric && has_output(l) && !l->blocked)
            return true;
    }
    return fabric_has_news();
}

/* Its frames go to the links that they are for.  A look takes a system call,
 * for which nothing waits that can go on without; but no two looks are left
 * out. */
static void poll_fabric(void)
{
    if (conns.nfabric == 0)
        return;
    conns.unlooked = !conns.unlooked && fabric_is_ripe();
    if (!conns.unlooked)
        fabric_poll();
}

/* Only those that the kernel names within ms, or that have news, or are being
 * opened: the kernel is not asked whether these may write. */
static bool drive_ready(int ms)
{
    size_t first = FDS_FIRST + conns.guests.n, nlinks = conns.nlinks;
    bool moved = false;

    if (poll(conns.fds, fill_fds(), ms) < 0)
        return false;
    poll_fabric();
    for (size_t i = 0; i < nlinks; i++) {
        struct link *l = conns.links[i];

        if (l->state != LINK_OPEN || !l->way->socket ||
            conns.fds[first + i].revents || has_output(l))
            moved |= link_drive(l);
    }
    return moved;
}

/* All links, or those only that want no system call. */
static inline bool drive_links(bool sockets)
{
    bool moved = false;

    if (sockets && conns.nlinks - conns.nshared - conns.nfabric > TRY_EACH_MAX)
        return drive_ready(0);
    poll_fabric();
    for (size_t i = 0; i < conns.nlinks; i++) {
        struct link *l = conns.links[i];

        if (sockets || (l->way && !l->way->socket) || has_output(l))
            moved |= link_drive(l);
    }
    return moved;
}

unsigned conns_rounds(void)
{
    return __atomic_load_n(&conns.round, __ATOMIC_RELAXED);
}

/* For what not every round has time. */
static bool look_around(void)
{
    conns_watch();
    return conns_look_for_guests();
}

bool conns_progress(void)
{
    unsigned round = conns.round;
    bool shared = conns.nshared > 0, moved;
    bool sockets = !shared || conns_opening() || round % SOCKETS_EVERY == 0;
    unsigned every = shared ? LOOK_EVERY_SHARED : LOOK_EVERY;

    __atomic_store_n(&conns.round, round + 1, __ATOMIC_RELAXED);
    if (conns.asleep || (shared + conns.nfabric > 0 && round % every == 0))
        conns_look_at_bells();
    moved = drive_links(sockets);
    if (conns_opening() || round % every == 0)
        moved |= look_around();
    return moved;
}

/* A fabric that has no descriptor is looked at often. */
static int nap(int ms)
{
    bool blind = conns.nfabric > 0 && fabric_fd() < 0;

    return blind && ms > FABRIC_NAP_MS ? FABRIC_NAP_MS : ms;
}

static bool write_ready(void)
{
    bool moved = false;

    for (size_t i = 0; i < conns.nlinks; i++) {
        if (has_output(conns.links[i]))
            moved |= link_pump_out(conns.links[i]);
    }
    return moved;
}

bool conns_progress_awaited(void)
{
    bool moved = false;

    __atomic_store_n(&conns.round, conns.round + 1, __ATOMIC_RELAXED);
    poll_fabric();
    for (size_t i = 0; i < conns.nlinks; i++) {
        struct link *l = conns.links[i];

        if (l->state == LINK_OPEN && impi_channel_awaited(l->channel))
            moved |= link_drive(l);
    }
    return moved;
}

static bool guests_ready(void)
{
    for (size_t i = FDS_FIRST; i < FDS_FIRST + conns.guests.n; i++) {
        if (conns.fds[i].revents)
            return true;
    }
    return conns.fds[0].revents;
}

bool conns_write_or_wait(int ms)
{
    bool moved;

    __atomic_store_n(&conns.round, conns.round + 1, __ATOMIC_RELAXED);
    if (write_ready())
        return true;
    if (!conns_sleep())
        ms = 0;
    ms = nap(ms);
    moved = drive_ready(ms);
    if (conns.asleep)
        conns_look_at_bells();
    conns_watch();
    return (guests_ready() && conns_look_for_guests()) || moved;
}

bool conns_progress_whole(void)
{
    bool moved;

    if (conns.nshared + conns.nfabric > 0)
        conns_look_at_bells();
    moved = drive_links(true);
    return moved | look_around();
}

bool conns_is_quick(void)
{
    return conns.nshared > 0 && conns.nshared == conns.nlinks;
}

void conns_look(void)
{
    for (unsigned i = 0; i < LOOKS && !conns_share_has_news(); i++)
        ;
}

bool conns_sleep(void)
{
    return conns_share_sleep();
}

unsigned conns_fds(struct pollfd *fds, unsigned max)
{
    nfds_t n = fill_fds();

    n = n < max ? n : max;
    memcpy(fds, conns.fds, n * sizeof(fds[0]));
    return (unsigned)n;
}

void conns_wait(int ms)
{
    nfds_t n = fill_fds();
    struct pollfd *fds = conns.fds;

    if (!conns_sleep())
        return;
    /* With threads the list may change meanwhile: wait on a copy, shortly. */
    if (impi_be.threads) {
        struct pollfd copy[32];

        n = n < 32 ? n : 32;
        memcpy(copy, fds, n * sizeof(copy[0]));
        be_unlock();
        poll(copy, n, 1);
        be_lock();
        return;
    }
    poll(fds, n, nap(ms));
}

const char *conns_way(uint32_t peer)
{
    const struct link *l = conns.by_peer[peer];

    return l && l->way ? l->way->name() : "-";
}

struct fabric_peer *conns_fabric(uint32_t peer)
{
    const struct link *l = conns.by_peer[peer];

    return l && l->state == LINK_OPEN && l->way == &way_fabric ? l->fabric
                                                               : NULL;
}

/* ---- the end ---- */

void conns_lose(uint32_t peer, const char *why)
{
    struct link *l = conns.by_peer[peer];

    if (l && l->state != LINK_CLOSED)
        link_fail(l, why);
}

void conns_part(uint32_t peer)
{
    struct link *l = conns.by_peer[peer];

    if (l && l->state == LINK_OPEN)
        impi_channel_fini(l->channel);
}

bool conns_has_parted(uint32_t peer)
{
    const struct link *l = conns.by_peer[peer];

    return !l || l->state == LINK_CLOSED;
}

static bool all_closed(void)
{
    for (size_t i = 0; i < conns.nlinks; i++) {
        if (conns.links[i]->state == LINK_OPEN)
            return false;
    }
    return true;
}

static void free_all(void)
{
    for (size_t i = 0; i < conns.nlinks; i++) {
        link_close_fd(conns.links[i]);
        free(conns.links[i]);
    }
    fabric_stop();
    while (conns.guests.n > 0)
        drop_guest(link_of(conns.guests.all[0]));
    guests_free(&conns.guests);
    tcp_peer_close(&conns.netlink);
    if (conns.listener >= 0)
        close(conns.listener);
    free(conns.by_peer);
    free(conns.links);
    free(conns.fds);
    memset(&conns, 0, sizeof(conns));
    conns.listener = -1;
}

void conns_finish(void)
{
    for (size_t i = 0; i < conns.nlinks; i++) {
        if (conns.links[i]->state == LINK_OPEN)
            impi_channel_fini(conns.links[i]->channel);
    }
    conns.finishing = true;
    while (!all_closed()) {
        if (!conns_progress())
            conns_wait(10);
    }
    free_all();
}

void conns_forget(void)
{
    fabric_forget();
    for (size_t i = 0; i < conns.nlinks; i++) {
        conns.links[i]->fabric = NULL;
        link_close_fd(conns.links[i]);
    }
    conns.nfabric = 0;
    for (size_t i = 0; i < conns.guests.n; i++)
        link_close_fd(link_of(conns.guests.all[i]));
    tcp_peer_close(&conns.netlink);
    if (conns.listener >= 0)
        close(conns.listener);
    conns.listener = -1;
    conns.nlinks = conns.guests.n = 0;
}

/* ---- short messages ------------------------------------------------------ */

/* Short messages straight to and from the memory or the socket of a link
 * (impi/fast.h), without a round over all of them. */

/* Looks for a message before the others have their turn: about 2 us where a
 * look takes no system call, else 8 us over all links. */
#define LOOKS_SHARED 256
#define LOOKS_SOCKET 64

static struct link *open_link(uint32_t peer)
{
    struct link *l = conns.by_peer[peer];

    return l && l->state == LINK_OPEN ? l : NULL;
}

bool conns_skip_round(void)
{
    unsigned round = conns.round;

    if (round % SKIP_MOST == 0 || conns.nopening > 0 || conns.guests.n > 0)
        return false;
    if (unlikely(conns.asleep))
        conns_share_awake();
    __atomic_store_n(&conns.round, round + 1, __ATOMIC_RELAXED);
    return true;
}

/* ---- out ---- */

enum conns_put conns_put(const struct impi_send *args, size_t *part)
{
    struct link *l = open_link(args->peer);
    const void *head = l ? impi_fast_send(l->channel, args) : NULL;
    size_t done;

    if (!head)
        return CONNS_PUT_NONE;
    done = l->way->put(l, head, &args->buf);
    *part = done;
    if (done == IMPI_PACKET_SIZE + args->buf.len) {
        impi_fast_sent(l->channel, args->buf.len);
        return CONNS_PUT_ALL;
    }
    return done > 0 ? CONNS_PUT_PART : CONNS_PUT_NONE;
}

void conns_put_part(uint32_t peer, size_t part)
{
    struct impi_channel *channel = open_link(peer)->channel;
    struct iovec iov[IMPI_TX_IOV];

    impi_channel_tx(channel, iov, IMPI_TX_IOV);
    impi_channel_tx_done(channel, part);
}

/* ---- in ---- */

/* How long it is worth to wait. */
static unsigned looks_at(const struct link *l)
{
    return l->way == &way_share
               ? LOOKS_SHARED
               : 1 + LOOKS_SOCKET / (1 + (unsigned)conns.nlinks);
}

static bool take_from(struct link *l, const struct impi_recv *want, bool wait,
                      struct impi_status *status)
{
    if (!impi_fast_is_free(l->channel, want))
        return false;
    return l->way->take(l, want, wait ? looks_at(l) : 1, status);
}

/* Sockets are not asked one by one. */
static bool take_from_any(const struct impi_recv *want, bool wait,
                          struct impi_status *status)
{
    unsigned looks = wait ? 1 + LOOKS_SHARED / conns.nlinks : 1;

    if (!conns_is_quick())
        return false;
    for (; looks > 0; looks--) {
        for (size_t i = 0; i < conns.nlinks; i++) {
            struct link *l = conns.links[i];

            if (l->state == LINK_OPEN && take_from(l, want, false, status))
                return true;
        }
    }
    return false;
}

bool conns_take(const struct impi_recv *want, bool wait,
                struct impi_status *status)
{
    struct link *l;

    if (unlikely(conns.asleep))
        conns_share_awake();
    if (want->peer == IMPI_ANY_PEER)
        return take_from_any(want, wait, status);
    l = open_link(want->peer);
    return l && take_from(l, want, wait, status);
}
