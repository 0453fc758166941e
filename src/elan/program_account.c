/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

#include "elan/program_account.h"
#include "elan/program_proc.h"
#include "elan/program_read.h"

struct program_seen {
    struct program_process process;
    UT_hash_handle hh;
};

void program_account_note(struct program_account *a,
                          const struct program_process *process)
{
    struct program_process key;
    struct program_seen *s;

    memset(&key, 0, sizeof(key)); /* padding counts in a hash key */
    key.pid = process->pid;
    key.start = process->start;
    HASH_FIND(hh, a->seen, &key, sizeof(key), s);
    if (s || a->stats.seen >= SF_PROGRAM_SEEN_MAX)
        return;
    s = calloc(1, sizeof(*s));
    if (!s)
        return;
    memcpy(&s->process, &key, sizeof(key));
    HASH_ADD(hh, a->seen, process, sizeof(s->process), s);
    a->stats.seen++;
}

/* Look at one process; returns its resident memory in bytes. */
static uint64_t look_at(struct program_account *a, pid_t pid)
{
    struct program_process process;
    uint64_t resident, largest;
    pid_t ppid;
    char *text;

    if (program_read_process(pid, &process, &ppid) < 0)
        return 0;
    program_account_note(a, &process);
    text = program_read_proc(pid, "status", 8192);
    if (!text)
        return 0;
    resident = proc_parse_status_kb(text, "VmRSS") * 1024;
    largest = proc_parse_status_kb(text, "VmHWM") * 1024;
    free(text);
    if (largest > a->stats.process_peak)
        a->stats.process_peak = largest;
    return resident;
}

/* The group's own; sum: resident memory of all members. */
static void add_figures(struct program_stats *s, const struct program_cgroup *g,
                        uint64_t sum)
{
    uint64_t peak = program_cgroup_memory_peak(g);

    program_cgroup_cpu(g, &s->user_us, &s->system_us);
    s->exact = peak != 0;
    if (!s->exact)
        peak = sum > s->process_peak ? sum : s->process_peak;
    if (peak > s->memory_peak)
        s->memory_peak = peak;
}

void program_account_look(struct program_account *a,
                          const struct program_cgroup *g, program_skip_f *skip,
                          void *arg)
{
    struct program_stats *s = &a->stats;
    pid_t *pids = malloc(SF_PROGRAM_PIDS_MAX * sizeof(*pids));
    uint64_t sum = 0;
    int n = 0;

    if (pids)
        n = program_cgroup_pids(g, pids, SF_PROGRAM_PIDS_MAX, skip, arg, NULL);
    for (int i = 0; i < n && i < SF_PROGRAM_PIDS_MAX; i++)
        sum += look_at(a, pids[i]);
    free(pids);
    s->now = n > 0 ? (uint32_t)n : 0;
    if (s->now > s->most)
        s->most = s->now;
    add_figures(s, g, sum);
}

void program_account_end(struct program_account *a,
                         const struct program_cgroup *g)
{
    a->stats.now = 0;
    add_figures(&a->stats, g, 0);
}

void program_account_free(struct program_account *a)
{
    struct program_seen *s, *next;

    HASH_ITER(hh, a->seen, s, next)
    {
        HASH_DEL(a->seen, s);
        free(s);
    }
    a->seen = NULL;
}
