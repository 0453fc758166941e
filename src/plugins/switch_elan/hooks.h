/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the hooks of a switch plugin do, whatever a release of Slurm calls them.
 * The hooks themselves are in hooks_22_05.c and hooks_24_05.c, of which one is
 * built: by name, arguments and order they are that family's of releases.
 */
#ifndef SF_SWITCH_ELAN_HOOKS_H
#define SF_SWITCH_ELAN_HOOKS_H

#include <errno.h>
#include <stdbool.h>

#include "plugins/switch_elan/jobinfo.h"
#include "slurmabi/slurm_sym.h"

/* ---- the info of a step; in every process that loads the plugin (plugin.c) */

/* NULL: no memory.  NO_VAL, 0: not known yet. */
struct switch_jobinfo *switch_elan_info_create(uint32_t job_id,
                                               uint32_t step_id);
/* NULL is fine. */
void switch_elan_info_destroy(struct switch_jobinfo *j);
/* NULL: no memory. */
struct switch_jobinfo *switch_elan_info_copy(const struct switch_jobinfo *src);
/* j may be NULL: none.  SLURM_SUCCESS; SLURM_ERROR with a line in the log and
 * something in buf that the reader refuses. */
int switch_elan_info_pack(const struct switch_jobinfo *j,
                          struct slurmabi_buf *buf);
/* NULL with a line in the log: it cannot be read.  Never in slurmctld, where
 * it would be fatal: what cannot be read there is as if never built. */
struct switch_jobinfo *switch_elan_info_unpack(struct slurmabi_buf *buf);

/* ---- slurmctld, and a stepmgr: it builds and completes (ctld.c) ---------- */

/* The counters, into StateSaveLocation and from there. */
void switch_elan_save(void);
void switch_elan_restore(bool recover);
/* Read the configuration again. */
void switch_elan_reconfigure(void);
/* Give the step its program and seal it into *j; all but BUILT with a line in
 * the log.  WAIT only where srun can be told to ask again. */
enum switch_elan_built {
    SWITCH_ELAN_BUILT,
    SWITCH_ELAN_WAIT,
    SWITCH_ELAN_REFUSED
};
enum switch_elan_built switch_elan_build(struct switch_jobinfo *j,
                                         const slurm_step_layout_t *layout,
                                         const struct slurmabi_step *record,
                                         bool can_wait);
/* What a hook answers then: SLURM_SUCCESS, or SLURM_ERROR with errno. */
static inline int switch_elan_answer(enum switch_elan_built how)
{
    if (how == SWITCH_ELAN_BUILT)
        return SLURM_SUCCESS;
    errno = how == SWITCH_ELAN_WAIT ? SLURMABI_INTERCONNECT_BUSY
                                    : ESLURM_INTERCONNECT_FAILURE;
    return SLURM_ERROR;
}
/* A job starts: if a stepmgr makes its steps, lease it contexts and numbers;
 * with none its steps are refused. */
void switch_elan_job_start(struct slurmabi_job *job);
/* A job has ended, or is about to: leases of jobs that are on no node any more
 * are taken back. */
void switch_elan_job_over(void);
/* Take back what *j has; errno stays.  Once, twice, never built: all fine. */
void switch_elan_complete(const struct switch_jobinfo *j);
/* slurmctld was started anew, and the step is alive, or the job of a lease. */
void switch_elan_recover(const struct switch_jobinfo *j);
/* slurmctld ends: give back all memory.  Hooks may still be called. */
void switch_elan_ctld_fini(void);

/* ---- slurmstepd, in this order (stepd.c) --------------------------------- */

/* Open the seal; then start the program's holder.  SLURM_SUCCESS always: a
 * step that is refused ends when its tasks attach, which its user can read. */
int switch_elan_preinit(const struct slurmabi_stepd *step);
int switch_elan_begin(void);
/* In the task, before exec: enter the program, set RMS_*. */
int switch_elan_attach(char ***env, uint32_t nodeid, uint32_t procid);
/* The tasks have ended and the step's container was not killed yet: end impid
 * where it is in there, and the program. */
void switch_elan_tasks_gone(void);
/* The step ends; also alone, when it failed to start. */
void switch_elan_end(void);
/* The whole program, escaped children too.  false with a line in the log. */
bool switch_elan_suspend(bool stop);
/* From job_init on, where Slurm calls no hook for that: do so while
 * is_suspended() and the tasks are stopped. */
void switch_elan_watch_suspension(const struct slurmabi_stepd *step,
                                  bool (*is_suspended)(void));

#endif
