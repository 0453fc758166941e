/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Between the engine of windows (impi/rma.h) and libfabric.
 */
#include "libimpi/win_fabric.h"

#include "base/limits.h"
#include "libimpi/fabric.h"
#include "libimpi/conns.h"
#include "libimpi/win_share.h"

static bool may_move(void *arg, uint32_t peer, size_t len, bool write)
{
    const struct fabric_peer *p;

    (void)arg;
    if (len < SF_FABRIC_MOVE_MIN)
        return false;
    p = conns_fabric(peer);
    return p && fabric_may_move(p, write);
}

static bool move(void *arg, uint32_t peer, const struct impi_rma_place *there,
                 void *own, size_t len, bool write, void *token)
{
    (void)arg;
    return fabric_move(conns_fabric(peer), there->address, there->key, own, len,
                       write, token);
}

/* When the first member asks: the key is the same for all. */
static bool expose(void *arg, const struct impi_rma_win *core,
                   struct impi_rma_place *own)
{
    struct win *w = win_of(core);

    (void)arg;
    if (!w || w->dynamic)
        return false;
    if (!w->exposed) {
        w->exposed = fabric_expose(w->base, (size_t)w->size, &w->place.address,
                                   &w->place.key);
        w->place.size = (uint64_t)w->size;
    }
    *own = w->place;
    return w->exposed;
}

void win_fabric_add(struct impi_rma_ops *ops)
{
    if (!(impi_be.world.flags & IMPI_WORLD_RMA_FABRIC) || win_by_messages())
        return;
    ops->may_move = may_move;
    ops->move = move;
    ops->expose = expose;
}

bool win_fabric_progress(void)
{
    bool any = false;
    void *token;

    while ((token = fabric_moved())) {
        impi_rma_moved(token);
        any = true;
    }
    return any;
}

void win_fabric_hide(struct win *w)
{
    fabric_hide(w->exposed);
    w->exposed = NULL;
}
