#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Three hsnd on one swfabd, two clients at each that send to all others and
# look at what they get (hsn_storm.c).  Daemons, munged and clients are killed
# in the midst of it, one or two at a time, and started again: nothing wrong is
# delivered, everybody reaches everybody again, nothing of the dead is kept.
# SF_SEED, SF_KILLS: another course of things, a longer one.
set -u
. "$(dirname "$0")/netns.sh"
. "$(dirname "$0")/hsnd.sh"
storm=$build/tests/unit/hsn_storm
seed=${SF_SEED:-1}
kills=${SF_KILLS:-10}
RANDOM=$seed
carriers=(ring seqpacket udp)
declare -A pid

port=$(python3 -c 'import socket
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
printf '%s\n' "xbar a 4" "xbar b 4" "cable a:3 b:3" "host h1 020000000001" \
    "host h2 020000000002" "host h3 020000000003" "cable h1 a:0" \
    "cable h2 a:1" "cable h3 b:1" >"$tmp/net"
printf '%s\n' "Net=$tmp/net" "Socket=$tmp/fabric" \
    "ControlSocket=$tmp/fabric.ctl" "MungeSocket=$tmp/good.munge" \
    "Udp=127.0.0.1:$port" >"$tmp/swfabd.conf"
printf '%s\n' "020000000002 neighbour 1" \
    "020000000003 neighbour 3,-2" >"$tmp/routes.h1"
printf '%s\n' "020000000001 neighbour -1" \
    "020000000003 neighbour 2,-2" >"$tmp/routes.h2"
printf '%s\n' "020000000001 neighbour 2,-3" \
    "020000000002 neighbour 2,-2" >"$tmp/routes.h3"

# ---- the parts, by name: fabric, munged, h1.., c1a.. ----

hsnds=(h1 h2 h3)
clients=(c1a c1b c2a c2b c3a c3b)
board_of() { echo "02000000000${1:1:1}"; }
module_of() { [ "${1:2}" = a ] && echo 601 || echo 602; }

start_client() { # NAME
    local c peers=()
    for c in "${clients[@]}"; do
        [ "$c" = "$1" ] || peers+=("$(board_of "$c"):$(module_of "$c")")
    done
    "$storm" "$tmp/h${1:1:1}" "$(board_of "$1")" "$(module_of "$1")" \
        "$((seed * 1000 + ++starts))" "$tmp/$1.got" "${peers[@]}" \
        >>"$tmp/$1.log" &
    last=$!
    mine "$last"
}
starts=0

start() { # NAME
    local carrier
    case $1 in
    fabric) start_swfabd; pid[$1]=$swfabd_pid; return ;;
    munged) start_munged good good ;;
    h*) carrier=${carriers[${1:1} - 1]}
        local to=$tmp/fabric
        [ "$carrier" != udp ] || to=127.0.0.1:$port
        rm -f "$tmp/$1"
        start_hsnd "$1" "$(board_of "$1")" "Nic=$carrier" "Fabric=$to" \
            "MungeSocket=$tmp/good.munge" ;;
    c*) start_client "$1" ;;
    esac
    pid[$1]=$last
}

# One of each kind as often as of another; in $name, for a subshell would not
# go on with our RANDOM.
one_of() {
    case $((RANDOM % 4)) in
    0) name=fabric ;;
    1) name=munged ;;
    2) name=${hsnds[RANDOM % 3]} ;;
    3) name=${clients[RANDOM % 6]} ;;
    esac
}

slay() { # NAME
    signal KILL "${pid[$1]}"
    wait "${pid[$1]}"
} 2>/dev/null

# ---- what is looked at ----

# What each client got from each of the others is more than when `marked`.
mark() {
    local c
    for c in "${clients[@]}"; do cp "$tmp/$c.got" "$tmp/$c.then"; done
}
all_get_more() {
    local c
    for c in "${clients[@]}"; do
        awk 'NR == FNR { for (i = 1; i < NF; i++) had[i] = $i; next }
            { for (i = 1; i < NF; i++) less += $i <= had[i] }
            END { exit less > 0 }' "$tmp/$c.then" "$tmp/$c.got" || {
            echo "$c: $(cat "$tmp/$c.then"), now $(cat "$tmp/$c.got")"
            return 1
        }
    done
}
# A client that was killed begins anew: it counts from 0, and so does mark.
is_there() { # NAME
    [ "${1:0:1}" != c ] || until_ok 15 test -s "$tmp/$1.got"
}
nothing_wrong() { ! grep -h wrong "$tmp"/c*.log; }

# all_hold ENDPOINTS KEY=VALUE..: each hsnd has a link, so many endpoints and,
# of its status, those values; and the daemons have mapped no rings but those in
# use: each is mapped in two pieces, an endpoint and a ring NIC have two rings.
all_hold() {
    python3 - "$tmp" "$@" "h1=${pid[h1]}" "h2=${pid[h2]}" "h3=${pid[h3]}" \
        "fabric=${pid[fabric]}" <<'PY'
import json, socket, sys
tmp, endpoints = sys.argv[1], int(sys.argv[2])
words = [w.split("=") for w in sys.argv[3:]]
pid, want = dict(words[-4:]), dict(words[:-4])

def status(name):
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    s.connect(f"{tmp}/{name}.ctl")
    s.sendall(b'{"verb":"status"}\n')
    return json.loads(s.makefile().readline())

def rings(name):
    with open(f"/proc/{pid[name]}/maps") as f:
        return sum("slurm-fabric-ring" in line for line in f) / 4

failed = False
def same(what, have, should):
    global failed
    if str(have) != str(should):
        print(f"{what}: {have}, not {should}")
        failed = True

for h in "h1", "h2", "h3":
    s = status(h)
    for key, value in {"link": True, "endpoints": endpoints, **want}.items():
        same(f"{h} {key}", s[key], value)
    same(f"{h} rings", rings(h), endpoints + (s["nic"] == "ring") + 0.0)
same("fabric attached", status("fabric")["attached"], 3)
same("fabric rings", rings("fabric"), 1.0)
sys.exit(failed)
PY
}

# ---- the storm ----

echo "# SF_SEED=$seed SF_KILLS=$kills"
start_munged good
pid[munged]=$last
for name in fabric h1 h2 h3 "${clients[@]}"; do start "$name"; done
for name in "${clients[@]}"; do is_there "$name"; done
mark
ok "everybody reaches everybody" until_ok 30 all_get_more
for ((round = 1; round <= kills; round++)); do
    one_of
    victims=("$name")
    one_of
    [ $((RANDOM % 2)) = 0 ] || [ "$name" = "${victims[0]}" ] ||
        victims+=("$name")
    for name in "${victims[@]}"; do slay "$name"; done
    for name in "${victims[@]}"; do
        [ "${name:0:1}" != c ] || rm "$tmp/$name.got"
    done
    for name in "${victims[@]}"; do start "$name"; done
    for name in "${victims[@]}"; do is_there "$name"; done
    ok "$round: ${victims[*]} killed: what they had is free, links are back" \
        until_ok 30 all_hold 2
    mark
    ok "$round: everybody reaches everybody" until_ok 30 all_get_more
    ok "$round: nothing was delivered wrong" nothing_wrong
done

for name in "${clients[@]}"; do
    signal TERM "${pid[$name]}"
    wait "${pid[$name]}"
    ok "$name ends well" test $? = 0
done
ok "all are at rest, with nothing left" \
    until_ok 30 all_hold 0 busy=0 pending=0 halves=0 rx_filled=64
finish
