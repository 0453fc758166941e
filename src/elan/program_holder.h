/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The holder: one process per program and node, elan-holder, which forks once
 * so that it is outside the step's container.  It creates the program, keeps
 * its capabilities in memory and answers on RUNDIR/prg-NUMBER.  When its
 * lifeline (the starter's end of a socket pair) closes without PROGRAM_DESTROY,
 * it kills, accounts and removes the program by itself.  After an orderly end
 * it may wait for the next program: elan/program_spare.h.
 */
#ifndef SF_ELAN_PROGRAM_HOLDER_H
#define SF_ELAN_PROGRAM_HOLDER_H

#include <stdbool.h>
#include <sys/types.h>

#include "base/errbuf.h"
#include "elan/elanvp.h"
#include "elan/program_cgroup.h"

struct program_spec {
    int number;
    uid_t uid;
    int ncaps;          /* how many program_give_cap() will give */
    const char *rundir; /* of root, exists: sockets go here */
    const char *agent;  /* executable of the step's agent, or NULL */
    const char *holder; /* elan-holder's path; NULL: the installed one */
    bool descent;       /* no cgroup, see elan/program_descent.h; with agent */
    int linger_ms;      /* it waits for another program; 0: it ends with this */
};

struct program_handle {
    int lifeline;
    int procs;     /* from program_await() on, see program_cgroup_open_procs();
                      -1 in Slurm's own group */
    pid_t spawned; /* not yet waited for; 0: none */
    char socket[108];
    struct program_cgroup group;
};

#define PROGRAM_HANDLE_NONE                                                    \
    ((struct program_handle){                                                  \
        .lifeline = -1, .procs = -1, .group = PROGRAM_CGROUP_NONE})

/* Take a holder that waits, or start one, which creates the program.  Called as
 * root; does not wait for the holder, which goes on beside the caller.  0, or
 * -1 with errno and text. */
int program_begin(struct program_handle *h, const struct program_spec *spec,
                  struct errbuf *err);
/* Give it capability 0, 1, ...: exactly spec.ncaps of them, between begin and
 * await.  0, or -1 with errno. */
int program_give_cap(const struct program_handle *h, int index,
                     const struct elan_capability *cap);
/* Wait until the program is there with all its capabilities.  Needs no
 * privilege: the caller may have put on another uid meanwhile.
 * Returns 0, or -1 with errno and text, and *h released: EEXIST a live program
 * has the number, ENOTSUP no cgroup2, others of the calls. */
int program_await(struct program_handle *h, struct errbuf *err);
/* program_begin() and program_await(), without capabilities. */
int program_start(struct program_handle *h, const struct program_spec *spec,
                  struct errbuf *err);

/* Close the handle's descriptors.  Without PROGRAM_DESTROY before, the holder
 * ends the program. */
void program_release(struct program_handle *h);

/* The holder does not answer any more: empty and remove the program without
 * it.  0, or -1 with errno and text. */
int program_end_without_holder(struct program_handle *h, struct errbuf *err);

/* Remove programs of this host whose holder and starter both are gone, and
 * sockets in rundir that nobody listens on.  Returns how many programs. */
int program_sweep(const char *rundir);
/* The same, when a socket is left in rundir: of a program that was not ended in
 * order there is one.  Looks at no group otherwise. */
int program_sweep_if_any(const char *rundir);

/* Make rundir (parents exist, or one level is missing), root's, 0755.  0, or
 * -1 with errno and text; refuses one that another uid could write. */
int program_make_rundir(const char *rundir, struct errbuf *err);

#endif
