/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Routes of the explorer's probes.
 */
#include "mapper/explore_priv.h"

/* Deltas to a slot and beyond it, as route bytes; number of them or -1. */
static int route_to(struct explore *x, struct atlas_ref at,
                    const struct guess_way *way, int16_t *deltas)
{
    unsigned n;

    if (!atlas_way(&x->atlas, at.rec, deltas, PROBE_ROUTE_MAX / 2, &n))
        return -1;
    if (n + 1u + (way ? way->n : 0u) > PROBE_ROUTE_MAX / 2)
        return -1;
    deltas[n++] = (int16_t)at.slot;
    for (int i = 0; way && i < way->n; i++)
        deltas[n++] = way->delta[i];
    return (int)n;
}

static uint8_t route_byte(int delta)
{
    return (uint8_t)(0x80 | (delta & 0x3f));
}

/* Absolute fabrics: a delta becomes the port to leave by. */
static bool make_absolute(struct explore *x, struct atlas_ref at,
                          struct probe *probe, int n)
{
    uint32_t rec = at.rec;

    for (int i = n - 1; i >= 0; i--) {
        const struct atlas_rec *r = &x->atlas.recs[rec];
        struct atlas_ref before;

        probe->route[i] = (uint8_t)(r->entry + at.slot);
        if (r->from == ATLAS_NONE)
            return i == 0;
        before = atlas_at(&x->atlas, r->from, r->from_slot);
        at = before;
        rec = before.rec;
    }
    return false;
}

bool case_fill_route(struct explore *x, struct xcase *c, struct probe *probe)
{
    int16_t deltas[PROBE_ROUTE_MAX];
    const struct guess_way *way = c->test == TEST_GUESS ? &c->way : NULL;
    int n = route_to(x, c->at, way, deltas);
    int all;

    if (n < 0 || n > x->limits.max_hops + (c->test != TEST_LOOP ? 0 : 1))
        return false;
    if (x->limits.absolute) {
        probe->kind = PROBE_TAGGED;
        probe->nroute = (uint8_t)n;
        return n <= x->limits.max_route && make_absolute(x, c->at, probe, n);
    }
    all = c->test == TEST_LOOP ? 2 * n + 1 : n;
    if (all > x->limits.max_route)
        return false;
    for (int i = 0; i < n; i++)
        probe->route[i] = route_byte(deltas[i]);
    if (c->test == TEST_LOOP) {
        probe->kind = x->limits.tagged ? PROBE_TAGGED : PROBE_LOOP;
        probe->route[n] = route_byte(0);
        for (int i = 0; i < n; i++)
            probe->route[n + 1 + i] = route_byte(-deltas[n - 1 - i]);
    } else {
        probe->kind = PROBE_SCOUT;
    }
    probe->nroute = (uint8_t)all;
    return true;
}

/* There by the one way, over to the other's port of entry, back by the
 * other's way: comes back only if both are one crossbar (a check: only if the
 * link leads from `at` to `other`). */
bool case_fill_compare(struct explore *x, struct xcase *c, struct probe *probe)
{
    int16_t there[PROBE_ROUTE_MAX], back[PROBE_ROUTE_MAX];
    unsigned n, m;
    struct atlas_ref a = atlas_at(&x->atlas, c->at.rec, c->at.slot);
    struct atlas_ref b = atlas_at(&x->atlas, c->other.rec, c->other.slot);
    int over;

    if (!atlas_way(&x->atlas, a.rec, there, PROBE_ROUTE_MAX / 2, &n) ||
        !atlas_way(&x->atlas, b.rec, back, PROBE_ROUTE_MAX / 2, &m))
        return false;
    /* Entered at a's 0, and b's 0 is a's slot a.slot - b.slot; or entered
     * at b's slot over the link. */
    over = a.slot - b.slot;
    if (c->test == TEST_CHECK) {
        there[n++] = (int16_t)a.slot;
        over = -b.slot;
    }
    if (n + 1 + m > x->limits.max_route || over <= -x->atlas.ports ||
        over >= x->atlas.ports)
        return false;
    probe->kind = PROBE_COMPARE;
    probe->nroute = (uint8_t)(n + 1 + m);
    for (unsigned i = 0; i < n; i++)
        probe->route[i] = route_byte(there[i]);
    probe->route[n] = route_byte(over);
    for (unsigned i = 0; i < m; i++)
        probe->route[n + 1 + i] = route_byte(-back[m - 1 - i]);
    return true;
}
