/* SPDX-License-Identifier: BSD-3-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/limits.h"
#include "elan/capability.h"
#include "hsn/attach.h"

struct hsn_program *hsn_program_add(struct hsn_contexts *c, int number,
                                    uid_t uid,
                                    const struct elan_capability *cap)
{
    struct hsn_program *p;

    if (c->nprograms >= SF_HSN_PROGRAMS_MAX) {
        errno = E2BIG;
        return NULL;
    }
    for (p = c->programs; p; p = p->next)
        if (p->number == number) {
            errno = EEXIST;
            return NULL;
        }
    p = calloc(1, sizeof(*p));
    if (!p)
        return NULL;
    p->sources = hsn_elan_sources_new(cap);
    if (!p->sources) {
        free(p);
        return NULL;
    }
    p->number = number;
    p->uid = uid;
    p->cap = *cap;
    p->next = c->programs;
    c->programs = p;
    c->nprograms++;
    return p;
}

void hsn_program_remove(struct hsn_contexts *c, struct hsn_program *p)
{
    struct hsn_program **at = &c->programs;

    while (*at && *at != p)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = p->next;
    c->nprograms--;
    hsn_elan_sources_free(p->sources);
    explicit_bzero(&p->cap, sizeof(p->cap));
    free(p);
}

struct hsn_program *hsn_program_with(const struct hsn_contexts *c,
                                     const struct elan_capability *cap)
{
    struct hsn_program *found = NULL;
    struct elan_capability own;

    for (struct hsn_program *p = c->programs; p; p = p->next) {
        own = p->cap;
        own.MyContext = cap->MyContext;
        if (elan_capability_equal(&own, cap))
            found = p;
    }
    explicit_bzero(&own, sizeof(own));
    return found;
}

int hsn_attach_check(const struct hsn_contexts *c, const struct hsn_program *p,
                     uid_t uid, bool member, uint32_t context)
{
    if (uid != p->uid || !member)
        return EPERM;
    if (context >= ELAN_MAX_CONTEXTS || (int64_t)context < p->cap.LowContext ||
        (int64_t)context > p->cap.HighContext)
        return ERANGE;
    return c->user[context] ? EBUSY : 0;
}

uint64_t hsn_context_take(struct hsn_contexts *c, uint32_t context, void *user,
                          uint64_t now)
{
    uint64_t *last = &c->last_epoch[context];

    *last = now > *last ? now : *last + 1;
    c->user[context] = user;
    return *last;
}

void hsn_context_give(struct hsn_contexts *c, uint32_t context)
{
    c->user[context] = NULL;
}
