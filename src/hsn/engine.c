/* SPDX-License-Identifier: BSD-3-Clause
 * Life, modules and tables of the driver.
 */
#include <errno.h>
#include <stdlib.h>

#include "hsn/engine_priv.h"

#define SECOND 1000000000ULL

static void set_default(unsigned *value, unsigned standard)
{
    if (*value == 0)
        *value = standard;
}

struct hsn_engine *hsn_engine_new(const struct hsn_engine_options *o,
                                  const struct hsn_nic_ops *ops, void *nic)
{
    struct hsn_engine *e;

    if (o->page_size != 4096 && o->page_size != 8192) {
        errno = EINVAL;
        return NULL;
    }
    e = calloc(1, sizeof(*e));
    if (!e)
        return NULL;
    e->o = *o;
    set_default(&e->o.rx_slots, 64);
    set_default(&e->o.batch, 32);
    set_default(&e->o.pending_max, 256);
    set_default(&e->o.send_slots, 64);
    set_default(&e->o.halves_max, 256);
    if (e->o.fragment_ns == 0)
        e->o.fragment_ns = SECOND;
    if (e->o.send_ns == 0)
        e->o.send_ns = SECOND;
    if (e->o.batch > e->o.rx_slots)
        e->o.batch = e->o.rx_slots;
    e->ops = ops;
    e->nic = nic;
    e->sequence = o->sequence;
    hsn_pages_init(&e->pages, o->page_size, &o->memory);
    if (hsn_send_init(e) == 0 && hsn_receive_init(e) == 0)
        return e;
    hsn_engine_free(e);
    errno = ENOMEM;
    return NULL;
}

void hsn_engine_stop(struct hsn_engine *e)
{
    e->stopped = true;
    if (e->messages)
        hsn_send_cancel(e, -1);
    hsn_receive_free(e);
}

void hsn_engine_free(struct hsn_engine *e)
{
    if (!e)
        return;
    hsn_engine_stop(e);
    hsn_send_free(e);
    hsn_routes_free(&e->routes);
    free(e->modules);
    free(e);
}

struct hsn_module *hsn_module_find(struct hsn_engine *e, uint16_t number)
{
    for (size_t i = 0; i < e->nmodules; i++)
        if (e->modules[i].open && e->modules[i].number == number)
            return &e->modules[i];
    return NULL;
}

/* A place in the table: one that is free, else a new one. */
static struct hsn_module *new_module(struct hsn_engine *e)
{
    struct hsn_module *more;

    for (size_t i = 0; i < e->nmodules; i++)
        if (!e->modules[i].open)
            return &e->modules[i];
    more = realloc(e->modules, (e->nmodules + 1) * sizeof(*more));
    if (!more)
        return NULL;
    e->modules = more;
    return &more[e->nmodules++];
}

int hsn_engine_open(struct hsn_engine *e, uint16_t module,
                    const struct hsn_module_ops *ops, void *arg)
{
    struct hsn_module *m;

    if (hsn_module_find(e, module)) {
        errno = EBUSY;
        return -1;
    }
    m = new_module(e);
    if (!m)
        return -1;
    *m = (struct hsn_module){
        .ops = *ops, .arg = arg, .number = module, .open = true};
    return 0;
}

void hsn_engine_close(struct hsn_engine *e, uint16_t module)
{
    struct hsn_module *m = hsn_module_find(e, module);

    if (!m)
        return;
    hsn_send_cancel(e, module);
    m->open = false;
}

void hsn_engine_raw(struct hsn_engine *e, const struct hsn_raw_ops *ops,
                    void *arg)
{
    e->raw = *ops;
    e->raw_arg = arg;
}

unsigned hsn_engine_wake(struct hsn_engine *e, uint64_t now)
{
    unsigned n = 0;

    if (e->stopped)
        return 0;
    n = hsn_receive(e, now);
    hsn_halves_expire(e, now);
    hsn_output(e, now);
    return n;
}

uint64_t hsn_engine_deadline(const struct hsn_engine *e)
{
    uint64_t at = UINT64_MAX;

    if (e->fragq.used)
        at = e->fragq.half[e->fragq.oldest].deadline;
    if (e->first != HSN_NO_MESSAGE && e->messages[e->first].deadline < at)
        at = e->messages[e->first].deadline;
    for (unsigned i = 0; e->nbusy && i < e->o.send_slots; i++)
        if (e->slots[i].state == HSN_SLOT_BUSY && e->slots[i].deadline < at)
            at = e->slots[i].deadline;
    return at;
}

void hsn_engine_set_routes(struct hsn_engine *e, struct hsn_routes *take)
{
    hsn_routes_free(&e->routes);
    e->routes = *take;
    *take = (struct hsn_routes){0};
}

const struct hsn_routes *hsn_engine_routes(const struct hsn_engine *e)
{
    return &e->routes;
}

struct hsn_routes *hsn_engine_routes_of(struct hsn_engine *e)
{
    return &e->routes;
}

void hsn_engine_levels(const struct hsn_engine *e, struct hsn_levels *l)
{
    *l = (struct hsn_levels){
        .pending = e->npending,
        .busy = e->nbusy,
        .rx_slots = e->o.rx_slots,
        .halves = e->fragq.used,
        .pages_allocated = e->pages.allocated,
        .pages_freed = e->pages.freed,
    };
    for (unsigned i = 0; e->rx && i < e->o.rx_slots; i++)
        l->rx_filled += e->rx[i].buf[e->rx[i].nbuf - 1].iov_base != NULL;
}

struct hsn_counts *hsn_engine_counts(struct hsn_engine *e)
{
    return &e->counts;
}
