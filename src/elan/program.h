/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A program description: what the node knows of one program.  It has a
 * number, an owner, capabilities (one per rail), and it remembers which of
 * its processes took which context.  Pure: the holder process
 * (elan/program_holder.h) owns one and feeds it; who is a member is found out
 * there.
 *
 * Source: "Quadrics Elan Runtime Requirements", Job Manager Support.
 */
#ifndef SF_ELAN_PROGRAM_H
#define SF_ELAN_PROGRAM_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/limits.h"
#include "elan/elanvp.h"

/* One process: a pid alone may be used again, with its start time (clock
 * ticks since boot) it can not. */
struct program_process {
    pid_t pid;
    uint64_t start;
};

/* A context that a process took with rms_setcap(). */
struct program_context {
    struct program_process process;
    int index; /* of the capability */
    int ctx;   /* of the context, relative to LowContext */
};

struct program {
    int number; /* > 0 */
    uid_t uid;
    struct elan_capability *caps[SF_PROGRAM_CAPS_MAX]; /* NULL: none */
    int ncaps;
    struct program_context *contexts;
    size_t ncontexts, contexts_size;
};

void program_init(struct program *p, int number, uid_t uid);
/* Free what *p holds; keys are wiped first. */
void program_clear(struct program *p);

/* Make a capability available to the members; a copy is kept.  Indexes are
 * given in order 0, 1, ...  Returns 0 or an errno: EINVAL index out of order
 * or range of contexts empty, E2BIG too many, EEXIST, ENOMEM. */
int program_add_cap(struct program *p, int index,
                    const struct elan_capability *cap);

/* Process takes context LowContext + ctx of capability index.  Returns 0 or
 * an errno: EINVAL no such capability or context; EBUSY: another process has
 * it, and *holder says which (the caller looks whether that one still lives,
 * may program_forget() it and try again); ENOMEM.  To take another context
 * of the same capability gives the first one back. */
int program_set_cap(struct program *p, const struct program_process *process,
                    int index, int ctx, struct program_process *holder);

/* Forget what a process took (it has ended). */
void program_forget(struct program *p, const struct program_process *process);

/* Copy capability index for a process whose ancestry is chain[0..n), itself
 * first: MyContext is what the nearest of them took, or
 * ELAN_CAP_UNINITIALISED.  Returns 0 or EINVAL: no such capability. */
int program_get_cap(const struct program *p,
                    const struct program_process *chain, size_t n, int index,
                    struct elan_capability *cap);

#endif
