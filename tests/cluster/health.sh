# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of fabric health share: switchmgrd on the host ctl, and
# scripted reporters on the nodes that speak every second.
REPORT=$SF_TOP_BUILDDIR/tests/cluster/fabric_report
SWITCHMGRD=$STAGE/libexec/slurm-fabric/switchmgrd
SFABRIC=$STAGE/bin/sfabric
FEATURES=fabric_up,fabric_degraded,fabric_down

# switchmgr_conf LINE..: more lines of switchmgr.conf, over quick defaults.
switchmgr_conf() {
    {
        echo "Listen="
        echo "User=nobody"
        echo "MungeSocket=$CLUSTER/munge.ctl/munge.socket"
        echo "SlurmConf=$SLURM_CONF"
        echo "StateDir=$CLUSTER/switchmgr.state"
        echo "ReportSocket=$CLUSTER/reports.sock"
        echo "SlurmPoll=1"
        echo "TableInterval=1"
        echo "UpAfter=1"
        echo "DegradeAfter=0"
        echo "FlapCount=0"
        echo "HsndStale=10" # they speak every second
        echo "StartGrace=0"
        echo "DrainAfter=1"
        echo "ResumeAfter=1"
        echo "DrainPercent=50"
        echo "DrainMax=1000" # the cases of a script drain more than eight
        echo "BusyGrace=0"
        printf '%s\n' "$@"
    } >"$CLUSTER/switchmgr.lines"
    # A later line replaces an earlier one of the same key.
    tac "$CLUSTER/switchmgr.lines" | awk -F= '!seen[$1]++' | tac \
        >"$CLUSTER/etc.fabric/switchmgr.conf"
}

switchmgr_log() {
    cat "$CLUSTER/log/switchmgrd.log"
}

switchmgr_start() {
    mkdir -p "$CLUSTER/switchmgr.state"
    "$MINISLURM" exec --dir "$CLUSTER" --on ctl --as root -- "$SWITCHMGRD" \
        >>"$CLUSTER/log/switchmgrd.log" 2>&1 </dev/null &
    echo $! >"$case_tmp/switchmgrd.pid"
    wait_for 10 switchmgr_ready
}

switchmgr_ready() {
    sfabric events
}

# fabric WORD..: sfabric on ctl; see capture.
fabric() {
    run_as_root ctl "$SFABRIC" "$@"
}

# Pids of switchmgrd inside this cluster (updater, then collector).
switchmgr_pids() {
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = switchmgrd ] && echo "$pid"
    done
    return 0
}

no_switchmgrd() {
    [ -z "$(switchmgr_pids)" ]
}

switchmgr_stop() {
    local pid
    for pid in $(switchmgr_pids); do
        pidkill "${1:-TERM}" "$pid"
    done
    wait_for 15 no_switchmgrd
}

sfabric() {
    "$MINISLURM" exec --dir "$CLUSTER" --on ctl --as root -- "$SFABRIC" "$@"
}

# reporter NODE: a reporter on NODE; its script is "$case_tmp/say.NODE", read
# again every half second; what it says last is its state.
reporter() {
    local node=$1
    [ -e "$CLUSTER/say.$node" ] || echo 'hsnd up' >"$CLUSTER/say.$node"
    : >"$CLUSTER/speaks.$node"
    (
        while [ -e "$CLUSTER/speaks.$node" ]; do
            cat "$CLUSTER/say.$node" || break
            sleep 0.5
        done
    ) 2>/dev/null | "$MINISLURM" exec --dir "$CLUSTER" --on "$node" --as root \
        -- "$REPORT" "$CLUSTER/reports.sock" "$node" \
        "$CLUSTER/munge.$node/munge.socket" \
        >"$CLUSTER/log/report.$node.log" 2>&1 &
}

say() {
    local node=$1
    shift
    echo "$*" >"$CLUSTER/say.$node.new"
    mv "$CLUSTER/say.$node.new" "$CLUSTER/say.$node"
}

all_say() {
    local node
    for node in n0 n1 n2 n3; do say "$node" "$@"; done
}

silence() {
    rm -f "$CLUSTER/speaks.$1"
    wait_for 10 not_speaking "$1"
}

not_speaking() {
    ! pgrep -f "^$REPORT $CLUSTER/reports.sock $1 " >/dev/null
}

node_field() { # NODE FIELD
    scontrol show node "$1" | grep -oE "\b$2=[^ ]*" | head -1 | cut -d= -f2-
}

extra_has() { # NODE WORDS
    scontrol show node "$1" | grep -E '^ *Extra=' | grep -qF -- "$2"
}

active_features_are() {
    [ "$(node_field "$1" ActiveFeatures)" = "$2" ]
}

reason_of() {
    sinfo -h -n "$1" -o %E
}

# health_up: four nodes with a reporter each, switchmgrd, metrics served.
health_up() {
    health_nodes_up
    health_begin
}

health_nodes_up() { # WORD.. for cluster_up
    cluster_up --nodes 4 --switch elan \
        --node-conf "Features=gpu,$FEATURES" "$@"
}

health_begin() { # LINE.. of switchmgr.conf
    local node
    switchmgr_conf MetricsListen=127.0.0.1:0 "$@"
    run_as_root ctl scontrol reconfigure # slurmctld reads switchmgr.conf
    switchmgr_start
    for node in n0 n1 n2 n3; do reporter $node; done
}

sfabric_says() {
    sfabric why "$1" | grep -q "$2"
}

log_of_switchmgrd_has() {
    switchmgr_log | grep -q "$1"
}

# Since switchmgrd began, which a case before may just have done.
all_healthy() {
    sfabric -h | grep -Eq '^healthy +4 '
}

# -t idle would take those that are drained, too.
all_idle() {
    [ "$(sinfo -h -o '%T %D')" = "idle 4" ]
}

# Both processes take up another configuration.
reread() { # LINE..
    local before
    before=$(times_read)
    switchmgr_conf MetricsListen=127.0.0.1:0 "$@"
    pidkill HUP "$(switchmgr_pids | head -1)"
    wait_for 10 read_more_than "$before"
}

times_read() {
    switchmgr_log | grep -c 'switchmgr.conf read again'
}

read_more_than() {
    [ "$(times_read)" -gt "$1" ]
}

runs_on() { # NODE
    run_as_user srun -N1 -w "$1" true
    [ "$code" = 0 ]
}

# page_gives PATH: what it serves there, into $out.
page_gives() {
    local port
    port=$(sed -n 's/.*metrics at 127.0.0.1:\([0-9]*\)$/\1/p' \
        "$CLUSTER/log/switchmgrd.log" | tail -n 1)
    run_as_root ctl python3 -c '
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())' \
        "http://127.0.0.1:$port$1"
}
metrics() { page_gives /metrics; }
