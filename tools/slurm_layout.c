/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints where Slurm keeps the members that src/slurmabi reads, as a row of
 * src/slurmabi/layouts.inc without its versions.  Compiled by
 * tools/slurm-layout against the private headers of one source tree of Slurm;
 * nothing of the product is built with it.
 *
 * A release in which a member has another name or is gone does not compile:
 * say the new name below, by version, or what takes its place.
 */
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/socket.h>

#include <slurm/slurm_version.h>

#define SINCE(major, minor)                                                    \
    (SLURM_VERSION_NUMBER >= SLURM_VERSION_NUM((major), (minor), 0))

#include "src/slurmctld/slurmctld.h"
#include "src/slurmd/slurmd/slurmd.h"
#include "src/slurmd/slurmstepd/slurmstepd_job.h"
#if SINCE(23, 2)
#include "src/interfaces/cred.h"
#else
#include "src/common/slurm_cred.h"
#endif

#if SINCE(24, 5)
#define SWITCH_JOB switch_step
#else
#define SWITCH_JOB switch_job
#endif

static const char *separator;

static void begin(const char *record)
{
    printf("    .%s = {", record);
    separator = "";
}

static void print(const char *name, unsigned long value)
{
    printf("%s.%s = %lu", separator, name, value);
    separator = ", ";
}

static void print_magic(unsigned long value)
{
    printf(".magic = 0x%lx", value);
    separator = ", ";
}

static void end(unsigned long size)
{
    print("size", size);
    printf("},\n");
}

/* AT(OUR NAME, SLURM'S NAME) of the record that `record` is. */
#define AT(name, member) print(#name, offsetof(record, member))

static void print_stepd(void)
{
    typedef stepd_step_rec_t record;

    begin("stepd");
    AT(step_id, step_id);
    AT(nnodes, nnodes);
    AT(ntasks, ntasks);
    AT(nodeid, nodeid);
    AT(node_tasks, node_tasks);
    AT(het_job_id, het_job_id);
    AT(het_job_offset, het_job_offset);
    AT(het_job_step_cnt, het_job_step_cnt);
    AT(het_job_task_offset, het_job_task_offset);
    AT(env, env);
    AT(switch_job, SWITCH_JOB);
    AT(uid, uid);
    AT(gid, gid);
    AT(tasks, task);
    AT(msg, msg);
    end(sizeof(record));
}

static void print_launch(void)
{
    typedef launch_tasks_request_msg_t record;

    begin("launch");
    AT(cred, cred);
    end(sizeof(record));
}

static void print_cred(void)
{
    typedef slurm_cred_arg_t record;

    begin("cred");
    AT(step_id, step_id);
    AT(uid, uid);
    AT(restarts, job_restart_cnt);
    end(sizeof(record));
}

static void print_task(void)
{
    typedef stepd_step_task_info_t record;

    begin("task");
    AT(id, id);
    AT(pid, pid);
    AT(status, estatus);
    end(sizeof(record));
}

static void print_step(void)
{
    typedef step_record_t record;

    begin("step");
    print_magic(STEP_MAGIC);
    AT(magic_at, magic);
    AT(host, host);
    AT(job_ptr, job_ptr);
    AT(layout, step_layout);
    AT(network, network);
    AT(port, port);
    AT(step_id, step_id);
    end(sizeof(record));
}

static void print_job(void)
{
    typedef job_record_t record;

    begin("job");
    print_magic(JOB_MAGIC);
    AT(magic_at, magic);
    AT(het_job_id, het_job_id);
    AT(het_job_offset, het_job_offset);
    AT(job_id, job_id);
    AT(restarts, restart_cnt);
    AT(user_id, user_id);
#if SINCE(24, 5) /* what a lease is made from; before there is no stepmgr */
    AT(flags, bit_flags);
    AT(state, job_state);
    AT(nodes, nodes);
    AT(resources, job_resrcs);
    AT(switch_job, switch_jobinfo);
#endif
    end(sizeof(record));
}

#if SINCE(24, 5)
static void print_resources(void)
{
    typedef job_resources_t record;

    begin("resources");
    AT(cpus_len, cpu_array_cnt);
    AT(cpus, cpu_array_value);
    end(sizeof(record));
}
#endif

int main(void)
{
    print_stepd();
    print_launch();
    print_cred();
    print_task();
    print_step();
    print_job();
#if SINCE(24, 5)
    print_resources();
#endif
    printf("    .conf_node_name = %zu,\n", offsetof(slurmd_conf_t, node_name));
    return 0;
}
