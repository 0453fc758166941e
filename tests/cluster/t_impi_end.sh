#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi/impi: how a job ends when something goes wrong.  Run under
# proctrack/cgroup; t_impi_alone.sh has linuxproc.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 3 --switch elan --proctrack "${PROCTRACK:-$(cgroup_if_any)}"
impi_programs

case_abort_in_mpich() {
    run_as_user srun --mpi=impi -n2 "$M" abort 1 42 : -n2 "$O" abort 1 42
    assert_code 42
    assert_cause 'rank 1 on node n0 .*MPI_Abort.*42.*client 0'
    assert_nothing_left
}

case_abort_in_openmpi() {
    run_as_user srun --mpi=impi -n2 "$M" abort 2 43 : -n2 "$O" abort 2 43
    assert_code 43
    assert_cause 'rank 2 on node n1 .*MPI_Abort.*43.*client 1'
    assert_nothing_left
}

case_exit_without_finalize() {
    run_as_user srun --mpi=impi -n2 "$M" exit 0 7 : -n2 "$O" exit 0 7
    assert_code 7
    assert_cause 'rank 0 on node n0 .* exited with code 7'
    assert_nothing_left
    run_as_user srun --mpi=impi -n2 "$M" _exit 3 9 : -n2 "$O" _exit 3 9
    assert_code 9
    assert_cause 'rank 3 on node n1 .* exited with code 9'
    assert_nothing_left
}

case_rank_killed() {
    run_as_user srun --mpi=impi -n2 "$M" kill 1 9 : -n2 "$O" kill 1 9
    assert_code 137
    assert_cause 'rank 1 on node n0 .* killed by signal 9'
    assert_nothing_left
    run_as_user srun --mpi=impi -n2 "$M" kill 2 11 : -n2 "$O" kill 2 11
    assert_code 139
    assert_cause 'rank 2 on node n1 .* killed by signal 11'
    assert_nothing_left
}

# The kernel may have forgotten it: so the answer must be slurmstepd's.
case_stepd_tells_the_status_of_a_task() {
    run_as_user env SLURM_IMPI_LOG="$WORK" srun --mpi=impi -N1 -n2 "$M" kill 1 9
    assert_code 137
    assert_cause 'rank 1 on node n0 .* killed by signal 9'
    assert_equal 1 "$(cat "$WORK"/impid.*.n0 |
        grep -c 'ended with status 9, says slurmstepd')" "answers"
    assert_nothing_left
}

# Of what a task forks Slurm knows nothing; its own code stands then.
case_child_of_a_task_killed() {
    run_as_user srun --mpi=impi -n2 sh -c "$M kill 1 9; exit 3" : -n2 "$O" \
        kill 1 9
    assert_code 137
    assert_cause 'rank 1 on node n0 .*(killed by signal 9|ended before)'
    assert_nothing_left
}

case_native_worlds_too() {
    run_as_user srun --mpi=impi -N2 -n4 "$M" exit 3 5
    assert_code 5
    run_as_user srun --mpi=impi -N2 -n4 "$O" exit 3 6
    assert_code 6
    assert_nothing_left
}

case_who_went_is_the_cause_not_who_saw_it() {
    run_as_user srun --mpi=impi -N2 -n4 "$M" seen 3 5 "$WORK/seen"
    assert_code 5
    assert_cause 'rank 3 on node n1 .* exited with code 5'
    assert_nothing_left
    run_as_user srun --mpi=impi -N2 -n4 "$O" seen 3 6 "$WORK/seen"
    assert_code 6
    assert_cause 'rank 3 on node n1 .* exited with code 6'
    assert_nothing_left
}

case_second_program_fails() {
    run_as_user srun --mpi=impi -n2 sh -c "$M; $M exit 1 4; $M" : -n2 \
        sh -c "$O; $O exit 1 4; $O"
    assert_code 4
    assert_cause 'rank 1 on node n0'
    assert_output '^rank [0-3] of 4 sum 10 ' 4
    assert_nothing_left
}

case_task_without_mpi_in_a_world_that_waits() {
    run_as_user srun --mpi=impi -n2 "$M" : -n2 hostname
    assert_code 1
    assert_cause 'rank [23] on node n1 ended without calling MPI_Init'
    assert_nothing_left
    run_as_user srun --mpi=impi -N1 -n2 sh -c \
        "[ \$SLURM_PROCID = 0 ] && exec $O"
    assert_code 1
    assert_cause 'rank 1 on node n0 ended without calling MPI_Init'
    assert_nothing_left
    run_as_user srun --mpi=impi -n2 sh -c "$M; [ \$SLURM_PROCID = 0 ] && $M"
    assert_code 1
    assert_cause 'rank 1 on node n0 .* MPI program 2 of the step'
    assert_nothing_left
}

# Agents start with the first call of MPI, then on all nodes: also one whose
# tasks have not called it yet, and may never, is missed as soon as it ends.
both_agents() { [ "$(impi_pid_of impid | wc -l)" = 2 ]; }
case_task_without_mpi_that_runs_on_is_missed_at_its_end() {
    start_as_user srun --mpi=impi -n1 "$M" : -n1 \
        sh -c "until [ -e $WORK/go ]; do sleep 0.05; done"
    srun_pid=$!
    wait_for 30 both_agents
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 1
    assert_cause 'rank 1 on node n1 ended without calling MPI_Init'
    assert_nothing_left
}

# srun's code was 1, whatever that of the rank.
case_exit_code_of_a_rank_that_never_calls_mpi() {
    run_as_user srun --mpi=impi -N1 -n2 sh -c \
        "[ \$SLURM_PROCID = 0 ] && exec $O; exit 5"
    assert_code 5
    assert_cause 'rank 1 on node n0 ended without calling MPI_Init .*code is 5'
    run_as_user srun --mpi=impi -N2 -n2 sh -c \
        "[ \$SLURM_PROCID = 0 ] && exec $O; exit 6"
    assert_code 6
    assert_cause 'rank 1 on node n1 ended without calling MPI_Init'
    assert_nothing_left
    start_as_user srun --mpi=impi -n1 "$M" : -n1 \
        sh -c "until [ -e $WORK/go ]; do sleep 0.05; done; kill -9 \$\$"
    srun_pid=$!
    wait_for 30 both_agents
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 137
    assert_cause 'rank 1 on node n1 ended without calling MPI_Init .*is 137'
    assert_nothing_left
}

case_program_without_our_front() {
    run_as_user srun --mpi=impi -n2 "$M" : -n2 env -u LD_PRELOAD "$M"
    assert_code 1
    # Where it takes long enough it is found while it runs.
    assert_cause 'rank [23] on node n1 (ended without calling MPI_Init|uses )'
    assert_nothing_left
}

# It ran as a world of its own, and the others waited for its end.  (Open MPI
# refuses to: it sees that srun started it.)
case_tool_that_replaces_our_front() {
    printf 'int preloaded;\n' >"$WORK/tool.c"
    cc -shared -fPIC -o "$WORK/tool.so" "$WORK/tool.c" ||
        skip "no compiler"
    run_as_user srun --mpi=impi -n2 "$O" : -n2 \
        env LD_PRELOAD="$WORK/tool.so" "$M" until "$WORK/never"
    assert_code 1
    assert_cause "rank [23] on node n1 uses libmpich.so[0-9.]* without \
libimpi.so.*LD_PRELOAD is \"$WORK/tool.so\".*--export=ALL,LD_PRELOAD=TOOL"
    assert_nothing_left
    # Also in what the task starts.
    run_as_user srun --mpi=impi -n2 "$O" : -n2 \
        sh -c "env -u LD_PRELOAD $M until $WORK/never; true"
    assert_code 1
    assert_error 'SF-E323: rank [23] on node n1 uses libmpich.so.* taken away'
    assert_nothing_left
}

# What that message, slurm-fabric(7) and doc/trouble.md say.
case_tool_is_preloaded_as_documented() {
    cat >"$WORK/tool.c" <<'C'
#include <unistd.h>
__attribute__((constructor)) static void tool(void)
{
    if (write(1, "tool is here\n", 13) < 0)
        _exit(9);
}
C
    cc -shared -fPIC -o "$WORK/tool.so" "$WORK/tool.c" ||
        skip "no compiler"
    run_as_user srun --mpi=impi --export="ALL,LD_PRELOAD=$WORK/tool.so" \
        -n2 "$M" : -n2 "$O"
    assert_code 0
    assert_world 4
    assert_output 'tool is here'
    run_as_user srun --mpi=impi -n2 "$M" : -n2 \
        sh -c "LD_PRELOAD=$WORK/tool.so:\$LD_PRELOAD exec $O"
    assert_code 0
    assert_world 4
    assert_output 'tool is here'
    assert_nothing_left
}

# Where the root directory is not that of the machine (check-vm's guest).
slurms_own='slurmstepd.*: error: Unable to get current working directory'
case_program_that_is_static() {
    local program=$SF_TOP_BUILDDIR/tests/cluster/impi_rank_static
    [ -x "$program" ] || [ -e "$program.log" ] || skip "there is no libmpich.a"
    install -m 755 "$program" "$WORK/static"
    run_as_user srun --mpi=impi -n2 "$M" : -n1 "$WORK/static"
    assert_code 1
    assert_cause 'rank 2 on node n1 ended without calling MPI_Init'
    grep -q 'SF-E312: .*statically linked' <<<"$err" ||
        fail "not named: SF-E312, a static program"
    assert_nothing_left
    # Among themselves nobody sees them: doc/impi.md.
    run_as_user srun --mpi=impi -N2 -n3 "$WORK/static"
    assert_code 0
    assert_empty "$(grep -v "$slurms_own" <<<"$err")" "messages"
    assert_output '^rank 0 of 1 sum 1 ' 3
    assert_nothing_left
}

hang() {
    start_as_user srun --mpi=impi -n2 "$M" hang : -n2 "$O" hang
    srun_pid=$!
    wait_for 60 ready 4 || { sed 's/^/# /' "$case_tmp/bg.err"; sinfo -Nl; }
}

agent_is_known() {
    cat "$WORK"/impid.*.n0 2>/dev/null | grep -q 'impi-server knows of ranks'
}
case_impid_killed() {
    hang
    pidkill KILL "$(agents_of n1)"
    collect $srun_pid
    assert_code_not 0
    assert_cause 'lost impid on node n1 with client 1 \(ranks 2-3\): '
    assert_nothing_left
    # Two clients on one node; and before any client is known.
    printf '%s\n' "0,2 $M hang" "1 $O hang" >"$WORK/both"
    start_as_user srun --mpi=impi -N1 -w n0 -n3 --multi-prog "$WORK/both"
    srun_pid=$!
    wait_for 60 ready 3
    pidkill KILL "$(agents_of n0)"
    collect $srun_pid
    assert_cause \
        'lost impid on node n0 with client 0 \(ranks 0,2\), client 1 \(rank 1\): '
    assert_nothing_left
    rm -f "$WORK"/impid.* # of an earlier case: it knew of ranks, too
    start_as_user env SLURM_IMPI_LOG="$WORK" srun --mpi=impi -N1 -w n0 -n2 \
        sh -c "[ \$SLURM_PROCID = 1 ] && exec sleep 3000; exec $M"
    srun_pid=$!
    wait_for 60 agent_is_known
    pidkill KILL "$(agents_of n0)"
    collect $srun_pid
    assert_cause 'lost impid on node n0 with ranks 0-1: '
    assert_nothing_left
}

case_server_killed() {
    hang
    pidkill KILL "$(impi_pid_of impi-server)"
    collect $srun_pid
    assert_code_not 0
    assert_cause 'lost impi-server'
    assert_nothing_left
}

srun_pids() {
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = srun ] && echo "$pid"
    done
    return 0
}

case_srun_killed() {
    hang
    # shellcheck disable=SC2046
    pidkill KILL $(srun_pids)
    collect $srun_pid
    wait_for 15 impi_nothing_left || impi_leftovers | sed 's/^/#   left: /'
    # The allocation stays: that is Slurm's way with a srun that is gone.
    # shellcheck disable=SC2046
    run_as_user scancel $(squeue -h -o %A)
    assert_nothing_left
}

case_slurmstepd_killed() {
    hang
    pidkill KILL "$(stepd_of n0)"
    collect $srun_pid
    assert_code 1
    assert_cause 'lost (impid|slurmstepd) on node n[01]'
    # Slurm asks a node about a job that should have ended only now and then.
    wait_for 240 no_job_left
    # What it left is swept by the next step on that node.
    run_as_user srun --mpi=impi -N3 true
    assert_nothing_left
}

# Slurm does not notice, and srun waited for the tasks of that node for ever.
plain_step() { # SRUN-ARGS..: no task calls MPI
    start_as_user srun --mpi=impi "$@" sh -c 'echo ready; exec sleep 3000'
    srun_pid=$!
    wait_for 60 ready "${1#-N}"
}
assert_ended_by_loss_of() { # NODE, its slurmstepd was killed
    collect $srun_pid
    assert_code 1
    assert_cause "lost (slurmstepd|impid) on node $1"
    run_as_user scancel --me
    wait_for 240 no_job_left
    run_as_user srun --mpi=impi -N3 true # it sweeps what was left
    assert_nothing_left
}
case_srun_waited_for_ever_for_a_killed_slurmstepd() {
    plain_step -N2 -n2
    pidkill KILL "$(stepd_of n1)"
    assert_ended_by_loss_of n1
    plain_step -N1 -n1 -w n2
    pidkill KILL "$(stepd_of n2)"
    assert_ended_by_loss_of n2
}

# The program had ended, and with it all that anybody waited for.
after_mpi() { # SRUN-ARGS..: a task runs on after MPI_Finalize
    start_as_user srun --mpi=impi "$@" sh -c "$M; echo ready; exec sleep 3000"
    srun_pid=$!
    wait_for 60 ready "${1#-N}"
}
case_slurmstepd_killed_after_mpi_finalize() {
    after_mpi -N2 -n2
    pidkill KILL "$(stepd_of n1)"
    assert_ended_by_loss_of n1
}

# srun showed no reason, and exited with 0.
case_node_that_cannot_start_impid_fails_its_tasks() {
    run_as_root n1 sh -c 'mkdir -p /run/slurm-fabric/impi &&
        chmod 777 /run/slurm-fabric/impi'
    run_as_user srun --mpi=impi -N1 -w n1 -n2 true
    assert_code 1
    assert_error 'SF-E302: node n1: /run/slurm-fabric/impi is not a directory'
    assert_log slurmd.n1.log 'SF-E302: node n1: /run/slurm-fabric/impi is not'
    # Nobody waits for its tasks.
    run_as_user srun --mpi=impi -N2 -n2 -w 'n[0-1]' "$M" hang
    assert_code 1
    assert_cause 'rank 1 on node n1 ended without calling MPI_Init'
    run_as_root n1 chmod 755 /run/slurm-fabric/impi
    assert_nothing_left
}

# Each rank there was rank 0 of 1.
case_node_without_libimpi_refuses_its_tasks() {
    mkdir -p "$WORK/empty"
    run_as_root n1 mount --bind "$WORK/empty" "$STAGE/lib/slurm-fabric"
    assert_code 0
    run_as_user srun --mpi=impi -N1 -w n1 -n2 "$M"
    assert_code 1
    assert_error 'SF-E302: node n1: .*/libimpi.so: No such file.*: install'
    wait_for 60 unmounted_libimpi
    assert_nothing_left
}
unmounted_libimpi() {
    run_as_root n1 umount "$STAGE/lib/slurm-fabric"
    [ "$code" = 0 ]
}

# Others waited in MPI_Init for its tasks, for ever.
case_node_that_refuses_the_step_ends_it() {
    run_as_root n1 chmod 777 /run/slurm-fabric/n1
    run_as_user srun --mpi=impi -N2 -n2 -w 'n[0-1]' "$M"
    assert_code 1
    assert_error 'SF-E129 switch/elan: /run/slurm-fabric/n1: must be'
    assert_cause 'rank 1 on node n1 ended without calling MPI_Init'
    run_as_root n1 chmod 755 /run/slurm-fabric/n1
    assert_nothing_left
}

case_scancel() {
    hang
    # shellcheck disable=SC2046
    run_as_user scancel $(squeue -h -o %A)
    collect $srun_pid
    assert_code_not 0
    assert_nothing_left
}

assert_agents_are_clean() {
    local pid fds
    for pid in $(impi_pid_of impid); do
        assert_equal 0000000000000000 \
            "$(awk '$1 == "SigBlk:" {print $2}' "/proc/$pid/status")" "mask"
        assert_equal 0 "$(cat "/proc/$pid/oom_score_adj")" "oom_score_adj"
        assert_equal "$JOB_USER" "$(stat -c %U "/proc/$pid")" "user"
        # Of a process that may leave no core the files there are root's.
        assert_equal root "$(stat -c %U "/proc/$pid/environ")" "no core"
        assert_empty "$(tr '\0' '\n' <"/proc/$pid/environ" |
            grep -v '^\(PATH\|LANG\)=')" "environment"
        assert_equal impid "$(tr '\0' ' ' <"/proc/$pid/cmdline" | xargs)" \
            "arguments"
        fds=$(find "/proc/$pid/fd" \( -name '[0-2]' ! -lname /dev/null \) -o \
            -lname '*slurm*' -printf '%l\n')
        assert_empty "$fds" "descriptors"
    done
}
end_the_step() {
    # shellcheck disable=SC2046
    run_as_user scancel $(squeue -h -o %A)
    collect $srun_pid
    assert_nothing_left
}
case_agent_is_clean() {
    hang
    assert_agents_are_clean
    end_the_step
}

# What could not be moved away, for want of descriptors, stayed: slurmstepd's.
limit_to_two_more() { # PID: descriptors
    local n=0 free=0
    while [ $free -lt 2 ]; do
        [ -e "/proc/$1/fd/$n" ] || free=$((free + 1))
        n=$((n + 1))
    done
    prlimit --pid "$1" --nofile="$n:$n"
}
case_agent_is_clean_where_slurmstepd_has_no_descriptor_left() {
    start_as_user srun --mpi=impi -N1 -w n0 -n1 sh -c \
        "ulimit -n 256; echo ready; until [ -e $WORK/go ]; do sleep 0.05; done
        exec $M hang"
    srun_pid=$!
    wait_for 60 ready 1
    limit_to_two_more "$(stepd_of n0)"
    touch "$WORK/go"
    wait_for 60 ready 2
    rm "$WORK/go"
    assert_equal 1 "$(impi_pid_of impid | wc -l)" agents
    assert_agents_are_clean
    end_the_step
}

# A user plants links in the step directory; root does not follow them.
case_el_root_follows_no_link_of_the_user() {
    run_as_root n0 sh -c 'mkdir -p /run/slurm-fabric/bait &&
        touch /run/slurm-fabric/bait/file'
    run_as_user srun --mpi=impi -N1 -w n0 -n1 sh -c '
        dir=$(dirname "$SLURM_IMPI_AGENT")
        ln -s /run/slurm-fabric/bait "$dir/link" &&
        mkdir "$dir/sub" && ln -s ../../../bait "$dir/sub/link" &&
        rm -f "$dir/sock" && ln -s /run/slurm-fabric/bait/file "$dir/sock"'
    assert_code 0
    assert_nothing_left
    run_as_root n0 test -e /run/slurm-fabric/bait/file
    assert_code 0
}
run_cases
