# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A simulated InfiniBand fabric on an embedded cluster without any plugin of
# ours: ibsim, OpenSM and one mapperd on n0, switchmgrd on the controller.
# Needs $MINISLURM, $CLUSTER, $STAGE.  IB_NET, IB_EDIT, IB_SWITCHMGR: another net
# file, what sed does to this one, and lines more of switchmgr.conf;
# IB_DEFAULTS=1: nothing is judged faster than by default.
#
#     n0 n1      n2 n3          n3 has two adapters
#     leaf0       leaf1         each leaf has a cable to each spine
#        spine0 spine1
. "$(dirname "${BASH_SOURCE[0]}")/mini/patience.sh"
. "$(dirname "${BASH_SOURCE[0]}")/fabric.sh"

fabric_is_configured() { :; } # routes are OpenSM's

ib_missing() { # what this machine lacks; nothing: it can be done
    local sim
    command -v ibsim >/dev/null || echo ibsim
    command -v opensm >/dev/null || echo opensm
    sim=$(echo /usr/lib/*/umad2sim/libumad2sim.so)
    [ -e "$sim" ] || echo umad2sim
    "$STAGE/libexec/slurm-fabric/mapperd" --prober=ib --map-once 2>&1 |
        grep -q 'built without' && echo "a mapperd with libibumad"
    return 0
}

# Guids: leaf0 1001, leaf1 1002, spine0 2001, spine1 2002; hosts below 0x200.
ib_write_net() {
    # Enabled are all lanes (w) and speeds (s) that ibsim's ports support.
    sed -e '/^\[/s/$/ w=31 s=7/' -e "${IB_EDIT-}" >"$CLUSTER/ib.net" <<NET
switchguid=0x1001
Switch 8 "S-0000000000001001" # "leaf0"
[1] "H-0000000000000100"[1]
[2] "H-0000000000000110"[1]
[5] "S-0000000000002001"[1]
[6] "S-0000000000002002"[1]

switchguid=0x1002
Switch 8 "S-0000000000001002" # "leaf1"
[1] "H-0000000000000120"[1]
[2] "H-0000000000000130"[1]
[3] "H-0000000000000140"[1]
[5] "S-0000000000002001"[2]
[6] "S-0000000000002002"[2]

switchguid=0x2001
Switch 4 "S-0000000000002001" # "spine0"
[1] "S-0000000000001001"[5]
[2] "S-0000000000001002"[5]

switchguid=0x2002
Switch 4 "S-0000000000002002" # "spine1"
[1] "S-0000000000001001"[6]
[2] "S-0000000000001002"[6]

caguid=0x100
Ca 1 "H-0000000000000100" # "n0 mlx5_0"
[1] "S-0000000000001001"[1]

caguid=0x110
Ca 1 "H-0000000000000110" # "n1 mlx5_0"
[1] "S-0000000000001001"[2]

caguid=0x120
Ca 1 "H-0000000000000120" # "n2 mlx5_0"
[1] "S-0000000000001002"[1]

caguid=0x130
Ca 1 "H-0000000000000130" # "n3 mlx5_0"
[1] "S-0000000000001002"[2]

caguid=0x140
Ca 1 "H-0000000000000140" # "n3 mlx5_1"
[1] "S-0000000000001002"[3]
${IB_MORE-}
NET
}

ib_write_confs() {
    local quick=()
    [ "${IB_DEFAULTS-}" ] || quick=(TableInterval=1 UpAfter=1 DegradeAfter=0
        FlapCount=0 HsndStale=3 MapperStale=10 StartGrace=0 DrainAfter=1
        ResumeAfter=1 DrainPercent=50 DrainMax=1000 BusyGrace=0)
    printf '%s\n' Prober=ib Sweep=1 NodeName=n0 \
        "MungeSocket=$CLUSTER/munge.n0/munge.socket" \
        "Health=$CLUSTER/reports.sock" "MapFile=$CLUSTER/map.ib" \
        ${IB_MAPPER-} >"$CLUSTER/etc.fabric/mapper.n0"
    printf '%s\n' Listen= User=nobody \
        "MungeSocket=$CLUSTER/munge.ctl/munge.socket" \
        "SlurmConf=$CLUSTER/etc/slurm.conf" \
        "StateDir=$CLUSTER/switchmgr.state" \
        "ReportSocket=$CLUSTER/reports.sock" \
        SlurmPoll=1 "${quick[@]}" ${IB_SWITCHMGR-} \
        >"$CLUSTER/etc.fabric/switchmgr.conf"
}

# ib_inside PROGRAM..: with this adapter of the simulation, by its GUID.
ib_inside() { # GUID COMMAND..
    local guid=$1
    shift
    env IBSIM_SOCKNAME="ib.${CLUSTER##*/}" SIM_HOST="H-0000000000000$guid" \
        LD_PRELOAD="$(echo /usr/lib/*/umad2sim/libumad2sim.so)" "$@"
}

ib_start_sim() {
    [ -p "$CLUSTER/ibsim.in" ] || mkfifo "$CLUSTER/ibsim.in"
    # An ibsim whose input ends spins; this one's never does.
    fabric_daemon n0 ibsim.log env IBSIM_SOCKNAME="ib.${CLUSTER##*/}" \
        bash -c 'exec ibsim -s "$1" <>"$2"' ibsim "$CLUSTER/ib.net" \
        "$CLUSTER/ibsim.in"
    wait_until 60 grep -q MaxMcastCap "$CLUSTER/log/ibsim.log"
}

ib_start_sm() { # [GUID]
    mkdir -p "$CLUSTER/osm.${1-110}"
    fabric_daemon n0 opensm.log env OSM_TMP_DIR="$CLUSTER/osm.${1-110}" \
        OSM_CACHE_DIR="$CLUSTER/osm.${1-110}" \
        IBSIM_SOCKNAME="ib.${CLUSTER##*/}" \
        SIM_HOST="H-0000000000000${1-110}" \
        LD_PRELOAD="$(echo /usr/lib/*/umad2sim/libumad2sim.so)" \
        opensm -s 1 -f "$CLUSTER/log/osm.${1-110}.log"
}

ib_start_mapperd() { # [GUID NAME]: by that adapter, with mapper.NAME
    fabric_daemon n0 "mapperd.${2-ib}.log" env \
        IBSIM_SOCKNAME="ib.${CLUSTER##*/}" \
        SIM_HOST="H-0000000000000${1-100}" \
        LD_PRELOAD="$(echo /usr/lib/*/umad2sim/libumad2sim.so)" \
        "$STAGE/libexec/slurm-fabric/mapperd" \
        -f "$CLUSTER/etc.fabric/mapper.${2-n0}"
}

ib_up() {
    mkdir -p "$CLUSTER/switchmgr.state" "$CLUSTER/log"
    [ "${IB_NET-}" ] && cp "$IB_NET" "$CLUSTER/ib.net" || ib_write_net
    ib_write_confs
    ib_start_sim || return 1
    ib_start_sm
    fabric_program ctl switchmgrd.log switchmgrd
    ib_start_mapperd
}

# ib_fault WORDS: a command of ibsim's console.
ib_fault() {
    echo "$*" >"$CLUSTER/ibsim.in"
}

# ib_pull GUID PORT, ib_plug GUID PORT: a cable of a switch.
ib_pull() { ib_fault "Unlink \"S-000000000000$1\"[$2]"; }
ib_plug() { ib_fault "ReLink \"S-000000000000$1\"[$2]"; }
