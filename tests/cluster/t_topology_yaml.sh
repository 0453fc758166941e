#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# topology.yaml as `sfabric topology` makes it, in a real slurmctld of 25.05 or
# later: the Slurm that this build is for, or the prefixes in SF_YAML_SLURMS.
. "$(dirname "$0")/lib.sh"
[ -x "$SF_TOP_BUILDDIR/src/sfabric/sfabric" ] || skip_all "sfabric is not built"

prefixes=()
for prefix in ${SF_YAML_SLURMS-} "$SF_SLURM"; do
    version=$("$prefix/sbin/slurmctld" -V 2>/dev/null) || continue
    [ "$(printf '%s\n25.05\n' "${version##* }" | sort -V | head -n 1)" = 25.05 ] &&
        prefixes+=("$prefix")
done
# Four leaves of two hosts: n0 and n4, n1 and n5 ...
net() {
    cat <<'NET'
host n0 0060dd470000
host n1 0060dd470001
host n2 0060dd470002
host n3 0060dd470003
host n4 0060dd470004
host n5 0060dd470005
host n6 0060dd470006
host n7 0060dd470007
xbar leaf0 8
xbar leaf1 8
xbar leaf2 8
xbar leaf3 8
xbar spine 8
cable n0 leaf0:0
cable n1 leaf1:0
cable n2 leaf2:0
cable n3 leaf3:0
cable n4 leaf0:1
cable n5 leaf1:1
cable n6 leaf2:1
cable n7 leaf3:1
cable leaf0:6 spine:0
cable leaf1:6 spine:1
cable leaf2:6 spine:2
cable leaf3:6 spine:3
NET
}

# loads_and_places PREFIX BLOCK PAIRS [OPTION..]: topology.yaml as `sfabric
# topology` makes it with these options has that block with n0, and a job of two
# nodes lands on one of the pairs.
loads_and_places() {
    local yaml block=$2 pairs=$3 prefix=$1
    shift 3
    set -- "$prefix" "$@"
    PATH=$1/bin:$1/sbin:$PATH
    cluster_up --nodes 8 --cpus 1 --switch none --slurm "$1" \
        --stage "$case_tmp/none"
    yaml=$CLUSTER/etc/topology.yaml
    net >"$case_tmp/a.net"
    "$SF_TOP_BUILDDIR/src/sfabric/sfabric" topology "${@:2}" \
        "$case_tmp/a.net" >"$yaml" ||
        fail "no topology.yaml"
    sed -i '/^PartitionName=/d' "$SLURM_CONF"
    cat >>"$SLURM_CONF" <<'CONF'
PartitionName=all Nodes=ALL Default=YES State=UP Topology=fabric
PartitionName=blocks Nodes=ALL State=UP Topology=blocks
CONF
    "$MINISLURM" daemon --dir "$CLUSTER" stop slurmctld
    "$MINISLURM" daemon --dir "$CLUSTER" start slurmctld
    wait_for 30 scontrol ping
    capture scontrol show topology fabric
    assert_output 'SwitchName=s2_0060dd470000 .*'
    assert_output 'SwitchName=s1_0060dd470000 .*Nodes=n\[0,4\]'
    capture scontrol show topology blocks
    assert_output "BlockName=$block"
    # Neighbours by number are not neighbours by cable: two nodes of one block.
    run_as_user srun -p blocks -N2 --segment=2 sh -c 'echo $SLURMD_NODENAME'
    assert_code 0
    [[ " $pairs " = *" $(sort <<<"$out" | paste -sd,) "* ]] ||
        fail "two nodes that are not one block: $out"
    cluster_down
}

with_each() { # as loads_and_places, without the prefix
    local prefix
    [ ${#prefixes[@]} -gt 0 ] ||
        skip "no Slurm 25.05 or later (SF_YAML_SLURMS=PREFIX.. names one)"
    for prefix in "${prefixes[@]}"; do
        echo "# $("$prefix/sbin/slurmctld" -V)"
        (loads_and_places "$prefix" "$@") || return 1
    done
}

case_a_job_is_placed_inside_a_block() { # SL-27
    with_each 's1_0060dd470000 .*Nodes=n\[0,4\]' 'n0,n4 n1,n5 n2,n6 n3,n7'
}

# Across the leaves, which no cable says.
case_a_job_is_placed_inside_a_domain() { # SL-27
    printf '# NVLink\nrack%d n%d,n%d\n' 1 0 5 2 1 4 3 2 7 4 3 6 \
        >"$case_tmp/domains"
    with_each 'rack1 .*Nodes=n\[0,5\]' 'n0,n5 n1,n4 n2,n7 n3,n6' \
        --domains "$case_tmp/domains"
}

run_cases
