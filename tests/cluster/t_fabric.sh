#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Everything together: software crossbars, hsnd and mapperd on each node, the
# switch manager, Slurm.  Faults are made in the fabric and seen in sinfo.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/hsnd \
    libexec/slurm-fabric/swfabd libexec/slurm-fabric/mapperd \
    libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/fabric.sh"
cluster_up --nodes 4 --switch elan --node-conf "Features=$FABRIC_FEATURES"
PING=$SF_TOP_BUILDDIR/tests/cluster/elan_ping
LIMIT=120
fabric_manager
fabric_up

case_the_mappers_agree_and_sinfo_shows_it() {
    fabric_settles
    run_as_root ctl "$STAGE/bin/sfabric"
    assert_code 0
    run_as_user srun -N4 -C fabric_up true
    assert_code 0
}

# The map had board addresses and numbers of its own, switchmgrd other numbers.
case_one_name_for_one_thing_everywhere() {
    fabric_settles
    run_as_root n0 "$STAGE/bin/sfabric" hosts
    assert_code 0
    assert_output '^n2 +020000000002 +leaf1 +0 '
    run_as_root n0 "$STAGE/bin/sfabric" links -h
    assert_output '^(leaf0 +4 +spine0 +0|spine0 +0 +leaf0 +4)$' 1
    run_as_root n0 "$STAGE/bin/sfabric" routes n0 n2
    assert_code 0
    assert_output '^n2 +3 .*leaf0:[45] spine[01]:1 leaf1:0$'
    run_as_root n0 "$STAGE/bin/sfabric" local
    assert_output '^n3 '
    run_as_root ctl "$STAGE/bin/sfabric" why n2
    assert_output 'plugged into leaf1:0$'
    assert_same_names
}
# The files of all nodes have the same, too.
assert_same_names() {
    local k
    for k in $FABRIC_NODES; do
        assert_equal 'leaf0 leaf1 spine0 spine1' \
            "$(awk '$1 == "xbar" { print $2 }' "$CLUSTER/map.$k" | sort |
                paste -sd ' ')" "crossbars on the map of $k"
    done
}

# As an NHC check asks, without any option: it looked for another socket.
case_each_node_checks_its_own_nic() {
    fabric_settles
    run_as_root n0 "$STAGE/bin/sfabric" check
    assert_code 0
    assert_output '^n0: link up, network fully configured, routes to 3 hosts$'
    run_as_root ctl "$STAGE/bin/sfabric" check
    assert_code 3
}

# What Type=notify of the units waits for.
case_every_daemon_says_when_it_serves() {
    wait_for 20 ready_are hsnd 4
    wait_for 20 ready_are mapperd 4
    wait_for 20 ready_are swfabd 1
    wait_for 20 ready_are switchmgrd 1
}
ready_are() { [ "$(grep -cx "$1 READY=1" "$CLUSTER/log/notify.log")" = "$2" ]; }

case_programs_talk_along_computed_routes() {
    fabric_settles
    run_as_user srun -N4 -n8 --ntasks-per-node=2 "$PING" ping 64
    assert_code 0
    assert_output '^process [0-7]: all 7 answered, 0 wrong, 0 missing$' 8
}

case_a_pulled_cable_drains_its_node_and_only_it() {
    fabric_settles
    fabric_fault "down n2:0"
    wait_for 60 fabric_is n2 down
    wait_for 60 is_drained n2
    capture sinfo -h -n n2 -o %E
    assert_output '^switchmgrd: '
    wait_for 20 is_idle n0
    run_as_user srun -N3 -w n0,n1,n3 "$PING" ping 64
    assert_code 0
    fabric_fault "up n2:0"
    wait_for 90 fabric_is_all_up
    wait_for 60 is_idle n2
}

# Whose board is the highest leads; alone it would have all others down.
maps_only_itself() {
    [ "$(grep -c '^host' "$CLUSTER/map.$1")" = 1 ]
}

nobody_answers() { # NODE: its hsnd said so last
    grep -E 'nobody answers|somebody answers' "$CLUSTER/log/hsnd.$1.log" |
        tail -1 | grep -q nobody
}

# Its own mapper finds nothing and would leave hsnd without a peer to ask; then
# nobody could be missed any more.
case_a_node_that_is_cut_off_does_not_say_it_is_well() {
    fabric_settles
    fabric_fault "down n1:0"
    wait_for 60 nobody_answers n1
    wait_for 60 maps_only_itself n1
    wait_for 60 is_drained n1
    nobody_answers n1 || fail "hsnd took it back"
    run_as_root n1 "$STAGE/bin/sfabric" check
    assert_code 2
    fabric_fault "up n1:0"
    wait_for 90 fabric_is_all_up
    wait_for 60 is_idle n1
}

# Others may be silent for a second, too, when the machine stands still: then
# their own hsnd says so, not the map of n3.
case_a_leader_that_is_cut_off_drains_only_itself() {
    local k log=$CLUSTER/log/switchmgrd.log before
    fabric_settles
    before=$(wc -l <"$log")
    fabric_fault "down n3:0"
    wait_for 60 is_drained n3
    for k in n0 n1 n2; do
        wait_for 60 fabric_is $k up
        wait_for 60 is_idle $k
    done
    assert_empty "$(tail -n +$((before + 1)) "$log" |
        grep -E 'n[012] drained: .*not in the map')" "drained by the map"
    fabric_fault "up n3:0"
    wait_for 90 fabric_is_all_up
    wait_for 60 is_idle n3
}

sfabric_says() { # PATTERN
    run_as_root ctl "$STAGE/bin/sfabric"
    grep -qE -- "$1" <<<"$out"
}
case_a_dead_spine_costs_no_node() {
    fabric_settles
    fabric_fault "kill spine0"
    wait_for 60 fabric_has_xbars 3
    wait_for 60 fabric_is_configured
    wait_for 20 sfabric_says '^  xbar spine0 is down: not in the map$'
    sfabric_says '^  link ' && fail "its cables are told, too"
    run_as_user srun -N4 -n4 "$PING" ping 64
    assert_code 0
    assert_output 'all 3 answered, 0 wrong, 0 missing$' 4
    fabric_fault "revive spine0"
    wait_for 90 fabric_has_xbars 4
}

run_cases
