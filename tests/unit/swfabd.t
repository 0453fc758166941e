#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# swfabd with real processes: eight hosts at two levels of crossbars, by every
# kind of link; faults; several swfabd as one fabric; who may not in.  Runs in
# a network namespace of its own with a munged of its own.
set -u
needs=nsenter
. "$(dirname "$0")/netns.sh"
swfabd=$build/src/swfabd/swfabd
host=$build/tests/unit/swfab_host
route=$build/tests/unit/swfab_route

# ---- tools ----

# start_swfabd NAME [MUNGED], configuration on standard input, by the command
# `in_place`, if any; sets $last
in_place=()
start_swfabd() {
    cat >"$tmp/$1.conf"
    printf '%s\n' "Socket=$tmp/$1.sock" "ControlSocket=$tmp/$1.ctl" \
        "MungeSocket=$tmp/${2-good}.munge" >>"$tmp/$1.conf"
    "${in_place[@]}" "$swfabd" -f "$tmp/$1.conf" --verbose \
        2>>"$tmp/$1.log" &
    last=$!
    mine "$last"
    until_ok 10 test -S "$tmp/$1.ctl" || {
        sed 's/^/# /' "$tmp/$1.log"
        echo "Bail out! swfabd does not start"
        exit 1
    }
}

stop() { # PID: by SIGTERM; $status is its exit status
    signal TERM "$1"
    wait "$1"
    status=$?
}

kill_host() { # PID: as if it crashed
    signal KILL "$1"
    wait "$1" 2>/dev/null
}

call() { # NAME REQUEST: the answer of its control socket
    python3 - "$tmp/$1.ctl" "$2" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() + b"\n")
f = s.makefile()
print(f.readline().strip())
PY
}

get() { # NAME VERB KEY..: one value of the answer
    local name=$1 verb=$2
    shift 2
    call "$name" "{\"verb\":\"$verb\"}" | python3 -c '
import json, sys
v = json.load(sys.stdin)
for k in sys.argv[1:]:
    v = v[int(k) if k.isdigit() else k]
print(v)' "$@"
}

address() { printf '0060dd%06x' $(($1 + 1)); }

# start_host CARRIER TO INDEX WORDS..: returns when it is attached
start_host() {
    local carrier=$1 to=$2 i=$3
    shift 3
    rm -f "$tmp/h$i.out"
    "$host" "$carrier" "$to" "h$i" "$(address "$i")" "$tmp/good.munge" "$@" \
        >"$tmp/h$i.out" 2>"$tmp/h$i.err" &
    last=$!
    mine "$last"
    until_ok 15 grep -q ready "$tmp/h$i.out"
}

# run_host CARRIER TO INDEX WORDS..: prints what it says
run_host() {
    local carrier=$1 to=$2 i=$3
    shift 3
    within 60 "$host" "$carrier" "$to" "h$i" "$(address "$i")" \
        "$tmp/good.munge" "$@" 2>&1
}

ping_host() { # CARRIER TO FROM TARGET COUNT SIZE NET
    # shellcheck disable=SC2046
    run_host "$1" "$2" "$3" ping "$5" "$6" $("$route" "$7" "h$3" "h$4")
}

start_munged good
start_munged other

# ---- configuration ----

config_says() { # text of a configuration; prints messages and exit status
    printf "%b" "$1" >"$tmp/bad.conf"
    "$swfabd" -f "$tmp/bad.conf" --test-config 2>&1 | sed "s,$tmp/,,"
    echo "${PIPESTATUS[0]}"
}
same "configuration: unknown key is named with file and line" \
    "swfabd: error: SF-E600 bad.conf:2: Sped: no such key; did you mean Seed?
2" "$(config_says 'Net=build:C64\nSped=3\n')"
same "configuration: Ethernet needs TrustedSegment" 1 \
    "$(config_says 'Net=build:C64\nEthernet=eth0\n' |
        grep -c 'bad.conf:2: Ethernet: needs TrustedSegment=yes')"
same "configuration: a net that is not there" 2 \
    "$(config_says 'Net=build:nonsense\n' | tail -1)"
same "configuration: a good one" 0 "$(config_says 'Net=build:C64\n')"
printf 'part a udp:127.0.0.1:7001 s1.*\npart b ether:2 s2.0\n' >"$tmp/bad.parts"
same "configuration: parts name file and line" 1 \
    "$(config_says "Net=build:C64\nParts=$tmp/bad.parts\nPart=a\n" |
        grep -c 'bad.parts:2: not udp:A.B.C.D:PORT nor ether:MAC: ether:2')"
"$swfabd" --nonsense >/dev/null 2>&1
same "wrong usage is exit status 2" 2 $?

# ---- eight hosts, two levels of crossbars ----

net=clos:4x2:1x2:1x1
start_swfabd a <<CONF
Net=build:$net
Udp=127.0.0.1:7001
CONF
a=$last
carriers=(ring seqpacket udp ring seqpacket udp ring ring)
to() { [ "$1" = udp ] && echo 127.0.0.1:7001 || echo "$tmp/a.sock"; }
for i in 1 2 3 4 5 6 7; do
    start_host "${carriers[i]}" "$(to "${carriers[i]}")" "$i" echo
    echo_pid[i]=$last
done
same "a second swfabd leaves the first alone" \
    "swfabd: error: SF-E601 Socket=$tmp/a.sock: another swfabd listens there
1" "$(grep -v Udp "$tmp/a.conf" >"$tmp/a2.conf"
    "$swfabd" -f "$tmp/a2.conf" 2>&1
    echo $?)"
# A host by UDP is, when its first datagram after the welcome has come.
attached() { [ "$(get a status attached)" = "$1" ]; }
until_ok 20 attached 7
same "seven hosts are attached" 7 "$(get a status attached)"
for carrier in ring seqpacket udp; do
    for size in 60 8192; do
        result=
        for i in 1 2 3 4 5 6 7; do
            result+=$(ping_host $carrier "$(to $carrier)" 0 $i 100 $size $net |
                grep received)
        done
        want="received 100 of 100"
        same "$carrier: $size bytes to and from all seven" \
            "$want$want$want$want$want$want$want" "$result"
    done
done
same "a probe into an empty port vanishes, and is counted" "nothing" \
    "$(run_host ring "$tmp/a.sock" 0 loop 9f | tail -1)"
same "... as port-range" 1 "$(get a status packets port-range)"

# ---- faults by the control socket ----

leaf=$(call a '{"verb":"ports","node":"s1.0"}' | grep -c '"passed":[1-9]')
same "counters of a crossbar's ports" 1 "$leaf"
same "fault: host falls silent" '{"ok":true}' \
    "$(call a '{"verb":"fault","do":"mute h7"}' | tr -d ' ')"
same "fault: nothing comes from it" "received 0 of 1" \
    "$(ping_host ring "$tmp/a.sock" 0 7 1 60 $net | tail -1)"
call a '{"verb":"fault","do":"unmute h7"}' >/dev/null
call a '{"verb":"fault","do":"down h6"}' >/dev/null
same "fault: cable pulled" "received 0 of 1" \
    "$(ping_host ring "$tmp/a.sock" 0 6 1 60 $net | tail -1)"
call a '{"verb":"fault","do":"up h6"}' >/dev/null
same "fault: cable put back" "received 5 of 5" \
    "$(ping_host ring "$tmp/a.sock" 0 6 5 60 $net | tail -1)"
same "fault: mistakes are explained" 1 \
    "$(call a '{"verb":"fault","do":"down s1.0:77"}' |
        grep -c 'no such port: s1.0:77')"
same "fault: others may look but not break" 1 \
    "$(SWFAB_CTL=$tmp/a.ctl setpriv --reuid 65534 --regid 65534 --clear-groups \
        python3 -c '
import os, socket
s = socket.socket(socket.AF_UNIX)
s.connect(os.environ["SWFAB_CTL"])
s.sendall(b"{\"verb\":\"fault\",\"do\":\"mute h1\"}\n")
print(s.makefile().readline())' 2>&1 | grep -c '"ok": *false\|Permission denied')"

# ---- hosts that behave badly ----

call a '{"verb":"clear"}' >/dev/null
kill_host "${echo_pid[7]}"
h7_left() { [ "$(grep -c 'h7 leaves' "$tmp/a.log")" -ge "$1" ]; } # TIMES
until_ok 10 h7_left 1
same "a killed host's seat is free" 6 "$(get a status attached)"
same "... and packets for it are counted" "received 0 of 1" \
    "$(ping_host ring "$tmp/a.sock" 0 7 1 60 $net | tail -1)"
same "... as no-host" 1 "$(get a status packets no-host)"
same "... at its port" 1 \
    "$(call a '{"verb":"ports","node":"h7"}' | grep -c '"no-host":1')"
left=1
# What was sent may still be on its way.
full_counted() { # in $full
    full=$(get a status packets full)
    [ "$full" -gt 100 ] &&
        call a '{"verb":"ports","node":"h7"}' | grep -q "\"full\":$full\>"
}
for carrier in ring seqpacket; do
    call a '{"verb":"clear"}' >/dev/null
    start_host $carrier "$tmp/a.sock" 7 sleep
    sleeper=$last
    # shellcheck disable=SC2046
    run_host seqpacket "$tmp/a.sock" 0 flood 3000 8000 \
        $("$route" $net h0 h7) >/dev/null
    until_ok 20 full_counted
    counted=$?
    same "$carrier: a host that takes nothing loses its packets" yes \
        "$([ "$full" -gt 100 ] && echo yes || echo "$full")"
    same "$carrier: ... counted at its port" 0 $counted
    same "$carrier: ... and nobody else any" "received 100 of 100" \
        "$(ping_host ring "$tmp/a.sock" 0 1 100 60 $net | tail -1)"
    kill_host $sleeper
    until_ok 10 h7_left $((left += 1))
done
start_host ring "$tmp/a.sock" 7 echo
first=$last
start_host ring "$tmp/a.sock" 7 echo
same "a restarted host takes its place" "received 10 of 10" \
    "$(ping_host ring "$tmp/a.sock" 0 7 10 60 $net | tail -1)"
kill_host "$first"

start_host udp 127.0.0.1:7001 7 echo
first=$last
start_host ring "$tmp/a.sock" 7 echo
same "... also one that came by UDP before" "received 10 of 10" \
    "$(ping_host ring "$tmp/a.sock" 0 7 10 60 $net | tail -1)"
kill_host "$first"

# ---- who may not in ----

refused() { # CARRIER TO NAME ADDRESS MUNGE
    within 20 "$host" "$1" "$2" "$3" "$4" "$tmp/$5.munge" loop 80 2>&1
}
same "wrong board address" 1 "$(refused ring "$tmp/a.sock" h0 0060dd000009 good |
    grep -c 'h0 has board address 0060dd000001')"
same "no such host" 1 "$(refused ring "$tmp/a.sock" h99 0060dd000009 good |
    grep -c 'no host or cable h99 here')"
same "another realm's credential, unix socket" 1 \
    "$(refused ring "$tmp/a.sock" h0 0060dd000001 other | grep -c refused)"
same "another realm's credential, UDP" 1 \
    "$(refused udp 127.0.0.1:7001 h0 0060dd000001 other | grep -c refused)"
same "another user" 1 "$(within 20 setpriv --reuid 65534 --regid 65534 \
    --clear-groups "$host" ring "$tmp/a.sock" h0 0060dd000001 \
    "$tmp/good.munge" loop 80 2>&1 | grep -c 'h0: \|sock: ')"
same "rubbish on UDP hurts nobody" "received 10 of 10" "$(python3 -c '
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for i in range(3000):
    head = b"SF\1" + bytes([i % 8]) if i % 2 else b""
    s.sendto(head + os.urandom(i % 300), ("127.0.0.1", 7001))'
    ping_host udp 127.0.0.1:7001 0 5 10 60 $net | tail -1)"

stop "$a"
same "SIGTERM ends it" 0 $status
same "... and takes its sockets along" "" "$(ls "$tmp"/a.sock "$tmp"/a.ctl 2>&- )"
for i in 1 2 3 4 5 6; do kill_host "${echo_pid[i]}"; done

# ---- a munged that hangs ----

start_munged slow good
slow=$last
start_swfabd patient slow <<CONF
Net=build:$net
Udp=127.0.0.1:7021
CONF
patient=$last
start_host ring "$tmp/patient.sock" 1 echo
signal STOP "$slow"
"$host" udp 127.0.0.1:7021 h5 "$(address 5)" "$tmp/good.munge" echo \
    >/dev/null 2>&1 &
mine $!
asking() { [ "$(get patient status asking)" -gt 0 ]; }
same "a munged that hangs does not stop the daemon" yes \
    "$(until_ok 20 asking && echo yes)"
signal CONT "$slow"
same "hosts attach when it is awake" "received 10 of 10" \
    "$(ping_host ring "$tmp/patient.sock" 0 1 10 60 $net | tail -1)"
stop "$patient"
same "... and the daemon ends" 0 $status

# ---- three daemons are one fabric ----

cat >"$tmp/parts" <<PARTS
# leaves apart from each other, spines with the first
part one   udp:127.0.0.1:7011 s1.0 s2.*
part two   udp:127.0.0.1:7012 s1.1
part three udp:127.0.0.1:7013 s1.2
PARTS
net=clos:3x3:1x2:1x1
for part in one:7011 two:7012 three:7013; do
    start_swfabd "${part%:*}" <<CONF
Net=build:$net
Parts=$tmp/parts
Part=${part%:*}
Udp=127.0.0.1:${part#*:}
CONF
    [ "${part%:*}" = two ] && two=$last
done
up() { [ "$(get "$1" status cables_up)" = "$2" ]; }
same "linked: all cables come up" yes \
    "$(until_ok 20 up one 4 && until_ok 20 up two 2 && until_ok 20 up three 2 &&
        echo yes)"
start_host ring "$tmp/two.sock" 3 echo
start_host udp 127.0.0.1:7013 8 echo
start_host seqpacket "$tmp/one.sock" 1 echo
for target in 1 3 8; do
    same "linked: from part one to h$target and back" "received 100 of 100" \
        "$(ping_host ring "$tmp/one.sock" 0 $target 100 8000 $net | tail -1)"
done
same "linked: between two leaf parts" "received 100 of 100" \
    "$(ping_host ring "$tmp/two.sock" 4 8 100 60 $net | tail -1)"
same "linked: a host of another part has no seat here" 1 \
    "$(refused ring "$tmp/one.sock" h3 0060dd000004 good |
        grep -c 'no host or cable h3 here')"
stop "$two"
same "linked: a part ends" 0 $status
same "linked: its cables go down at once" yes \
    "$(until_ok 10 up one 2 && echo yes)"
same "linked: the others go on" "received 10 of 10" \
    "$(ping_host ring "$tmp/one.sock" 0 8 10 60 $net | tail -1)"
# One who sees nothing of it names every seat in every message there is.
python3 -c '
import os, socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for n in range(1 << 30):
    message = b"SF\1" + bytes([2 + n % 5]) + os.urandom(6)
    for seat in range(8):
        for port in (7011, 7012):
            s.sendto(message + bytes([0, seat]) + b"MUNGE:x:",
                     ("127.0.0.1", port))' &
flood=$!
mine $flood
start_swfabd two <<CONF
Net=build:$net
Parts=$tmp/parts
Part=two
Udp=127.0.0.1:7012
CONF
same "linked: it comes back, under a blind flood" yes \
    "$(until_ok 20 up one 4 && until_ok 20 up two 2 && echo yes)"
kill_host $flood
start_host ring "$tmp/two.sock" 3 echo
same "linked: and is reached again" "received 10 of 10" \
    "$(ping_host ring "$tmp/one.sock" 0 3 10 60 $net | tail -1)"

# ---- raw Ethernet: hosts in network namespaces, a bridge between them ----

if ip link add name br0 type bridge 2>/dev/null; then
    mac=02:00:00:00:00:01
    ip link add name fab type veth peer name fabp
    ip link set fab address $mac mtu 9200 up
    ip link set fabp master br0 mtu 9200 up
    for i in 0 1; do
        unshare -n sleep 1000 &
        ns[i]=$!
        mine $!
        other_ns() { [ "$(readlink /proc/"$1"/ns/net)" != \
            "$(readlink /proc/self/ns/net)" ]; }
        until_ok 5 other_ns "${ns[i]}"
        ip link add name "v$i" type veth peer name "e$i"
        ip link set "v$i" master br0 mtu 9200 up
        ip link set "e$i" netns "${ns[i]}"
        nsenter -n -t "${ns[i]}" ip link set "e$i" mtu 9200 up
    done
    ip link set br0 mtu 9200 up
    net=clos:4x2:1x2:1x1
    start_swfabd e <<CONF
Net=build:$net
Ethernet=fab
TrustedSegment=yes
CONF
    rm -f "$tmp/h5.out"
    nsenter -n -t "${ns[1]}" "$host" ether "e1/$mac" h5 "$(address 5)" \
        "$tmp/good.munge" echo >"$tmp/h5.out" 2>&1 &
    mine $!
    until_ok 15 grep -q ready "$tmp/h5.out"
    for size in 40 8192; do
        # shellcheck disable=SC2046
        same "Ethernet: $size bytes between two network namespaces" \
            "received 50 of 50" \
            "$(within 60 nsenter -n -t "${ns[0]}" "$host" ether "e0/$mac" h0 \
                "$(address 0)" "$tmp/good.munge" ping 50 $size \
                $("$route" $net h0 h5) 2>&1 | tail -1)"
    done

    # ---- two daemons that are one fabric, by Ethernet ----

    mac_of() { # NUMBER of a namespace
        nsenter -n -t "${ns[$1]}" ip -br link show "e$1" | awk '{ print $3 }'
    }
    net=clos:3x2:1x2:1x1
    printf '%s\n' "part left ether:$(mac_of 0) s1.0 s2.*" \
        "part right ether:$(mac_of 1) s1.1" >"$tmp/parts"
    for part in left:0 right:1; do
        in_place=(nsenter -n -t "${ns[${part#*:}]}")
        start_swfabd "${part%:*}" <<CONF
Net=build:$net
Parts=$tmp/parts
Part=${part%:*}
Ethernet=e${part#*:}
TrustedSegment=yes
CONF
    done
    same "Ethernet: two daemons are linked" yes \
        "$(until_ok 20 up left 2 && until_ok 20 up right 2 && echo yes)"
    start_host ring "$tmp/right.sock" 3 echo
    for size in 40 8000; do
        same "Ethernet: $size bytes between their hosts" "received 50 of 50" \
            "$(ping_host ring "$tmp/left.sock" 0 3 50 $size $net | tail -1)"
    done
else
    skipped Ethernet "no bridges here"
fi
finish
