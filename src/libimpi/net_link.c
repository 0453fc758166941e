/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Connections to the processes of other clients: their descriptors and lives.
 */
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/limits.h"
#include "impi/hostaddr.h"
#include "libimpi/net_priv.h"

/* Looks in the time of silence; packets repeated in vain that say more than
 * that this process was away. */
#define WATCHES 12
#define REPEATS_LEAST 4
#define TCP_NAME_MAX 16 /* TCP_CA_NAME_MAX of the kernel */

struct net net = {.listener = -1};

/* ---- descriptors ---- */

void link_set_up_socket(int fd)
{
    int one = 1;

    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    netaddr_keep_alive(fd, net.silence);
}

int net_listen(const uint8_t addr[16], unsigned lo, unsigned hi,
               struct errbuf *err)
{
    struct netaddr own = impi_hostaddr(addr, 0);
    uint16_t port = 0;
    int fd = netaddr_listen(&own.ip, (uint16_t)lo, (uint16_t)hi, &port);

    if (fd < 0)
        return errprintf(err,
                         "cannot listen for other clients in ports %u-%u: %s",
                         lo, hi, strerror(errno));
    net.listener = fd;
    return port;
}

/* A descriptor for each peer, if the site's hard limit has so many. */
static void want_descriptors(rlim_t n)
{
    struct rlimit r;

    n += 256; /* the program's own */
    if (getrlimit(RLIMIT_NOFILE, &r) < 0 || r.rlim_cur >= n)
        return;
    r.rlim_cur = n < r.rlim_max ? n : r.rlim_max;
    setrlimit(RLIMIT_NOFILE, &r);
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
            return errprintf(err,
                             "IMPI_SILENCE is no number of seconds from %d to "
                             "%d: %s",
                             SF_IMPI_SILENCE_MIN, SF_IMPI_SILENCE_MAX, text);
    }
    net.silence = (int)n;
    return 0;
}

int net_start(struct errbuf *err)
{
    size_t n = impi_be.world.nprocs;

    if (choose_silence(err) < 0)
        return -1;
    want_descriptors(n);
    net.sharing_off = share_is_off();
    net.guests_max = n + GUESTS_EXTRA;
    net.guest = calloc(net.guests_max, sizeof(struct link *));
    net.by_peer = calloc(n, sizeof(struct link *));
    net.links = calloc(n, sizeof(struct link *));
    net.fds = calloc(n + net.guests_max + 1, sizeof(struct pollfd));
    if (!net.by_peer || !net.links || !net.fds || !net.guest)
        return errprintf(err, "no memory");
    return 0;
}

time_t net_now_s(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    return t.tv_sec;
}

int net_listener(void)
{
    if (net.rest.until == 0)
        return net.listener;
    return accept_resting(&net.rest, net_now_s()) ? -1 : net.listener;
}

bool net_opening(void)
{
    if (net.nopening > 0 || net.nguests == 0)
        return net.nopening > 0;
    return net_now_s() - net.guest[net.nguests - 1]->since < GUEST_NEWS;
}

/* ---- life of a link ---- */

struct link *link_create(int fd, enum link_state state)
{
    struct link *l = calloc(1, sizeof(*l));

    if (!l)
        be_die(1, "SF-E403: no memory for a connection");
    l->fd = fd;
    l->state = state;
    return l;
}

void link_close_fd(struct link *l)
{
    if (l->share)
        net.nshared--;
    share_free(l->share);
    l->share = NULL;
    if (l->fd >= 0)
        close(l->fd);
    l->fd = -1;
}

void link_add(struct link *l, uint32_t peer)
{
    l->peer = peer;
    net.by_peer[peer] = l;
    net.links[net.nlinks++] = l;
}

static struct netaddr address_of(uint32_t rank)
{
    const struct impi_proc *p = &impi_be.world.procs[rank];

    return impi_hostaddr(p->addr, p->port);
}

/* Never reached: the way from here to there, which the user may mend. */
static void unreachable(uint32_t peer, const char *why)
{
    struct netaddr from = address_of((uint32_t)impi_be.rank);
    struct netaddr to = address_of(peer);
    char here[NETADDR_IP_MAX], there[NETADDR_TEXT_MAX];

    be_last_words();
    netaddr_print_ip(here, &from.ip);
    netaddr_print(there, &to);
    be_die(1, "SF-E407: %s cannot reach rank %u (client %u) at %s: %s", here,
           peer, impi_be.world.procs[peer].client, there, why);
}

static void lost(uint32_t peer, const char *why)
{
    char where[NETADDR_TEXT_MAX];
    struct netaddr at;

    be_last_words();
    if (peer == PEER_RELAY)
        be_die(1, "SF-E402: lost impid, which relays to other clients: %s",
               why);
    at = address_of(peer);
    netaddr_print(where, &at);
    be_die(1, "SF-E402: lost rank %u (client %u, %s): %s", peer,
           impi_be.world.procs[peer].client, where, why);
}

/* By its host: a process of a client that is not ours has no address of its
 * own. */
void link_breach(uint32_t peer)
{
    const struct impi_proc *p = &impi_be.world.procs[peer];
    struct netaddr at = impi_hostaddr(impi_be.world.hosts[p->host].addr, 0);
    char where[NETADDR_IP_MAX];

    netaddr_print_ip(where, &at.ip);
    be_die(1, "SF-E408: rank %u (client %u, host %u at %s) broke IMPI: %s",
           peer, p->client, p->host, where,
           impi_p2p_peer_error(impi_be.p2p, peer));
}

void link_fail(struct link *l, const char *why)
{
    bool connecting = l->state == LINK_CONNECTING;

    link_close_fd(l);
    if (l->state != LINK_OPEN && l->state != LINK_CLOSED)
        net.nopening--;
    l->state = LINK_CLOSED;
    if (net.finishing)
        return;
    if (connecting)
        unreachable(l->peer, why);
    else
        lost(l->peer, why);
}

/* Within one machine there is no path whose rate could be found out; the
 * pauses by which BBR looks for it only cost.  Every kernel has Reno. */
static void do_not_pace(int fd)
{
    char name[TCP_NAME_MAX + 1] = "";
    socklen_t len = TCP_NAME_MAX;

    if (getsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, name, &len) == 0 &&
        strncmp(name, "bbr", 3) == 0)
        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, "reno", 4);
}

/* The opening is through: hand over to the engine. */
void link_opened(struct link *l)
{
    if (!l->share && share_is_near(l->fd))
        do_not_pace(l->fd);
    l->channel = impi_p2p_attach(impi_be.p2p, l->peer);
    if (!l->channel)
        be_die(1, "SF-E403: no channel to rank %u: %s", l->peer,
               strerror(errno));
    l->state = LINK_OPEN;
    net.nopening--;
}

/* ---- machines that do not answer ---- */

/* The kernel itself repeats what is not acknowledged for a quarter of an hour.
 * A machine whose process takes nothing acknowledges, so TCP_USER_TIMEOUT,
 * which does not care, is of no use. */
static bool is_silent(int fd)
{
    struct tcp_info t = {0};
    socklen_t len = sizeof(t);

    return getsockopt(fd, IPPROTO_TCP, TCP_INFO, &t, &len) == 0 &&
           t.tcpi_retransmits >= REPEATS_LEAST &&
           t.tcpi_last_ack_recv / 1000 >= (unsigned)net.silence;
}

void net_watch(void)
{
    time_t now = net_now_s();

    if (now < net.watch_at)
        return;
    net.watch_at = now + net.silence / WATCHES;
    for (size_t i = 0; i < net.nlinks; i++) {
        struct link *l = net.links[i];

        if (l->fd >= 0 && l->state != LINK_CONNECTING && is_silent(l->fd))
            link_fail(l, strerror(ETIMEDOUT));
    }
}
