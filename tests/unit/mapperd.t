#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mapperd with real processes: sixteen hosts, each with its hsnd and mapperd,
# on one swfabd.  A cable is pulled and put back, the leader is killed; all
# come to the same map version each time and reach each other along the
# computed routes.  Then the same fabric under GM-1, with one mapper and bare
# host sides.  Runs in a network namespace of its own with a munged of its own.
set -u
. "$(dirname "$0")/netns.sh"
. "$(dirname "$0")/mapperd_hosts.sh"

hosts=16
net=clos:4x4:1x2:1x2

# ---- options ----

same "--help is exit status 0" 0 "$("$mapperd" --help >"$tmp/help"; echo $?)"
missing=
for o in daemon-pid-file help level num-passes map-file printeur thrash \
    extra-hosts pause map-once map-incrementally unit non-clos no-xbar-check \
    verbose verbose-file; do
    grep -q -- "--$o" "$tmp/help" || missing+=" $o"
done
same "every option of the document is in the usage text" "" "$missing"
same "an unknown option is usage and exit status 2" "2 1" \
    "$("$mapperd" --nonsense 2>"$tmp/err"; echo $? "$(grep -c '^usage' "$tmp/err")")"
same "so is a word that is no option" "2 1" \
    "$("$mapperd" nonsense 2>"$tmp/err"; echo $? "$(grep -c '^usage' "$tmp/err")")"
for spelling in "-B 1" "-b 1" "--unit=1"; do
    # shellcheck disable=SC2086
    same "$spelling: a missing board is a clear error" "1 1" \
        "$("$mapperd" $spelling --map-once --control="$tmp/x.ctl" 2>"$tmp/err"
        echo $? "$(grep -c 'no board 1: hsnd at .*hsnd-1' "$tmp/err")")"
done
refused=
for o in --level=1 --num-passes=4 --map-file=/x --printeur --thrash \
    --extra-hosts=2 --pause --map-incrementally --non-clos --no-xbar-check \
    -v --verbose; do
    "$mapperd" "$o" --unit=1 --map-once --control="$tmp/x.ctl" 2>"$tmp/err"
    grep -q 'no board 1: hsnd at' "$tmp/err" || refused+=" $o"
done
same "every option of the document is taken" "" "$refused"
printf 'Level=1\nLevle=2\n' >"$tmp/bad.conf"
same "mapper.conf: file, line and key of what is wrong" 1 \
    "$("$mapperd" -f "$tmp/bad.conf" 2>&1 | grep -c 'bad.conf:2: Levle')"
told() { # TEXT [OPTION..]: what mapperd says of mapper.conf, and its status
    mkdir -p "$tmp/etc"
    printf '%s\n' "$1" >"$tmp/etc/mapper.conf"
    SLURM_FABRIC_CONFDIR=$tmp/etc "$mapperd" --control="$tmp/x.ctl" \
        "${@:2}" 2>&1 | sed "s,$tmp/,,"
    echo "${PIPESTATUS[0]}"
}
same "mapper.conf: what is wrong is said by path, and nothing else is" \
    "mapperd: error: SF-E850 etc/mapper.conf:1: Levle: no such key; did you mean Level?
2" "$(told Levle=2)"
same "mapper.conf: another engine is told which there are, and where" \
    "mapperd: error: SF-E850 etc/mapper.conf:1: Routes: no engine is called \
fast; there are auto, dmodk, pairs, updown, gm2
2" "$(told Routes=fast)"
same "likewise on the command line" \
    "mapperd: error: SF-E850 Routes: no engine is called fast; there are auto, \
dmodk, pairs, updown, gm2
2" "$(told Routes=pairs --routes=fast)"

# ---- sixteen hosts ----

start_munged good
start_fabric "$net"

start_mapperd 0 --level=0
waits() { grep -q 'SF-E850 no board 0: hsnd at .*; waiting for it' "$tmp/m0.log"; }
until_ok 10 waits
same "mapperd waits for hsnd" 0 $?
all=$(seq 0 $((hosts - 1)))
sockets=()
for i in $all; do
    start_hsnd "$i"
    sockets+=("$tmp/hsnd$i")
done
for i in $all; do until_ok 20 test -S "$tmp/hsnd$i.ctl"; done
seats() {
    [ "$(call "$tmp/swfabd.ctl" '{"verb":"status"}' |
        grep -c "\"attached\":$hosts")" = 1 ]
}
until_ok 30 seats
same "sixteen hosts are attached" 0 $?

sfabric=$build/src/sfabric/sfabric
until_ok 20 test -S "$tmp/m0.ctl"
same "and goes on when hsnd is there" "0 1" "$? $(grep -c SF-E850 "$tmp/m0.log")"
stop_mapper TERM 0
local_of() { # NUMBER: the last line of sfabric --local, and its exit status
    "$sfabric" --local -s "$tmp/m$1.ctl" >"$tmp/local" 2>/dev/null
    set -- $?
    echo "$(tail -1 "$tmp/local") $1"
}
same "sfabric --local without a mapper" " 3" "$(local_of 0)"
start_mapperd 0 --level=0
until_ok 10 test -S "$tmp/m0.ctl"
same "sfabric --local before there is a map" "Network is not configured. 1" \
    "$(local_of 0)"
says_why() { # in its status
    call "$tmp/m0.ctl" '{"verb":"status"}' |
        grep -q 'if all are at level 0, none may'
}
until_ok 10 says_why
same "and at level 0 it says that somebody else must map" 0 $?
stop_mapper TERM 0

for i in $all; do
    engine=auto
    [ "$i" != 5 ] || engine=gm2
    start_mapperd "$i" --map-file="$tmp/map$i" --routes="$engine"
done
# shellcheck disable=SC2086
until_ok 30 settled 16 $all || show
same "all mappers have one map of sixteen hosts, one leads" "1 16" \
    "${was#* }"
same "all reach each other along the computed routes" "all 240 pairs" \
    "$("$build/tests/unit/gm_ping" "${sockets[@]}" 2>&1)"
same "engine gm2, too, is proved free of deadlock before it is used" 1 \
    "$(call "$tmp/m5.ctl" '{"verb":"status"}' |
        grep -c '"routes": *"gm2",.*"deadlock": *null')"
soon "hsnd has routes and type of each" "15 15" peers_of 3
of_3_and_14() { echo "$(neighbours_of 3) $(neighbours_of 14)"; }
soon "each sends echoes to the next three in the circle" "4 5 6 0 1 15" \
    of_3_and_14
soon "sfabric --local when all is there" "Network is fully configured. 0" \
    local_of 3
same "and its routes" 15 "$(grep -c '^00:60:dd:' "$tmp/local")"
soon "the map file holds the net: 16 hosts, 12 crossbars or fewer" "16" \
    grep -c '^host' "$tmp/map0"
same "the map file is one that mapperd --check reads" 0 \
    "$("$mapperd" --check="$tmp/map0" >"$tmp/check" 2>&1; echo $?)"
"$build/tests/unit/same_net" --write "$net" "$tmp/truth"
same "... and it is the fabric that is there" 0 \
    "$("$build/tests/unit/same_net" "$tmp/truth" "$tmp/map0" >"$tmp/check" 2>&1
    echo $?)"
same "the pid file holds the living pid" "${mapper[3]}" "$(cat "$tmp/pid3/pid.0")"

# ---- a cable is pulled and put back ----

# shellcheck disable=SC2086
note_version 16 $all
cable=$(python3 - "$tmp" <<'PY'
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1] + "/swfabd.ctl")
f = s.makefile()
s.sendall(b'{"verb":"ports","node":"s1.0"}\n')
r = json.loads(f.readline())
print(f"s1.0:{len(r['ports']) - 1}" if "ports" in r else "s1.0:7")
PY
)
deltas=$(of_mapper 3 deltas_received)
fault "down $cable"
# shellcheck disable=SC2086
until_ok 30 another "$old" 16 $all || show
same "a cable pulled ($cable): all have another version" 0 $?
same "it came as a delta: one message" "yes" \
    "$(more_than "$(of_mapper 3 deltas_received)" "$deltas")"
same "and hsnd was told what is different" 1 "$(grep 'hosts of map' "$tmp"/m*.log |
    awk '$NF == "said" && $(NF - 1) < 15 { n = 1 } END { print n }')"
same "all reach each other without it" "all 240 pairs" \
    "$("$build/tests/unit/gm_ping" "${sockets[@]}" 2>&1)"
# shellcheck disable=SC2086
note_version 16 $all
fault "up $cable"
# shellcheck disable=SC2086
until_ok 30 another "$old" 16 $all || show
same "the cable put back: all have another version" 0 $?

# ---- the leader is killed ----

# shellcheck disable=SC2086
note_version 16 $all
stop_mapper KILL 15
rest=$(seq 0 14)
# shellcheck disable=SC2086
until_ok 40 another "$old" 15 $rest || show
same "the leader killed: the others have a map of fifteen" "1 15" \
    "${was#* }"
soon "the host that is gone is none of hsnd's" "14 14" peers_of 3
soon "nor in the map file" 15 grep -c '^host' "$tmp/map3"
same "and reach each other" "all 210 pairs" \
    "$("$build/tests/unit/gm_ping" "${sockets[@]:0:15}" 2>&1)"
# shellcheck disable=SC2086
note_version 15 $rest
start_mapperd 15
until_ok 5 test -S "$tmp/m15.ctl"
# shellcheck disable=SC2086
until_ok 40 another "$old" 16 $all || show
same "the leader back: all sixteen" "1 16" "${was#* }"

# ---- the leader starts anew, with its old map ----

again() { # what the leader is made to begin with is there already
    # shellcheck disable=SC2086
    note_version 16 $all
    stop_mapper KILL 15
    "$@"
    : >"$tmp/m15.log"
    start_mapperd 15
    until_ok 5 test -S "$tmp/m15.ctl"
    # shellcheck disable=SC2086
    until_ok 40 another "$old" 16 $all || show
}
again true
same "the leader starts again: verifies the map it had, explores nothing" \
    "1 16, 1, 1 1" "${was#* }, $(
        of_mapper 15 hypotheses), $(
        grep -c 'the stored map .*, of 16 hosts, will be verified' \
            "$tmp/m15.log") $(grep -c 'the stored map is true' "$tmp/m15.log")"
same "all reach each other along those routes" "all 240 pairs" \
    "$("$build/tests/unit/gm_ping" "${sockets[@]}" 2>&1)"
same "the stored map is root's alone" 600 "$(stat -c %a "$tmp/stored15")"
damage() { printf 'X' | dd of="$tmp/stored15" bs=1 seek=100 conv=notrunc; }
for what in "damaged:damage" \
    "that of board:cp $tmp/stored3 $tmp/stored15" \
    "not a stored map:cp $tmp/mapper3.conf $tmp/stored15" \
    "Too many levels:ln -sf $tmp/stored3 $tmp/stored15" \
    "not a regular file:eval rm $tmp/stored15; mkfifo $tmp/stored15"; do
    # shellcheck disable=SC2086
    again ${what#*:} 2>/dev/null
    same "a stored map with '${what%%:*}' is told once, and explored" \
        "1 16, 0, 1" "${was#* }, $(
            of_mapper 15 hypotheses), $(
            grep -c "SF-E856 the stored map is not used: .*${what%%:*}" \
                "$tmp/m15.log")"
done

# ---- hsnd starts anew ----

signal KILL "${hsnd[3]}"
wait "${hsnd[3]}" 2>/dev/null
local_is() { [ "$(local_of 3)" = "$1" ]; } # EXPECTED
until_ok 20 local_is "Network is not configured. 1"
same "hsnd killed: the network is not configured any more" 0 $?
start_hsnd 3
until_ok 20 local_is "Network is fully configured. 0"
same "hsnd back: it is" 0 $?
# shellcheck disable=SC2086
until_ok 30 settled 16 $all || show
soon "with all routes" "15 15" peers_of 3
routes=$(call "$tmp/m3.ctl" '{"verb":"routes"}' | grep -o '"board"' | wc -l)
same "routes to fifteen others are shown" 15 "$routes"
same "mapperd_null_format: a format that is no text is none" 1 \
    "$(call "$tmp/m3.ctl" '{"verb":"map","format":null}' | grep -c '"map":')"

# ---- the end ----

for i in $all; do signal TERM "${mapper[i]}"; done
codes=
for i in $all; do
    wait "${mapper[i]}"
    codes+=$?
done
same "all end on SIGTERM" 0000000000000000 "$codes"
same "nothing of theirs is left" "" \
    "$(ls "$tmp"/m*.ctl "$tmp"/pid*/pid.* 2>/dev/null)"

# ---- GM-1 ----

for i in $rest; do start_mapperd "$i" --respond-only; done
start_mapperd 15 --protocol=gm1 --learnt-timers
# shellcheck disable=SC2086
until_ok 40 settled 16 $all || show
same "GM-1: one mapper configures sixteen hosts" "1 1 16" "$was"
same "GM-1: it verified the map that the GM-2 mapper had kept" 1 \
    "$(of_mapper 15 hypotheses)"
same "GM-1: all reach each other" "all 240 pairs" \
    "$("$build/tests/unit/gm_ping" "${sockets[@]}" 2>&1)"
soon "GM-1: each sends echoes to the next three in the circle" \
    "4 5 6 0 1 15" of_3_and_14
for i in $all; do stop_mapper TERM "$i"; done

# ---- a munged that hangs ----

# switchmgrd that takes a connection and says nothing.
python3 -c '
import signal, socket, sys
s = socket.socket(socket.AF_UNIX)
s.bind(sys.argv[1])
s.listen(8)
signal.pause()' "$tmp/mute" &
mute=$!
until_ok 20 test -S "$tmp/mute"
start_munged slow good
munged=$last
echo "Health=$tmp/mute" >"$tmp/more"
echo "MungeSocket=$tmp/slow.munge" >>"$tmp/more"
signal STOP "$munged"
start_mapperd 0
asking() { # MORE-THAN
    call "$tmp/m0.ctl" '{"verb":"status"}' >"$tmp/answer" &&
        [ "$(sed 's/.*"asking":\([0-9]*\).*/\1/' "$tmp/answer")" -gt "$1" ]
}
until_ok 20 asking 0
same "a munged that hangs stops neither answers nor the loop" 0 $?
signal CONT "$munged"
until_ok 20 eval '! asking 0'
same "what waited is sealed when it is awake" 0 $?
stop_mapper TERM 0
kill "$mute"
wait "$mute"
rm "$tmp/more"

# ---- the longest route ----

start_hsnd 16 Nic=ethernet Interface=lo TrustedSegment=yes
until_ok 20 test -S "$tmp/hsnd16.ctl"
echo MaxHops=20 >"$tmp/more"
start_mapperd 16
wait "${mapper[16]}"
status=$?
line=$(grep -n MaxHops "$tmp/mapper16.conf" | cut -d: -f1)
same "MaxHops on a real fabric: the end, with file, line and key" "2 1" \
    "$status $(grep -c "SF-E850 $tmp/mapper16.conf:$line: MaxHops: 20: .* simulated" \
        "$tmp/m16.log")"
echo MaxHops=11 >"$tmp/more"
start_mapperd 16
until_ok 20 test -S "$tmp/m16.ctl"
same "the limit itself may be said there" 0 $?
stop_mapper TERM 16
rm "$tmp/more"
start_mapperd 16 --max-hops=12
wait "${mapper[16]}"
same "and --max-hops is refused as such" "2 1" \
    "$? $(grep -c 'SF-E850 --max-hops: 12: .* simulated' "$tmp/m16.log")"
start_mapperd 0 --max-hops=12
until_ok 20 test -S "$tmp/m0.ctl"
same "a simulated net takes both" 0 $?
stop_mapper TERM 0

# ---- map once, as a daemon ----

for i in $all; do start_mapperd "$i" --map-once; done
codes=
for i in $all; do
    wait "${mapper[i]}"
    codes+=$?
done
same "--map-once: all end by themselves, mapped" 0000000000000000 "$codes"
same "nobody was verbose so far" 0 "$(cat "$tmp"/m*.log | grep -c ': debug: ')"
before=$(wc -l <"$tmp/m0.log")
echo 1 >"$tmp/daemon.pid" # a stale one
echo Syslog=yes >"$tmp/more"
start_mapperd 0 --daemon-pid-file="$tmp/daemon.pid" --verbose-file="$tmp/verbose"
rm "$tmp/more"
wait "${mapper[0]}"
same "--daemon-pid-file: its starter ends with 0" 0 $?
fresh() { [ -s "$tmp/daemon.pid" ] && [ "$(cat "$tmp/daemon.pid")" != 1 ]; }
until_ok 10 fresh
mine "$(cat "$tmp/daemon.pid")"
until_ok 10 test -S "$tmp/m0.ctl"
pid=$(cat "$tmp/daemon.pid")
same "--daemon-pid-file: the pid of the daemon" mapperd \
    "$(tr '\0' ' ' <"/proc/$pid/cmdline" | sed 's, .*,,; s,.*/,,; s,^lt-,,')"
until_ok 10 grep -q ': debug: packet .* sent' "$tmp/verbose"
same "--verbose-file: each packet is there" 0 $?
same "... and nothing elsewhere" "$before" "$(wc -l <"$tmp/m0.log")"
signal TERM "$pid"
until_ok 10 test ! -e "$tmp/daemon.pid"
same "--daemon-pid-file: the file is gone with it" 0 $?
start_mapperd 0 --unit=1 -v
until_ok 20 test -s "$tmp/pid0/pid.1"
same "the second board has a pid file of its own" "pid.1 ${mapper[0]}" \
    "$(cd "$tmp/pid0" && echo * "$(cat pid.1)")"
until_ok 10 grep -q ': debug: packet .* sent' "$tmp/m0.log"
same "-v: each packet is told" 0 $?
stop_mapper TERM 0

# Hosts 2 and 3 are at ports 2 and 3 of their crossbar; nobody maps on host 2.
printed() { # TEXT: it has come
    "$build/tests/unit/gm_printf" "$tmp/hsnd2" 81 "$1" &&
        grep -q 'packet 0x01f0 of .* received' "$tmp/m3.log"
}
print_to_3() { # TEXT OPTION..: what a mapper there says of it
    : >"$tmp/m3.log"
    start_mapperd 3 -v "${@:2}"
    until_ok 20 test -S "$tmp/m3.ctl"
    until_ok 20 printed "$1"
    stop_mapper TERM 3
    sed -n 's/.*network printf: //p' "$tmp/m3.log" | sort -u
}
same "--printeur: what others print is told, as text" 'at 5?[31m of us' \
    "$(print_to_3 $'at 5\e[31m of us' --printeur)"
same "... and without it nothing of it" "" "$(print_to_3 'at 6')"

flooded() { # many have come
    "$build/tests/unit/gm_printf" "$tmp/hsnd2" 81 flood 1000 &&
        [ "$(grep -c 'packet 0x01f0 of .* received' "$tmp/m3.log")" -gt 1000 ]
}
: >"$tmp/m3.log"
begin=$SECONDS
start_mapperd 3 -v --printeur
until_ok 20 test -S "$tmp/m3.ctl"
until_ok 60 flooded
stop_mapper TERM 3
lines=$(grep -c 'network printf: flood' "$tmp/m3.log")
same "... and who prints without end does not fill the log" "1 of $lines" \
    "$((lines >= 128 && lines <= 130 + 2 * (SECONDS - begin))) of $lines"

unchecked() { # OPTION..: does status say so of the map?
    start_mapperd 0 "$@"
    until_ok 20 test -S "$tmp/m0.ctl"
    call "$tmp/m0.ctl" '{"verb":"status"}' |
        grep -o '"unchecked": *[a-z]*' | tr -d ' '
    stop_mapper TERM 0
}
same "--no-xbar-check: status says that nobody checked the links" \
    '"unchecked":true "unchecked":false' \
    "$(unchecked --no-xbar-check) $(unchecked)"
echo "VerboseFile=$tmp/verbose.conf" >"$tmp/more"
start_mapperd 0
rm "$tmp/more"
until_ok 10 grep -q ': debug: packet .* sent' "$tmp/verbose.conf"
same "VerboseFile in mapper.conf tells each packet, too" 0 $?
stop_mapper TERM 0

# ---- a link that is not up yet ----

signal TERM "${hsnd[0]}"
wait "${hsnd[0]}"
start_hsnd 0 Nic=seqpacket "Fabric=$tmp/later.sock"
until_ok 10 test -S "$tmp/hsnd0"
rm -f "$tmp/stored0"
: >"$tmp/m0.log"
echo LinkWait=1 >"$tmp/more"
start_mapperd 0
until_ok 10 grep -q 'board .* GM-2' "$tmp/m0.log"
same "without a link: begins after LinkWait, and says so" 1 \
    "$(grep -c 'SF-E851 .* no link; beginning' "$tmp/m0.log")"
stop_mapper TERM 0
rm -f "$tmp/stored0"
: >"$tmp/m0.log"
echo LinkWait=600000 >"$tmp/more"
start_mapperd 0
rm "$tmp/more"
until_ok 10 grep -q 'no link yet' "$tmp/m0.log"
same "it waits for the link" 0 "$(grep -c 'board .* GM-2' "$tmp/m0.log")"
ln -s "$tmp/swfabd.sock" "$tmp/later.sock"
has_a_map() { [ "$(of_mapper 0 maps)" -gt 0 ]; } 2>/dev/null
until_ok 30 has_a_map
same "and its first map is the fabric's, not of its host alone" "1 yes" \
    "$(of_mapper 0 maps) $(more_than "$(of_mapper 0 xbars)" 0)"
stop_mapper TERM 0
finish
