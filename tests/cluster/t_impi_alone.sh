#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi/impi as MpiDefault and without switch/elan, under proctrack/linuxproc:
# impid watches its tasks itself and leaves with the last.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 2 --switch none --proctrack linuxproc --mpi-default impi
impi_programs

case_world_without_switch_elan() {
    run_as_user srun -n2 "$M" : -n2 "$O"
    assert_code 0
    assert_world 4
    assert_nothing_left
}

case_mpi_default_runs_anything() {
    run_as_user srun -N2 -n4 hostname
    assert_code 0
    assert_output '^n[01]$' 4
    assert_nothing_left
}

# Without a call of MPI nothing of ours runs in the step.
agents_seen() { # a task waits, and this looks what there is
    start_as_user srun -N2 -n2 "$@"
    srun_pid=$!
    wait_for 30 ready 2
    impi_pid_of impid >"$case_tmp/seen"
    impi_pid_of impi-server >>"$case_tmp/seen"
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 0
}
case_step_without_mpi_has_no_agent_and_no_server() {
    agents_seen sh -c \
        "echo ready; until [ -e $WORK/go ]; do sleep 0.05; done"
    assert_empty "$(cat "$case_tmp/seen")" "agents"
    agents_seen sh -c \
        "$M; echo ready; until [ -e $WORK/go ]; do sleep 0.05; done"
    assert_equal 3 "$(wc -l <"$case_tmp/seen")" "agents and server"
    assert_nothing_left
}

# impid leaves with its last task; that this one never called MPI is known on
# the node where others wait for it, whoever is gone by then.
both_agents() { [ "$(impi_pid_of impid | wc -l)" = 2 ]; }
until_go="until [ -e $WORK/go ]; do sleep 0.05; done"
case_task_without_mpi_that_another_node_waits_for() {
    start_as_user srun -n1 "$M" : -n1 sh -c "$until_go"
    srun_pid=$!
    wait_for 30 both_agents
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 1
    assert_error 'SF-E312: rank 1 on node n1 ended without calling MPI_Init'
    assert_nothing_left
    start_as_user srun -n1 "$M" : -n1 sh -c "$until_go; exit 6"
    srun_pid=$!
    wait_for 30 both_agents
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 6
    assert_error 'SF-E312: rank 1 on node n1 ended .*its exit code is 6'
    assert_nothing_left
}

# Its agent is gone long before anybody can know that it is missed.
one_agent() { [ "$(impi_pid_of impid | wc -l)" = 1 ]; }
case_task_without_mpi_that_is_missed_after_its_agent_left() {
    start_as_user srun --overcommit -n2 sh -c \
        "[ \$SLURM_PROCID = 0 ] || $until_go; exec $M" : -n1 \
        sh -c "until [ -e $WORK/left ]; do sleep 0.05; done; exit 7"
    srun_pid=$!
    wait_for 30 both_agents
    touch "$WORK/left"
    wait_for 30 one_agent
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go" "$WORK/left"
    assert_code 7
    assert_error 'SF-E312: rank 2 on node n1 ended .*its exit code is 7'
    assert_nothing_left
}

# It is no child of slurmstepd, which ends it all the same.
case_agent_that_does_not_leave_is_killed() {
    start_as_user srun -N2 -n2 sh -c "$M; echo ready; $until_go"
    srun_pid=$!
    wait_for 30 ready 2
    impi_pid_of impid >"$case_tmp/stopped"
    assert_equal 2 "$(wc -l <"$case_tmp/stopped")" "agents"
    xargs kill -STOP <"$case_tmp/stopped"
    touch "$WORK/go"
    collect $srun_pid
    rm "$WORK/go"
    assert_nothing_left
}

case_batch_scripts_and_shells_need_no_agent() {
    printf '#!/bin/sh\necho batch\nsrun hostname\nsrun -n2 %s\n' "$M" \
        >"$WORK/batch.sh"
    run_as_user sbatch -W -N1 -n2 -o "$WORK/batch.out" "$WORK/batch.sh"
    assert_code 0
    out=$(cat "$WORK/batch.out")
    assert_output '^batch$' 1
    assert_output '^n[01]$' 2
    assert_world 2
    run_as_user salloc -n1 sh -c 'srun -n1 hostname && echo shell'
    assert_code 0
    assert_output '^shell$' 1
    assert_nothing_left
}

# What another launcher starts below our steps is that launcher's: its processes
# found themselves in a world of ours, or were refused.
four_by_launcher() { # LIBRARY COMMAND..: in an allocation
    local library=$1
    shift
    run_as_user "$@"
    assert_code 0
    assert_world 4
    assert_output "by $library\$" 4
    ! grep -q 'SF-E' <<<"$err" || fail "a message of ours: $err"
}
case_mpiexec_of_mpich_in_an_allocation() {
    command -v mpiexec.mpich >/dev/null || skip "no mpiexec.mpich"
    four_by_launcher mpich salloc -N1 -n4 -O mpiexec.mpich -n 4 "$M"
    four_by_launcher mpich salloc -N2 -n4 -O mpiexec.mpich -n 4 -ppn 2 "$M"
    assert_output ' on n0 ' 2
    run_as_user salloc -N1 -n2 mpiexec.mpich -n 2 "$M" abort 1 7
    assert_code_not 0
    assert_nothing_left
}
case_mpirun_of_open_mpi_in_an_allocation() {
    local lo="--mca btl_tcp_if_include lo"
    # Of Open MPI 5 the daemons find no other network then.
    command -v prterun >/dev/null || lo+=" --mca oob_tcp_if_include lo"
    command -v mpirun.openmpi >/dev/null || skip "no mpirun.openmpi"
    four_by_launcher openmpi salloc -N1 -n4 -O mpirun.openmpi $lo -n 4 \
        --oversubscribe "$O"
    four_by_launcher openmpi salloc -N2 -n4 -O mpirun.openmpi $lo -n 4 \
        --mca btl tcp,self --mca pml ob1 --oversubscribe --map-by node "$O"
    assert_output ' on n0 ' 2
    assert_nothing_left
}
# Debian 12 has no prterun: this is what a process of it finds, one that is
# told so by mpiexec under the step, and one whose PMI is a port.
case_launcher_in_a_step_that_is_known_by_its_variables() {
    local foreign
    for foreign in "PMIX_NAMESPACE=prterun-n0-7@1 PMIX_RANK=\$SLURM_PROCID" \
        'PMI_RANK=0 PMI_SIZE=1 PMI_PORT=n0:1 PMI_ID=0 PMI_PORT='; do
        run_as_user srun -N2 -n4 sh -c "env $foreign $M"
        assert_code 0
        case $foreign in
        *PMI_PORT=) assert_world 4 ;; # nothing of a launcher is left
        *) assert_output '^rank 0 of 1 sum 1 ' 4 ;;
        esac
    done
    # A program that an MPI process of ours starts is not another launcher's.
    run_as_user srun -n1 sh -c "mpiexec.mpich -launcher fork -n 2 $M; $M"
    assert_code 0
    assert_output '^rank [01] of 2 sum 3 ' 2
    assert_output '^rank 0 of 1 sum 1 ' 1
    assert_nothing_left
}

case_log_directory_of_the_user() {
    run_as_user sh -c "mkdir -p $WORK/log &&
        SLURM_IMPI_LOG=$WORK/log srun -N2 -n2 $M"
    assert_code 0
    assert_equal 3 "$(find "$WORK/log" -type f | wc -l)" "log files"
    run_as_user env SLURM_IMPI_LOG=/nonexistent srun -n1 "$M"
    assert_code 0
    assert_nothing_left
}

case_abort_without_switch_elan() {
    run_as_user srun -n2 "$M" abort 3 44 : -n2 "$O" abort 3 44
    assert_code 44
    assert_error 'rank 3 on node n1'
    assert_nothing_left
}

case_dead_rank_without_switch_elan() {
    run_as_user srun -n2 "$M" kill 1 9 : -n2 "$O" kill 1 9
    assert_code 137
    assert_error 'rank 1 on node n0'
    assert_nothing_left
}

# impid is not below slurmstepd here, and sees it go.
case_killed_slurmstepd_ends_the_world_without_switch_elan() {
    start_as_user srun -n1 "$M" hang : -n1 "$O" hang
    srun_pid=$!
    wait_for 60 ready 2
    pidkill KILL "$(stepd_of n1)"
    collect $srun_pid
    assert_code 1
    assert_error 'SF-E(316: lost slurmstepd|221: lost impid) on node n1'
    run_as_user scancel --me
    wait_for 240 no_job_left
    run_as_user srun -N2 true # it sweeps what was left
    assert_nothing_left
}

# The agent has left with its task, whose end slurmstepd never tells: the step
# stayed, and srun with it.
no_agent_of() {
    [ -z "$(agents_of "$1")" ]
}
slurmstepd_dies_last() { # SRUN-ARGS..: with the last task on n1
    local stepd
    start_as_user srun "$@" sh -c \
        "$M; echo ready; until [ -e $WORK/go ]; do sleep 0.05; done"
    srun_pid=$!
    wait_for 60 ready "${1#-n}"
    stepd=$(stepd_of n1)
    pidkill STOP "$stepd"
    touch "$WORK/go"
    wait_for 60 no_agent_of n1
    pidkill KILL "$stepd"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 1
    assert_error 'SF-E316: lost slurmstepd on node n1'
    run_as_user scancel --me
    wait_for 240 no_job_left
    run_as_user srun -N2 true # it sweeps what was left
    assert_nothing_left
}
case_slurmstepd_killed_after_its_agent_left_ends_srun() {
    slurmstepd_dies_last -n2 -N2
    slurmstepd_dies_last -n1 -w n1
}

no_stepd_of() {
    [ -z "$(stepd_of "$1")" ]
}

# It looked at the end of slurmstepd before that of the task, of which it had
# not heard either: SF-E316 at the end of a step that was well.
case_agent_that_stood_still_at_the_end_misses_nobody() {
    local late
    start_as_user srun -N2 -n2 sh -c \
        "$M; echo ready; until [ -e $WORK/go ]; do sleep 0.05; done"
    srun_pid=$!
    wait_for 60 ready 2
    late=$(agents_of n1)
    pidkill STOP "$late"
    touch "$WORK/go"
    wait_for 60 no_stepd_of n1
    pidkill CONT "$late"
    collect $srun_pid
    rm "$WORK/go"
    assert_code 0
    assert_world 2
    assert_nothing_left
}

case_agent_leaves_with_its_last_task() {
    local i
    for i in 1 2 3; do
        run_as_user srun -N2 -n2 "$M"
        assert_code 0
    done
    assert_nothing_left
}
run_cases
