#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Steps that a stepmgr makes (Slurm 24.05 and later), on nodes whose fabric is
# down: what it knows of that is what Slurm has of it.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
health_nodes_up --conf PrologFlags=Contain
slurm_since 24.05 || skip_all "this Slurm has no stepmgr"
health_begin Drain=no

stepmgr_runs_on() { # NODE
    run_as_user srun --stepmgr -N1 -w "$1" true
    [ "$code" = 0 ]
}

case_step_of_a_stepmgr_on_a_down_node_is_refused_and_its_user_told() { # SL-26
    wait_for 20 all_idle
    wait_for 20 all_healthy
    wait_for 20 stepmgr_runs_on n1
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    run_as_user rm -f "$WORK/read"
    start_as_user salloc --stepmgr -N1 -w n1 sh -c "
        srun true && exit 9
        until [ -e $WORK/read ]; do sleep 0.1; done"
    wait_for 30 grep -q 'SF-E103 .*fabric of node n1 is down since' \
        "$case_tmp/bg.err"
    run_as_user touch "$WORK/read"
    wait $!
    assert_equal 0 $? "exit code of the job"
    run_as_user srun --stepmgr -N1 -w n1 true
    assert_code_not 0
    run_as_user srun --stepmgr -N1 -w n2 true
    assert_code 0
    say n1 hsnd up
    wait_for 20 extra_has n1 fabric=up
    wait_for 20 stepmgr_runs_on n1
}

# It learns of it within a job, too.
case_a_stepmgr_learns_of_a_fault_while_its_job_runs() { # SL-26
    wait_for 20 all_healthy
    run_as_user rm -f "$WORK/go" "$WORK/in"
    start_as_user salloc -Q --stepmgr -N1 -w n1 sh -c "
        srun true && : >$WORK/in
        until [ -e $WORK/go ]; do sleep 0.1; done
        for i in 1 2 3 4 5 6 7 8 9; do
            srun true || exit 7
            sleep 1
        done"
    wait_for 30 test -e "$WORK/in"
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    run_as_user touch "$WORK/go"
    wait $!
    assert_equal 7 $? "exit code"
    say n1 hsnd up
    wait_for 20 no_job_left
}

# The first question was not answered: it was not put again for a minute, in
# which all steps were built.  StalePolicy here: without word steps go.
case_a_stepmgr_asks_soon_again_when_slurmctld_was_away() { # SL-26
    wait_for 20 all_idle
    wait_for 20 all_healthy
    run_as_user rm -f "$WORK/go" "$WORK/in" "$WORK/went" "$WORK/refused"
    start_as_user salloc -Q --stepmgr -N1 -w n1 sh -c "
        : >$WORK/in
        until [ -e $WORK/go ]; do sleep 0.1; done
        srun true && : >$WORK/went
        while srun true; do sleep 0.5; done
        : >$WORK/refused"
    wait_for 30 test -e "$WORK/in"
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    daemon stop slurmctld
    run_as_user touch "$WORK/go"
    wait_for 60 test -e "$WORK/went"
    daemon start slurmctld
    wait_for 30 test -e "$WORK/refused"
    assert_log slurmd.n1.log 'SF-E113 .*slurmctld does not say'
    wait $! || fail "the job failed: $(cat "$case_tmp/bg.err")"
    say n1 hsnd up
    wait_for 20 no_job_left
}

case_step_of_a_stepmgr_is_held_until_the_node_heals() { # SL-26
    reread Drain=no BusyGrace=3600
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
    wait_for 20 all_healthy
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    start_as_user srun --stepmgr -N1 -w n1 echo ran
    wait_for 20 log_has slurmd.n1.log "waits for this node's fabric"
    assert_empty "$(grep ran "$case_tmp/bg.out")" "ran too early"
    say n1 hsnd up
    wait $! || fail "the held launch failed: $(cat "$case_tmp/bg.out")"
    wait_for 20 no_job_left
}

run_cases
