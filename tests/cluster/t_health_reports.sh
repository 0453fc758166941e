#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Who may report to switchmgrd, and how little all others achieve.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
health_up

case_lying_reporters_are_refused() { # SL-23
    wait_for 20 extra_has n2 fabric=up
    # n1's root speaks for n2
    lie n1 root 'as n2 down'
    assert_output '^refused'
    # an ordinary user of n1 speaks for n1
    lie n1 daemon 'hsnd down'
    assert_output '^refused'
    # n1 is allowed to
    lie n1 root 'hsnd up'
    assert_output '^accepted'
    fabric events
    assert_output 'alarm: report of n2 refused: made on another host \(127\.[0-9.]+, not 127\.[0-9.]+; see Reporters'
    assert_output 'alarm: report of n1 refused: made by an ordinary user'
    extra_has n2 fabric=up || fail "n2 is not up"
}

lie() { # NODE USER LINE
    timeout "$(patience 20)" "$MINISLURM" exec --dir "$CLUSTER" --on "$1" --as "$2" -- \
        "$REPORT" "$CLUSTER/reports.sock" "$1" \
        "$CLUSTER/munge.$1/munge.socket" >"$case_tmp/lie" 2>&1 <<<"$3"
    out=$(cat "$case_tmp/lie") err=
}

# Anybody may connect: who says nothing makes room for who reports.
case_idle_connections_keep_nobody_out() { # SL-23
    local idle
    switchmgr_stop
    (
        ulimit -n 256
        switchmgr_start
    )
    wait_for 20 all_healthy
    silence n3 # its place is taken, too
    "$MINISLURM" exec --dir "$CLUSTER" --on ctl --as root -- python3 -c '
import socket, sys
held = []
for i in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    held.append(s)
print("held", flush=True)
sys.stdin.read()' "$CLUSTER/reports.sock" >"$case_tmp/idle" < <(
        while [ -e "$case_tmp/idle" ] && [ ! -e "$case_tmp/idle.over" ]; do
            sleep 0.2
        done
    ) &
    idle=$!
    wait_for 20 grep -q held "$case_tmp/idle"
    reporter n3
    say n3 hsnd degraded errors
    wait_for 20 extra_has n3 fabric=degraded
    say n3 hsnd up
    touch "$case_tmp/idle.over"
    wait "$idle"
    wait_for 20 all_healthy
    switchmgr_stop
    switchmgr_start
}

# Reporters that stall in mid-message, announce too much, send JSON that is
# huge or nested deeply: each is refused or cut off, others are heard meanwhile.
case_bad_reporters_hurt_only_themselves() { # SL-23
    local bad
    wait_for 20 all_healthy
    timeout "$(patience 60)" "$MINISLURM" exec --dir "$CLUSTER" --on n1 \
        --as root -- python3 "$SF_TOP_SRCDIR/tests/cluster/bad_reporters.py" \
        "$CLUSTER/reports.sock" "$CLUSTER/munge.n1/munge.socket" \
        >"$case_tmp/bad" 2>&1 &
    bad=$!
    wait_for 20 grep -q 'stalls$' "$case_tmp/bad"
    say n3 hsnd degraded errors
    wait_for 20 extra_has n3 fabric=degraded
    say n3 hsnd up
    wait "$bad" || fail "bad_reporters.py: $(cat "$case_tmp/bad")"
    out=$(cat "$case_tmp/bad") err=
    assert_output '^nested deeply: refused$'
    assert_output '^huge: refused$'
    assert_output '^not JSON: refused$'
    assert_output '^announces 4 GB: cut off$'
    assert_output '^stalled: cut off$'
    wait_for 20 all_healthy
}

# Each bad credential costs munged a round trip: who sends no others is not
# heard for a while, others are.
case_a_flood_of_bad_reports_is_turned_away() { # SL-23
    wait_for 20 all_healthy
    flood_with_reports "$CLUSTER/reports.sock" 1
    assert_output '^turned away after [0-9]+, at most 256 on a connection$'
    fabric events -n 200
    assert_output 'alarm: too many bad reports from uid 1: not heard for now$'
    say n1 hsnd degraded errors # by root, from the same node
    say n3 hsnd degraded errors
    wait_for 20 extra_has n1 fabric=degraded
    wait_for 20 extra_has n3 fabric=degraded
    say n1 hsnd up
    say n3 hsnd up
    wait_for 20 all_healthy
}

flood_with_reports() { # WHERE FROM
    capture timeout "$(patience 60)" "$MINISLURM" exec --dir "$CLUSTER" \
        --on n1 --as root -- python3 \
        "$SF_TOP_SRCDIR/tests/cluster/flood_reports.py" "$1" "$2"
    assert_code 0
}

case_a_flood_by_one_address_leaves_others() { # SL-23
    local port
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0 "Listen=127.0.0.1:$port"
    switchmgr_start
    flood_with_reports "127.0.0.1:$port" 127.0.0.66
    flood_with_reports "127.0.0.1:$port" 127.0.0.67
    # As many as the first had; none, if they were one.
    assert_output '^turned away after [0-9]{4,}, at most 256 on a connection$'
    fabric events -n 200
    assert_output 'alarm: too many bad reports from 127.0.0.66: not heard'
    assert_output 'alarm: too many bad reports from 127.0.0.67: not heard'
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0
    switchmgr_start
    wait_for 20 all_healthy
}

case_the_network_side_is_nobody() { # SL-23
    local pid users
    users=$(for pid in $(switchmgr_pids); do
        stat -c %U "/proc/$pid"
    done | sort | xargs)
    assert_equal "nobody root" "$users" "users of the two processes"
}

run_cases
