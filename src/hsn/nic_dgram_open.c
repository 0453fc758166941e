/* SPDX-License-Identifier: BSD-3-Clause
 * Sockets of the interfaces over datagrams.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <net/if.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>

#include "hsn/nic_dgram.h"

#define ETHERTYPE 0x88b5
#define BUFFER (4 * 1024 * 1024)

static void large_buffers(int fd)
{
    int size = BUFFER;

    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &size, sizeof(size)) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof(size));
}

static int split(const char *text, char *host, size_t size, const char **port)
{
    const char *colon = text ? strrchr(text, ':') : NULL;

    if (!colon || colon == text || !colon[1] || (size_t)(colon - text) >= size)
        return -1;
    snprintf(host, size, "%.*s", (int)(colon - text), text);
    *port = colon + 1;
    return 0;
}

int dgram_open_udp(struct dgram_nic *d, struct errbuf *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_DGRAM, .ai_family = AF_UNSPEC},
                    *list = NULL;
    char host[256];
    const char *port;
    int rc;

    if (split(d->o.fabric, host, sizeof(host), &port) < 0) {
        errno = EINVAL;
        return errprintf(err, "Fabric: ADDRESS:PORT of swfabd is needed");
    }
    rc = getaddrinfo(host, port, &hints, &list);
    if (rc != 0)
        return errprintf(err, "Fabric: %s: %s", d->o.fabric, gai_strerror(rc));
    d->fd =
        socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    rc = d->fd < 0 ? -1 : connect(d->fd, list->ai_addr, list->ai_addrlen);
    freeaddrinfo(list);
    if (rc < 0)
        return errprintf(err, "Fabric: %s: %s", d->o.fabric, strerror(errno));
    large_buffers(d->fd);
    return 0;
}

static int parse_mac(const char *text, uint8_t mac[6])
{
    unsigned b[6];

    if (!text) {
        memset(mac, 0xff, 6); /* whoever answers */
        return 0;
    }
    if (sscanf(text, "%2x:%2x:%2x:%2x:%2x:%2x", &b[0], &b[1], &b[2], &b[3],
               &b[4], &b[5]) != 6)
        return -1;
    for (int i = 0; i < 6; i++)
        mac[i] = (uint8_t)b[i];
    return 0;
}

int dgram_open_ether(struct dgram_nic *d, struct errbuf *err)
{
    struct sockaddr_ll *peer = &d->peer;

    if (!d->o.trusted) {
        errno = EINVAL;
        return errprintf(err, "ethernet needs TrustedSegment=yes");
    }
    *peer = (struct sockaddr_ll){.sll_family = AF_PACKET,
                                 .sll_protocol = htons(ETHERTYPE),
                                 .sll_halen = 6};
    peer->sll_ifindex =
        d->o.interface ? (int)if_nametoindex(d->o.interface) : 0;
    if (!peer->sll_ifindex)
        return errprintf(err, "Interface: %s: %s",
                         d->o.interface ? d->o.interface : "none",
                         strerror(errno));
    if (parse_mac(d->o.mac, peer->sll_addr) < 0) {
        errno = EINVAL;
        return errprintf(err, "PeerMac: %s: not an address", d->o.mac);
    }
    d->fd = socket(AF_PACKET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
                   htons(ETHERTYPE));
    if (d->fd < 0 || bind(d->fd, (struct sockaddr *)peer, sizeof(*peer)) < 0)
        return errprintf(err, "%s: %s", d->o.interface, strerror(errno));
    large_buffers(d->fd);
    return 0;
}
