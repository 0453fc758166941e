/* SPDX-License-Identifier: BSD-3-Clause */
#include <arpa/inet.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/mac.h"
#include "base/netaddr.h"
#include "base/tcp_peer.h"

#define ESTABLISHED 1 /* TCP_ESTABLISHED of the kernel */

struct question {
    struct nlmsghdr head;
    struct inet_diag_req_v2 about;
};

/* A socket's own address, or its peer's. */
static int address(int fd, struct netaddr *out,
                   int (*of)(int, struct sockaddr *, socklen_t *))
{
    struct sockaddr_storage ss = {0};
    socklen_t len = sizeof(ss);

    if (of(fd, (void *)&ss, &len) < 0)
        return -1;
    *out = netaddr_from_socket((void *)&ss);
    return out->port ? 0 : -1;
}

/* Has this machine such an address?  Only what is its own can be bound. */
static bool is_here(const struct in6_addr *ip)
{
    struct netaddr at = {.ip = *ip};
    int fd = netaddr_is_loopback(ip) ? -1 : netaddr_open(ip);
    bool here = fd < 0 ? netaddr_is_loopback(ip) : netaddr_bind(fd, &at) == 0;

    if (fd >= 0)
        close(fd);
    return here;
}

static void put_address(uint32_t out[4], const struct in6_addr *ip)
{
    if (netaddr_is_ipv4(ip))
        memcpy(out, ip->s6_addr + 12, 4);
    else
        memcpy(out, ip, sizeof(*ip));
}

static int ask(int netlink, const struct netaddr *own,
               const struct netaddr *peer)
{
    struct sockaddr_nl kernel = {.nl_family = AF_NETLINK};
    struct question q = {
        .head = {.nlmsg_len = sizeof(q),
                 .nlmsg_type = SOCK_DIAG_BY_FAMILY,
                 .nlmsg_flags = NLM_F_REQUEST},
        .about = {.sdiag_family = AF_INET6,
                  .sdiag_protocol = IPPROTO_TCP,
                  .idiag_states = ~0u,
                  .id = {.idiag_sport = htons(peer->port),
                         .idiag_dport = htons(own->port),
                         .idiag_cookie = {INET_DIAG_NOCOOKIE,
                                          INET_DIAG_NOCOOKIE}}},
    };

    if (netaddr_is_ipv4(&peer->ip))
        q.about.sdiag_family = AF_INET;
    put_address(q.about.id.idiag_src, &peer->ip);
    put_address(q.about.id.idiag_dst, &own->ip);
    return sendto(netlink, &q, sizeof(q), MSG_DONTWAIT, (void *)&kernel,
                  sizeof(kernel)) == sizeof(q)
               ? 0
               : -1;
}

/* A socket that its process has closed belongs to nobody, which the kernel
 * says as "root". */
static int uid_of_answer(int netlink, const struct netaddr *own,
                         const struct netaddr *peer, uid_t *uid)
{
    union {
        struct nlmsghdr head;
        char bytes[1024];
    } in;
    ssize_t n = recv(netlink, &in, sizeof(in), MSG_DONTWAIT);
    const struct inet_diag_msg *m = NLMSG_DATA(&in.head);

    if (n < (ssize_t)NLMSG_LENGTH(sizeof(*m)) ||
        in.head.nlmsg_type != SOCK_DIAG_BY_FAMILY ||
        m->id.idiag_sport != htons(peer->port) ||
        m->id.idiag_dport != htons(own->port) ||
        m->idiag_state != ESTABLISHED || m->idiag_inode == 0)
        return -1;
    *uid = m->idiag_uid;
    return 0;
}

static int find_uid(int *netlink, const struct netaddr *own,
                    const struct netaddr *peer, uid_t *uid)
{
    if (*netlink <= 0)
        *netlink =
            socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
    if (*netlink < 0 || ask(*netlink, own, peer) < 0)
        return -1;
    return uid_of_answer(*netlink, own, peer, uid);
}

void tcp_peer_ask(int fd, int *netlink, struct guest_source *out)
{
    struct netaddr own, peer;

    *out = (struct guest_source){.kind = GUEST_UNKNOWN};
    if (address(fd, &own, getsockname) < 0 ||
        address(fd, &peer, getpeername) < 0)
        return;
    if (find_uid(netlink, &own, &peer, &out->uid) == 0) {
        out->kind = out->uid == getuid() || out->uid == 0 ? GUEST_OWN
                                                          : GUEST_OTHER_USER;
    } else if (!is_here(&peer.ip)) {
        out->kind = GUEST_REMOTE;
        out->from = peer.ip;
    }
}

static void ask_guest(void *netlink, const struct guest *g,
                      struct guest_source *out)
{
    tcp_peer_ask(g->fd, netlink, out);
}

/* Without randomness the oldest of those who might go does. */
struct guest *tcp_peer_choose(struct guests *guests, int *netlink)
{
    uint64_t random = 0;

    mac_random(&random, sizeof(random));
    return guests_choose(guests, ask_guest, netlink, random);
}

void tcp_peer_close(int *netlink)
{
    if (*netlink > 0)
        close(*netlink);
    *netlink = 0;
}
