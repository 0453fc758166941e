/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The caps on drains: whether there is room for one more, and those nodes for
 * which there is none.  They are told once a fault, many in one line, and are
 * drained as soon as there is room.  A dry run has caps of its own.
 */
#include <slurm/slurm.h>
#include <stdlib.h>

#include "base/log.h"
#include "slurmabi/slurm_sym.h"
#include "switchmgrd/net_clock.h"
#include "switchmgrd/updater.h"

/* Nodes that we have drained; in a dry run, would have. */
static uint32_t drained(const struct updater *u)
{
    uint32_t count = 0;

    for (const struct upd_node *n = u->nodes; n; n = n->hh.next)
        count += n->own || (u->conf->dry_run && n->dry_drained);
    return count;
}

static struct caps *caps_of(struct updater *u)
{
    return u->conf->dry_run ? &u->dry_caps : &u->caps;
}

bool upd_caps_room(struct updater *u)
{
    return caps_may(caps_of(u), &u->caps_conf, net_now(), HASH_COUNT(u->nodes),
                    drained(u));
}

bool upd_caps_take(struct updater *u)
{
    return caps_take(caps_of(u), &u->caps_conf, net_now(), HASH_COUNT(u->nodes),
                     drained(u));
}

bool upd_caps_holds(const struct upd_node *n)
{
    return n->wanted && n->want.drain && !n->drain &&
           n->capped == n->want.since;
}

void upd_caps_hold(struct updater *u, struct upd_node *n)
{
    if (n->capped == n->want.since)
        return;
    n->capped = n->want.since;
    n->capped_is_news = true;
    u->status.capped++;
}

void upd_caps_tell(struct updater *u)
{
    struct hostlist *hl = slurm_hostlist_create(NULL);
    uint32_t news = 0;
    char *names;

    for (struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (!n->capped_is_news)
            continue;
        n->capped_is_news = false;
        slurm_hostlist_push_host(hl, n->name);
        news++;
    }
    names = news ? slurm_hostlist_ranged_string_xmalloc(hl) : NULL;
    slurm_hostlist_destroy(hl);
    if (!names)
        return;
    log_error("SF-E701: not drained%s: %s: more than DrainMax, DrainInterval "
              "and DrainPercent allow (%u of %u nodes are drained by us); "
              "drained as soon as they allow it",
              u->conf->dry_run ? " (dry run)" : "", names, drained(u),
              HASH_COUNT(u->nodes));
    slurmabi_free(names);
}

void upd_caps_look(struct updater *u)
{
    bool asked = false, room = false;

    for (struct upd_node *n = u->nodes; n; n = n->hh.next) {
        if (!upd_caps_holds(n))
            continue;
        if (!asked)
            room = upd_caps_room(u);
        asked = true;
        n->dirty |= room;
    }
}
