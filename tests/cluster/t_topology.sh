#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A real slurmctld loads the topology.conf of every bench net; what our
# checker calls fatal ends it, what it calls logged does not.
. "$(dirname "$0")/lib.sh"
need_stage
TOPO=$SF_TOP_BUILDDIR/tests/cluster/topo_conf
[ -x "$TOPO" ] || skip_all "topo_conf is not built"
cluster_up --nodes 1 --switch none

# Hosts of the nets, that no slurmd stands behind.
conf=$CLUSTER/etc/slurm.conf
topology=$CLUSTER/etc/topology.conf
echo "NodeName=h[0-8191] State=FUTURE" >>"$conf"
sed -i '/^TopologyPlugin=/d' "$conf"
echo "TopologyPlugin=topology/tree" >>"$conf"

# with_topology: slurmctld anew, with what stands on stdin (n0 added).
with_topology() {
    cat >"$topology"
    daemon stop slurmctld >/dev/null 2>&1 || daemon kill slurmctld >/dev/null 2>&1
    : >"$CLUSTER/log/slurmctld.log"
    daemon start slurmctld >/dev/null 2>&1
}

is_up() { timeout 5 scontrol ping | grep -q 'is UP'; }

loads() { # NET LINES
    "$TOPO" write "$1" >"$case_tmp/conf"
    capture "$TOPO" check "$case_tmp/conf"
    assert_code 0
    with_topology <"$case_tmp/conf"
    wait_for 60 is_up
    capture scontrol show topology
    assert_output '^SwitchName=' "$2"
    capture scontrol show topology h17
    assert_output '^SwitchName=s1_.* Nodes=h\['
    capture scontrol reconfigure
    assert_code 0
    wait_for 60 is_up
    # It misses the hosts that this net has not; no other complaint.
    capture grep -E 'error: .*([Tt]opolog|[Ss]witch)' \
        "$CLUSTER/log/slurmctld.log"
    assert_output 'switches lack access to' "$(grep -c . <<<"$out")"
    return 0
}

case_c64_loads() { loads C64 9; }
case_c512_loads() { loads C512 73; }
case_c2048_loads() { loads C2048 137; }
case_c8192_loads() { loads C8192 545; }
case_torus_loads() { loads torus:5x4 21; }

# ends TEXT: our checker refuses it, and slurmctld indeed ends.
ends() {
    printf '%b' "$1" >"$case_tmp/conf"
    capture "$TOPO" check "$case_tmp/conf"
    assert_code 1
    assert_output '^fatal'
    with_topology <"$case_tmp/conf"
    wait_for 20 log_has slurmctld.log 'fatal: '
}

case_both_nodes_and_switches() {
    ends 'SwitchName=a Nodes=h1\nSwitchName=b Nodes=h2 Switches=a\n'
}
case_neither_nodes_nor_switches() {
    ends 'SwitchName=a Nodes=h1\nSwitchName=b LinkSpeed=3\n'
}
case_one_name_twice() {
    ends 'SwitchName=a Nodes=h1\nSwitchName=a Nodes=h2\n'
}
case_child_without_a_line() {
    ends 'SwitchName=a Nodes=h1\nSwitchName=b Switches=c\n'
}
case_its_own_child() {
    ends 'SwitchName=a Nodes=h1\nSwitchName=b Switches=b\n'
}
case_a_cycle() {
    ends 'SwitchName=a Nodes=h1\nSwitchName=b Switches=c\nSwitchName=c Switches=b\n'
}
case_unknown_key() { ends 'SwitchName=a Nodes=h1 Colour=red\n'; }

# lives TEXT: our checker lets it pass, slurmctld starts.
lives() {
    printf '%b' "$1" >"$case_tmp/conf"
    capture "$TOPO" check "$case_tmp/conf"
    assert_code 0
    with_topology <"$case_tmp/conf"
    wait_for 20 is_up
}
case_node_on_two_leaves_is_only_logged() {
    lives 'SwitchName=a Nodes=h1,n0\nSwitchName=b Nodes=h1\nSwitchName=c Switches=a,b\n'
}
case_two_roots_are_only_logged() {
    lives 'SwitchName=a Nodes=h1,n0\nSwitchName=b Nodes=h2\n'
}
case_two_parents_are_only_logged() {
    lives 'SwitchName=a Nodes=h1,n0\nSwitchName=b Switches=a\nSwitchName=c Switches=a\n'
}
case_slurms_own_spelling() {
    lives 'switchname=a NODES=h[1-3],n0 \\\n linkspeed=4 # leaf\n'
}
run_cases
