# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For tests of mapperd with real processes: swfabd, hsnd and mapperd by number,
# and what they say.  Sourced after netns.sh; start_munged good comes first.

mapperd=$build/src/mapperd/mapperd
mapper=() hsnd=()
silence=200 # ms until a probe is lost

start_fabric() { # NET, as net/build.h names it; its pid is in $swfabd
    cat >"$tmp/swfabd.conf" <<CONF
Net=build:$1
Socket=$tmp/swfabd.sock
ControlSocket=$tmp/swfabd.ctl
MungeSocket=$tmp/good.munge
CONF
    "$build/src/swfabd/swfabd" -f "$tmp/swfabd.conf" 2>>"$tmp/swfabd.log" &
    swfabd=$!
    mine "$swfabd"
    until_ok 10 test -S "$tmp/swfabd.ctl"
}

# soon DESCRIPTION EXPECTED COMMAND..: it prints that in the end.
says() { # EXPECTED COMMAND..
    got=$("${@:2}")
    [ "$got" = "$1" ]
}
soon() {
    until_ok 20 says "${@:2}"
    same "$1" "$2" "$got"
}

call() { # SOCKET REQUEST: one answer
    python3 - "$1" "$2" <<'PY'
import socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(60)
s.connect(sys.argv[1])
s.sendall(sys.argv[2].encode() + b"\n")
print(s.makefile().readline().strip())
PY
}

# Ask all mappers given by number; prints "VERSION LEADERS HOSTS" when all are
# valid with one version, configured, and nothing else; fails otherwise.
agreed() { # HOST..
    python3 - "$tmp" "$@" <<'PY'
import json, socket, sys
tmp, nodes = sys.argv[1], sys.argv[2:]
seen, leaders, hosts = set(), 0, set()
for i in nodes:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(60)
    s.connect(f"{tmp}/m{i}.ctl")
    s.sendall(b'{"verb":"status"}\n')
    r = json.loads(s.makefile().readline())
    if not r["valid"] or not r["configured"]:
        sys.exit(1)
    seen.add((r["map_leader"], r["map_version"]))
    leaders += r.get("leader", False)
    hosts.add(r["peers"])
if len(seen) != 1 or len(hosts) != 1:
    sys.exit(1)
print(seen.pop()[1], leaders, hosts.pop() + 1)
PY
}

# What was agreed then is in $was: a moment later a host that was silent too
# long may have made them map again.
settled() { # HOSTS-IN-THE-MAP HOST..
    local want=$1
    shift
    was=$(agreed "$@") && [ "${was##* }" = "$want" ]
}
another() { # OLD-VERSION HOSTS-IN-THE-MAP HOST..
    local old=$1
    shift
    settled "$@" && [ "${was%% *}" != "$old" ]
}
note_version() { # HOSTS-IN-THE-MAP HOST..: in $old
    until_ok 30 settled "$@" || show
    old=${was%% *}
}

start_hsnd() { # NUMBER LINE..
    local i=$1
    shift
    [ $# -gt 0 ] || set -- Nic=seqpacket "Fabric=$tmp/swfabd.sock"
    cat >"$tmp/hsn$i.conf" <<CONF
NodeName=n$i
Board=$(printf '0060dd%06x' $((i + 1)))
Socket=$tmp/hsnd$i
ControlSocket=$tmp/hsnd$i.ctl
$(printf '%s\n' "$@")
Link=h$i
MungeSocket=$tmp/good.munge
LogLevel=warn
SpinTime=0
EchoInterval=0
CONF
    "$build/src/hsnd/hsnd" -f "$tmp/hsn$i.conf" 2>>"$tmp/hsnd$i.log" &
    hsnd[i]=$!
    mine $!
}

start_mapperd() { # NUMBER OPTION..
    local i=$1
    shift
    # A loaded machine answers late: waits are longer than on real hardware.
    cat >"$tmp/mapper$i.conf" <<CONF
ControlSocket=$tmp/m$i.ctl
Hsnd=$tmp/hsnd$i
PidDir=$tmp/pid$i
HostType=$i
StoredMap=$tmp/stored$i
ScoutTimeout=200
SwitchTimeout=$silence
PieceTimeout=100
VerifyPause=500
MaxPorts=8
$(cat "$tmp/more" 2>/dev/null)
CONF
    mkdir -p "$tmp/pid$i"
    "$mapperd" -f "$tmp/mapper$i.conf" "$@" 2>>"$tmp/m$i.log" &
    mapper[i]=$!
    mine $!
}

of_mapper() { # NUMBER KEY: a number of its status
    call "$tmp/m$1.ctl" '{"verb":"status"}' |
        sed "s/.*\"$2\": *\([0-9]*\).*/\1/"
}
more_than() { [ "$1" -gt "$2" ] && echo yes; }
fault() { call "$tmp/swfabd.ctl" "{\"verb\":\"fault\",\"do\":\"$1\"}" >/dev/null; }
stop_mapper() { # SIGNAL NUMBER
    signal "$1" "${mapper[$2]}"
    wait "${mapper[$2]}"
} 2>/dev/null
# Numbers of the hosts that one sends echoes to.
neighbours_of() { # NUMBER
    call "$tmp/hsnd$1.ctl" '{"verb":"peers"}' | python3 -c '
import json, sys
peers = json.load(sys.stdin)["peers"]
print(*sorted(int(p["board"], 16) % 256 - 1 for p in peers if p["neighbour"]))'
}
# What hsnd of a host has: how many peers, and how many of them with a route
# and the type of their own host.
peers_of() { # NUMBER
    call "$tmp/hsnd$1.ctl" '{"verb":"peers"}' | python3 -c '
import json, sys
peers = json.load(sys.stdin)["peers"]
print(len(peers), sum(p["routes"] > 0 and
    p["host_type"] == int(p["board"], 16) % 256 - 1 for p in peers))'
}
show() { # why it failed
    local i
    for i in "${!mapper[@]}"; do
        echo "# host $i: $(call "$tmp/m$i.ctl" '{"verb":"status"}' 2>/dev/null | cut -c1-400)"
        tail -3 "$tmp/m$i.log" | sed 's/^/#   /'
    done
}
