/* SPDX-License-Identifier: BSD-3-Clause
 * See delta.h.
 */
#include "net/delta.h"

#include <errno.h>
#include <string.h>

#include "base/be.h"
#include "base/crc32c.h"

#define MAGIC 0x53464431u /* "SFD1" */

/* ---- fingerprint ----------------------------------------------------------
 */

static uint32_t mix(uint32_t crc, uint64_t v)
{
    uint8_t bytes[8];

    for (int i = 0; i < 8; i++, v >>= 8)
        bytes[i] = (uint8_t)v;
    return crc32c(crc, bytes, sizeof(bytes));
}

uint32_t net_fingerprint(const struct net *net)
{
    uint32_t crc = 0;

    for (uint32_t n = 0; n < net->nnodes; n++) {
        const struct net_node *node = &net->nodes[n];

        crc =
            mix(crc, (uint64_t)node->kind << 24 | (uint64_t)node->nports << 16 |
                         (uint64_t)node->has_id << 8 | node->plane);
        crc = mix(crc, node->id);
    }
    for (uint32_t p = 0; p < net->nports; p++)
        if (net->ports[p].peer != NET_NONE && net->ports[p].peer > p)
            crc = mix(crc, (uint64_t)p << 32 | net->ports[p].peer);
    return crc;
}

/* ---- making ---------------------------------------------------------------
 */

static bool begins_with(const struct net *after, const struct net *before)
{
    if (after->nnodes < before->nnodes)
        return false;
    for (uint32_t n = 0; n < before->nnodes; n++) {
        const struct net_node *a = &after->nodes[n], *b = &before->nodes[n];

        if (a->kind != b->kind || a->nports != b->nports ||
            a->plane != b->plane || strcmp(a->name, b->name) != 0)
            return false;
    }
    return true;
}

static uint32_t peer_in(const struct net *net, uint32_t port)
{
    return port < net->nports ? net->ports[port].peer : NET_NONE;
}

/* Cables of a that b has not, by their lower ends. */
static uint32_t cables_only(const struct net *a, const struct net *b,
                            struct bytebuf *out, bool both_ends)
{
    uint32_t n = 0;

    for (uint32_t p = 0; p < a->nports; p++) {
        uint32_t q = a->ports[p].peer;

        if (q == NET_NONE || q < p || peer_in(b, p) == q)
            continue;
        n++;
        if (!out)
            continue;
        bytebuf_add32(out, p);
        if (both_ends)
            bytebuf_add32(out, q);
    }
    return n;
}

static uint8_t flags_of(const struct net_node *node)
{
    return node->has_id ? 1 : 0;
}

static void add8(struct bytebuf *out, uint8_t v)
{
    bytebuf_add(out, &v, 1);
}

static uint32_t changed_ids(const struct net *before, const struct net *after,
                            struct bytebuf *out)
{
    uint32_t count = 0;

    for (uint32_t n = 0; n < before->nnodes; n++) {
        const struct net_node *a = &after->nodes[n], *b = &before->nodes[n];

        if (a->id == b->id && a->has_id == b->has_id)
            continue;
        count++;
        if (!out)
            continue;
        bytebuf_add32(out, n);
        add8(out, flags_of(a));
        bytebuf_add64(out, a->id);
    }
    return count;
}

static void add_version(struct bytebuf *out, struct net_version v)
{
    bytebuf_add64(out, v.leader);
    bytebuf_add32(out, v.counter);
}

static void add_nodes(struct bytebuf *out, const struct net *after,
                      uint32_t first)
{
    for (uint32_t n = first; n < after->nnodes; n++) {
        const struct net_node *node = &after->nodes[n];

        add8(out, (uint8_t)node->kind);
        add8(out, node->nports);
        add8(out, flags_of(node));
        add8(out, node->plane);
        bytebuf_add64(out, node->id);
        bytebuf_add_str(out, node->name);
    }
}

int net_delta_make(const struct net *before, struct net_version from,
                   const struct net *after, struct net_version to,
                   struct bytebuf *out, struct errbuf *err)
{
    if (!begins_with(after, before))
        return errprintf(err, "the maps do not begin with the same nodes");
    bytebuf_add32(out, MAGIC);
    add_version(out, from);
    add_version(out, to);
    bytebuf_add32(out, before->nnodes);
    bytebuf_add32(out, after->nnodes - before->nnodes);
    bytebuf_add32(out, cables_only(before, after, NULL, false));
    bytebuf_add32(out, cables_only(after, before, NULL, true));
    bytebuf_add32(out, changed_ids(before, after, NULL));
    bytebuf_add32(out, net_fingerprint(before));
    add_nodes(out, after, before->nnodes);
    cables_only(before, after, out, false);
    cables_only(after, before, out, true);
    changed_ids(before, after, out);
    if (out->bad)
        return errprintf(err, "the delta is too long");
    return 0;
}

/* ---- applying --------------------------------------------------------------
 */

struct apply {
    struct net *net; /* a copy that the delta is tried on */
    struct be_reader r;
    uint32_t before, nodes, out, in, ids;
    net_cable_f *gone, *come;
    void *arg;
    bool telling; /* second time: all is well, tell the caller */
    struct errbuf *err;
};

static int nonsense(struct apply *a, const char *what)
{
    errprintf(a->err, "map delta: %s", what);
    errno = EBADMSG;
    return -1;
}

static struct net_version get_version(struct be_reader *r)
{
    struct net_version v;

    v.leader = be_get64(r);
    v.counter = be_get32(r);
    return v;
}

static int apply_node(struct apply *a)
{
    unsigned kind = be_get8(&a->r), nports = be_get8(&a->r);
    unsigned flags = be_get8(&a->r), plane = be_get8(&a->r);
    uint64_t id = be_get64(&a->r);
    char name[SF_NET_NAME_MAX];
    uint32_t n;

    be_get_str(&a->r, name, sizeof(name));
    if (a->r.bad || kind > NET_XBAR || flags > 1 || nports == 0 ||
        (kind == NET_HOST && nports != 1))
        return nonsense(a, "a node that cannot be");
    n = kind == NET_HOST ? net_add_host(a->net, name, id)
                         : net_add_xbar(a->net, name, nports, id);
    if (n == NET_NONE)
        return errprintf(a->err, "map delta: no room for a node");
    a->net->nodes[n].has_id = flags & 1;
    a->net->nodes[n].plane = (uint8_t)plane;
    return 0;
}

static int apply_out(struct apply *a)
{
    uint32_t p = be_get32(&a->r), q;

    if (a->r.bad || p >= a->net->nports || a->net->ports[p].peer == NET_NONE)
        return nonsense(a, "a cable that is not there");
    q = a->net->ports[p].peer;
    net_disconnect(a->net, a->net->ports[p].node, net_port_number(a->net, p));
    if (a->telling && a->gone)
        a->gone(a->arg, p, q);
    return 0;
}

static int apply_in(struct apply *a)
{
    uint32_t p = be_get32(&a->r), q = be_get32(&a->r);

    if (a->r.bad || p >= a->net->nports || q >= a->net->nports ||
        !net_connect(a->net, a->net->ports[p].node, net_port_number(a->net, p),
                     a->net->ports[q].node, net_port_number(a->net, q)))
        return nonsense(a, "a cable that cannot be");
    if (a->telling && a->come)
        a->come(a->arg, p, q);
    return 0;
}

static int apply_id(struct apply *a)
{
    uint32_t n = be_get32(&a->r);
    unsigned flags = be_get8(&a->r);
    uint64_t id = be_get64(&a->r);

    if (a->r.bad || n >= a->before || flags > 1)
        return nonsense(a, "an id of nobody");
    if (!net_set_id(a->net, n, id))
        return errprintf(a->err, "map delta: out of memory");
    a->net->nodes[n].has_id = flags & 1;
    return 0;
}

static int each(struct apply *a, uint32_t n, int (*one)(struct apply *))
{
    for (uint32_t i = 0; i < n; i++)
        if (one(a) < 0)
            return -1;
    return 0;
}

static int apply_all(struct apply *a)
{
    if (each(a, a->nodes, apply_node) < 0 || each(a, a->out, apply_out) < 0 ||
        each(a, a->in, apply_in) < 0 || each(a, a->ids, apply_id) < 0)
        return -1;
    return a->r.left ? nonsense(a, "bytes behind its end") : 0;
}

/* The head: is it a delta, and one for this map? */
static int open_delta(struct apply *a, const struct net *net,
                      struct net_version version, struct net_version *to)
{
    uint32_t magic = be_get32(&a->r), print;
    struct net_version from = get_version(&a->r);

    *to = get_version(&a->r);
    a->before = be_get32(&a->r);
    a->nodes = be_get32(&a->r);
    a->out = be_get32(&a->r);
    a->in = be_get32(&a->r);
    a->ids = be_get32(&a->r);
    print = be_get32(&a->r);
    if (a->r.bad || magic != MAGIC || to->counter == 0)
        return nonsense(a, "it is none");
    if (!net_version_same(from, version) || a->before != net->nnodes ||
        print != net_fingerprint(net)) {
        errprintf(a->err, "map delta: it begins at another map");
        errno = ESTALE;
        return -1;
    }
    return 0;
}

int net_delta_apply(struct net *net, struct net_version *version,
                    const uint8_t *bytes, size_t len, net_cable_f *gone,
                    net_cable_f *come, void *arg, struct errbuf *err)
{
    struct apply a = {.gone = gone, .come = come, .arg = arg, .err = err};
    struct net_version to;
    struct be_reader body;

    be_reader_init(&a.r, bytes, len);
    if (open_delta(&a, net, *version, &to) < 0)
        return -1;
    body = a.r;
    a.net = net_copy(net);
    if (!a.net)
        return errprintf(err, "map delta: out of memory");
    if (apply_all(&a) < 0) {
        net_free(a.net);
        return -1;
    }
    net_free(a.net);
    a.net = net;
    a.r = body;
    a.telling = true;
    *version = (struct net_version){0};
    if (apply_all(&a) < 0)
        return -1;
    *version = to;
    return 0;
}
