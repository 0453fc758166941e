/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A full table is an error of ours to report, not a reason to exit. */
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "elan/contexts.h"
#include "elan/partition.h"
#include "elan/prognum.h"

/* A live program, or a lease, as it was built: without the sealed text. */
struct program {
    uint32_t prognum; /* key; of a lease the first number of its block */
    struct elan_jobinfo info;
    UT_hash_handle hh;
    uint32_t nodes[];
};

/* By number. */
struct books {
    struct program *programs;
};

struct elan_partition {
    struct elan_contexts *contexts;
    struct elan_prognum prognum;
    struct books live, leases;
};

/* ---- the books ---- */

/* *info is copied.  0, or -1 with ENOMEM. */
static int books_add(struct books *books, const struct elan_jobinfo *info)
{
    size_t size = info->nnodes * sizeof(uint32_t);
    struct program *p = calloc(1, sizeof(*p) + size);

    if (!p)
        return -1;
    p->prognum = info->prognum;
    memcpy(p->nodes, info->nodes, size);
    p->info = *info;
    p->info.nodes = p->nodes;
    p->info.sealed = NULL;
    HASH_ADD(hh, books->programs, prognum, sizeof(p->prognum), p);
    if (p->hh.tbl)
        return 0;
    free(p);
    errno = ENOMEM;
    return -1;
}

static struct program *books_find(const struct books *books, uint32_t prognum)
{
    struct program *p;

    HASH_FIND(hh, books->programs, &prognum, sizeof(prognum), p);
    return p;
}

static void books_remove(struct books *books, struct program *p)
{
    HASH_DEL(books->programs, p);
    free(p);
}

static bool is_same_step(const struct program *p,
                         const struct elan_jobinfo *info)
{
    return p->info.job_id == info->job_id && p->info.step_id == info->step_id &&
           p->info.het_comp == info->het_comp;
}

/* ---- the pool ---- */

static uint32_t random_context(const struct elan_site *site, uint32_t random)
{
    return site->base_context +
           random % (site->top_context - site->base_context + 1);
}

static bool is_lease(const struct elan_jobinfo *info)
{
    return info->step_id == ELAN_LEASE_STEP;
}

static struct books *books_of(struct elan_partition *pm,
                              const struct elan_jobinfo *info)
{
    return is_lease(info) ? &pm->leases : &pm->live;
}

struct elan_partition *elan_partition_create(const struct elan_site *site,
                                             uint32_t random,
                                             struct errbuf *err)
{
    struct elan_partition *pm = calloc(1, sizeof(*pm));

    if (!pm) {
        errprintf(err, "out of memory");
        return NULL;
    }
    pm->contexts =
        elan_contexts_create(site->base_context, site->top_context, err);
    if (!pm->contexts) {
        free(pm);
        return NULL;
    }
    elan_contexts_set_cursor(pm->contexts, random_context(site, random));
    elan_prognum_init_random(&pm->prognum, random);
    return pm;
}

struct elan_partition *
elan_partition_create_leased(const struct elan_jobinfo *info,
                             struct errbuf *err)
{
    struct elan_site site = {
        .base_context = info->low_context,
        .top_context = info->low_context + info->ncontexts - 1,
    };
    struct elan_partition *pm;

    if (!is_lease(info) || info->prognum == 0 || info->ncontexts == 0) {
        errno = EINVAL;
        errprintf(err, "job %u has no lease", info->job_id);
        return NULL;
    }
    pm = elan_partition_create(&site, 0, err);
    if (pm)
        elan_prognum_init_block(&pm->prognum, info->prognum);
    return pm;
}

static struct elan_nodes nodes_of(const struct elan_jobinfo *info)
{
    return (struct elan_nodes){info->nodes, info->nnodes};
}

static void drop(struct elan_partition *pm, struct program *p)
{
    const struct elan_jobinfo *info = &p->info;

    elan_contexts_release(pm->contexts, nodes_of(info), info->low_context,
                          info->ncontexts);
    books_remove(books_of(pm, info), p);
}

void elan_partition_forget(struct elan_partition *pm)
{
    while (pm->live.programs)
        drop(pm, pm->live.programs);
    while (pm->leases.programs)
        drop(pm, pm->leases.programs);
}

void elan_partition_destroy(struct elan_partition *pm)
{
    int saved = errno;

    if (!pm)
        return;
    elan_partition_forget(pm);
    elan_contexts_destroy(pm->contexts);
    free(pm);
    errno = saved;
}

int elan_partition_configure(struct elan_partition *pm,
                             const struct elan_site *site, struct errbuf *err)
{
    return elan_contexts_set_range(pm->contexts, site->base_context,
                                   site->top_context, err);
}

int elan_partition_restore(struct elan_partition *pm, const char *name,
                           const char *text, struct errbuf *err)
{
    struct elan_state state;

    if (elan_state_parse(&state, name, text, err) < 0)
        return -1;
    elan_prognum_init_saved(&pm->prognum, state.next_prognum);
    if (state.next_context > 0)
        elan_contexts_set_cursor(pm->contexts, state.next_context);
    return 0;
}

void elan_partition_state(const struct elan_partition *pm, bool orderly,
                          char buf[ELAN_STATE_SIZE_MAX])
{
    struct elan_state state = {
        .next_prognum = elan_prognum_to_save(&pm->prognum, orderly),
        .next_context = orderly ? elan_contexts_cursor(pm->contexts) : 0,
    };

    elan_state_print(buf, &state);
}

bool elan_partition_wants_save(const struct elan_partition *pm)
{
    return elan_prognum_wants_save(&pm->prognum);
}

void elan_partition_saved(struct elan_partition *pm)
{
    elan_prognum_saved(&pm->prognum);
}

static bool is_live(uint32_t prognum, void *arg)
{
    const struct elan_partition *pm = arg;

    return books_find(&pm->live, prognum) ||
           books_find(&pm->leases, elan_prognum_block(prognum));
}

/* Has somebody a number of the block? */
static bool is_block_taken(uint32_t first, void *arg)
{
    for (uint32_t n = 0; n < ELAN_PROGNUM_BLOCK; n++)
        if (is_live(first + n, arg))
            return true;
    return false;
}

/* One capability per rail. */
static int make_caps(struct elan_payload *payload,
                     const struct elan_layout *layout,
                     const struct elan_step *step,
                     const struct elan_jobinfo *info, struct errbuf *err)
{
    payload->caps = calloc(layout->nrails, sizeof(*payload->caps));
    if (!payload->caps)
        return errprintf(err, "out of memory");
    payload->ncaps = layout->nrails;
    for (uint32_t rail = 0; rail < layout->nrails; rail++) {
        struct elan_capability_spec spec = {
            .layout = layout,
            .rail = rail,
            .low_context = info->low_context,
            .ncontexts = info->ncontexts,
            .key = step->keys[rail],
            .no_broadcast = step->no_broadcast,
        };
        int rc = elan_capability_build(&payload->caps[rail], &spec, err);

        explicit_bzero(&spec.key, sizeof(spec.key));
        if (rc < 0)
            return -1;
    }
    return 0;
}

static int make_payload(struct elan_payload *payload,
                        const struct elan_layout *layout,
                        const struct elan_step *step,
                        const struct elan_jobinfo *info, struct errbuf *err)
{
    *payload = (struct elan_payload){
        .job_id = info->job_id,
        .step_id = info->step_id,
        .het_comp = info->het_comp,
        .uid = step->uid,
        .run = step->run,
        .prognum = info->prognum,
        .issued = step->now,
    };
    return make_caps(payload, layout, step, info, err);
}

static int check_step(const struct elan_step *step,
                      const struct elan_layout *layout,
                      const struct elan_jobinfo *info, struct errbuf *err)
{
    uint32_t width = layout->max_tasks + step->options.extra_contexts;

    errno = EINVAL;
    if (info->prognum != 0)
        return errprintf(err, "step %u.%u has program %u already", info->job_id,
                         info->step_id, info->prognum);
    if (layout->nrails != step->options.rails)
        return errprintf(err, "a layout of %u rails for %u", layout->nrails,
                         step->options.rails);
    for (uint32_t rail = 0; rail < layout->nrails; rail++)
        if (elan_capability_fits(layout, rail, width, err) < 0)
            return -1;
    return 0;
}

/* Contexts and number into *got, whose nodes are the layout's. */
static int take(struct elan_partition *pm, struct elan_jobinfo *got,
                struct errbuf *err)
{
    if (elan_contexts_alloc(pm->contexts, nodes_of(got), got->ncontexts,
                            &got->low_context, err) < 0)
        return -1;
    got->prognum = elan_prognum_take(&pm->prognum, is_live, pm);
    if (got->prognum != 0)
        return 0;
    errprintf(err, "no program number is free");
    elan_contexts_release(pm->contexts, nodes_of(got), got->low_context,
                          got->ncontexts);
    errno = EBUSY;
    return -1;
}

static int copy_nodes(struct elan_jobinfo *got,
                      const struct elan_layout *layout, struct errbuf *err)
{
    got->nnodes = layout->nnodes;
    got->nodes = malloc(layout->nnodes * sizeof(*got->nodes));
    if (!got->nodes)
        return errprintf(err, "out of memory");
    for (uint32_t n = 0; n < layout->nnodes; n++)
        got->nodes[n] = elan_layout_id(layout, 0, n);
    return 0;
}

static int build(struct elan_partition *pm, const struct elan_step *step,
                 const struct elan_layout *layout, struct elan_jobinfo *got,
                 struct elan_payload *payload, struct errbuf *err)
{
    int saved;

    if (copy_nodes(got, layout, err) < 0 || take(pm, got, err) < 0)
        return -1;
    if (make_payload(payload, layout, step, got, err) == 0) {
        if (books_add(&pm->live, got) == 0)
            return 0;
        errprintf(err, "out of memory");
    }
    saved = errno;
    elan_contexts_release(pm->contexts, nodes_of(got), got->low_context,
                          got->ncontexts);
    errno = saved;
    return -1;
}

int elan_partition_build(struct elan_partition *pm,
                         const struct elan_step *step,
                         struct elan_layout *layout, struct elan_jobinfo *info,
                         struct elan_payload *payload, struct errbuf *err)
{
    struct elan_jobinfo got = *info;

    memset(payload, 0, sizeof(*payload));
    if (check_step(step, layout, info, err) < 0)
        return -1;
    got.ncontexts = layout->max_tasks + step->options.extra_contexts;
    if (build(pm, step, layout, &got, payload, err) < 0) {
        int saved = errno;

        elan_payload_free(payload);
        free(got.nodes);
        errno = saved;
        return -1;
    }
    *info = got;
    payload->layout = *layout;
    memset(layout, 0, sizeof(*layout));
    return 0;
}

/* No block can be free that neither a lease nor a program is in. */
static int take_lease(struct elan_partition *pm, struct elan_jobinfo *got,
                      struct errbuf *err)
{
    uint32_t most =
        1 + HASH_COUNT(pm->leases.programs) + HASH_COUNT(pm->live.programs);

    if (elan_contexts_alloc(pm->contexts, nodes_of(got), got->ncontexts,
                            &got->low_context, err) < 0)
        return -1;
    got->prognum =
        elan_prognum_take_block(&pm->prognum, most, is_block_taken, pm);
    if (got->prognum == 0)
        errprintf(err, "no block of program numbers is free");
    else if (books_add(&pm->leases, got) == 0)
        return 0;
    else
        errprintf(err, "out of memory");
    elan_contexts_release(pm->contexts, nodes_of(got), got->low_context,
                          got->ncontexts);
    errno = got->prognum == 0 ? EBUSY : ENOMEM;
    return -1;
}

int elan_partition_lease(struct elan_partition *pm,
                         const struct elan_layout *nodes, uint32_t width,
                         struct elan_jobinfo *info, struct errbuf *err)
{
    struct elan_jobinfo got = *info;

    if (!is_lease(info) || info->prognum != 0) {
        errno = EINVAL;
        return errprintf(err, "job %u has a lease already", info->job_id);
    }
    got.ncontexts = width;
    if (copy_nodes(&got, nodes, err) == 0) {
        int saved;

        if (take_lease(pm, &got, err) == 0) {
            *info = got;
            return 0;
        }
        saved = errno;
        free(got.nodes);
        errno = saved;
    }
    return -1;
}

void elan_partition_each_lease(struct elan_partition *pm,
                               void (*f)(const struct elan_jobinfo *info,
                                         void *arg),
                               void *arg)
{
    struct program *p, *next;

    HASH_ITER(hh, pm->leases.programs, p, next)
    f(&p->info, arg);
}

bool elan_partition_release(struct elan_partition *pm,
                            const struct elan_jobinfo *info)
{
    struct program *p = books_find(books_of(pm, info), info->prognum);
    int saved = errno;

    if (!p || !is_same_step(p, info))
        return false;
    drop(pm, p);
    errno = saved;
    return true;
}

int elan_partition_recover(struct elan_partition *pm,
                           const struct elan_jobinfo *info, struct errbuf *err)
{
    const struct program *p;

    if (info->prognum == 0)
        return 0;
    p = books_find(books_of(pm, info), info->prognum);
    if (p && is_same_step(p, info))
        return 0;
    if (p) {
        errno = EEXIST;
        return errprintf(err, "program %u is that of step %u.%u", info->prognum,
                         p->info.job_id, p->info.step_id);
    }
    if (is_lease(info) ? is_block_taken(info->prognum, pm)
                       : is_live(info->prognum, pm)) {
        errno = EEXIST;
        return errprintf(err, "program numbers from %u on are leased or taken",
                         info->prognum);
    }
    if (elan_contexts_claim(pm->contexts, nodes_of(info), info->low_context,
                            info->ncontexts, err) < 0)
        return -1;
    if (books_add(books_of(pm, info), info) == 0)
        return 0;
    elan_contexts_release(pm->contexts, nodes_of(info), info->low_context,
                          info->ncontexts);
    errno = ENOMEM;
    return errprintf(err, "out of memory");
}

uint32_t elan_partition_programs(const struct elan_partition *pm)
{
    return HASH_COUNT(pm->live.programs);
}

uint64_t elan_partition_contexts(const struct elan_partition *pm)
{
    return elan_contexts_used(pm->contexts);
}
