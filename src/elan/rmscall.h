/* SPDX-License-Identifier: BSD-3-Clause
 *
 * libelan: program descriptions and capabilities, under the names that the
 * Quadrics documents use for librmscall.  Link with -lelan.
 *
 * All return 0, or -1 with errno.  Common values: ENOENT there is no such
 * program on this node (or the caller is in none), EPERM not allowed to the
 * caller, ETIMEDOUT the program's holder does not answer.
 *
 * A process finds its program's holder by SLURM_FABRIC_PROGRAM (set in every
 * task), else by asking those in the run-time directory.  The variable only
 * saves the search: who belongs to a program is the kernel's word alone.
 */
#ifndef ELAN_RMSCALL_H
#define ELAN_RMSCALL_H

#include <stdint.h>
#include <sys/types.h>

#include "elan/elanvp.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Figures of a program on this node, ended members included.  CPU time is
 * exact.  prg_exact: memory is the kernel's count for the whole program;
 * else it is the largest sum of resident memory seen when one looked, as
 * prg_most and prg_seen always are: what lived between two looks only is not
 * in them. */
struct rms_prgstats {
    uint64_t prg_utime_us;
    uint64_t prg_stime_us;
    uint64_t prg_maxmem;  /* bytes, program */
    uint64_t prg_maxproc; /* bytes, largest process */
    uint32_t prg_now;     /* living members */
    uint32_t prg_most;    /* most of them at a time */
    uint32_t prg_seen;    /* different processes */
    uint32_t prg_exact;
};

/* ---- for members ------------------------------------------------------- */

/* Number of capabilities of the own program (one per rail). */
int rms_ncaps(int *ncaps);
/* Copy capability index (0..ncaps-1), ready for elan3_attach(): MyContext is
 * set when this process, or the task that it descends from, has called
 * rms_setcap().  EINVAL: no such index. */
int rms_getcap(int index, ELAN_CAPABILITY *cap);
/* Take context LowContext + ctx of capability index.  EINVAL out of range;
 * EBUSY another living process has it. */
int rms_setcap(int index, int ctx);
/* Number of the program that pid (0: the caller) belongs to. */
int rms_getprgid(pid_t pid, int *id);

/* ---- for the program's owner and root ---------------------------------- */

int rms_prgsignal(int id, int signo); /* ESRCH: no member */
int rms_prgsuspend(int id);
int rms_prgresume(int id);
/* The members' pids; *nprocs is their number and may exceed maxpids. */
int rms_prginfo(int id, int maxpids, pid_t *pids, int *nprocs);
int rms_prggetstats(int id, struct rms_prgstats *stats);

/* ---- for root ---------------------------------------------------------- */

/* Create program id (> 0) for uid.  The caller, and what it forks from then
 * on, is a member: so another process, its parent, destroys the program.  A
 * holder process is started; when the caller ends without rms_prgdestroy(),
 * the program is killed and removed.  cpus is not used.  EEXIST: a live
 * program has this number. */
int rms_prgcreate(int id, uid_t uid, int cpus);
/* Give the program capability index: 0, then 1 ... */
int rms_prgaddcap(int id, int index, const ELAN_CAPABILITY *cap);
/* Kill what lives and remove the program. */
int rms_prgdestroy(int id);

/* ---- capabilities ------------------------------------------------------ */

/* Set every member to its known value. */
void elan3_nullcap(ELAN_CAPABILITY *cap);
/* Where process n of the program is: the Elan id of its node and its context
 * there, to send to (libhsn).  ENOENT: there are not so many.  Where
 * ELAN_CAP_TYPE_MAPPED is set, processes are not numbered in this order. */
int elan3_locate(const ELAN_CAPABILITY *cap, uint32_t n, uint32_t *node,
                 uint32_t *context);

#ifdef __cplusplus
}
#endif

#endif
