/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A shortest route in a net made to order, for tests:
 *
 *     swfab_route NET FROM TO      prints "THERE BACK" in hexadecimal
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/build.h"
#include "net/packet.h"

/* came[n]: the port of n by which the shortest way from `from` gets there. */
static void search(const struct net *net, uint32_t from, uint32_t *came)
{
    uint32_t *queue = calloc(net->nnodes, sizeof(*queue));
    uint32_t head = 0, tail = 0;

    memset(came, 0xff, net->nnodes * sizeof(*came));
    came[from] = net->nodes[from].first;
    queue[tail++] = from;
    while (head < tail) {
        uint32_t n = queue[head++];

        if (net_is_host(net, n) && n != from)
            continue;
        for (unsigned p = 0; p < net->nodes[n].nports; p++) {
            uint32_t peer = net->ports[net->nodes[n].first + p].peer;

            if (peer == NET_NONE || came[net->ports[peer].node] != NET_NONE)
                continue;
            came[net->ports[peer].node] = peer;
            queue[tail++] = net->ports[peer].node;
        }
    }
    free(queue);
}

/* The deltas from the end to the beginning are those of the way back. */
static size_t collect(const struct net *net, const uint32_t *came,
                      uint32_t from, uint32_t to, uint8_t *back)
{
    uint32_t leave = came[to]; /* port of `to` */
    size_t n = 0;

    for (;;) {
        uint32_t in = net->ports[leave].peer, node = net->ports[in].node;

        if (node == from)
            return n;
        leave = came[node];
        back[n++] = net_route_byte((int)leave - (int)in);
    }
}

static void print(const uint8_t *route, size_t n, const char *end)
{
    for (size_t i = 0; i < n; i++)
        printf("%02x", route[i]);
    printf("%s", end);
}

int main(int argc, char **argv)
{
    struct errbuf err;
    struct net *net = argc == 4 ? net_build_named(argv[1], &err) : NULL;
    uint32_t from = net ? net_find_name(net, argv[2]) : NET_NONE;
    uint32_t to = net ? net_find_name(net, argv[3]) : NET_NONE;
    uint8_t back[NET_ROUTE_MAX], there[NET_ROUTE_MAX];
    uint32_t *came;
    size_t n;

    if (from == NET_NONE || to == NET_NONE || from == to)
        return 2;
    came = calloc(net->nnodes, sizeof(*came));
    search(net, from, came);
    if (came[to] == NET_NONE)
        return 1;
    n = collect(net, came, from, to, back);
    net_route_reverse(there, back, n);
    print(there, n, " ");
    print(back, n, "\n");
    free(came);
    net_free(net);
    return 0;
}
