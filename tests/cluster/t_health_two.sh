#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two nodes on the software fabric, and no dry run: one of their daemons dies
# or stands still, and neither node is drained; a real fault drains the node
# that has it and no other.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/hsnd \
    libexec/slurm-fabric/swfabd libexec/slurm-fabric/mapperd \
    libexec/slurm-fabric/switchmgrd bin/sfabric
FABRIC_NODES='n0 n1' # n1 has the higher board: its mapper leads
. "$SF_TOP_SRCDIR/tests/cluster/fabric.sh"
FABRIC_SWITCHMGR=SilentAfter=5
cluster_up --nodes 2 --switch elan --node-conf "Features=$FABRIC_FEATURES"
LIMIT=240
fabric_up

since_has() { fabric_log | grep -q "$1"; }
nobody_was_drained() {
    assert_empty "$(fabric_log | grep 'drained by us')" "drained by us"
    is_idle n0 || fail "n0 is $(sinfo -h -n n0 -o '%T %E')"
    is_idle n1 || fail "n1 is $(sinfo -h -n n1 -o '%T %E')"
}
runs_on() { # NODE
    run_as_user srun -N1 -w "$1" true
    [ "$code" = 0 ]
}
# The healthy one is told as healthy, and works.  What n1 said last counts for
# HsndStale more, but the crossbar of n0, whom nobody else answers, answers.
n0_was_well() {
    wait_for 60 fabric_is n0 up
    assert_empty "$(fabric_log | grep 'host n0 rail 0: .* -> down')" \
        "n0 was down"
    runs_on n0 || fail "no step runs on n0: $err"
}

case_the_leaders_hsnd_is_stopped_and_nobody_is_drained() {
    fabric_settles
    pidkill TERM "$(fabric_pid n1 hsnd)"
    wait_for 60 since_has 'host n1 rail 0: .* -> unknown ('
    wait_for 60 since_has 'host n1 rail 0: .* -> degraded (hsnd: .* silent'
    assert_empty "$(fabric_log | grep 'two mappers say')" "alarms"
    nobody_was_drained
    n0_was_well
    wait_for 20 fabric_is n1 degraded
    fabric_start_hsnd n1
    fabric_settles
}

case_the_leaders_hsnd_stands_still_and_nobody_is_drained() {
    local pid
    fabric_settles
    pid=$(fabric_pid n1 hsnd)
    pidkill STOP "$pid"
    wait_for 60 since_has 'host n1 rail 0: .* -> unknown ('
    wait_for 60 since_has 'host n1 rail 0: .* -> degraded (hsnd: .* silent'
    nobody_was_drained
    n0_was_well
    pidkill CONT "$pid"
    fabric_settles
}

case_the_others_hsnd_is_stopped_and_nobody_is_drained() {
    fabric_settles
    pidkill TERM "$(fabric_pid n0 hsnd)"
    wait_for 60 since_has 'host n0 rail 0: .* -> unknown ('
    wait_for 60 since_has 'host n0 rail 0: .* -> degraded (hsnd: .* silent'
    nobody_was_drained
    runs_on n1 || fail "no step runs on n1: $err"
    fabric_start_hsnd n0
    fabric_settles
}

case_a_mapper_is_killed_and_nobody_is_drained() {
    local k pid
    for k in n1 n0; do
        fabric_settles
        pid=$(fabric_pid $k mapperd)
        pidkill KILL "$pid"
        # The other's map lacks it, and its routes: nobody answers it then.
        wait_for 60 since_has "host $k rail 0: healthy -> .*\(map\|nobody\)"
        # A second each: longer than twice HsndStale and DrainAfter.
        fabric_hears 25 hsnd:n0 hsnd:n1
        nobody_was_drained
        fabric_start_mapperd $k
    done
    fabric_settles
}

case_all_daemons_are_restarted_and_nobody_is_drained() {
    local k d
    fabric_settles
    for k in $FABRIC_NODES; do
        for d in hsnd mapperd; do pidkill KILL "$(fabric_pid $k $d)"; done
    done
    for k in $FABRIC_NODES; do fabric_start_hsnd $k; done
    for k in $FABRIC_NODES; do
        fabric_hsnd_is_there $k
        fabric_start_mapperd $k
    done
    # A second each: longer than HsndStale and DrainAfter.
    fabric_hears 15 hsnd:n0 hsnd:n1
    nobody_was_drained
    wait_for 60 fabric_is_configured
    wait_for 60 fabric_is_all_up
    nobody_was_drained
    assert_empty "$(fabric_log | grep 'down (link up)')" "contradictions"
}

# The others' words: n0 alone says that n1 is gone, and n1 says so itself.
case_a_pulled_cable_drains_its_node_alone() {
    local k other
    for k in n1 n0; do
        [ $k = n1 ] && other=n0 || other=n1
        fabric_settles
        fabric_fault "down $k:0"
        wait_for 60 is_drained $k
        assert_empty "$(fabric_log | grep "node $other: drained by us")" \
            "$other"
        is_idle $other || fail "$other is $(sinfo -h -n $other -o '%T %E')"
        fabric_fault "up $k:0"
        wait_for 60 is_idle $k
    done
    fabric_settles
}

run_cases
