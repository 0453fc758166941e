/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The life of one program on one node, step by step, as slurmstepd drives it:
 * the order of the calls and what happens when one of them fails.  Knows no
 * Slurm.  The calls themselves are in a table, so that another backend (or a
 * test's stand-in) can take their place.
 */
#ifndef SF_SWITCH_ELAN_NODE_PROGRAM_H
#define SF_SWITCH_ELAN_NODE_PROGRAM_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "elan/payload.h"
#include "elan/program_holder.h"
#include "elan/program_wire.h"

/* All return 0, or -1 with errno. */
struct node_rms {
    int (*prgcreate)(struct program_handle *h, const struct program_spec *spec,
                     struct errbuf *err);
    int (*prgaddcap)(const struct program_handle *h, int index,
                     const struct elan_capability *cap);
    /* Wait until all that is done; *h is released when it fails. */
    int (*prgready)(struct program_handle *h, struct errbuf *err);
    void (*prgrelease)(struct program_handle *h);
    int (*prgdestroy)(struct program_handle *h, struct program_stats *stats,
                      struct errbuf *err);
    int (*prgsuspend)(const struct program_handle *h, bool stop);
    int (*setcap)(const struct program_handle *h, int index, int ctx);
};

/* The software's own: a holder process per program. */
extern const struct node_rms node_rms_soft;

struct node_program {
    const struct node_rms *rms;
    struct program_handle handle;
    uint32_t number;
    bool coming; /* begun, not yet asked whether it is ready */
    bool live;   /* created, not destroyed */
    int ncaps;
};

/* Create the program and give it its capabilities; does not wait for either.
 * The keys in *payload are wiped in any case.  On failure nothing is left
 * behind, and the text names the call and its errno. */
int node_program_begin(struct node_program *p, const struct node_rms *rms,
                       const struct program_spec *spec,
                       struct elan_payload *payload, struct errbuf *err);

/* Wait until the program is there, before a task is forked; may be called as
 * any uid, and again.  On failure nothing is left behind, and the text names
 * the call and its errno. */
int node_program_ready(struct node_program *p, struct errbuf *err);

/* In a task, as the user: become a member and take context `slot`. */
int node_program_enter(struct node_program *p, int slot, struct errbuf *err);

/* Kill all members, wait for their end, remove the program; *stats gets its
 * last figures. */
int node_program_end(struct node_program *p, struct program_stats *stats,
                     struct errbuf *err);

int node_program_suspend(struct node_program *p, bool stop, struct errbuf *err);

/* Have the step's agent ended by its keeper at the other end of fd (mpi/impi:
 * a byte there, one back when it is gone, '0' if it went by itself).
 * Returns 0, or -1 (ETIME) when it had to be killed or no answer came. */
int node_stop_agent(int fd, int wait_ms);

#endif
