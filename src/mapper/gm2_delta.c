/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See gm2_delta.h.
 *
 * Nodes that both maps have stand in both in one order; the others of the old
 * map are taken out, the others of the new one come behind, and the canonical
 * order puts their hosts where they belong.
 */
#include "mapper/gm2_delta.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/be.h"
#include "net/align.h"
#include "net/build.h"
#include "net/delta.h"

static struct net_version version_of(const struct gm2_version *v)
{
    return (struct net_version){v->leader, v->counter};
}

/* ---- making -------------------------------------------------------------- */

struct make {
    const struct gm2_map *before, *after;
    uint32_t *pair; /* node of after: of before, NET_NONE: new */
    int *shift;
    bool *gone;     /* nodes of before */
    uint32_t *kept; /* node of before: of the base */
    uint32_t *to;   /* node of after: of the target */
    struct net *base, *target;
};

static bool same_node(const struct make *m, uint32_t n, uint32_t old)
{
    const struct net_node *a = &m->after->net->nodes[n];
    const struct net_node *b = &m->before->net->nodes[old];

    if (a->kind == NET_HOST)
        return m->after->hosts[n].level == m->before->hosts[old].level &&
               m->after->hosts[n].type == m->before->hosts[old].type;
    return m->shift[n] == 0 && a->nports == b->nports && a->plane == b->plane;
}

/* Pairs that are the same and in order; whatever else is gone, or new. */
static void choose_kept(struct make *m)
{
    uint32_t next = 0;

    for (uint32_t o = 0; o < m->before->net->nnodes; o++)
        m->gone[o] = true;
    for (uint32_t n = 0; n < m->after->net->nnodes; n++) {
        uint32_t old = m->pair[n];

        if (old == NET_NONE || old < next || !same_node(m, n, old)) {
            m->pair[n] = NET_NONE;
            continue;
        }
        m->gone[old] = false;
        next = old + 1;
    }
}

static bool add_new(struct make *m, uint32_t n)
{
    const struct net_node *node = &m->after->net->nodes[n];

    m->to[n] = node->kind == NET_HOST
                   ? net_add_host(m->target, "", node->id)
                   : net_add_xbar(m->target, "", node->nports, node->id);
    if (m->to[n] == NET_NONE)
        return false;
    m->target->nodes[m->to[n]].has_id = node->has_id;
    m->target->nodes[m->to[n]].plane = node->plane;
    return true;
}

/* The new map's cables on the old one's nodes and the new ones. */
static bool make_target(struct make *m)
{
    const struct net *net = m->after->net;

    for (uint32_t n = 0; n < m->base->nnodes; n++)
        net_disconnect_all(m->target, n);
    for (uint32_t n = 0; n < net->nnodes; n++)
        if (m->pair[n] != NET_NONE)
            m->to[n] = m->kept[m->pair[n]];
        else if (!add_new(m, n))
            return false;
    for (uint32_t p = 0; p < net->nports; p++) {
        uint32_t q = net->ports[p].peer;

        if (q != NET_NONE && q > p &&
            !net_connect(m->target, m->to[net->ports[p].node],
                         net_port_number(net, p), m->to[net->ports[q].node],
                         net_port_number(net, q)))
            return false;
    }
    return true;
}

static unsigned count(const struct make *m, bool gone)
{
    unsigned n = 0;

    for (uint32_t o = 0; gone && o < m->before->net->nnodes; o++)
        n += m->gone[o];
    for (uint32_t i = 0; !gone && i < m->after->net->nhosts; i++)
        n += m->pair[i] == NET_NONE;
    return n;
}

static bool put_delta(const struct make *m, struct bytebuf *out)
{
    unsigned gone = count(m, true), hosts = count(m, false);

    if (gone > UINT16_MAX || hosts > UINT16_MAX)
        return false;
    bytebuf_add32(out, net_fingerprint(m->after->net));
    bytebuf_add16(out, (uint16_t)gone);
    bytebuf_add16(out, (uint16_t)hosts);
    for (uint32_t o = 0; o < m->before->net->nnodes; o++)
        if (m->gone[o])
            bytebuf_add32(out, o);
    for (uint32_t i = 0; i < m->after->net->nhosts; i++) {
        if (m->pair[i] != NET_NONE)
            continue;
        bytebuf_add(out, &m->after->hosts[i].type, 1);
        bytebuf_add32(out, m->after->hosts[i].level);
    }
    return net_delta_make(m->base, version_of(&m->before->version), m->target,
                          version_of(&m->after->version), out, NULL) == 0 &&
           !out->bad;
}

/* What is sent is what leads there. */
static bool leads_there(const struct make *m, const struct bytebuf *out)
{
    struct gm2_map *map =
        gm2_delta_apply(m->before, &m->after->version, bytebuf_data(out),
                        bytebuf_len(out), NULL);
    bool same = map != NULL;

    gm2_map_free(map);
    return same;
}

static bool has_twins(const struct net *net)
{
    for (uint32_t i = 0; i < net->nhosts; i++)
        if (net_find_host(net, net->nodes[i].id) != i)
            return true;
    return false;
}

static bool make(struct make *m, struct bytebuf *out)
{
    const struct net *before = m->before->net, *after = m->after->net;

    if (!m->pair || !m->shift || !m->gone || !m->kept || !m->to ||
        !net_align(before, after, m->pair, m->shift))
        return false;
    choose_kept(m);
    m->base = net_without(before, m->gone, m->kept);
    m->target = m->base ? net_copy(m->base) : NULL;
    return m->target && make_target(m) && put_delta(m, out) &&
           leads_there(m, out);
}

bool gm2_delta_make(const struct gm2_map *before, const struct gm2_map *after,
                    struct bytebuf *out)
{
    struct make m = {.before = before, .after = after};
    size_t old = before->net->nnodes + 1, now = after->net->nnodes + 1;
    bool ok = false;

    m.pair = malloc(now * sizeof(*m.pair));
    m.shift = malloc(now * sizeof(*m.shift));
    m.to = malloc(now * sizeof(*m.to));
    m.gone = malloc(old * sizeof(*m.gone));
    m.kept = malloc(old * sizeof(*m.kept));
    if (!has_twins(before->net) && !has_twins(after->net))
        ok = make(&m, out);
    net_free(m.base);
    net_free(m.target);
    free(m.pair);
    free(m.shift);
    free(m.to);
    free(m.gone);
    free(m.kept);
    return ok;
}

/* ---- applying ------------------------------------------------------------ */

struct apply {
    const struct gm2_map *before;
    struct be_reader r;
    uint32_t print;
    uint16_t ngone, nhosts;
    struct net *net;        /* on its way from the old to the new */
    uint32_t old_nodes;     /* of it, before new ones came */
    struct gm2_host *hosts; /* the new ones */
    struct errbuf *err;
};

static bool refuse(struct apply *a, int code, const char *what)
{
    errprintf(a->err, "map delta: %s", what);
    errno = code;
    return false;
}

static bool take_out(struct apply *a)
{
    uint32_t n = a->before->net->nnodes, next = 0;
    bool *gone = calloc(n + 1, sizeof(*gone)), ok = gone != NULL;

    for (unsigned i = 0; ok && i < a->ngone; i++) {
        uint32_t node = be_get32(&a->r);

        ok = !a->r.bad && node >= next && node < n;
        if (!ok)
            break;
        gone[node] = true;
        next = node + 1;
    }
    if (ok)
        a->net = net_without(a->before->net, gone, NULL);
    else if (gone)
        refuse(a, EBADMSG, "a node that is not there");
    free(gone);
    return a->net != NULL;
}

static bool read_hosts(struct apply *a)
{
    a->hosts = calloc(a->nhosts + 1u, sizeof(*a->hosts));
    for (unsigned i = 0; a->hosts && i < a->nhosts; i++) {
        a->hosts[i].type = be_get8(&a->r);
        a->hosts[i].level = be_get32(&a->r);
    }
    return a->hosts != NULL;
}

/* Level and type: a new host's come with the delta, in its order. */
static void host_of(uint64_t address, struct gm2_host *host, void *arg)
{
    const struct apply *a = arg;
    uint32_t node = net_find_host(a->net, address), i = 0;
    uint32_t old = gm2_map_host(a->before, address);

    if (node == NET_NONE || node < a->old_nodes) {
        if (old != NET_NONE)
            *host = a->before->hosts[old];
        return;
    }
    for (uint32_t n = a->old_nodes; n < node; n++)
        i += net_is_host(a->net, n);
    *host = a->hosts[i];
}

static bool too_many(const struct net *net)
{
    return net->nhosts > SF_GM_HOSTS_MAX || net->nxbars > SF_GM_XBARS_MAX;
}

static struct gm2_map *apply(struct apply *a, const struct gm2_version *to)
{
    struct net_version version = version_of(&a->before->version);
    struct gm2_map *map;
    uint32_t hosts;

    a->print = be_get32(&a->r);
    a->ngone = be_get16(&a->r);
    a->nhosts = be_get16(&a->r);
    if (!take_out(a) || !read_hosts(a))
        return NULL;
    a->old_nodes = a->net->nnodes;
    hosts = a->net->nhosts + a->nhosts;
    if (net_delta_apply(a->net, &version, a->r.pos, a->r.left, NULL, NULL, NULL,
                        a->err) < 0)
        return NULL;
    if (a->net->nhosts != hosts || too_many(a->net)) {
        refuse(a, EBADMSG, "other hosts than it says");
        return NULL;
    }
    map = gm2_map_new(a->net, to, host_of, a);
    if (!map || (net_version_same(version, version_of(to)) &&
                 net_fingerprint(map->net) == a->print))
        return map;
    gm2_map_free(map);
    refuse(a, ESTALE, "it leads to another map");
    return NULL;
}

struct gm2_map *gm2_delta_apply(const struct gm2_map *before,
                                const struct gm2_version *to,
                                const uint8_t *bytes, size_t len,
                                struct errbuf *err)
{
    struct apply a = {.before = before, .err = err};
    struct gm2_map *map;
    int saved;

    errprintf(err, "map delta: no memory");
    be_reader_init(&a.r, bytes, len);
    map = apply(&a, to);
    saved = errno;
    net_free(a.net);
    free(a.hosts);
    errno = saved;
    return map;
}
