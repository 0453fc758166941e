#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Eight hosts, each a network namespace of its own with an hsnd, by UDP over a
# bridge to a swfabd with two levels of crossbars: each reaches each other one,
# with one packet and with two, and a leaf crossbar that dies takes its own
# hosts and nobody else.
set -u
needs=nsenter
. "$(dirname "$0")/netns.sh"
. "$(dirname "$0")/hsnd.sh"
ping=$build/tests/unit/gm_ping
bench=$build/bench/hsn_bench
route=$build/tests/unit/swfab_route
net=clos:2x4:1x2:1x1 # four leaves with two hosts each, below two spines
hosts=8
port=7031

ip link add name br0 type bridge 2>/dev/null || skip_all "no bridges here"
ip addr add 10.9.0.1/24 dev br0
ip link set br0 up

board() { printf '0060dd%06x' $(($1 + 1)); }

# What the tool prints as bytes, as hsnd's file of routes has it.
deltas() { # HEX
    local hex=$1 words=() d
    while [ "$hex" ]; do
        d=$((0x${hex:0:2} & 0x3f))
        words+=($((d > 31 ? d - 64 : d)))
        hex=${hex:2}
    done
    local IFS=,
    echo "${words[*]}"
}

routes_of() { # NUMBER
    local k there
    for ((k = 0; k < hosts; k++)); do
        [ "$k" != "$1" ] || continue
        read -r there _ < <("$route" $net "h$1" "h$k")
        echo "$(board "$k") neighbour $(deltas "$there")"
    done
}

in_another() { # PID
    [ "$(readlink "/proc/$1/ns/net")" != "$(readlink /proc/self/ns/net)" ]
}

start_host() { # NUMBER: its namespace, its address, its hsnd
    local i=$1 ns
    unshare -n sleep 1000 &
    ns=$!
    mine "$ns"
    until_ok 20 in_another "$ns"
    ip link add name "v$i" type veth peer name "e$i"
    ip link set "v$i" master br0 up
    ip link set "e$i" netns "$ns"
    nsenter -n -t "$ns" ip addr add "10.9.0.$((i + 10))/24" dev "e$i"
    nsenter -n -t "$ns" ip link set "e$i" up
    nsenter -n -t "$ns" ip link set lo up
    routes_of "$i" >"$tmp/routes.h$i"
    in_place=(nsenter -n -t "$ns")
    start_hsnd "h$i" "$(board "$i")" Nic=udp "Fabric=10.9.0.1:$port" \
        "MungeSocket=$tmp/good.munge"
}

start_munged good
printf '%s\n' "Net=build:$net" "Socket=$tmp/fabric" \
    "ControlSocket=$tmp/fabric.ctl" "MungeSocket=$tmp/good.munge" \
    "Udp=10.9.0.1:$port" >"$tmp/swfabd.conf"
start_swfabd
for ((i = 0; i < hosts; i++)); do start_host "$i"; done
for ((i = 0; i < hosts; i++)); do
    ok "h$i has a link" until_ok 30 is "h$i" status link True
done
ok "eight hosts are attached" until_ok 30 is fabric status attached 8

sockets=()
for ((i = 0; i < hosts; i++)); do sockets+=("$tmp/h$i"); done
all_pairs() { # COUNT [-q] SOCKET..
    [ "$("$ping" "${@:2}")" = "all $1 pairs" ]
}
fails() { ! "$@"; }
ok "each reaches each other one" all_pairs 56 "${sockets[@]}"
ok "pages of 8 KB cross two levels in two packets" within 60 "$bench" hsn \
    "$tmp/h0" "$(board 0)" "$tmp/h7" "$(board 7)" 8192 500 50

fault() {
    python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.connect(sys.argv[1])
s.sendall(json.dumps({"verb": "fault", "do": sys.argv[2]}).encode() + b"\n")
sys.exit(not json.loads(s.makefile().readline()).get("ok"))' \
        "$tmp/fabric.ctl" "$1"
}
ok "a leaf crossbar dies" fault "kill s1.3"
ok "the six hosts at the others reach each other" all_pairs 30 \
    "${sockets[@]:0:6}"
ok "nobody reaches its two" fails all_pairs 2 -q "${sockets[@]:5:2}"
ok "it lives again" fault "revive s1.3"
ok "and all reach each other" all_pairs 56 "${sockets[@]}"
finish
