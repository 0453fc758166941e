#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Whom switchmgrd drains and whom it leaves alone: admins' drains, dry runs,
# maintenance and caps.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
health_up

case_admins_drain_is_untouched() { # SL-25
    scontrol update nodename=n0 state=drain reason="bad memory"
    say n0 hsnd down gone
    wait_for 10 extra_has n0 fabric=down
    say n0 hsnd up
    wait_for 20 extra_has n0 fabric=up
    assert_equal "bad memory" "$(reason_of n0)" "reason of n0"
    wait_for 10 is_drained n0
    scontrol update nodename=n0 state=resume
    wait_for 10 is_idle n0
}

# switchmgrd's log after its first N lines.
since() { # N
    switchmgr_log | tail -n "+$(($1 + 1))"
}

# Each thing that would be done is told once; Slurm and its steps see nothing.
case_a_dry_run_tells_and_does_nothing() { # SL-25
    local drain='dry run: n1 would be drained: switchmgrd: fabric rail 0 down'
    local begin fell told what
    wait_for 20 extra_has n1 fabric=up
    begin=$(switchmgr_log | wc -l)
    reread DryRun=yes
    say n1 hsnd down pulled
    wait_for 10 log_of_switchmgrd_has "$drain"
    wait_for 10 log_of_switchmgrd_has 'dry run: n1 would get .*fabric=down'
    wait_for 10 sfabric_says n1 'dry run'
    extra_has n1 fabric=up || fail "Slurm was told"
    run_as_user srun -N1 -w n1 true
    assert_code 0
    # Looks at Slurm and DrainAfter pass before another would be drained.
    say n3 hsnd down pulled
    wait_for 20 log_of_switchmgrd_has "${drain/n1/n3}"
    say n3 hsnd up
    wait_for 20 n3_is_back "$begin"
    # Once for each time that it fell: whoever is kept from reporting in between
    # makes it unknown.
    fell=$(since "$begin" | grep -c 'host n1 rail 0: .* -> down')
    for what in "$drain" 'n1 would get .*fabric=down'; do
        told=$(since "$begin" | grep -c "$what")
        [ "$told" -ge 1 ] && [ "$told" -le "$fell" ] ||
            fail "told $told times, fell $fell times: $what"
    done
    reread
    wait_for 10 is_drained n1
    wait_for 10 extra_has n1 fabric=down
    say n1 hsnd up
    wait_for 20 is_idle n1
}

n3_is_back() { # SINCE
    since "$1" | grep -q 'host n3 rail 0: .* -> healthy'
}

# DrainAfter has passed for whoever was down before.
another_is_drained() {
    say n3 hsnd down pulled
    wait_for 20 is_drained n3
    say n3 hsnd up
    wait_for 20 is_idle n3
}

case_maintenance_ends_and_the_node_is_drained() { # SL-25
    reread 'Maintenance=n[1-2]'
    say n1 hsnd down pulled
    wait_for 10 extra_has n1 fabric=down
    another_is_drained
    assert_equal idle "$(sinfo -h -n n1 -o %T)" "state of n1"
    sfabric_says n1 'in maintenance: not drained' ||
        fail "sfabric why does not tell of the maintenance"
    fabric -l -h
    assert_output '^down +1 .* maint +pulled +n1$'
    reread
    wait_for 10 is_drained n1
    say n1 hsnd up
    wait_for 20 is_idle n1
}

# The same by command, until the configuration is read again.
case_maintenance_by_command() { # SL-25
    fabric maintenance
    assert_code 0
    assert_empty "$out" "nodes in maintenance"
    fabric maintenance on 'n[1-2]'
    assert_code 0
    fabric maintenance
    assert_output '^n\[1-2\]$'
    fabric maintenance --json
    assert_output '"n2"'
    say n1 hsnd down pulled
    wait_for 10 extra_has n1 fabric=down
    another_is_drained
    assert_equal idle "$(sinfo -h -n n1 -o %T)" "state of n1"
    fabric maintenance off n1
    assert_code 0
    wait_for 10 is_drained n1
    fabric maintenance
    assert_output '^n2$'
    only_known_nodes_and_by_root
    reread
    fabric maintenance
    assert_empty "$out" "nodes in maintenance"
    say n1 hsnd up
    wait_for 20 is_idle n1
}

only_known_nodes_and_by_root() {
    fabric maintenance on 'n[2-4]'
    assert_code 3
    assert_error 'there is no node n4'
    # switchmgrd's own user may, too: in a cluster of minislurm that is nobody
    capture "$MINISLURM" exec --dir "$CLUSTER" --as daemon -- \
        "$SFABRIC" maintenance on n3
    assert_code 3
    assert_error 'is for root and the control group'
    fabric maintenance on
    assert_code 3
    assert_error 'usage: sfabric maintenance'
    fabric maintenance
    assert_output '^n2$'
}

# More are down than may be drained: told once, drained when there is room.
case_the_caps_let_go() { # SL-25
    local before
    before=$(switchmgr_log | grep -c SF-E701)
    reread DrainMax=1 DrainInterval=6 DrainPercent=100
    say n1 hsnd down storm
    say n2 hsnd down storm
    wait_for 10 one_is_held
    wait_for 20 is_drained n1
    wait_for 20 is_drained n2
    wait_for 10 none_is_held
    assert_empty "$(switchmgr_log | grep -o 'SF-E701.*allow (' |
        tail -n +$((before + 1)) | sort | uniq -d)" "what was told twice"
    reread
    say n1 hsnd up
    say n2 hsnd up
    wait_for 30 all_idle
}

case_who_is_drained_is_not_held() { # SL-25
    local held=n1
    reread DrainMax=1 DrainInterval=600 DrainPercent=100
    say n1 hsnd down storm
    say n2 hsnd down storm
    wait_for 10 one_is_held
    sfabric_says n1 'not drained yet' || held=n2
    scontrol update nodename=$held state=drain reason="bad memory"
    wait_for 20 sfabric_says $held 'drained by somebody else'
    sfabric_says $held 'not drained yet' && fail "$held is drained and held"
    scontrol update nodename=$held state=resume
    reread
    say n1 hsnd up
    say n2 hsnd up
    wait_for 30 all_idle
}

one_is_held() {
    sfabric_says n1 'not drained yet' || sfabric_says n2 'not drained yet'
}

none_is_held() {
    ! one_is_held
}

case_too_many_are_not_drained() { # SL-25
    all_say hsnd down storm
    wait_for 10 extra_has n3 fabric=down
    wait_for 10 capped
    wait_for 20 two_are_held
    [ "$(sinfo -h -t drain -o %n | grep -c .)" -le 2 ] ||
        fail "more than half of the nodes drained: $(sinfo -R)"
    all_say hsnd up
    wait_for 30 all_idle
}

two_are_held() {
    local k held=0
    for k in n0 n1 n2 n3; do
        sfabric_says $k 'not drained yet' && held=$((held + 1))
    done
    [ $held = 2 ]
}

capped() {
    grep -q SF-E701 "$CLUSTER/log/switchmgrd.log"
}

run_cases
