/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults in their order, and faults by chance.
 */
#include <errno.h>
#include <stdlib.h>

#include "net/rng.h"
#include "swfab/script_priv.h"

int swfab_script_add(struct swfab_script *script, struct swfab_fault fault)
{
    if (script->n == SF_SWFAB_FAULTS_MAX) {
        errno = EMSGSIZE;
        return -1;
    }
    if (script->n == script->size) {
        size_t size = script->size ? 2 * script->size : 16;
        struct swfab_fault *more =
            realloc(script->faults, size * sizeof(*more));

        if (!more)
            return -1;
        script->faults = more;
        script->size = size;
    }
    script->faults[script->n++] = fault;
    return 0;
}

/* Two halves in order become one. */
static void merge(struct swfab_fault *all, size_t half, size_t n,
                  struct swfab_fault *room)
{
    size_t a = 0, b = half;

    for (size_t i = 0; i < n; i++) {
        bool first = b == n || (a < half && all[a].time <= all[b].time);

        room[i] = all[first ? a++ : b++];
    }
    for (size_t i = 0; i < n; i++)
        all[i] = room[i];
}

static void sort(struct swfab_fault *all, size_t n, struct swfab_fault *room)
{
    if (n < 2)
        return;
    sort(all, n / 2, room);
    sort(all + n / 2, n - n / 2, room);
    merge(all, n / 2, n, room);
}

/* Without memory for it by the slow way: also stable. */
static void sort_in_place(struct swfab_fault *all, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct swfab_fault f = all[i];
        size_t at = i;

        for (; at && all[at - 1].time > f.time; at--)
            all[at] = all[at - 1];
        all[at] = f;
    }
}

void swfab_script_sort(struct swfab_script *script)
{
    struct swfab_fault *room = malloc((script->n + 1) * sizeof(*room));

    if (room)
        sort(script->faults, script->n, room);
    else
        sort_in_place(script->faults, script->n);
    free(room);
}

void swfab_script_free(struct swfab_script *script)
{
    free(script->faults);
    *script = (struct swfab_script){0};
}

static bool apply_chance(struct swfab *fab, const struct swfab_fault *f)
{
    bool loss = f->op == SWFAB_OP_LOSS;

    if (f->node == NET_NONE)
        return loss ? swfab_set_loss_all(fab, f->p)
                    : swfab_set_corruption_all(fab, f->p);
    return loss ? swfab_set_loss(fab, f->node, f->port, f->p)
                : swfab_set_corruption(fab, f->node, f->port, f->p);
}

bool swfab_fault_apply(struct swfab *fab, const struct swfab_fault *f)
{
    switch (f->op) {
    case SWFAB_OP_DOWN:
    case SWFAB_OP_UP:
        return swfab_set_link(fab, f->node, f->port, f->op == SWFAB_OP_UP);
    case SWFAB_OP_PULL:
        return swfab_disconnect(fab, f->node, f->port);
    case SWFAB_OP_PLUG:
        return swfab_connect(fab, f->node, f->port, f->node2, f->port2);
    case SWFAB_OP_KILL:
    case SWFAB_OP_REVIVE:
        return swfab_set_xbar_dead(fab, f->node, f->op == SWFAB_OP_KILL);
    case SWFAB_OP_MUTE:
    case SWFAB_OP_UNMUTE:
        return swfab_set_host_mute(fab, f->node, f->op == SWFAB_OP_MUTE);
    case SWFAB_OP_LOSS:
    case SWFAB_OP_CORRUPT:
        return apply_chance(fab, f);
    case SWFAB_OP_SEED:
        swfab_seed(fab, f->seed);
        return true;
    }
    return false;
}

int swfab_script_schedule(const struct swfab_script *script,
                          struct swfab_timed *timed)
{
    for (size_t i = 0; i < script->n; i++)
        if (swfab_timed_fault(timed, script->faults[i].time,
                              script->faults[i].node, i) < 0)
            return -1;
    return 0;
}

/* ---- by chance ---- */

static uint64_t below(struct net_rng *rng, uint64_t n)
{
    return n ? net_rng_next(rng) % n : 0;
}

/* A fault and its end, both before `until`. */
static int add_pair(struct swfab_script *script, struct net_rng *rng,
                    const struct swfab_chaos *chaos, struct swfab_fault f,
                    enum swfab_fault_op end)
{
    f.time = below(rng, chaos->until);
    if (swfab_script_add(script, f) < 0)
        return -1;
    f.time += 1 + below(rng, chaos->mended);
    if (f.time > chaos->until)
        f.time = chaos->until;
    f.op = end;
    return swfab_script_add(script, f);
}

/* The n-th node of a kind, n drawn. */
static uint32_t draw_node(const struct net *net, struct net_rng *rng,
                          enum net_kind kind)
{
    uint32_t n = kind == NET_HOST ? net->nhosts : net->nxbars;
    uint32_t left = n ? net_rng_below(rng, n) : 0;

    for (uint32_t i = 0; n && i < net->nnodes; i++)
        if (net->nodes[i].kind == kind && left-- == 0)
            return i;
    return NET_NONE;
}

static int add_link(struct swfab_script *script, const struct net *net,
                    struct net_rng *rng, const struct swfab_chaos *chaos)
{
    for (int tries = 0; net->nports && tries < 100; tries++) {
        uint32_t p = net_rng_below(rng, net->nports);
        struct swfab_fault f = {.op = SWFAB_OP_DOWN,
                                .node = net->ports[p].node};

        f.port = net_port_number(net, p);
        if (net->ports[p].peer != NET_NONE)
            return add_pair(script, rng, chaos, f, SWFAB_OP_UP);
    }
    return 0;
}

static int add_node(struct swfab_script *script, const struct net *net,
                    struct net_rng *rng, const struct swfab_chaos *chaos,
                    enum net_kind kind)
{
    bool host = kind == NET_HOST;
    struct swfab_fault f = {.op = host ? SWFAB_OP_MUTE : SWFAB_OP_KILL,
                            .node = draw_node(net, rng, kind)};

    if (f.node == NET_NONE)
        return 0;
    return add_pair(script, rng, chaos, f,
                    host ? SWFAB_OP_UNMUTE : SWFAB_OP_REVIVE);
}

int swfab_script_random(struct swfab_script *script, const struct net *net,
                        uint64_t seed, const struct swfab_chaos *chaos)
{
    struct net_rng rng = {seed};
    int rc = 0;

    for (unsigned i = 0; rc == 0 && i < chaos->links; i++)
        rc = add_link(script, net, &rng, chaos);
    for (unsigned i = 0; rc == 0 && i < chaos->xbars; i++)
        rc = add_node(script, net, &rng, chaos, NET_XBAR);
    for (unsigned i = 0; rc == 0 && i < chaos->hosts; i++)
        rc = add_node(script, net, &rng, chaos, NET_HOST);
    swfab_script_sort(script);
    return rc;
}
