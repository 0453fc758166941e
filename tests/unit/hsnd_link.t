#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Two hsnd joined by a swfabd, by every kind of link, in a network namespace
# with a munged of its own: messages of one packet and of two go there and
# back, the link comes back when swfabd does, messages take another route when
# a cable is pulled, strangers get no link, a munged that hangs stops nobody.
set -u
. "$(dirname "$0")/netns.sh"
. "$(dirname "$0")/hsnd.sh"
bench=$build/bench/hsn_bench

above() { [ "$(ask "${@:2}")" -gt "$1" ]; }
has_line() { grep -qE "$1" "$2"; }

both() { # SIZE: there and back a hundred times, then a few thousand one way
    within 60 "$bench" hsn "$tmp/h1" 020000000001 "$tmp/h2" 020000000002 \
        "$1" 2000 100
}

# woken [PID]: how often a process has slept so far; swfabd
woken() {
    awk '/^voluntary/ { print $2 }' "/proc/${1-$swfabd_pid}/status"
}
# Its own clock wakes it five times a second.
swfabd_sleeps() {
    local before
    before=$(woken)
    within 60 "$bench" hsn "$tmp/h1" 020000000001 "$tmp/h1" 020000000001 \
        64 10 3000 || return 1
    echo "woken $(($(woken) - before)) times"
    [ $(($(woken) - before)) -lt 600 ]
}

# Of 3000 messages there and back each passes every daemon once; who is rung
# for more than that, or rings for nothing, wakes the others in vain.  Less is
# fine: who looks for what comes does not sleep.
each_message_wakes_once() { # PID..
    local pid messages=6000
    local -A before=()
    for pid; do before[$pid]=$(woken "$pid"); done
    within 60 "$bench" hsn "$tmp/h1" 020000000001 "$tmp/h2" 020000000002 \
        64 10 3000 || return 1
    for pid; do
        echo "$pid woken $(($(woken "$pid") - before[$pid])) times"
        [ $(($(woken "$pid") - before[$pid])) -lt $((messages * 3 / 2)) ] ||
            return 1
    done
}

stop() {
    signal TERM "$1"
    wait "$1" 2>/dev/null
}

port=$(python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
start_munged good
start_munged other
ip link add v0 type veth peer name v1 2>/dev/null && veth=yes || veth=
if [ "$veth" ]; then
    ip link set v0 mtu 9200 up
    ip link set v1 mtu 9200 up
fi
printf '%s\n' "xbar a 4" "xbar b 4" "host h1 020000000001" \
    "host h2 020000000002" "cable h1 a:0" "cable a:3 b:3" "cable h2 b:1" \
    >"$tmp/net"
printf '%s\n' "Net=$tmp/net" "Socket=$tmp/fabric" \
    "ControlSocket=$tmp/fabric.ctl" "MungeSocket=$tmp/good.munge" \
    "Udp=127.0.0.1:$port" ${veth:+"Ethernet=v0" "TrustedSegment=yes"} \
    >"$tmp/swfabd.conf"
echo "020000000002 neighbour 3,-2" >"$tmp/routes.h1"
echo "020000000001 neighbour 2,-3" >"$tmp/routes.h2"
start_swfabd

good="MungeSocket=$tmp/good.munge"
links=(ring seqpacket udp)
[ -z "$veth" ] || links+=(ethernet)
for kind in "${links[@]}"; do
    case $kind in
    udp) to=("Fabric=127.0.0.1:$port") ;;
    ethernet) to=("Interface=v1" "TrustedSegment=yes") ;;
    *) to=("Fabric=$tmp/fabric") ;;
    esac
    start_hsnd h1 020000000001 "Nic=$kind" "${to[@]}" "$good"
    one=$last
    start_hsnd h2 020000000002 "Nic=ring" "Fabric=$tmp/fabric" "$good"
    two=$last
    ok "$kind: the link comes up" until_ok 15 is h1 status link True
    until_ok 15 is h2 status link True
    ok "$kind: 64 bytes there and back" both 64
    ok "$kind: 4 KB in one packet" both 4096
    ok "$kind: ... of which the driver copied nothing" \
        is h2 counters counters copied_data 0
    ok "$kind: 8 KB in two packets" both 8192
    ok "$kind: echoes come back" until_ok 15 above 0 h1 peers peers 0 echo_back
    if [ $kind != ring ]; then
        stop "$one"
        stop "$two"
    fi
    [ $kind = ring ] || continue
    ok "what swfabd has no part in does not wake it" swfabd_sleeps
    ok "a message wakes each daemon once" each_message_wakes_once \
        "$swfabd_pid" "$one" "$two"
    signal KILL "$swfabd_pid"
    wait "$swfabd_pid" 2>/dev/null
    ok "the link is down without swfabd" until_ok 15 is h1 status link False
    ok "... and where hsnd looks for it is said" until_ok 15 has_line \
        "SF-E802 $tmp/fabric: .*swfabd" "$tmp/h1.log"
    start_swfabd
    ok "and comes back with it" until_ok 15 is h1 status link True
    until_ok 15 is h2 status link True
    ok "messages go again" both 64
    stop "$one"
    stop "$two"
done

# ---- two cables between the crossbars, one is pulled ----

stop "$swfabd_pid"
echo "cable a:2 b:2" >>"$tmp/net"
echo "020000000002 neighbour 3,-2 2,-1" >"$tmp/routes.h1"
echo "020000000001 neighbour 2,-3 1,-2" >"$tmp/routes.h2"
start_swfabd
start_hsnd h1 020000000001 "Nic=ring" "Fabric=$tmp/fabric" "$good"
one=$last
start_hsnd h2 020000000002 "Nic=ring" "Fabric=$tmp/fabric" "$good"
two=$last
route() { is h1 peers peers 0 by_route "$@"; }
echoes() { above "$2" h1 peers peers 0 by_route "$1" echo_back; }
until_ok 15 echoes 0 0
ok "echoes come back by both routes" until_ok 15 echoes 1 0
pull() { # FAULT..
    python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({"verb": "fault",
                      "do": " ".join(sys.argv[2:])}).encode() + b"\n")
sys.exit(not json.loads(s.makefile().readline()).get("ok"))' \
        "$tmp/fabric.ctl" "$@"
}
ok "a cable is pulled" pull down a:3
ok "its route is dead" until_ok 15 route 0 dead True
until_ok 15 is h2 peers peers 0 by_route 0 dead True
ok "the other one lives" until_ok 15 route 1 dead False
ok "messages go on without a new map" both 8192
ok "the cable is back" pull up a:3
ok "its route lives again" until_ok 15 route 0 dead False
stop "$one"
stop "$two"

# ---- without echoes of its own ----

echo=0 start_hsnd h1 020000000001 "Nic=ring" "Fabric=$tmp/fabric" "$good"
one=$last
start_hsnd h2 020000000002 "Nic=ring" "Fabric=$tmp/fabric" "$good"
two=$last
ok "EchoInterval=0: others get their answers" \
    until_ok 15 above 0 h2 peers peers 0 echo_back
ok "... and messages go" both 64
ok "... but none is asked" is h1 peers peers 0 echo_sent 0
ok "... and no route is dead" route 0 dead False
stop "$one"
stop "$two"
ok "not together with Health" sh -c \
    "printf 'Board=1\nEchoInterval=0\nHealth=/x\n' >$tmp/bad.conf;
     ! $hsnd --test-config -f $tmp/bad.conf &&
     $hsnd --test-config -f $tmp/bad.conf 2>&1 | grep -q EchoInterval"
echo "NodeName=n1 ElanId=1" >"$tmp/hosts"
printf '%s\n' NodeName=n9 "ElanHosts=$tmp/hosts" >"$tmp/bad.conf"
ok "a node without a board is told which files may name one" sh -c \
    "$hsnd --test-config -f $tmp/bad.conf 2>&1 | grep -qF \
     'n9 is not in $tmp/hosts: write it there, or set Board in $tmp/bad.conf'"

refused_since() { [ "$(grep -c SF-E602 "$tmp/swfabd.log")" -gt "$1" ]; }
for kind in ring udp; do
    fabric=$tmp/fabric
    [ $kind = ring ] || fabric=127.0.0.1:$port
    : >"$tmp/h1.log"
    start_hsnd h1 020000000001 "Nic=$kind" "Fabric=$fabric" \
        "MungeSocket=$tmp/other.munge"
    ok "$kind: a credential of strangers is refused" \
        until_ok 15 has_line SF-E802 "$tmp/h1.log"
    ok "$kind: there is no link" is h1 status link False
    refusals=$(grep -c SF-E602 "$tmp/swfabd.log")
    ok "$kind: it is tried again" until_ok 30 refused_since "$refusals"
    ok "$kind: ... and told once" [ "$(grep -c SF-E802 "$tmp/h1.log")" = 1 ]
    stop "$last"
done

# ---- what opened a link, sent again ----

python3 "$(dirname "$0")/udp_recorder.py" "$port" "$tmp/recorder" \
    >"$tmp/recorder.port" 2>>"$tmp/recorder.log" &
mine $!
until_ok 15 test -s "$tmp/recorder.port"
recorder() { # WORD: what it answers
    python3 -c '
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(30)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() + b"\n")
print(s.makefile().readline().strip())' "$tmp/recorder" "$1"
}
recorder_says() { recorder "$1" | grep "$2"; } # WORD REGEX
held() { [ "$(recorder held)" -ge "$1" ]; }
through="Fabric=127.0.0.1:$(cat "$tmp/recorder.port")"
start_hsnd h1 020000000001 Nic=udp "$through" "$good"
one=$last
start_hsnd h2 020000000002 Nic=ring "Fabric=$tmp/fabric" "$good"
two=$last
ok "a link that somebody records comes up" until_ok 15 is h1 status link True
until_ok 15 is h2 status link True
ok "its HELLO sent again is refused" recorder_says hello '^3 .*used before'
ok "... and the link lives on" both 64
stop "$one"
recorder hold >/dev/null
: >"$tmp/h1.log"
start_hsnd h1 020000000001 Nic=udp "$through" "$good"
one=$last
until_ok 30 held 2
ok "a WELCOME of before is not taken" \
    until_ok 15 has_line 'used before' "$tmp/h1.log"
ok "... is counted" until_ok 15 above 0 h1 counters counters link_bad_tag
ok "... and makes no link" is h1 status link False
recorder pass >/dev/null
ok "one of now does" until_ok 15 is h1 status link True
stop "$one"
stop "$two"

# ---- a munged that hangs ----

start_munged slow good
slow=$last
asks() { above 0 "$1" status asking; }
for kind in ring udp; do
    fabric=$tmp/fabric
    [ $kind = ring ] || fabric=127.0.0.1:$port
    start_hsnd h1 020000000001 "Nic=$kind" "Fabric=$fabric" \
        "MungeSocket=$tmp/slow.munge" "Health=$tmp/nobody"
    one=$last
    until_ok 15 is h1 status link True
    signal STOP "$slow"
    stop "$swfabd_pid"
    start_swfabd
    ok "$kind: a new link is asked for" until_ok 15 asks h1
    until_ok 15 is h1 status link False
    ok "$kind: a munged that hangs stops no message" within 60 "$bench" \
        hsn "$tmp/h1" 020000000001 "$tmp/h1" 020000000001 64 2000 100
    signal CONT "$slow"
    ok "$kind: the link comes back when it is awake" \
        until_ok 15 is h1 status link True
    signal STOP "$slow"
    stop "$swfabd_pid"
    start_swfabd
    ok "$kind: the next one is asked for, too" until_ok 15 asks h1
    stop "$one"
    ok "$kind: hsnd ends while it hangs" test $? = 0
    signal CONT "$slow"
done

# ---- found while it starts ----

# Its sockets get their names by rename(), from which it comes back late: who
# found the one for endpoints asked the other one in vain, and SIGTERM killed.
seen_early() {
    is late status link False && signal TERM "$late" &&
        wait "$last"
}
if strace -o "$tmp/calls" true 2>/dev/null; then
    in_place=(strace -f -o "$tmp/calls" -e trace=rename
        -e inject=rename:delay_exit=3000000)
    : >"$tmp/routes.late"
    start_hsnd late 020000000001 Nic=ring "Fabric=$tmp/nowhere" "$good"
    in_place=()
    late=$(pgrep -P "$last" -x hsnd)
    [ -z "$late" ] || mine "$late"
    ok "who finds hsnd's socket finds the whole of it" seen_early
else
    skipped "who finds hsnd's socket finds the whole of it" "no strace"
fi

ok "ethernet needs a trusted segment" sh -c \
    "printf 'Nic=ethernet\nInterface=lo\nBoard=1\n' >$tmp/bad.conf;
     ! $hsnd --test-config -f $tmp/bad.conf"
ok "a good configuration passes" "$hsnd" --test-config -f "$tmp/h1.conf"
finish
