#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The InfiniBand prober against ibsim: the map is the net file, port by port,
# and the one that ibnetdiscover draws; nothing but questions is sent.
set -u
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../cluster/mini/patience.sh"
mapperd=$build/src/mapperd/mapperd
same=$build/tests/unit/same_net
sim2=$(echo /usr/lib/*/umad2sim/libumad2sim.so)
tmp=$(mktemp -d)
sim=
trap 'stop; rm -rf "$tmp"' EXIT

command -v ibsim >/dev/null || skip_all "ibsim is not installed"
[ -e "$sim2" ] || skip_all "umad2sim is not installed"
"$mapperd" --prober=ib --map-once 2>&1 | grep -q 'built without' &&
    skip_all "built without libibumad"

# start NET [SED]: ibsim with it, edited, ready to be asked.
start() {
    local line
    "$same" --write "$1" "$tmp/net.ibnet" || return 1
    sed -i -e "${2-}" "$tmp/net.ibnet"
    export IBSIM_SOCKNAME=mapib.$$.$((++runs))
    # An ibsim whose input ends spins; this one's never does.
    mkfifo "$tmp/in.$runs" "$tmp/out.$runs"
    exec 7<>"$tmp/in.$runs" 8<>"$tmp/out.$runs"
    ibsim -s -N 4096 -S 1024 -P 65536 "$tmp/net.ibnet" \
        <&7 >&8 2>"$tmp/sim.err" 7>&- 8>&- &
    sim=$!
    while read -r -t "$(patience 30)" line <&8; do
        case $line in *MaxMcastCap*) break ;; esac
    done
    SIM_HOST=$(sed -n 's/^Ca.*"\(H-[^"]*\)".*#.*/\1/p' "$tmp/net.ibnet" |
        head -1)
    export SIM_HOST
}
stop() {
    [ -z "$sim" ] || { kill "$sim" && wait "$sim"; } 2>/dev/null
    sim=
}
inside() {
    env LD_LIBRARY_PATH="$build/src/hsn/.libs" LD_PRELOAD="$sim2" "$@"
}
# What libtool's wrapper would run.
program=$build/src/mapperd/mapperd
[ ! -x "$build/src/mapperd/.libs/mapperd" ] ||
    program=$build/src/mapperd/.libs/mapperd

runs=0
map() { inside "$program" --prober=ib --map-once --map-file="$tmp/found" "$@"; }
names_are_there() {
    grep -q '^host h1 ' "$tmp/found" && ! grep -q '^xbar x[0-9]' "$tmp/found"
}
as_ibnetdiscover() {
    command -v ibnetdiscover >/dev/null || return 0
    inside ibnetdiscover -t 20000 >"$tmp/diags" && "$same" "$tmp/diags" "$tmp/found"
}

# Its processor time, in nanoseconds.
sim_ran() {
    local ran=0 rest
    read -r ran rest <"/proc/$sim/schedstat"
    echo "$ran"
}
# It goes on until it has worked for a millisecond, or has had nothing to do.
a_moment() {
    local until i
    until=$(($(sim_ran) + 1000000))
    for ((i = 0; i < 50 && $(sim_ran) < until; i++)); do
        sleep 0.001
    done
}
# An adapter that stands still again and again: answers come when the mapper
# has asked again, and the names in them were lost, in one map of six.
maps_of_a_stutterer() {
    local stutter rc=0
    while kill -STOP "$sim"; do
        sleep 0.3
        kill -CONT "$sim"
        a_moment
    done &
    stutter=$!
    for _ in 1 2 3 4 5 6; do
        map && names_are_there || rc=1
    done
    kill "$stutter"
    wait "$stutter"
    kill -CONT "$sim"
    return $rc
} 2>/dev/null

for net in C64 C64+cut=10:3 torus:4x4:2:2 random:20:30:5; do
    start "$net"
    case $net in
    *cut*) # what the cut left over is not to be found
        ok "$net: mapped" map
        ok "$net: as ibnetdiscover sees it" as_ibnetdiscover ;;
    *)
        ok "$net: mapped" map
        ok "$net: the map is the net file, port by port" \
            "$same" --ibsim "$tmp/net.ibnet" "$tmp/found"
        ok "$net: as ibnetdiscover sees it" as_ibnetdiscover
        [ "$net" != C64 ] || # others call their crossbars x0, x1 ...
            ok "$net: with the names that nodes give themselves" \
                names_are_there
        [ "$net" != C64 ] ||
            ok "$net: an adapter that stutters loses no name" \
                maps_of_a_stutterer
        ok "$net: one question at a time gives the same" map --window=1
        ok "$net: the map is the net file again" \
            "$same" --ibsim "$tmp/net.ibnet" "$tmp/found" ;;
    esac
    stop
done

# What was not found is said, and the exit status shows it.  A directed route
# has 63 hops: of a line of 70 the host at the end sees 63 switches.
said() { # STATUS WORDS OPTION..
    local rc
    map "${@:3}" >"$tmp/out" 2>"$tmp/word"; rc=$?
    [ $rc = "$1" ] && grep -q "$2" "$tmp/word" && return
    sed 's/^/# /' "$tmp/word"
    echo "# status $rc"
    return 1
}
# lose NAME PERCENT: of what comes to this switch.
lose() {
    echo "Error \"$(sed -n "s/^Switch.*\"\(S-[^\"]*\)\".*\"$1\".*/\1/p" \
        "$tmp/net.ibnet")\" $2" >&7
}
start line:70
ok "line:70: what lies behind the 63rd hop is named" \
    said 1 'behind .* too far: a directed route ends after 63 hops'
same "line:70: the map has what could be reached" 63 \
    "$(grep -c '^xbar' "$tmp/found")"
stop
start line:62
nothing_missing() { map 2>"$tmp/word" && [ ! -s "$tmp/word" ]; }
ok "line:62: nothing is missing" nothing_missing
stop

# A switch that answers no question about itself any more.  It is not the first.
start line:3:3
lose x1 100
ok "a switch that is deaf: the port that leads to it is named" \
    said 1 'x0 port [0-9]* is up, but what is behind it does not answer'
ok "and that the map is not whole" grep -q 'not whole: 1 port' "$tmp/word"
stop
# Questions are asked again, so not each try loses something.
lost_and_told() {
    local i rc hosts
    for i in 1 2 3 4 5; do
        map >/dev/null 2>"$tmp/word"; rc=$?
        hosts=$(grep -c '^host' "$tmp/found")
        case $rc:$hosts in 0:24) ;; 1:*) ;; *) echo "# $rc, $hosts hosts"; return 1 ;; esac
    done
}
start clos:8x3:1x2:1x1
lose s1.2 60
ok "60 % lost at a switch: no map is short of hosts without a word" lost_and_told
stop

# Two adapters of one node: two hosts, whose names all formats tell apart.
start line:2:2 's/"h1 HCA-1"/"h0 mlx5_1"/; s/"h0 HCA-1"/"h0 mlx5_0"/'
ok "two adapters of one node: mapped" map
same "two adapters of one node have two names" "h0 h0-mlx5_1 h2 h3" \
    "$(sed -n 's/^host \([^ ]*\) .*/\1/p' "$tmp/found" | sort | xargs)"
ok "two adapters of one node: our own readers take the map" \
    "$same" --ibsim "$tmp/net.ibnet" "$tmp/found"
both_in_json() {
    map --map-file="$tmp/found.json" && python3 -c '
import json, sys
net = json.load(open(sys.argv[1]))
names = [h["name"] for h in net["hosts"]]
ends = [end[0] for link in net["links"] for end in link]
sys.exit(len(set(names)) != 4 or any(ends.count(n) != 1 for n in names))
' "$tmp/found.json"
}
ok "two adapters of one node: a link in JSON means one of them" both_in_json
ok "two adapters of one node: written as .ibnet" \
    map --map-file="$tmp/found.ibnet"
ok "two adapters of one node: and read back" \
    "$same" "$tmp/found" "$tmp/found.ibnet"
stop

no_adapter() {
    local rc
    "$mapperd" --prober=ib --map-once --ca=none0 --port=1 2>"$tmp/word"; rc=$?
    [ $rc = 2 ] && grep -q none0 "$tmp/word"
}
ok "no such adapter: status 2 and a word that names it" no_adapter
finish
