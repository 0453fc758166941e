#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# topology.conf from the map, into a real slurmctld.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
cluster_up --nodes 4 --switch elan
TOPOLOGY=$CLUSTER/etc/topology.conf
MAP=$CLUSTER/map.net

# slurmctld wants the file when it starts.
echo 'SwitchName=flat Nodes=n[0-3]' >"$TOPOLOGY"
echo 'TopologyPlugin=topology/tree' >>"$SLURM_CONF"
daemon stop slurmctld
daemon start slurmctld
wait_for 20 scontrol ping
switchmgr_conf "TopologyConf=$TOPOLOGY" "TopologyMap=$MAP" TopologyInterval=1 \
    MetricsListen=127.0.0.1:0
switchmgr_start

switches() {
    scontrol show topology | grep -c '^SwitchName='
}

switches_are() {
    [ "$(switches)" = "$1" ]
}

# Each Slurm says so by what it sends to the nodes after it has read the file;
# that it has done all is said by 22.05 alone.
the_example_is_installed() {
    cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP"
    wait_for 60 switches_are 3
    wait_for 60 log_has slurmctld.log \
        'Spawning agent msg_type=(1003|REQUEST_RECONFIGURE)'
}

case_the_map_becomes_slurms_topology() { # SL-27
    assert_equal 1 "$(switches)" "switches at first"
    the_example_is_installed
    capture scontrol show topology
    assert_output 'Level=0 .*Nodes=n\[0-1\]'
    assert_output 'Level=0 .*Nodes=n\[2-3\]'
    run_as_user srun -N4 --switches=2 true
    assert_code 0
}

# How often the file was compared with what the map makes of it.
looks() {
    metrics
    sed -n 's/^slurm_fabric_topology_looks_total //p' <<<"$out"
}
has_looked() { [ "$(looks)" -ge "$1" ]; }

# The map that switchmgrd knows: a cable from leaf0's port 6 to this one.
map_has_spine_port() {
    page_gives /fabric.json
    python3 -c '
import json, sys
f = json.load(sys.stdin)
name = [x[0] for x in f["xbars"]]
ends = [[(name[l[0]], l[1]), (name[l[2]], l[3])] for l in f["links"]]
sys.exit(not any(("leaf0", 6) in e and ("spine", int(sys.argv[1])) in e
                 for e in ends))' "$1" <<<"$out"
}

times_reconfigured() {
    grep -c 'Processing Reconfiguration Request' "$CLUSTER/log/slurmctld.log"
}

case_what_does_not_change_is_not_installed() { # SL-27
    local inode times
    the_example_is_installed
    inode=$(stat -c %i "$TOPOLOGY") times=$(times_reconfigured)
    [ "$times" -gt 0 ] || fail "no word on the file that was installed"
    # Another spine port: nothing that placement should know.
    sed 's/leaf0:6 spine:0/leaf0:6 spine:5/' "$MAP" >"$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 60 map_has_spine_port 5
    wait_for 60 has_looked $(($(looks) + 3)) # the first may have been before
    assert_equal "$inode" "$(stat -c %i "$TOPOLOGY")" "inode of topology.conf"
    assert_equal "$times" "$(times_reconfigured)" "requests to reconfigure"
}

case_a_map_that_lacks_a_node_changes_nothing() { # SL-27
    the_example_is_installed
    grep -v n3 "$SF_TOP_SRCDIR/etc/swfab.net.example" >"$MAP.new"
    mv "$MAP.new" "$MAP"
    wait_for 10 event_says 'topology.conf stays: the map has no n3'
    assert_equal 3 "$(switches)" switches
}

event_says() {
    sfabric events | grep -q "$1"
}

# candidate_gives PATTERN LINE..: what is logged of it.  The last one of the map
# may still replace it.
candidate_gives() {
    local candidate=$CLUSTER/run.ctl/switchmgrd/topology.conf pattern=$1
    shift
    printf '%s\n' "$@" >"$candidate.test"
    mv "$candidate.test" "$candidate"
    log_has switchmgrd.log "$pattern"
}

case_a_broken_one_is_refused_before_slurm_sees_it() { # SL-27
    the_example_is_installed
    rm "$MAP"
    wait_for 60 candidate_gives 'SF-E707: line 1' \
        'SwitchName=a Nodes=n0 Switches=b'
    wait_for 60 candidate_gives 'SF-E707: line 2' \
        'SwitchName=a Nodes=n0' 'SwitchName=a Nodes=n1'
    scontrol ping >/dev/null || fail "slurmctld does not answer"
    assert_equal 3 "$(switches)" switches
}

case_another_cabling_is_taken_over() { # SL-27
    sed 's/cable n1 leaf0:1/cable n1 leaf1:2/' \
        "$SF_TOP_SRCDIR/etc/swfab.net.example" >"$MAP"
    wait_for 20 shows 'Nodes=n\[1-3\]'
}

# Slurm 22.05 reads topology.conf only: what is looked at is the file.
case_a_name_in_yaml_gets_yaml() { # SL-27
    local yaml=$CLUSTER/etc/topology.yaml
    cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP"
    switchmgr_stop
    rm -f "$yaml"
    switchmgr_conf "TopologyConf=$yaml" "TopologyMap=$MAP" TopologyInterval=1
    switchmgr_start
    wait_for 20 test -e "$yaml"
    assert_equal 1 "$(grep -c '^- topology: fabric$' "$yaml")" topologies
    assert_equal 1 "$(grep -c '^- topology: blocks$' "$yaml")" topologies
    assert_equal 4 "$(grep -c 'nodes: "n\[[02]-[13]\]"$' "$yaml")" \
        "leaves and blocks"
    rm "$MAP"
    wait_for 60 candidate_gives 'SF-E707: line 1 .*neither tree nor block' \
        '- topology: broken'
}

case_domains_are_the_blocks() { # SL-27
    local yaml=$CLUSTER/etc/topology.yaml domains=$CLUSTER/etc/domains
    cp "$SF_TOP_SRCDIR/etc/swfab.net.example" "$MAP"
    printf 'rack1 n[0-3]\n' >"$domains"
    switchmgr_stop
    rm -f "$yaml"
    switchmgr_conf "TopologyConf=$yaml" "TopologyMap=$MAP" TopologyInterval=1 \
        "TopologyDomains=$domains"
    switchmgr_start
    wait_for 60 grep -q 'block: rack1' "$yaml"
    assert_equal 1 "$(grep -c 'nodes: "n\[0-3\]"$' "$yaml")" "blocks of four"
    printf 'rack1 n[0-3]\nrack2 n3\n' >"$domains"
    wait_for 60 event_says 'domains:2: a node that is in a domain already: n3'
    assert_equal 1 "$(grep -c 'block: rack' "$yaml")" "blocks, as before"
}

shows() {
    scontrol show topology | grep -q "$1"
}

run_cases
