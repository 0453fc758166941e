/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Reads the net, keeps the own part of it.  A cable between our crossbar X and
 * a foreign one Y becomes a cable from X to a host "Y:port", which is a trunk:
 * the seat of a link to the other daemon.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"
#include "base/log.h"
#include "net/build.h"
#include "net/format.h"
#include "swfabd/swfabd.h"

/* Net=build:NAME is one made to order, else a file. */
static struct net *read_net(const struct swfabd_conf *conf, struct errbuf *err)
{
    static const char made[] = "build:";
    struct errbuf why;
    struct net *net;
    size_t len;
    char *text;

    if (strncmp(conf->net, made, strlen(made)) == 0) {
        net = net_build_named(conf->net + strlen(made), &why);
        if (!net)
            errprintf(err, "Net=%s: %s", conf->net, why.text);
        return net;
    }
    text = file_read(conf->net, SF_NET_FILE_MAX, FILE_ANY, &len, err);
    net = text ? net_parse(conf->net, text, len, err) : NULL;
    free(text);
    return net;
}

static int read_parts(struct swfabd *d, const struct net *net,
                      struct errbuf *err)
{
    char *text =
        file_read(d->conf.parts, SF_SWFABD_PARTS_SIZE_MAX, 0, NULL, err);
    int rc;

    if (!text)
        return -1;
    rc = parts_parse(&d->parts, d->conf.parts, text, net, err);
    free(text);
    if (rc < 0)
        return -1;
    d->own_part = parts_find(&d->parts, d->conf.part);
    if (d->own_part == PARTS_NONE)
        return errprintf(err, "%s: no part %s", d->conf.parts, d->conf.part);
    return 0;
}

static int read_faults(struct swfabd *d, struct errbuf *err)
{
    char *text;
    int rc;

    if (!d->conf.faults)
        return 0;
    text = file_read(d->conf.faults, SF_SWFABD_PARTS_SIZE_MAX, 0, NULL, err);
    if (!text)
        return -1;
    rc = swfab_script_parse(&d->script, d->conf.faults, text, d->net, err);
    free(text);
    return rc;
}

static bool is_ours(const struct swfabd *d, uint32_t node)
{
    return !d->parts.n || d->parts.of[node] == d->own_part;
}

/* The cable from our crossbar's port p to a foreign one is a trunk now; the
 * part that stands later in the file calls. */
static int cut_cable(struct swfabd *d, struct net *net, uint32_t p,
                     struct swfabd_seat *seat, struct errbuf *err)
{
    uint32_t node = net->ports[p].node, peer = net->ports[p].peer;
    uint32_t other = net->ports[peer].node;
    unsigned port = net_port_number(net, p);
    char name[SOFTLINK_NAME_MAX + 8];
    int n;

    n = snprintf(seat->peer_name, sizeof(seat->peer_name), "%s:%u",
                 net->nodes[other].name, net_port_number(net, peer));
    if (n >= (int)sizeof(seat->peer_name))
        return errprintf(err, "crossbar %s: name too long for a link",
                         net->nodes[other].name);
    seat->trunk = true;
    seat->calls = d->parts.of[node] > d->parts.of[other];
    if (seat->calls) {
        const struct part *part = &d->parts.part[d->parts.of[other]];

        seat->wire = part->ether ? &d->ether : &d->udp;
        if (part->ether) {
            seat->address.ether.sll_family = AF_PACKET;
            seat->address.ether.sll_halen = 6;
            memcpy(seat->address.ether.sll_addr, part->mac, 6);
        } else {
            seat->address.udp = part->udp;
        }
    }
    snprintf(name, sizeof(name), "trunk:%s", seat->peer_name);
    net_disconnect(net, node, port);
    seat->node = net_add_host(net, name, 0);
    if (seat->node == NET_NONE || !net_connect(net, node, port, seat->node, 0))
        return errprintf(err, "out of memory");
    return 0;
}

/* A trunk for each cable to a foreign crossbar; those among foreign parts are
 * nothing to us. */
static int cut_cables(struct swfabd *d, struct net *net, struct errbuf *err)
{
    uint32_t nports = net->nports;

    for (uint32_t p = 0; p < nports; p++) {
        uint32_t node = net->ports[p].node, peer = net->ports[p].peer;

        if (net_is_host(net, node) || !is_ours(d, node) || peer == NET_NONE ||
            is_ours(d, net->ports[peer].node))
            continue;
        if (d->nseats > UINT16_MAX)
            return errprintf(err, "too many cables between parts");
        if (cut_cable(d, net, p, &d->seats[d->nseats], err) < 0)
            return -1;
        d->nseats++;
    }
    return 0;
}

static int make_seats(struct swfabd *d, struct net *net, struct errbuf *err)
{
    uint32_t nnodes = net->nnodes;

    d->seats = calloc(net->nhosts + net->nports + 1u, sizeof(*d->seats));
    d->rings = calloc(net->nhosts + 1u, sizeof(*d->rings));
    if (!d->seats || !d->rings)
        return errprintf(err, "out of memory");
    for (uint32_t n = 0; n < nnodes; n++) {
        if (!net_is_host(net, n) || !is_ours(d, n))
            continue;
        if (d->nseats > UINT16_MAX)
            return errprintf(err, "too many hosts for one daemon");
        d->seats[d->nseats++].node = n;
    }
    if (d->parts.n && cut_cables(d, net, err) < 0)
        return -1;
    d->seat_of = malloc((net->nnodes + 1u) * sizeof(*d->seat_of));
    if (!d->seat_of)
        return errprintf(err, "out of memory");
    memset(d->seat_of, 0xff, (net->nnodes + 1u) * sizeof(*d->seat_of));
    for (uint32_t i = 0; i < d->nseats; i++) {
        d->seats[i].d = d;
        d->seats[i].slot = (uint16_t)i;
        d->seats[i].fd = -1;
        d->seat_of[d->seats[i].node] = i;
    }
    return 0;
}

int swfabd_fabric_make(struct swfabd *d, struct net *net, struct errbuf *err)
{
    d->net = net;
    if (make_seats(d, net, err) < 0)
        return -1;
    d->fab = swfab_new(net);
    if (!d->fab)
        return errprintf(err, "out of memory");
    for (uint32_t i = 0; i < d->nseats; i++)
        if (d->seats[i].trunk)
            swfab_set_trunk(d->fab, d->seats[i].node);
    swfab_seed(d->fab, (uint64_t)d->conf.seed);
    return 0;
}

int swfabd_fabric_open(struct swfabd *d, struct errbuf *err)
{
    struct net *net = read_net(&d->conf, err);

    if (!net)
        return -1;
    if (d->conf.parts && read_parts(d, net, err) < 0) {
        net_free(net);
        return -1;
    }
    if (swfabd_fabric_make(d, net, err) < 0)
        return -1;
    return read_faults(d, err);
}

void swfabd_fabric_close(struct swfabd *d)
{
    for (uint32_t i = 0; d->seats && i < d->nseats; i++) {
        swfabd_seat_clear(&d->seats[i], NULL);
        softlink_free(d->seats[i].link);
    }
    free(d->seats);
    free(d->seat_of);
    free(d->rings);
    swfab_script_free(&d->script);
    swfab_free(d->fab);
    net_free(d->net);
    parts_free(&d->parts);
}

const char *swfabd_seat_name(const struct swfabd_seat *seat)
{
    return seat->d->net->nodes[seat->node].name;
}

/* A trunk is called by the name of our crossbar's port. */
static uint32_t find_trunk(const struct swfabd *d, const char *name)
{
    const char *colon = strrchr(name, ':');
    char xbar[SOFTLINK_NAME_MAX];
    uint32_t node, peer;

    if (!colon || colon[1] < '0' || colon[1] > '9')
        return NET_NONE;
    snprintf(xbar, sizeof(xbar), "%.*s", (int)(colon - name), name);
    node = net_find_name(d->net, xbar);
    if (node == NET_NONE)
        return NET_NONE;
    peer = net_peer_node(d->net, node, (unsigned)strtoul(colon + 1, NULL, 10));
    if (peer == NET_NONE || d->seat_of[peer] == NET_NONE ||
        !d->seats[d->seat_of[peer]].trunk)
        return NET_NONE;
    return peer;
}

struct swfabd_seat *swfabd_seat_for(struct swfabd *d,
                                    const struct softlink_hello *hello,
                                    struct errbuf *err)
{
    uint32_t node = net_find_name(d->net, hello->name);
    struct swfabd_seat *seat;
    uint64_t id;

    if (node == NET_NONE || !net_is_host(d->net, node))
        node = find_trunk(d, hello->name);
    if (node == NET_NONE || d->seat_of[node] == NET_NONE) {
        errprintf(err, "no host or cable %s here", hello->name);
        return NULL;
    }
    seat = &d->seats[d->seat_of[node]];
    id = d->net->nodes[node].id;
    if (seat->calls || seat->trunk != (hello->address == 0)) {
        errprintf(err, "%s is called the other way round", hello->name);
        return NULL;
    }
    if (id && id != hello->address) {
        errprintf(err, "%s has board address %012llx, not %012llx", hello->name,
                  (unsigned long long)id, (unsigned long long)hello->address);
        return NULL;
    }
    return seat;
}

void swfabd_seat_clear(struct swfabd_seat *seat, const char *why)
{
    if (!seat->carrier)
        return;
    if (why)
        log_paced(&seat->d->comings, clock_ns(), log_info, "%s leaves: %s",
                  swfabd_seat_name(seat), why);
    if (seat->carrier == SOFTLINK_RING)
        swfabd_rings_remove(seat);
    if (seat->fd >= 0) {
        ev_io_stop(seat->d->loop, &seat->io);
        close(seat->fd);
        seat->fd = -1;
    }
    ring_detach(&seat->from);
    ring_detach(&seat->to);
    seat->must_ring = false;
    seat->carrier = 0;
}
