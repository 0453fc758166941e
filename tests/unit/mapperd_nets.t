#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mapperd with real processes on nets that are no Clos: a ring that is deeper
# than the hop limit, a torus.  Few hosts have daemons, so it is quick: those
# without are not there.
set -u
. "$(dirname "$0")/netns.sh"
. "$(dirname "$0")/mapperd_hosts.sh"

start_munged good
silence=60

start_net() { # NET HOST..: its daemons, from nothing
    start_fabric "$1"
    all=("${@:2}") sockets=()
    for i in "${all[@]}"; do
        start_hsnd "$i"
        sockets+=("$tmp/hsnd$i")
    done
    for i in "${all[@]}"; do until_ok 20 test -S "$tmp/hsnd$i.ctl"; done
    for i in "${all[@]}"; do start_mapperd "$i"; done
    until_ok 60 mapped || show
}
end_net() {
    local pid
    for pid in "${mapper[@]}" "${hsnd[@]}" "$swfabd"; do
        signal TERM "$pid"
        wait "$pid"
    done 2>/dev/null
    rm -rf "$tmp"/stored* "$tmp"/*.ctl "$tmp"/hsnd? "$tmp"/hsnd??
    mapper=() hsnd=()
}
# One map of all hosts, with its version in $was; who has no route to somebody
# has fewer peers than others.
mapped() {
    was=$(python3 - "$tmp" "${all[@]}" <<'PY'
import json, socket, sys
tmp, nodes = sys.argv[1], sys.argv[2:]
seen = set()
for i in nodes:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(f"{tmp}/m{i}.ctl")
    s.sendall(b'{"verb":"status"}\n')
    r = json.loads(s.makefile().readline())
    if not r["valid"] or not r["configured"] or r["hosts"] != len(nodes):
        sys.exit(1)
    seen.add((r["map_leader"], r["map_version"]))
if len(seen) != 1:
    sys.exit(1)
print(seen.pop()[1])
PY
    )
}
mapped_anew() { mapped && [ "$was" != "$1" ]; } # OLD-VERSION
# Whom the mappers name, a line for each: "FROM TO", by board address.
no_way() {
    local i
    for i in "${all[@]}"; do
        call "$tmp/m$i.ctl" '{"verb":"status"}' | python3 -c '
import json, re, sys
text = json.load(sys.stdin)["beyond"] or ""
for to in re.findall("0060dd[0-9a-f]{6}", text):
    print("0060dd%06x %s" % (int(sys.argv[1]) + 1, to))' "$i"
    done | sort
}
pairs() { "$build/tests/unit/gm_ping" "$@" "${sockets[@]}" 2>&1; }
# Whom no datagram reaches: the same lines.
unreached() { pairs -q | sed -n 's/^no way from \(.*\) to /\1 /p' | sort; }
alive() { # all mappers
    local i
    for i in "${all[@]}"; do kill -0 "${mapper[i]}" || return 1; done
}

# ---- a ring of twenty crossbars, a host at every fourth ----

# Somewhere the circle of turns has to be open, and what would pass there is 12
# cables away the other way round: 13 hops.
start_net ring:20:1 0 4 8 12 16
same "a ring of 20: all mappers have one map of its five hosts" 0 \
    "$(mapped; echo $?)"
ring=$(no_way)
same "some pairs have no route of 11 hops, at most three of ten" yes \
    "$([ "$(wc -l <<<"$ring")" -ge 2 ] && [ "$(wc -l <<<"$ring")" -le 6 ] &&
        echo yes)"
same "each of both names the other" "$ring" \
    "$(awk '{ print $2, $1 }' <<<"$ring" | sort)"
same "and in its log (SF-E860)" "$(cut -d' ' -f1 <<<"$ring" | uniq)" \
    "$(for i in "${all[@]}"; do
        ! grep -q SF-E860 "$tmp/m$i.log" || printf '0060dd%06x\n' $((i + 1))
    done)"
same "all others reach each other" "$ring" "$(unreached)"

mapped
fault "down x2:1"
until_ok 120 mapped_anew "$was" || show
same "a cable of the ring pulled: another map, of a row" 0 $?
row="0060dd000001 0060dd000005
0060dd000001 0060dd000009
0060dd000005 0060dd000001
0060dd000005 0060dd000011
0060dd000009 0060dd000001
0060dd000011 0060dd000005"
soon "more than 11 cables apart have no route, and are named" "$row" no_way
same "the mappers kept running" 0 "$(alive; echo $?)"

# A row of twenty is explored step by step, each of which waits for scouts that
# are lost (ScoutTimeout, several times): half a minute.
mapped
fault "up x2:1"
until_ok 120 mapped_anew "$was" || show
same "the cable put back: another map" 0 $?
soon "of the ring as it was" "$ring" no_way
end_net

# ---- a torus ----

start_net torus:3x3:1 0 2 4 7 8
same "a torus: all mappers have one map of its five hosts" 0 \
    "$(mapped; echo $?)"
same "all reach each other" "all 20 pairs" "$(pairs)"
same "nobody is without a route" "" "$(no_way)"
end_net

finish
