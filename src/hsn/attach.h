/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Who may attach: the programs that their holders registered, and which
 * contexts of the adapter are taken.  Pure: the caller has found out that the
 * process that asks is a member.
 */
#ifndef SF_HSN_ATTACH_H
#define SF_HSN_ATTACH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "elan/elanvp.h"
#include "hsn/elan_frame.h"

struct hsn_program {
    int number;
    uid_t uid;
    struct elan_capability cap; /* of our rail */
    struct hsn_elan_sources *sources;
    void *owner; /* the caller's */
    struct hsn_program *next;
};

struct hsn_contexts {
    struct hsn_program *programs;
    unsigned nprograms;
    void *user[ELAN_MAX_CONTEXTS]; /* who has it; NULL: free */
    uint64_t last_epoch[ELAN_MAX_CONTEXTS];
};

/* Register a program.  NULL with errno: E2BIG too many, EEXIST the number is
 * known, ENOMEM. */
struct hsn_program *hsn_program_add(struct hsn_contexts *c, int number,
                                    uid_t uid,
                                    const struct elan_capability *cap);
/* Forget a program; nobody is attached any more. */
void hsn_program_remove(struct hsn_contexts *c, struct hsn_program *p);

/* Which program has this capability, every bit of it (MyContext apart)?  NULL:
 * none.  Takes the same time whichever. */
struct hsn_program *hsn_program_with(const struct hsn_contexts *c,
                                     const struct elan_capability *cap);

/* May a process of this uid take the context?  0 or an errno: EPERM another
 * user or no member, ERANGE, EBUSY. */
int hsn_attach_check(const struct hsn_contexts *c, const struct hsn_program *p,
                     uid_t uid, bool member, uint32_t context);

/* The context is taken; returns the epoch of this attachment: now (ns since
 * 1970), or later if that was used already. */
uint64_t hsn_context_take(struct hsn_contexts *c, uint32_t context, void *user,
                          uint64_t now);
void hsn_context_give(struct hsn_contexts *c, uint32_t context);

#endif
