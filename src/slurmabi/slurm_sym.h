/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Slurm's unpublished functions, types and plugin interfaces, declared by
 * ourselves.  The plugins include this and <slurm/...>, and switchmgrd's
 * updater, for slurmabi_free(); nothing else in the tree knows any of it.
 *
 * Rules: only the `slurm_` aliases of libslurmfull are used.  They are
 * undefined in our .so files and bound by the process that loads them.
 * What differs between releases is decided here, and nowhere else.
 * Source: 22.05 to 26.05 of Slurm.
 */
#ifndef SF_SLURMABI_SLURM_SYM_H
#define SF_SLURMABI_SLURM_SYM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <slurm/slurm.h>
#include <slurm/slurm_errno.h>
#include <slurm/slurm_version.h>
#include <slurm/spank.h> /* slurm_info(), slurm_error(), slurm_debug() ... */

#define SLURMABI_SINCE(major, minor)                                           \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM((major), (minor), 0))

struct slurmabi_buf;   /* Slurm: buf_t */
struct slurmabi_job;   /* Slurm: job_record_t, see slurmabi/job.h */
struct slurmabi_cred;  /* Slurm: slurm_cred_t */
struct slurmabi_stepd; /* Slurm: stepd_step_rec_t, see slurmabi/stepd.h */
struct slurmabi_step;  /* Slurm: step_record_t, see slurmabi/step.h */
struct switch_jobinfo; /* ours: src/plugins/switch_elan */

/* The configuration of the running daemon or command. */
extern slurm_conf_t slurm_conf;

/* Packing: a 32-bit length, then the bytes. */
void slurm_packmem(void *data, uint32_t len, struct slurmabi_buf *buf);
/* *data is Slurm's memory: slurmabi_free() it.  Returns SLURM_SUCCESS. */
int slurm_unpackmem_xmalloc(char **data, uint32_t *len,
                            struct slurmabi_buf *buf);

void *slurm_xcalloc(size_t count, size_t size, bool clear, bool can_fail,
                    const char *file, int line, const char *func);
void slurm_xfree(void **item);
char *slurm_xstrdup(const char *str);

/* Lists of environment strings in Slurm's memory (char ***env of the hooks).
 * slurm_setenvpf() and _overwrite() replace an existing variable. */
int slurm_setenvpf(char ***env, const char *name, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
char *slurm_getenvp(char **env, const char *name);
void slurm_unsetenvp(char **env, const char *name);
int slurm_env_array_overwrite(char ***env, const char *name, const char *value);

/* Which process is this? */
#if SLURMABI_SINCE(25, 5)
bool slurm_run_in_daemon(uint32_t daemons); /* bits: any of these */

static inline bool slurmabi_in_slurmctld(void)
{
    return slurm_run_in_daemon(1u << 3);
}

static inline bool slurmabi_in_slurmd(void)
{
    return slurm_run_in_daemon(1u << 4);
}
#else
bool slurm_running_in_slurmctld(void);
bool slurm_running_in_slurmd(void);

static inline bool slurmabi_in_slurmctld(void)
{
    return slurm_running_in_slurmctld();
}

static inline bool slurmabi_in_slurmd(void)
{
    return slurm_running_in_slurmd();
}
#endif

/* Adds a process to the step's container.  Only in slurmstepd: check the
 * address before calling. */
int proctrack_g_add(struct slurmabi_stepd *step, pid_t pid)
    __attribute__((weak));

#if SLURMABI_SINCE(24, 5)
/* In slurmstepd: was the step ordered to be suspended, and not yet to be
 * resumed?  (Slurm gathers no figures meanwhile.)  Any thread may ask. */
bool acct_gather_suspend_test(void) __attribute__((weak));
#endif

/* Send a line of text to the user who started the job: to the terminal of srun
 * or salloc, or to a batch script's output.  In slurmctld only, with its read
 * lock of jobs held, and from 24.05 on in a stepmgr. */
int srun_user_message(void *job, char *text) __attribute__((weak));

/* slurmctld's record of a job, whose lock for jobs is held. */
struct slurmabi_job *find_job_record(uint32_t job_id) __attribute__((weak));

/* NodeAddr of a node, in Slurm's memory; srun and the daemons have it. */
char *slurm_conf_get_nodeaddr(const char *name) __attribute__((weak));

/* What slurmctld signed: Slurm's slurm_cred_arg_t, locked until unlocked. */
void *slurm_cred_get_args(struct slurmabi_cred *cred);
void slurm_cred_unlock_args(struct slurmabi_cred *cred);

/* Sends a signal to all processes of a step.  0, or -1 with Slurm's errno. */
static inline int slurmabi_kill_step(uint32_t job_id, uint32_t step_id,
                                     uint16_t signal)
{
#if SLURMABI_SINCE(25, 11)
    slurm_step_id_t id = SLURM_STEP_ID_INITIALIZER;

    id.job_id = job_id;
    id.step_id = step_id;
    return slurm_kill_job_step(&id, signal, 0);
#elif SLURMABI_SINCE(23, 11)
    return slurm_kill_job_step(job_id, step_id, signal, 0);
#else
    return slurm_kill_job_step(job_id, step_id, signal);
#endif
}

/* What slurm_load_ctl_conf() gave. */
static inline void slurmabi_free_conf(slurm_conf_t *conf)
{
#if SLURMABI_SINCE(26, 5)
    slurm_free_conf(conf);
#else
    slurm_free_ctl_conf(conf);
#endif
}

/* Who says so; from 26.05 on slurmctld knows by itself. */
static inline void slurmabi_update_by(update_node_msg_t *msg, uid_t uid)
{
#if !SLURMABI_SINCE(26, 5)
    msg->reason_uid = uid;
#endif
}

/* What Slurm's record of a step has for the info of a switch plugin. */
struct slurmabi_plugin_data {
    void *data;
    uint32_t plugin_id;
};

/* Memory of Slurm's allocator.  Zeroed; NULL without memory. */
#define slurmabi_calloc(count, size)                                           \
    slurm_xcalloc((count), (size), true, true, __FILE__, __LINE__, __func__)
#define slurmabi_free(ptr) slurm_xfree((void **)&(ptr))

/* ---- mpi plugins ---------------------------------------------------------
 * client: what srun tells a component.  step_layout is the merged one of all
 * components; het_job_* are NO_VAL outside hetjobs. */
struct slurmabi_mpi_client {
    uint32_t het_job_id;
    uint32_t het_job_task_offset;
    slurm_step_id_t step_id;
    slurm_step_layout_t *step_layout;
};

/* task: what slurmstepd tells a task.  Everything is global over the
 * components but ltaskid and ltasks. */
struct slurmabi_mpi_task {
    void *client;
    uint32_t gtaskid;
    int ltaskid;
    uint32_t ltasks;
    uint32_t nnodes;
    uint32_t nodeid;
    uint32_t ntasks;
#if !SLURMABI_SINCE(23, 11)
    void *self;
#endif
    slurm_step_id_t step_id;
};

int mpi_p_client_fini(void *state);
void *mpi_p_client_prelaunch(const struct slurmabi_mpi_client *client,
                             char ***env);
void *mpi_p_conf_get(void);
void *mpi_p_conf_get_printable(void);
void mpi_p_conf_options(void **options, int *count);
void mpi_p_conf_set(void *table);
int mpi_p_slurmstepd_prefork(const struct slurmabi_stepd *step, char ***env);
int mpi_p_slurmstepd_task(const struct slurmabi_mpi_task *task, char ***env);

/* slurmstepd has no hook between the end of the last task and the end of all
 * that is in the step's container. */
#define SLURMABI_HAS_JOB_FINI (!SLURMABI_SINCE(24, 5))

/* ---- switch plugins: plugin_id and these, all of them wanted ------------- */
int switch_p_job_preinit(struct slurmabi_stepd *step);
int switch_p_job_init(struct slurmabi_stepd *step);
int switch_p_job_postfini(struct slurmabi_stepd *step);
int switch_p_job_attach(struct switch_jobinfo *info, char ***env,
                        uint32_t nodeid, uint32_t procid, uint32_t nnodes,
                        uint32_t nprocs, uint32_t rank);
int switch_p_job_step_complete(struct switch_jobinfo *info, char *nodelist);

#if SLURMABI_SINCE(24, 5)
#if !SLURMABI_SINCE(25, 11) /* then they have their names the other way round  \
                             */
#define switch_p_stepinfo_build switch_p_build_stepinfo
#define switch_p_stepinfo_duplicate switch_p_duplicate_stepinfo
#define switch_p_stepinfo_free switch_p_free_stepinfo
#define switch_p_stepinfo_pack switch_p_pack_stepinfo
#define switch_p_stepinfo_unpack switch_p_unpack_stepinfo
#define switch_p_jobinfo_pack switch_p_pack_jobinfo
#define switch_p_jobinfo_unpack switch_p_unpack_jobinfo
#define switch_p_jobinfo_free switch_p_free_jobinfo
#endif

int switch_p_save(void);
int switch_p_restore(bool recover);
#if SLURMABI_SINCE(25, 11)
int switch_p_stepinfo_build(struct switch_jobinfo **info, void *jobinfo,
                            struct slurmabi_step *step);
int switch_p_job_start(struct slurmabi_job *job, bool test_only);
#else
int switch_p_stepinfo_build(struct switch_jobinfo **info,
                            slurm_step_layout_t *layout,
                            struct slurmabi_step *step);
void switch_p_job_start(struct slurmabi_job *job);
#endif
void switch_p_stepinfo_duplicate(struct switch_jobinfo *src,
                                 struct switch_jobinfo **dst);
void switch_p_stepinfo_free(struct switch_jobinfo *info);
void switch_p_stepinfo_pack(struct switch_jobinfo *info,
                            struct slurmabi_buf *buf, uint16_t protocol);
int switch_p_stepinfo_unpack(struct switch_jobinfo **info,
                             struct slurmabi_buf *buf, uint16_t protocol);
void switch_p_jobinfo_pack(void *info, struct slurmabi_buf *buf,
                           uint16_t protocol);
int switch_p_jobinfo_unpack(void **info, struct slurmabi_buf *buf,
                            uint16_t protocol);
void switch_p_jobinfo_free(struct slurmabi_job *job);
void switch_p_job_complete(struct slurmabi_job *job);
int switch_p_fs_init(struct slurmabi_stepd *step);
/* No release wants all of these. */
void switch_p_extern_stepinfo(struct switch_jobinfo **info,
                              struct slurmabi_job *job);
void switch_p_extern_step_fini(uint32_t job_id);
bool switch_p_setup_special_steps(void);
uint32_t switch_p_job_channel(struct slurmabi_job *job, char *node);
int switch_p_stepmgr_init(void);
void switch_p_stepmgr_fini(uint32_t job_id);
#else /* 22.05; 23.02 and 23.11 want fewer */
int switch_p_libstate_save(char *dir);
int switch_p_libstate_restore(char *dir, bool recover);
int switch_p_alloc_jobinfo(struct switch_jobinfo **info, uint32_t job_id,
                           uint32_t step_id);
int switch_p_build_jobinfo(struct switch_jobinfo *info,
                           slurm_step_layout_t *layout,
                           struct slurmabi_step *step);
int switch_p_duplicate_jobinfo(struct switch_jobinfo *src,
                               struct switch_jobinfo **dst);
void switch_p_free_jobinfo(struct switch_jobinfo *info);
int switch_p_pack_jobinfo(struct switch_jobinfo *info, struct slurmabi_buf *buf,
                          uint16_t protocol);
int switch_p_unpack_jobinfo(struct switch_jobinfo **info,
                            struct slurmabi_buf *buf, uint16_t protocol);
int switch_p_get_jobinfo(struct switch_jobinfo *info, int key, void *data);
int switch_p_job_suspend_test(struct switch_jobinfo *info);
void switch_p_job_suspend_info_get(struct switch_jobinfo *info, void *out);
void switch_p_job_suspend_info_pack(void *info, struct slurmabi_buf *buf,
                                    uint16_t protocol);
int switch_p_job_suspend_info_unpack(void **info, struct slurmabi_buf *buf,
                                     uint16_t protocol);
void switch_p_job_suspend_info_free(void *info);
int switch_p_job_suspend(void *info, int max_wait);
int switch_p_job_resume(void *info, int max_wait);
int switch_p_job_fini(struct switch_jobinfo *info);
int switch_p_job_step_allocated(struct switch_jobinfo *info, char *nodelist);
int switch_p_libstate_clear(void);
int switch_p_reconfig(void);
int switch_p_job_step_pre_suspend(struct slurmabi_stepd *step);
int switch_p_job_step_post_suspend(struct slurmabi_stepd *step);
int switch_p_job_step_pre_resume(struct slurmabi_stepd *step);
int switch_p_job_step_post_resume(struct slurmabi_stepd *step);
void switch_p_job_complete(uint32_t job_id);
#endif

/* What a hook answers for a step that is to ask again.  25.11 and later know
 * no such answer; steps do not wait there. */
#if SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM(25, 11, 0)
#define SLURMABI_INTERCONNECT_BUSY ESLURM_INTERCONNECT_FAILURE
#else
#define SLURMABI_INTERCONNECT_BUSY ESLURM_INTERCONNECT_BUSY
#endif

#endif
