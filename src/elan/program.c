/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "elan/program.h"

void program_init(struct program *p, int number, uid_t uid)
{
    *p = (struct program){.number = number, .uid = uid};
}

void program_clear(struct program *p)
{
    for (int i = 0; i < p->ncaps; i++) {
        explicit_bzero(p->caps[i], sizeof(*p->caps[i]));
        free(p->caps[i]);
    }
    free(p->contexts);
    *p = (struct program){0};
}

int program_add_cap(struct program *p, int index,
                    const struct elan_capability *cap)
{
    struct elan_capability *copy;

    if (index >= SF_PROGRAM_CAPS_MAX)
        return E2BIG;
    if (index >= 0 && index < p->ncaps)
        return EEXIST;
    if (index != p->ncaps || cap->LowContext < 0 ||
        cap->HighContext < cap->LowContext ||
        cap->HighContext >= ELAN_MAX_CONTEXTS)
        return EINVAL;
    copy = malloc(sizeof(*copy));
    if (!copy)
        return ENOMEM;
    *copy = *cap;
    p->caps[p->ncaps++] = copy;
    return 0;
}

static int same_process(const struct program_process *a,
                        const struct program_process *b)
{
    return a->pid == b->pid && a->start == b->start;
}

static struct program_context *find_ctx(struct program *p, int index, int ctx)
{
    for (size_t i = 0; i < p->ncontexts; i++)
        if (p->contexts[i].index == index && p->contexts[i].ctx == ctx)
            return &p->contexts[i];
    return NULL;
}

static struct program_context *
find_process(const struct program *p, const struct program_process *process,
             int index)
{
    for (size_t i = 0; i < p->ncontexts; i++)
        if (p->contexts[i].index == index &&
            same_process(&p->contexts[i].process, process))
            return &p->contexts[i];
    return NULL;
}

static struct program_context *new_context(struct program *p)
{
    size_t size = p->contexts_size ? 2 * p->contexts_size : 16;
    struct program_context *grown;

    if (p->ncontexts == p->contexts_size) {
        grown = realloc(p->contexts, size * sizeof(*grown));
        if (!grown)
            return NULL;
        p->contexts = grown;
        p->contexts_size = size;
    }
    return &p->contexts[p->ncontexts++];
}

int program_set_cap(struct program *p, const struct program_process *process,
                    int index, int ctx, struct program_process *holder)
{
    struct program_context *c;
    const struct elan_capability *cap;

    if (index < 0 || index >= p->ncaps)
        return EINVAL;
    cap = p->caps[index];
    if (ctx < 0 || ctx > cap->HighContext - cap->LowContext)
        return EINVAL;
    c = find_ctx(p, index, ctx);
    if (c && !same_process(&c->process, process)) {
        *holder = c->process;
        return EBUSY;
    }
    if (!c)
        c = find_process(p, process, index);
    if (!c)
        c = new_context(p);
    if (!c)
        return ENOMEM;
    *c = (struct program_context){*process, index, ctx};
    return 0;
}

void program_forget(struct program *p, const struct program_process *process)
{
    size_t kept = 0;

    for (size_t i = 0; i < p->ncontexts; i++)
        if (!same_process(&p->contexts[i].process, process))
            p->contexts[kept++] = p->contexts[i];
    p->ncontexts = kept;
}

int program_get_cap(const struct program *p,
                    const struct program_process *chain, size_t n, int index,
                    struct elan_capability *cap)
{
    const struct program_context *c = NULL;

    if (index < 0 || index >= p->ncaps)
        return EINVAL;
    for (size_t i = 0; i < n && !c; i++)
        c = find_process(p, &chain[i], index);
    *cap = *p->caps[index];
    cap->MyContext = c ? cap->LowContext + c->ctx : ELAN_CAP_UNINITIALISED;
    return 0;
}
