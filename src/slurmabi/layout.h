/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Offsets of the members we read in Slurm's private records (x86-64 and
 * other LP64 machines), one row for each run of releases that were measured
 * and are alike: layouts change within a major release, too (24.11 has three
 * of a job's record), and a wrong row would take another member for the uid
 * that goes into a capability.  tools/slurm-layout measures a release.
 * Internal to src/slurmabi; tests build fake records with it.
 */
#ifndef SF_SLURMABI_LAYOUT_H
#define SF_SLURMABI_LAYOUT_H

#include <stdint.h>

struct slurmabi_layout {
    uint32_t first, last; /* SLURM_VERSION_NUMBER, both inclusive */
    struct {
        uint16_t step_id, nnodes, ntasks, nodeid, node_tasks;
        uint16_t het_job_id, het_job_offset, het_job_step_cnt,
            het_job_task_offset;
        uint16_t env, switch_job, uid, gid;
        uint16_t tasks; /* of the array of pointers to task */
        uint16_t msg;   /* of a pointer to launch */
        uint16_t size;
    } stepd;
    struct {
        uint16_t cred;
        uint16_t size;
    } launch; /* srun's launch message */
    struct {
        uint16_t step_id, uid, restarts;
        uint16_t size;
    } cred; /* what slurmctld has signed for it */
    struct {
        uint16_t id, pid, status;
        uint16_t size;
    } task;
    struct {
        uint32_t magic;
        uint16_t magic_at, host, job_ptr, layout, network, port, step_id;
        uint16_t size;
    } step;
    struct {
        uint32_t magic;
        uint16_t magic_at, het_job_id, het_job_offset, job_id, restarts;
        uint16_t user_id;
        uint16_t flags, state, nodes, resources, switch_job; /* from 24.05 */
        uint16_t size;
    } job;
    struct {
        uint16_t cpus_len, cpus; /* runs of nodes that are alike */
        uint16_t size;
    } resources;             /* of a job, from 24.05 */
    uint16_t conf_node_name; /* in slurmd's and slurmstepd's *conf */
};

/* The row for a release, or NULL: it was not measured. */
const struct slurmabi_layout *slurmabi_layout_find(uint32_t version);

/* The row of the Slurm this tree is built for (the loader refuses a plugin
 * in any other), or NULL. */
const struct slurmabi_layout *slurmabi_layout(void);

#endif
