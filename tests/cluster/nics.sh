# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# NICs on an embedded cluster without any plugin or fabric of ours: a tree such
# as sysfs has for each node, below $CLUSTER/nic.NODE, nicd on each node and
# switchmgrd on the controller.  Each node has mlx5_0, InfiniBand, and mlx5_1,
# RoCE, in front of eth1, and eth0, which is for management.
# NIC_SWITCHMGR, NIC_CONF: lines more of switchmgr.conf and of each nicd.conf.
. "$(dirname "${BASH_SOURCE[0]}")/mini/patience.sh"
. "$(dirname "${BASH_SOURCE[0]}")/fabric.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../nic_tree.sh"

# There is no fabric that would have to be configured (fabric_settles).
fabric_is_configured() { :; }

nics_write_trees() {
    local k root
    for k in $FABRIC_NODES; do
        root=$CLUSTER/nic.$k
        nic_infiniband "$root" mlx5_0 MT4123 "0000000000000${k#n}10"
        nic_roce "$root" mlx5_1 MT4125 eth1 "0c:42:a1:00:00:0${k#n}"
        nic_interface "$root" eth0 "02:00:00:00:00:0${k#n}" 1000
    done
    chmod -R a+rX "$CLUSTER"/nic.*
}

nics_write_confs() {
    local k
    for k in $FABRIC_NODES; do
        printf '%s\n' "Root=$CLUSTER/nic.$k" "Health=$CLUSTER/reports.sock" \
            "MungeSocket=$CLUSTER/munge.$k/munge.socket" "NodeName=$k" \
            HealthInterval=1 LinkWait=2 VanishAfter=3 ${NIC_CONF-} \
            >"$CLUSTER/etc.fabric/nicd.$k"
    done
    printf '%s\n' Listen= User=nobody ServiceUser=nobody \
        "MungeSocket=$CLUSTER/munge.ctl/munge.socket" \
        "SlurmConf=$CLUSTER/etc/slurm.conf" \
        "StateDir=$CLUSTER/switchmgr.state" StateInterval=1 \
        "ReportSocket=$CLUSTER/reports.sock" \
        SlurmPoll=1 TableInterval=1 UpAfter=1 DegradeAfter=0 \
        FlapCount=0 NicStale=5 StartGrace=0 DrainAfter=1 \
        ResumeAfter=1 DrainPercent=50 DrainMax=1000 BusyGrace=0 \
        ${NIC_SWITCHMGR-} >"$CLUSTER/etc.fabric/switchmgr.conf"
}

# As an ordinary user without any right, as its unit does.
nics_start_nicd() { # NODE
    local as=()
    command -v setpriv >/dev/null && as=(setpriv --reuid=nobody --clear-groups
        --no-new-privs --inh-caps=-all --bounding-set=-all)
    fabric_daemon "$1" "nicd.$1.log" "${as[@]}" \
        "$STAGE/libexec/slurm-fabric/nicd" -f "$CLUSTER/etc.fabric/nicd.$1"
}

nics_up() {
    local k
    mkdir -p "$CLUSTER/switchmgr.state" "$CLUSTER/log"
    nics_write_trees
    nics_write_confs
    fabric_program ctl switchmgrd.log switchmgrd
    for k in $FABRIC_NODES; do nics_start_nicd "$k"; done
}
