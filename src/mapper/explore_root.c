/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The explorer's first questions: what hangs on our own cable?
 */
#include "mapper/explore_priv.h"

#include <string.h>

bool root_next(struct explore *x, uint64_t now, struct probe *probe)
{
    if (x->root_test == TEST_NONE)
        x->root_test = TEST_LOOP;
    else if (x->window.inflight > 0 || x->atlas.nrecs > 0)
        return false;
    memset(probe, 0, sizeof(*probe));
    if (x->limits.absolute || x->root_test == TEST_SCOUT) {
        probe->kind = x->limits.absolute ? PROBE_TAGGED : PROBE_SCOUT;
    } else {
        probe->kind = x->limits.tagged ? PROBE_TAGGED : PROBE_LOOP;
        probe->nroute = 1;
        probe->route[0] = 0x80;
    }
    window_send(&x->window, now, probe, ROOT);
    return true;
}

void root_silent(struct explore *x)
{
    /* All hangs on this one, and nothing is known of losses yet. */
    int tries = x->limits.fixed_timers ? 1 : 2 * x->limits.tries + 1;

    if (++x->root_tries < tries)
        return;
    x->root_tries = 0;
    if (x->root_test == TEST_LOOP && !x->limits.absolute)
        x->root_test = TEST_SCOUT;
    else
        x->done = true; /* nothing there: a map of one host */
}

void root_answer(struct explore *x, const struct probe_answer *answer)
{
    struct atlas *a = &x->atlas;
    struct atlas_ref at = {0, 0};
    bool ok = true;

    if (answer->outcome == PROBE_NOTHING) {
        root_silent(x);
        return;
    }
    if (answer->outcome == PROBE_HOST) {
        x->opposite = answer->host;
        x->has_opposite = answer->host.address != x->me.address;
        x->done = true;
        return;
    }
    ok = atlas_add(a, (struct atlas_ref){ATLAS_NONE, 0}) == 0 &&
         atlas_host(a, &x->me) == 0 && atlas_set_host(a, at, 0);
    if (ok && answer->outcome == PROBE_ID)
        ok = atlas_set_id(a, 0, &answer->id);
    if (!ok)
        explore_fail(x, "no memory");
    else
        explore_facts(x);
}
