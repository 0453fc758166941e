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
    assert_output '^under no key: cut off$'
    assert_output '^under another key: cut off$'
    assert_output '^stalled: cut off$'
    fabric events -n 200
    assert_output 'alarm: report of somebody refused: under a key that nobody brought$'
    assert_output 'alarm: report of somebody refused: not under the key of its connection$'
    wait_for 20 all_healthy
}

# munged is asked once for a connection, not for each report.
case_reports_follow_under_a_key() { # SL-23
    local before
    wait_for 20 all_healthy
    before=$(report_count credentials_total)
    for _ in 1 2 3 4 5 6 7 8; do
        say n1 hsnd up
    done
    say n1 hsnd degraded errors
    wait_for 20 extra_has n1 fabric=degraded
    say n1 hsnd up
    wait_for 20 extra_has n1 fabric=up
    [ "$(report_count credentials_total)" = "$before" ] ||
        fail "munged was asked: $before, then $(report_count credentials_total)"
    # Another connection brings a key of its own.
    silence n1
    reporter n1
    say n1 hsnd up
    wait_for 20 credentials_are $((before + 1))
}

report_count() { # METRIC
    metrics
    sed -n "s/^slurm_fabric_$1 //p" <<<"$out"
}

credentials_are() { # COUNT
    [ "$(report_count credentials_total)" = "$1" ]
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

# Root of n1 gave its munged the address of n2: what it seals looks as if n2
# had, but it does not come from there.
case_a_report_must_come_from_the_node_it_is_about() { # SL-23
    local port
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0 "Listen=127.0.0.1:$port"
    switchmgr_start
    wait_for 20 all_healthy
    send_sealed_by_n2 "$(address_of n1)"
    assert_equal refused "$out" "n2's report, sent by n1"
    fabric events -n 20
    assert_output 'alarm: report of n2 refused: sent from another host \(127\.[0-9.]+, not 127\.[0-9.]+; see CheckSource'
    extra_has n2 fabric=up || fail "n2 is not up"
    send_sealed_by_n2 "$(address_of n2)"
    assert_equal accepted "$out" "n2's report, sent by n2"
    reread "Listen=127.0.0.1:$port" CheckSource=no
    send_sealed_by_n2 "$(address_of n1)"
    assert_equal accepted "$out" "the same without CheckSource"
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0
    switchmgr_start
    wait_for 20 all_healthy
}

address_of() { node_field "$1" NodeAddr; }

send_sealed_by_n2() { # FROM; uses $port
    out=$("$MINISLURM" exec --dir "$CLUSTER" --on n1 --as root -- python3 -c '
import socket, struct, subprocess, sys, time
at, port, munged = sys.argv[1:]
text = ("{\"v\":1,\"from\":\"hsnd\",\"node\":\"n2\",\"instance\":%d,"
        "\"seq\":1,\"records\":[{\"kind\":\"host\",\"seen\":\"up\","
        "\"name\":\"n2\"}]}" % time.time_ns())
made = subprocess.run(["munge", "--socket", munged], input=text.encode(),
                      stdout=subprocess.PIPE, check=True).stdout.strip()
s = socket.create_connection(("127.0.0.1", int(port)), 20, (at, 0))
s.sendall(struct.pack(">I", len(made)) + made)
print({b"A": "accepted", b"R": "refused"}.get(s.recv(1), "cut off"))
' "$1" "$port" "$CLUSTER/munge.n2/munge.socket") err=
}

# A host that is no node of Slurm may report because it is listed, and no
# longer than that.
case_who_is_no_longer_listed_is_not_heard() { # SL-23
    local address
    address=$(address_of n3)
    reread "Reporters=extern=$address"
    lie n3 root 'as extern up'
    assert_output '^accepted'
    reread
    lie n3 root 'as extern up'
    assert_output '^refused'
    # A node of Slurm is known by its own address again.
    reread "Reporters=n3=127.0.0.99"
    lie n3 root 'hsnd up'
    assert_output '^refused'
    reread
    lie n3 root 'hsnd up'
    assert_output '^accepted'
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
