# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# The whole software fabric on an embedded cluster of four nodes: swfabd and
# switchmgrd on the controller, hsnd and mapperd on each node.  Needs
# $MINISLURM, $CLUSTER (its directory) and $STAGE.  FABRIC_SWITCHMGR and
# FABRIC_MAPPER: a line more of switchmgr.conf and of each mapper.conf;
# FABRIC_NODES: fewer nodes, the others' places stay empty; FABRIC_DEFAULTS=1:
# nothing is judged or repeated faster than by default.
#
#     n0 n1     n2 n3
#      leaf0     leaf1        each leaf has a cable to each spine
#         spine0  spine1
. "$(dirname "${BASH_SOURCE[0]}")/mini/patience.sh"
FABRIC_NODES=${FABRIC_NODES:-n0 n1 n2 n3}
FABRIC_FEATURES=fabric_up,fabric_degraded,fabric_down

fabric_write_net() {
    cat >"$CLUSTER/etc.fabric/swfab.net" <<'NET'
xbar leaf0 8
xbar leaf1 8
xbar spine0 4
xbar spine1 4
host n0 020000000000
host n1 020000000001
host n2 020000000002
host n3 020000000003
cable n0 leaf0:0
cable n1 leaf0:1
cable n2 leaf1:0
cable n3 leaf1:1
cable leaf0:4 spine0:0
cable leaf1:4 spine0:1
cable leaf0:5 spine1:0
cable leaf1:5 spine1:1
NET
}

fabric_write_confs() {
    local k fast=() quick=()
    [ "${FABRIC_DEFAULTS-}" ] || fast=(EchoInterval=1 HealthInterval=1)
    [ "${FABRIC_DEFAULTS-}" ] || quick=(TableInterval=1 UpAfter=1
        DegradeAfter=0 FlapCount=0 HsndStale=10 StartGrace=0 DrainAfter=1
        ResumeAfter=1 DrainPercent=50 DrainMax=1000 BusyGrace=0)
    for k in 0 1 2 3; do
        echo "NodeName=n$k ElanId=$k Board=02000000000$k"
    done >"$CLUSTER/etc.fabric/elanhosts"
    printf '%s\n' "Net=$CLUSTER/etc.fabric/swfab.net" \
        "Socket=$CLUSTER/fabric.sock" "ControlSocket=$CLUSTER/fabric.ctl" \
        "MungeSocket=$CLUSTER/munge.ctl/munge.socket" \
        >"$CLUSTER/etc.fabric/swfabd.conf"
    for k in $FABRIC_NODES; do
        printf '%s\n' "NodeName=$k" Nic=ring "Fabric=$CLUSTER/fabric.sock" \
            "MungeSocket=$CLUSTER/munge.$k/munge.socket" "${fast[@]}" \
            "Health=$CLUSTER/reports.sock" >"$CLUSTER/etc.fabric/hsn.$k"
        printf '%s\n' "MungeSocket=$CLUSTER/munge.$k/munge.socket" \
            "Health=$CLUSTER/reports.sock" "MapFile=$CLUSTER/map.$k" \
            "StoredMap=$CLUSTER/stored.$k" ${FABRIC_MAPPER-} \
            >"$CLUSTER/etc.fabric/mapper.$k"
    done
    printf '%s\n' Listen= User=nobody \
        "MungeSocket=$CLUSTER/munge.ctl/munge.socket" \
        "SlurmConf=$CLUSTER/etc/slurm.conf" \
        "StateDir=$CLUSTER/switchmgr.state" \
        "ReportSocket=$CLUSTER/reports.sock" \
        SlurmPoll=1 "${quick[@]}" ${FABRIC_SWITCHMGR-} \
        >"$CLUSTER/etc.fabric/switchmgr.conf"
}

# fabric_daemon PLACE LOG COMMAND..: in the background, as root, on that node.
fabric_daemon() {
    local place=$1 log=$2
    shift 2
    ( "$MINISLURM" exec --dir "$CLUSTER" --on "$place" --as root -- \
        env NOTIFY_SOCKET="${FABRIC_NOTIFY-}" "$@" \
        >>"$CLUSTER/log/$log" 2>&1 </dev/null & )
}

# A service manager that writes down what the daemons tell it, "NAME WORDS".
fabric_manager() {
    fabric_daemon ctl notify.log python3 -c '
import os, socket, struct, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
s.bind(sys.argv[1] + ".new")
os.chmod(sys.argv[1] + ".new", 0o666)
os.rename(sys.argv[1] + ".new", sys.argv[1])
while True:
    words, more, _, _ = s.recvmsg(256, 64)
    pid = struct.unpack("iii", more[0][2])[0]
    print(open(f"/proc/{pid}/comm").read().strip(), words.decode(), flush=True)
' "$CLUSTER/notify"
    FABRIC_NOTIFY=$CLUSTER/notify
    wait_until 60 test -S "$FABRIC_NOTIFY"
}

# fabric_program PLACE LOG NAME ARGUMENT..: as fabric_daemon; as its unit would
# start it if FABRIC_AS is a command that does so with "NAME PLACE COMMAND..".
fabric_program() {
    local place=$1 log=$2 name=$3
    shift 3
    fabric_daemon "$place" "$log" \
        ${FABRIC_AS:+"$FABRIC_AS" "$name" "$place"} \
        "$STAGE/libexec/slurm-fabric/$name" "$@"
}

fabric_start_hsnd() { # NODE
    fabric_program "$1" "hsnd.$1.log" hsnd -f "$CLUSTER/etc.fabric/hsn.$1"
}

fabric_start_mapperd() { # NODE
    fabric_program "$1" "mapperd.$1.log" mapperd \
        -f "$CLUSTER/etc.fabric/mapper.$1"
}

fabric_up() {
    fabric_write_net
    fabric_write_confs
    fabric_start
}

fabric_start() {
    local k
    mkdir -p "$CLUSTER/switchmgr.state"
    fabric_on ctl scontrol reconfigure # slurmctld reads switchmgr.conf
    fabric_program ctl swfabd.log swfabd -f "$CLUSTER/etc.fabric/swfabd.conf"
    fabric_program ctl switchmgrd.log switchmgrd
    for k in $FABRIC_NODES; do
        fabric_start_hsnd "$k"
    done
    for k in $FABRIC_NODES; do
        fabric_hsnd_is_there "$k" # a mapper wants its board
        fabric_start_mapperd "$k"
    done
}

fabric_hsnd_is_there() {
    wait_until 60 test -S "$CLUSTER/run.$1/hsnd-0"
}

# fabric_on PLACE COMMAND..
fabric_on() {
    local place=$1
    shift
    "$MINISLURM" exec --dir "$CLUSTER" --on "$place" --as root -- "$@"
}

# fabric_fault TEXT: break or mend something, see swfabd(8).
fabric_fault() {
    fabric_on ctl python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(json.dumps({"verb": "fault", "do": sys.argv[2]}).encode() + b"\n")
answer = s.makefile().readline()
sys.exit(0 if "error" not in json.loads(answer) else answer)' \
        "$CLUSTER/fabric.ctl" "$1"
}

# fabric_is NODE up|degraded|down: what sinfo says.
fabric_is() {
    fabric_on ctl scontrol show node "$1" | grep -q "Extra=.*fabric=$2"
}

fabric_is_all_up() {
    local k
    for k in $FABRIC_NODES; do fabric_is "$k" up || return 1; done
}

# So many crossbars are on the map of the leader.
fabric_has_xbars() {
    [ "$(grep -c '^xbar' "$CLUSTER/map.n3")" = "$1" ]
}

# Every board has routes to every other; one that began before the link of its
# hsnd was up has mapped its own host alone, and calls that configured.
fabric_is_configured() {
    local k others
    others=$(($(wc -w <<<"$FABRIC_NODES") - 1))
    for k in $FABRIC_NODES; do
        fabric_on "$k" "$STAGE/bin/sfabric" local 2>/dev/null |
            grep -Eq " to  *$others hosts?\$" || return 1
    done
}

# For tests (lib.sh).  Nothing is left of the start, or of the case before;
# what switchmgrd logs from here on is fabric_log's.
fabric_settles() {
    local k
    wait_for 90 fabric_is_configured
    wait_for 90 fabric_is_all_up
    for k in $FABRIC_NODES; do wait_for 90 is_idle "$k"; done
    fabric_before=$(wc -l <"$CLUSTER/log/switchmgrd.log")
}
fabric_log() {
    tail -n "+$((fabric_before + 1))" "$CLUSTER/log/switchmgrd.log"
}

# "FROM:NODE N" of each who reports to switchmgrd: reports that it took.  (Where
# run.ctl leads to is not there inside of a place.)
fabric_reports() {
    python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(b"{\"verb\": \"reporters\"}\n")
for r in json.loads(s.makefile().readline())["reporters"]:
    print(r["from"] + ":" + r["node"], r["accepted"])' \
        "$CLUSTER/run.ctl/switchmgrd.sock"
}
reports_of() { awk -v who="$1" '$1 == who { n = $2 } END { print n + 0 }'; }
has_reported() { [ "$(fabric_reports | reports_of "$1")" -ge "$2" ]; }

# fabric_hears N FROM:NODE..: until switchmgrd has had N more reports of each,
# and so has judged them all as often.  They come each HealthInterval at the
# most often, changes each second.
fabric_hears() {
    local n=$1 before who
    shift
    before=$(fabric_reports)
    for who; do
        wait_for $((n * 20)) has_reported "$who" \
            $((n + $(reports_of "$who" <<<"$before")))
    done
}

# fabric_pids NAME: all processes of that name.
fabric_pids() {
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && echo "$pid"
    done
    return 0
}

# fabric_pid NODE hsnd|mapperd: its process.
fabric_pid() {
    local pid conf=hsn
    [ "$2" = mapperd ] && conf=mapper
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
            grep -q "^[^ ]*/$2 -f $CLUSTER/etc.fabric/$conf.$1 \$" &&
            echo "$pid" && return 0
    done
    return 1
}
