/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Maps of before.  Children that have one of them pull only what is different
 * in the map in use: most have the last one, some missed a few.
 */
#include "mapper/gm2_priv.h"

static void drop(struct gm2_past *past)
{
    gm2_map_free(past->map);
    bytebuf_free(&past->delta);
    *past = (struct gm2_past){0};
}

void gm2_past_free(struct gm2 *m)
{
    for (unsigned i = 0; i < SF_GM_PAST_MAX; i++)
        drop(&m->past[i]);
}

/* Deltas lead to the map in use: to another one from now on. */
static void forget_deltas(struct gm2 *m)
{
    for (unsigned i = 0; i < SF_GM_PAST_MAX; i++) {
        bytebuf_free(&m->past[i].delta);
        m->past[i].made = false;
    }
}

static void make(struct gm2_past *past, const struct gm2_map *to)
{
    past->made = true;
    bytebuf_init(&past->delta, GM2_DELTA_MAX);
    if (!gm2_delta_make(past->map, to, &past->delta))
        bytebuf_free(&past->delta);
}

static bool has_children(const struct gm2 *m, const struct gm2_map *map)
{
    uint32_t n = gm2_map_host(map, m->config.address) + 1;

    return gm2_tree_child(n, 0, map->net->nhosts) != 0;
}

void gm2_past_keep(struct gm2 *m, const struct gm2_map *next)
{
    const struct gm2_map *old = m->map ? m->map : m->supposed;
    struct gm2_map *copy;

    if (!m->config.map_deltas || !old || !has_children(m, next)) {
        gm2_past_free(m);
        return;
    }
    if (gm2_version_equal(&old->version, &next->version))
        return; /* pulled once more */
    forget_deltas(m);
    copy = gm2_map_copy(old);
    if (!copy)
        return; /* children who have it pull the whole */
    drop(&m->past[SF_GM_PAST_MAX - 1]);
    for (unsigned i = SF_GM_PAST_MAX - 1; i > 0; i--)
        m->past[i] = m->past[i - 1];
    m->past[0] = (struct gm2_past){.map = copy};
    make(&m->past[0], next);
}

bool gm2_past_gives(const struct gm2 *m)
{
    return bytebuf_len(&m->past[0].delta) > 0 || m->past[1].map;
}

const struct bytebuf *gm2_past_delta(struct gm2 *m, uint32_t counter)
{
    for (unsigned i = 0; i < SF_GM_PAST_MAX; i++) {
        struct gm2_past *past = &m->past[i];

        if (!past->map || past->map->version.counter != counter)
            continue;
        if (!past->made)
            make(past, m->map);
        if (bytebuf_len(&past->delta) > 0)
            return &past->delta;
    }
    return NULL;
}
