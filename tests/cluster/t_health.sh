#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fabric health in Slurm: from reports to sinfo and back, and at each step, by
# a scripted reporter on each node.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
health_up

case_all_nodes_are_up() { # SL-24
    local node
    for node in n0 n1 n2 n3; do
        wait_for 20 active_features_are $node gpu,fabric_up
        wait_for 10 extra_has $node fabric=up:rail0=up
    done
    run_as_user srun -N4 -C fabric_up true
    assert_code 0
    fabric
    assert_code 0
}

case_fault_reaches_sinfo_and_goes_again() { # SL-24
    say n2 hsnd down no carrier
    wait_for 10 extra_has n2 fabric=down:rail0=down
    wait_for 10 active_features_are n2 gpu,fabric_down
    wait_for 10 is_drained n2
    capture sinfo -h -n n2 -o %E
    assert_output '^switchmgrd: fabric rail 0 down \(no carrier\) since 20[0-9-]{8}T[0-9:]{8}$'
    capture sinfo -h -O NodeList,StateLong,Features:60,Extra:60
    assert_output 'n2 .*drained.*fabric=down'
    fabric
    assert_code 2
    fabric why n2
    assert_output 'no carrier'
    say n2 hsnd up
    wait_for 20 is_idle n2
    wait_for 10 active_features_are n2 gpu,fabric_up
    fabric
    assert_code 0
}

case_others_features_and_texts_stay() {
    scontrol update nodename=n3 extra="rack=7" comment="ours"
    wait_for 10 extra_has n3 rack=7
    say n3 hsnd degraded errors
    wait_for 10 active_features_are n3 gpu,fabric_degraded
    capture scontrol show node n3
    assert_output 'Extra=rack=7 fabric=degraded'
    assert_output 'Comment=ours'
    say n3 hsnd up
    wait_for 10 active_features_are n3 gpu,fabric_up
    # What the node has and an admin has made inactive stays so.
    scontrol update nodename=n3 activefeatures=fabric_up
    say n3 hsnd degraded errors
    wait_for 10 active_features_are n3 fabric_degraded
    scontrol update nodename=n3 activefeatures=gpu,fabric_degraded
    say n3 hsnd up
    wait_for 10 active_features_are n3 gpu,fabric_up
}

case_reconfigure_does_not_lose_features() { # SL-24
    run_as_root ctl scontrol reconfigure
    wait_for 20 active_features_are n1 gpu,fabric_up
    wait_for 20 active_features_are n2 gpu,fabric_up
}

case_silence_is_unknown() { # SL-23
    silence n3
    wait_for 40 extra_has n3 fabric=unknown
    wait_for 10 active_features_are n3 gpu
    assert_equal idle "$(sinfo -h -n n3 -o %T)" "state of n3"
    reporter n3
    wait_for 20 active_features_are n3 gpu,fabric_up
}

# The table is read before each step; the job may be there already.
case_step_on_a_down_node_is_refused() { # EL-57 SL-26
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    wait_for 10 is_drained n1
    # An allocation that stands since before.
    run_as_user srun -N1 -w n3 true
    assert_code 0
    scontrol update nodename=n1 state=resume
    wait_for 10 is_idle n1
    wait_for 20 refused_on n1 # the table is up to a second old
    assert_log slurmctld.log 'refused: the fabric of node n1 is down since'
    assert_error 'srun: SF-E103 .*the fabric of node n1 is down since'
    # an admin's resume is respected: not drained again for this fault
    wait_for 10 is_idle n1 # the refused job may still be completing
    say n1 hsnd up
    wait_for 20 extra_has n1 fabric=up
    wait_for 20 runs_on n1
}

refused_on() {
    ! runs_on "$1"
}

# srun by itself asks again only after one to two minutes; from 25.11 on it
# does not ask again, and the tasks are held on the node.
case_a_waiting_step_runs_when_the_node_heals() { # SL-26
    local text='waits: the fabric of node n1 is down'
    ! slurm_since 25.11 || text='is held on 1 nodes .*fabric of node n1 is down'
    reread Drain=no BusyGrace=3600
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    "$MINISLURM" exec --dir "$CLUSTER" -- srun -N1 -w n1 true \
        >"$case_tmp/waits" 2>&1 &
    wait_for 20 log_has slurmctld.log "$text"
    if slurm_since 25.11; then
        wait_for 20 log_has slurmd.n1.log "waits for this node's fabric"
    fi
    say n1 hsnd up
    wait $! || fail "the waiting launch failed: $(cat "$case_tmp/waits")"
    slurm_since 25.11 || assert_log slurmctld.log \
        'waits for the fabric of node n1 is told to ask again'
    reread
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
}

# Before 25.11 it is not started, and refused at the end of BusyGrace.
case_a_held_step_ends_with_busy_grace() {
    slurm_since 25.11 || skip "steps wait before they are built"
    reread Drain=no BusyGrace=6
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    run_as_user srun -N1 -w n1 true
    assert_code_not 0
    assert_error 'SF-E121 .*did not come back within'
    say n1 hsnd up
    reread
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
}

# Four nodes of an empty cluster: neighbours, so broadcasts are possible.  Of
# the case before the table may still have a node as down.
case_four_nodes_may_broadcast() { # EL-20 EL-27
    wait_for 20 all_healthy
    wait_for 20 all_show
    assert_output 'cap0=[a-z]+\+bc' 4
}

all_show() {
    run_as_user srun -N4 "$SF_TOP_BUILDDIR/tests/cluster/elan_show"
    [ "$code" = 0 ]
}

run_cases
