# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash disable=SC2046,SC2044 # pids and cgroups are words
# Cases about the containment of programs, run under each proctrack by
# t_elan_linuxproc.sh and t_elan_cgroup.sh (which say --proctrack).
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/elan-holder
SHOW=$SF_TOP_BUILDDIR/tests/cluster/elan_show
cluster_up --nodes 2 --switch elan --conf "ProctrackType=proctrack/$PROCTRACK"

no_user_pids() {
    [ -z "$(user_pids)" ]
}

# Groups and sockets of programs on this cluster.
program_traces() {
    local type dir
    for d in "$CLUSTER"/run.n*/n*; do
        find "$d" -name 'prg-*' 2>/dev/null
    done
    find /sys/fs/cgroup -path "*/minislurm-$(cluster_id)/*" \
        -name 'elan-prg-*' 2>/dev/null
    return 0
}

no_program_traces() {
    [ -z "$(program_traces)" ]
}

# Pids of this cluster whose command line matches.
cluster_pids() {
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null | grep -qE -- "$1" &&
            echo "$pid"
    done
    return 0
}

no_pid() {
    [ -z "$(cluster_pids "$1")" ]
}

has_pid() {
    [ -n "$(cluster_pids "$1")" ]
}

case_program_and_its_traces_are_gone_after_a_step() { # EL-19 EL-42
    run_as_user srun -N2 -n4 "$SHOW"
    assert_code 0
    assert_output 'caps=1 cap0=block' 4
    assert_empty "$(program_traces)" "left behind"
    assert_empty "$(user_pids)" "processes"
}

case_escaped_children_are_killed() { # EL-06 EL-43
    run_as_user srun -N2 -n2 sh -c '
        trap "" TERM HUP
        setsid sh -c "sleep 987 & exec sleep 987" </dev/null >/dev/null 2>&1 &
        (setsid setsid sleep 987 </dev/null >/dev/null 2>&1 &)'
    assert_code 0
    wait_for 60 no_user_pids
    assert_empty "$(program_traces)" "left behind"
}

case_term_is_ignored_and_scancel_ends_it() { # EL-43
    start_as_user srun -n1 -J deaf sh -c 'trap "" TERM INT
        sh -c "trap \"\" TERM; sleep 988 & sleep 988" & sleep 988; sleep 988'
    wait_for 60 has_pid '^sleep 988'
    run_as_user scancel -n deaf
    wait $!
    wait_for 60 no_user_pids
    wait_for 60 no_program_traces
}

case_background_child_costs_no_second() { # Slurm's own stall is spared
    local begin
    begin=$(date +%s%N)
    for i in 1 2 3; do
        run_as_user srun -n1 sh -c 'sleep 989 >/dev/null 2>&1 &'
        assert_code 0
    done
    # three stalls would take three seconds and the steps themselves
    [ $((($(date +%s%N) - begin) / 1000000)) -lt 2900 ] ||
        echo "# slow: three steps took more than 2.9 s"
    assert_empty "$(user_pids)" "processes"
}

case_killed_slurmstepd_is_cleaned_up() { # EL-42 SL-15
    start_as_user srun -n1 sh -c 'setsid sleep 990 & sleep 990'
    wait_for 60 has_pid '^sleep 990'
    pidkill KILL $(cluster_pids '^slurmstepd: \[')
    wait_for 60 no_pid '^sleep 990'
    wait_for 60 no_program_traces
    run_as_user scancel --me
    wait $!
    wait_for 60 no_job_left
}

case_killed_holder_and_slurmstepd_are_swept_by_the_next_step() { # SL-15
    need_cgroups
    own_groups || skip "Slurm's own groups are Slurm's to sweep"
    start_as_user srun -n1 -w n0 sh -c 'setsid sleep 991 & sleep 991'
    wait_for 60 has_pid '^sleep 991'
    pidkill STOP $(cluster_pids '^elan-holder')
    pidkill KILL $(cluster_pids '^slurmstepd: \[') \
        $(cluster_pids '^elan-holder')
    run_as_user scancel --me
    wait $!
    run_as_user srun -n1 -w n0 true
    assert_code 0
    wait_for 60 no_user_pids
    assert_empty "$(program_traces)" "left behind"
    assert_log slurmd.n0.log 'removed 1 programs that nobody held'
}

case_killed_holder_alone_does_no_harm() { # EL-42
    start_as_user srun -n1 -w n0 sh -c 'setsid sleep 992 & sleep 992'
    wait_for 60 has_pid '^sleep 992'
    pidkill KILL $(cluster_pids '^elan-holder')
    run_as_user scancel --me
    wait $!
    wait_for 60 no_user_pids
    wait_for 60 no_program_traces
}

# Something that cannot be run lies over it, on one node alone.
case_missing_holder_is_named_to_the_user() {
    local holder=$STAGE/libexec/slurm-fabric/elan-holder
    run_as_root n0 mount --bind /dev/null "$holder"
    assert_code 0
    run_as_user srun -n1 -w n0 echo started
    assert_code 1
    assert_output started 0
    assert_error 'SF-E122 switch/elan: rms_prgcreate.*/elan-holder: Permission'
    run_as_root n0 umount "$holder"
    run_as_user srun -n1 -w n0 true
    assert_code 0
}

# No step, no slurmstepd: libelan and the holder alone.
case_program_without_slurm() {
    local uid run=$SF_TOP_BUILDDIR/examples/elan_run
    uid=$(id -u "$JOB_USER")
    run_as_root n0 "$run" -n 3 -u "$uid" -c 1100 "$SHOW"
    assert_code 0
    for i in 0 1 2; do
        assert_output "RMS_NPROCS=3 .*RMS_RANK=$i .* prg=[0-9]+ caps=1 cap0=block\+bc,ctx=$((1100 + i)),of=1100-1102" 1
    done
    assert_empty "$(program_traces)" "left behind"
    run_as_root n0 "$run" -n 2 -u "$uid" \
        sh -c 'setsid sleep 996 >/dev/null 2>&1 & exit 5'
    assert_code 5
    assert_empty "$(cluster_pids '^sleep 996')" "escaped"
    assert_empty "$(program_traces)" "left behind"
    run_as_user "$run" -n 1 -u "$uid" true
    assert_code 1
    assert_error 'rms_prgcreate'
}

# EL-62: what is left of a task that crashes is Slurm's business and the
# user's limits; its program ends as any other.
case_crash_is_slurms_to_report() {
    run_as_user sh -c 'ulimit -c 0; srun --propagate=CORE -n1 -w n0 sh -c "
        ulimit -c; kill -SEGV \$\$"'
    assert_code 139
    assert_output '^0$'
    assert_error 'task 0: Segmentation fault'
    assert_empty "$(program_traces)" "left behind"
    assert_empty "$(user_pids)" "processes"
}

# On a unified tree with proctrack/cgroup programs live in Slurm's own groups.
own_groups() {
    [ "$PROCTRACK" != cgroup ] ||
        [ "$(stat -fc %T /sys/fs/cgroup)" != cgroup2fs ]
}

# The child writes twenty times a second, emulated still once, when it runs.
is_stopped() {
    local a
    a=$(cat "$WORK/tick")
    sleep 2
    [ "$a" = "$(cat "$WORK/tick")" ]
}

is_frozen() {
    local f
    for f in $(find /sys/fs/cgroup -path "*/minislurm-$(cluster_id)/*elan-prg-*" \
        -name cgroup.freeze 2>/dev/null); do
        grep -q 1 "$f" && return 0
    done
    return 1
}

is_not_frozen() {
    ! is_frozen
}

# With proctrack/cgroup Slurm stops all of it by its own group from 24.05 on.
frozen_by_us() {
    own_groups && { [ "$PROCTRACK" != cgroup ] || ! slurm_since 24.05; }
}

case_suspend_stops_the_whole_program() { # EL-07 SL-14
    run_as_user rm -f "$WORK/tick" "$WORK/resumed"
    start_as_user srun -n1 -J held sh -c '
        (setsid sh -c "while :; do date +%s%N >'"$WORK"'/tick; sleep 0.05; \
            done" &)
        until [ -e '"$WORK"'/resumed ]; do sleep 0.1; done; exec '"$SHOW"
    wait_for 60 test -s "$WORK/tick"
    run_as_root ctl scontrol suspend "$(squeue -h -n held -o %A)"
    assert_code 0
    ! frozen_by_us || wait_for 60 is_frozen
    wait_for 60 is_stopped
    run_as_root ctl scontrol resume "$(squeue -h -n held -o %A)"
    assert_code 0
    ! frozen_by_us || wait_for 60 is_not_frozen
    run_as_user touch "$WORK/resumed"
    wait $!
    assert_equal 0 $? "exit code of srun"
    out=$(cat "$case_tmp/bg.out")
    assert_output 'caps=1 cap0=block\+bc,ctx=[0-9]+'
    wait_for 60 no_program_traces
}

case_members_share_and_strangers_get_nothing() { # EL-09 EL-40 EL-44
    start_as_user srun -n1 -w n0 sh -c 'env | grep ^SLURM_FABRIC_PROGRAM \
        >'"$WORK"'/where; sleep 993'
    wait_for 60 test -s "$WORK/where"
    capture "$MINISLURM" exec --dir "$CLUSTER" --on n0 -- \
        env "$(cat "$WORK/where")" "$SHOW"
    assert_output 'prg=No such file or directory caps=Operation not permitted'
    capture "$MINISLURM" exec --dir "$CLUSTER" --on n0 --as daemon -- \
        env "$(cat "$WORK/where")" "$SHOW" other \
        "$(sed 's/.*prg-//' "$WORK/where")"
    assert_output 'other: (Operation not permitted|No such file)'
    run_as_user scancel --me
    wait $! || true
}

case_program_is_found_without_environment() { # EL-47
    run_as_user srun -n1 env -i "$SHOW"
    assert_code 0
    assert_output 'prg=[0-9]+ caps=1 cap0=block'
}

tried() { [ "$(grep -c '^setcap: ' "$case_tmp/bg.out")" = "$1" ]; }

# All want one that is nobody's own; the first keeps it until all have tried.
case_contexts_are_unique_on_a_node() { # EL-04 EL-46
    run_as_user rm -f "$WORK/all"
    start_as_user srun -N1 -n4 --network=contexts=1 "$SHOW" setcap 0 4 \
        until "$WORK/all"
    wait_for 60 tried 4
    run_as_user touch "$WORK/all"
    wait $!
    assert_equal 0 $? "exit code"
    out=$(cat "$case_tmp/bg.out")
    assert_equal 4 "$(grep -oE ',ctx=[0-9]+' <<<"$out" | sort -u | wc -l)" \
        "different contexts"
    assert_output '^setcap: ok' 1
    assert_output '^setcap: Device or resource busy' 3
}

case_figures_count_ended_members() { # EL-08
    run_as_user srun -n1 -w n0 "$SHOW" burn 300 stats
    assert_output '^stats cpu_ms=[3-9][0-9][0-9] mem_kb=[1-9]'
    wait_for 60 log_has slurmd.n0.log 'program .*: cpu [0-9]*\.[3-9]'
}

case_program_is_signalled_as_a_whole() { # EL-07
    run_as_user srun -n1 -w n0 sh -c "
        (setsid sh -c 'trap \"echo got >$WORK/got; exit\" USR1; : >$WORK/up
            while :; do sleep 0.05; done' &)
        until [ -e $WORK/up ]; do sleep 0.05; done
        trap : USR1
        $SHOW signal 10
        until [ -e $WORK/got ]; do sleep 0.05; done"
    assert_code 0
    wait_for 60 test -e "$WORK/got"
}

case_planted_symlink_is_refused() { # root touches nothing a user can steer
    local dir=$CLUSTER/run.n1/n1
    "$MINISLURM" exec --dir "$CLUSTER" --on n1 -- ln -s "$WORK" \
        /run/slurm-fabric/x 2>/dev/null && fail "the user can write there"
    mv "$dir" "$dir.away"
    ln -s "$WORK" "$dir"
    run_as_user srun -n1 -w n1 echo ran
    assert_code 1
    assert_error 'SF-E129 .*only root can write'
    assert_output '^ran' 0
    assert_log slurmd.n1.log 'SF-E129 .*only root can write'
    assert_empty "$(find "$WORK" -name 'prg-*')" "sockets in the user's tree"
    rm "$dir"
    mv "$dir.away" "$dir"
    wait_for 60 no_job_left
    run_as_user srun -n1 -w n1 true
    assert_code 0
}

contain_cases=$(sed -n 's/^\(case_[a-z0-9_]*\)().*/\1/p' "${BASH_SOURCE[0]}")
