#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Cables that lose and break frames, judged by default settings: hsnd counts,
# switchmgrd judges, sinfo and sfabric show which cable of which node it is.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/hsnd \
    libexec/slurm-fabric/swfabd libexec/slurm-fabric/mapperd \
    libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/fabric.sh"
FABRIC_DEFAULTS=1
cluster_up --nodes 4 --switch elan --node-conf "Features=$FABRIC_FEATURES"
LIMIT=400
LOG=$CLUSTER/log/switchmgrd.log
CONF=$CLUSTER/etc.fabric/switchmgr.conf
fabric_up

# reread LINE..: with these lines more; none: as at first.
reread() {
    local had
    had=$(grep -c 'switchmgr.conf read again' "$LOG")
    [ -e "$CONF.first" ] || cp "$CONF" "$CONF.first"
    { cat "$CONF.first"; [ $# = 0 ] || printf '%s\n' "$@"; } >"$CONF"
    pidkill HUP "$(fabric_pids switchmgrd | head -1)"
    wait_for 20 read_again "$had"
}
read_again() { [ "$(grep -c 'switchmgr.conf read again' "$LOG")" -gt "$1" ]; }

FRAMES='[0-9.]+% of frames lost at'

case_a_cable_that_breaks_frames_is_shown() { # SL-23
    local k
    fabric_settles
    fabric_fault "corrupt n2:0 0.01"
    wait_for 120 fabric_is n2 degraded
    run_as_root ctl "$STAGE/bin/sfabric" why n2
    assert_output "$FRAMES leaf1:0 limit 0.01%"
    capture scontrol show node n2
    assert_output 'Extra=.*why=[0-9.]+%_of_frames_lost_at_lea'
    is_idle n2 || fail "n2 is $(sinfo -h -n n2 -o '%T %E')"
    # Time for others to be accused: each is judged four times more.
    fabric_hears 4 hsnd:n0 hsnd:n1 hsnd:n2 hsnd:n3
    for k in n0 n1 n3; do
        fabric_is $k up || fail "$k: $(fabric_log | grep "host $k")"
    done
    assert_equal 1 \
        "$(fabric_log | grep -cE "host n2 .*-> degraded .*$FRAMES")" \
        "times told"
    run_as_user srun -N1 -w n2 true # it works, all in all
    assert_code 0
    fabric_fault "corrupt n2:0 0"
    reread ErrorWindow=5
    wait_for 120 fabric_is n2 up
    reread
    fabric_settles
}

# A cable that has no host: the leading mapper finds which; once, by its ends.
between_is_told() {
    fabric_log | grep -qE "$BETWEEN: healthy -> degraded \(mapperd: $LOST"
}
BETWEEN='link (leaf0:4 - spine0:0|spine0:0 - leaf0:4) rail 0'
LOST='[0-9.]+% of frames lost limit 0.1%'
case_a_cable_between_crossbars_is_named_and_drains_nobody() {
    fabric_settles
    fabric_fault "corrupt leaf0:4 0.02"
    wait_for 120 between_is_told
    run_as_user srun -N4 true
    assert_code 0
    fabric_fault "corrupt leaf0:4 0"
    wait_for 240 between_is_well
    assert_equal 1 "$(fabric_log | grep -cE "$BETWEEN: .* -> degraded")" \
        "times told"
    assert_empty "$(fabric_log | grep -E '^.*(host|link) .*-> (down|degraded)' |
        grep -vE "$BETWEEN")" "others"
    fabric_is_all_up || fail "somebody is not up"
}
between_is_well() { fabric_log | grep -qE "$BETWEEN: degraded -> healthy"; }

# By explicit policy only; and back when it is well again.
case_a_lossy_cable_drains_if_the_site_says_so() { # SL-25
    fabric_settles
    reread DrainDegraded=yes ErrorWindow=5 ResumeAfter=1
    fabric_fault "loss n0:0 0.005"
    wait_for 180 is_drained n0
    capture sinfo -h -n n0 -o %E
    assert_output "^switchmgrd: fabric rail 0 degraded \($FRAMES leaf0:0"
    assert_output 'limit 0.01%\) since [0-9-]+T[0-9:]+(, [0-9]+ times)?$'
    fabric_fault "loss n0:0 0"
    wait_for 180 is_idle n0
    reread
    fabric_settles
}

# flap PORT HALF: its cable goes down and up, each time for so long.  flap.log
# has each time.
flap() {
    fabric_daemon ctl flap.log timeout 300 python3 -c '
import json, socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
f = s.makefile()
at = time.monotonic()
up = 1
while True:
    up = 1 - up
    do = ("down", "up")[up] + " " + sys.argv[3]
    print(do, flush=True)
    s.sendall(json.dumps({"verb": "fault", "do": do}).encode() + b"\n")
    f.readline()
    at += float(sys.argv[2])
    time.sleep(max(0, at - time.monotonic()))
' "$CLUSTER/fabric.ctl" "$2" "$1"
}
flap_ends() { # PORT
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" |
            grep -q '^timeout 300 python3 -c' &&
            pidkill TERM "$pid"
    done
    fabric_fault "up $1"
}
# One between crossbars is told by its own name, and drains nobody.
link_flaps() { fabric_log | grep -qE "$BETWEEN: .* -> flapping \\(.*down"; }
case_a_cable_between_crossbars_that_flaps_is_told_so() {
    fabric_settles
    flap leaf0:4 0.5
    wait_for 240 link_flaps
    assert_empty "$(fabric_log | grep -E 'link .*-> flapping' |
        grep -vE "$BETWEEN")" "other links"
    assert_empty "$(fabric_log | grep 'host .*-> flapping')" "hosts"
    for k in n0 n1 n2 n3; do
        is_drained $k && fail "$k is drained"
    done
    flap_ends leaf0:4
    fabric_settles
}

told_flapping() { fabric_log | grep -q 'host n1 .*-> flapping ('; }

downs() { grep -c '^down' "$CLUSTER/log/flap.log"; }
went_down() { [ "$(downs)" -ge "$1" ]; }

# Once and once only, by its own name, and nobody else's; until it is quiet.
flaps_are_told() { # HALF
    fabric_settles
    flap n1:0 "$1"
    wait_for 120 told_flapping
    wait_for 120 went_down $(($(downs) + 20))
    fabric_hears 2 hsnd:n0 hsnd:n1 hsnd:n2 hsnd:n3
    run_as_root ctl "$STAGE/bin/sfabric" why n1
    assert_output 'down [0-9]+ times in 300 s at leaf0:1'
    assert_equal 1 "$(fabric_log | grep -c 'host n1 .*-> flapping (')" \
        "times told"
    assert_empty "$(fabric_log | grep 'host n[023] .*-> flapping')" "others"
    wait_for 60 is_drained n1 # by default
    capture sinfo -h -n n1 -o %E
    assert_output '^switchmgrd: fabric rail 0 flapping \(down [0-9]+ times in'
    flap_ends n1:0
    fabric_hears 2 hsnd:n1 # of the last one, too
    reread FlapQuiet=5 ResumeAfter=1
    wait_for 120 is_idle n1
    reread
}
# The last: with the site's own window it is flapping again, for five minutes.
case_a_cable_that_flaps_each_second_is_told_once() { flaps_are_told 0.5; }

run_cases
