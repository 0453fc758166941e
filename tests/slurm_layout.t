#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/slurm-layout measures what a source tree says, adds it to the table,
# and takes nothing that contradicts the table.  The trees here are made up;
# they have the names that Slurm's have.
set -u
. "$(dirname "$0")/tap.sh"
command -v python3 >/dev/null || skip_all "no python3"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
export SLURM_LAYOUT_TABLE=$tmp/layouts.inc
table=$SLURM_LAYOUT_TABLE

# make_tree MAJOR MINOR MICRO WORDS: WORDS come before a job's uid.
make_tree() {
    local t=$tmp/tree
    rm -rf "$t"
    mkdir -p "$t"/slurm "$t"/src/{common,interfaces,slurmctld} \
        "$t"/src/slurmd/{slurmd,slurmstepd}
    printf '  Major:\t%d\n  Minor:\t%02d\n  Micro:\t%d\n' "$1" "$2" "$3" \
        >"$t/META"
    cat >"$t/slurm/slurm_version.h.in" <<'C'
#undef SLURM_VERSION_NUMBER
#define SLURM_VERSION_NUM(a,b,c) (((a) << 16) + ((b) << 8) + (c))
C
    cat >"$t/src/slurmctld/slurmctld.h" <<C
#include <stdint.h>
#define STEP_MAGIC 0xcafecafe
#define JOB_MAGIC 0xf0b7392c
typedef struct {
    uint32_t job_id, step_het_comp, step_id;
} id_t_;
typedef struct {
    uint32_t magic, het_job_id, het_job_offset, job_id;
    uint16_t restart_cnt;
    uint64_t more[$4];
    uint32_t user_id;
} job_record_t;
typedef struct {
    uint32_t magic;
    char *host, *network;
    void *step_layout;
    job_record_t *job_ptr;
    uint16_t port;
    id_t_ step_id;
} step_record_t;
C
    echo 'typedef struct { int a; char *node_name; } slurmd_conf_t;' \
        >"$t/src/slurmd/slurmd/slurmd.h"
    cat >"$t/src/slurmd/slurmstepd/slurmstepd_job.h" <<'C'
typedef struct {
    id_t_ step_id;
    uint32_t nnodes, ntasks, nodeid, node_tasks;
    uint32_t het_job_id, het_job_offset, het_job_step_cnt, het_job_task_offset;
    char **env;
    void *switch_job, *switch_step, **task, *msg;
    uint32_t uid, gid;
} stepd_step_rec_t;
typedef struct { void *cred; } launch_tasks_request_msg_t;
typedef struct { int id, pid, estatus; } stepd_step_task_info_t;
C
    cat >"$t/src/interfaces/cred.h" <<'C'
typedef struct {
    id_t_ step_id;
    uint32_t uid;
    uint16_t job_restart_cnt;
} slurm_cred_arg_t;
C
    cp "$t/src/interfaces/cred.h" "$t/src/common/slurm_cred.h"
}

measure() {
    "$top/tools/slurm-layout" "$tmp/tree" >"$tmp/out" 2>&1
}

rows() {
    grep -c '^{' "$table"
}

measured() { # MAJOR MINOR MICRO
    awk -v version="$*" -f "$top/tools/slurm-measured.awk" "$table"
}

make_tree 22 5 8 1
measure && [ "$(rows)" = 1 ] && grep -q 'user_id = 32' "$table" &&
    grep -q 'magic = 0xf0b7392c' "$table"
report $? "a release becomes a row with its offsets"
make_tree 22 5 9 1
measure && [ "$(rows)" = 1 ] && measured 22 5 8 && measured 22 5 9
report $? "the next one that is alike widens the row"
make_tree 22 5 10 2
measure && [ "$(rows)" = 2 ] && grep -q 'user_id = 40' "$table"
report $? "one that is not has a row of its own"
make_tree 23 11 0 2
measure && [ "$(rows)" = 3 ]
report $? "so has another major release"
! measured 22 5 7 && ! measured 22 5 11 && ! measured 23 2 0 &&
    measured 22 5 10 && measured 23 11 0
report $? "configure's look at the table knows just these"

cp "$table" "$tmp/before"
make_tree 22 5 8 2
! measure && grep -q '22.05.8.*contradicts' "$tmp/out" &&
    cmp -s "$table" "$tmp/before"
report $? "a tree that contradicts the table is refused, the table stays"
make_tree 22 5 11 1
sed -i 's/job_id;/id_of_job;/' "$tmp/tree/src/slurmctld/slurmctld.h"
! measure && grep -q 'job_id' "$tmp/out" && cmp -s "$table" "$tmp/before"
report $? "a member with another name is told by the compiler"
rm "$tmp/tree/META"
! measure && grep -q 'no source tree of Slurm' "$tmp/out"
report $? "what is no tree of Slurm is said"
"$top/tools/slurm-layout" 2>"$tmp/out"
[ $? = 2 ] && grep -q '^usage' "$tmp/out"
report $? "without arguments it says how it is used"
finish
