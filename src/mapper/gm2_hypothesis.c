/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An old map as hypothesis, in the place of an exploration: after a restart
 * the stored one, with --map-incrementally the one in use.
 *
 * It is verified link by link, host by host, port by port.  What is lost is
 * taken out, and the rest is verified again, until a whole verification finds
 * nothing: only then it is the map.  Where there is anything else (somebody
 * new, somebody elsewhere) that is explored, with the rest as it was verified
 * (explore_after.c).
 *
 * Whoever was not the highest in the stored map first asks those above it:
 * one of them that answers leads, and nothing needs to be verified here.
 */

#include "mapper/gm2_priv.h"

/* Patched so often: it changes faster than it can be verified. */
#define PATCHES_MAX 4

void gm2_suppose(struct gm2 *m, struct gm2_map *map)
{
    gm2_map_free(m->supposed);
    m->supposed = map;
}

void gm2_hypothesis_stop(struct gm2 *m)
{
    net_free(m->guess.net);
    m->guess = (struct gm2_guess){0};
}

/* ---- asking -------------------------------------------------------------- */

static bool ask_higher(struct gm2 *m)
{
    const struct verify_options hosts = {.hosts = true};

    m->reduced = gm2_reduce_above(m->guess.net, m->guess.me);
    return m->reduced && gm2_search_verify(m, &hosts, m->reduced, m->guess.me);
}

static bool ask_all(struct gm2 *m)
{
    const struct verify_options all = {
        .hosts = true,
        .links = true,
        .empty = true,
        .ids = m->config.limits.tagged,
        .rings = VERIFY_RINGS_ALL,
    };

    return gm2_search_verify(m, &all, m->guess.net, m->guess.me);
}

static bool ask(struct gm2 *m)
{
    if (m->guess.greeting ? ask_higher(m) : ask_all(m))
        return true;
    gm2_hypothesis_stop(m);
    return false;
}

static const struct gm2_map *choose(const struct gm2 *m, uint32_t *me)
{
    if (m->supposed && !m->refuted) {
        *me = gm2_map_host(m->supposed, m->config.address);
        return *me == NET_NONE ? NULL : m->supposed;
    }
    *me = m->me;
    return m->config.map_incrementally && gm2_is_leader(m) ? m->map : NULL;
}

bool gm2_hypothesis_start(struct gm2 *m)
{
    uint32_t me;
    const struct gm2_map *map = choose(m, &me);

    if (!map)
        return false;
    m->guess = (struct gm2_guess){
        .net = net_copy(map->net),
        .me = me,
        .stored = map == m->supposed,
        .greeting = map == m->supposed && me > 0,
    };
    if (!m->guess.net)
        return false;
    m->counters.hypotheses++;
    return ask(m);
}

/* ---- what came of it ----------------------------------------------------- */

/* Everything anew; or, with what was verified, only the rest. */
static void give_up(struct gm2 *m, const char *why, bool verified)
{
    struct explore *x = gm2_search_explorer(m);

    if (verified && x && !explore_after(x, m->v)) {
        explore_free(x);
        x = NULL;
    }
    if (m->guess.stored)
        gm2_notice(m, "the stored map is not true any more (%s): exploring%s",
                   why, verified ? " what is different" : "");
    m->counters.regions += verified;
    m->refuted = m->guess.stored; /* it still says what stood where */
    gm2_search_stop(m);
    gm2_search_explore(m, x);
}

/* The first change that is more than a loss; NULL: there is none. */
static const struct verify_change *more_than_lost(const struct gm2 *m)
{
    const struct verify_change *c;
    uint32_t i = 0;

    while ((c = verify_change(m->v, i)) != NULL &&
           (c->what == VERIFY_LINK_LOST || c->what == VERIFY_HOST_LOST))
        i++;
    return c;
}

/* Take out what is lost.  False: no memory. */
static bool patch(struct gm2 *m)
{
    const struct verify_change *c;
    struct net *left;
    uint32_t me;

    for (uint32_t i = 0; (c = verify_change(m->v, i)) != NULL; i++)
        if (c->what == VERIFY_LINK_LOST)
            net_disconnect(m->guess.net, c->node, (unsigned)c->port);
        else
            net_disconnect_all(m->guess.net, c->node);
    left = gm2_reduce_reachable(m->guess.net, m->guess.me, &me);
    if (!left)
        return false;
    net_free(m->guess.net);
    m->guess.net = left;
    m->guess.me = me;
    m->guess.patches++;
    return true;
}

static void accept(struct gm2 *m)
{
    uint32_t me;
    struct net *net = gm2_reduce_reachable(m->guess.net, m->guess.me, &me);
    bool stored = m->guess.stored, patched = m->guess.patches > 0, taken;

    taken = net && gm2_take_net(m, net);
    net_free(net);
    if (!taken)
        give_up(m, "a higher mapper is there", false);
    else if (stored)
        gm2_notice(m, "the stored map is true%s",
                   patched ? ", less what is lost" : "");
}

void gm2_hypothesis_done(struct gm2 *m)
{
    const struct verify_change *c = verify_change(m->v, 0);
    char text[200] = "no memory";

    if (m->guess.greeting) {
        m->guess.greeting = false;
        if (!ask(m))
            give_up(m, text, false);
        return;
    }
    /* The map in use was doubted for a reason. */
    if (!c && !verify_failed(m->v) && (m->guess.stored || m->guess.patches)) {
        accept(m);
        return;
    }
    if (c && !more_than_lost(m) && m->guess.patches < PATCHES_MAX) {
        if (!patch(m) || !ask(m))
            give_up(m, text, false);
        return;
    }
    if (c)
        gm2_describe_change(m->guess.net,
                            more_than_lost(m) ? more_than_lost(m) : c, text,
                            sizeof(text));
    give_up(m, text, c != NULL);
}
