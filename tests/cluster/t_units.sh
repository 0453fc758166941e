#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The fabric with daemons that have the users and capabilities of their units,
# and none besides.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/hsnd \
    libexec/slurm-fabric/swfabd libexec/slurm-fabric/mapperd \
    libexec/slurm-fabric/switchmgrd bin/sfabric
command -v setpriv >/dev/null || skip_all "no setpriv"
why=$("$MINISLURM" why-plain)
[ -z "$why" ] || skip_all "nodes with files of their own are needed: $why"
. "$SF_TOP_SRCDIR/tests/cluster/fabric.sh"
cluster_up --nodes 4 --switch elan --node-conf "Features=$FABRIC_FEATURES"
PING=$SF_TOP_BUILDDIR/tests/cluster/elan_ping

# The users of dist/sysusers, on every node.
make_users() {
    local place name id=64900
    cp /etc/passwd /etc/group "$CLUSTER"
    for name in $(awk '$1 == "u" { print $2 }' \
        "$SF_TOP_SRCDIR/dist/sysusers/slurm-fabric.conf"); do
        sed -i "/^$name:/d" "$CLUSTER/passwd" "$CLUSTER/group"
        echo "$name:x:$id:$id::/:/usr/sbin/nologin" >>"$CLUSTER/passwd"
        echo "$name:x:$id:" >>"$CLUSTER/group"
        id=$((id + 1))
    done
    for place in ctl $FABRIC_NODES; do
        fabric_on "$place" mount --bind "$CLUSTER/passwd" /etc/passwd &&
            fabric_on "$place" mount --bind "$CLUSTER/group" /etc/group || return
    done
}
make_users >/dev/null 2>&1 || skip_all "no files of its own for a node here"

cat >"$CLUSTER/as" <<AS
#!/bin/sh
unit=$SF_TOP_SRCDIR/dist/\$1.service.in place=\$2
shift 2
exec "$SF_TOP_SRCDIR/tests/cluster/mini/as_unit" "\$unit" \
    "$CLUSTER/state.\$place" "\$@"
AS
chmod 755 "$CLUSTER/as"
FABRIC_AS=$CLUSTER/as
fabric_write_net
fabric_write_confs
# By default, but that this place of the controller is the nodes', too.
mkdir -m 755 "$CLUSTER/swfabd"
fabric_on ctl chown slurm-fabric-swfab: "$CLUSTER/swfabd"
sed -i "s,$CLUSTER/fabric,$CLUSTER/swfabd/fabric," \
    "$CLUSTER"/etc.fabric/{swfabd.conf,hsn.*}
sed -i /^User=/d "$CLUSTER/etc.fabric/switchmgr.conf"
# So is the socket of reports, in a directory where, as in its own of the unit,
# only switchmgrd's user may write.
mkdir -m 755 "$CLUSTER/switchmgrd"
fabric_on ctl chown slurm-fabric: "$CLUSTER/switchmgrd"
sed -i "s,$CLUSTER/reports.sock,$CLUSTER/switchmgrd/reports.sock," \
    "$CLUSTER"/etc.fabric/{switchmgr.conf,hsn.*,mapper.*}
for k in $FABRIC_NODES; do
    mkdir -p "$CLUSTER/state.$k/slurm-fabric/mapperd"
    {
        sed "s,^MapFile=.*,MapFile=$CLUSTER/state.$k/slurm-fabric/mapperd/map,
            /^StoredMap/d" "$CLUSTER/etc.fabric/mapper.$k"
        echo "PidDir=/run/slurm-fabric/mapperd"
    } >"$CLUSTER/mapper.new"
    mv "$CLUSTER/mapper.new" "$CLUSTER/etc.fabric/mapper.$k"
done
chmod 755 "$CLUSTER"/etc.fabric
chmod 644 "$CLUSTER"/etc.fabric/*
fabric_start

pids_of() { # NAME: in this cluster
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(cat "/proc/$pid/comm" 2>/dev/null)" = "$1" ] && echo "$pid"
    done
    return 0
}
# users_of NAME: user and effective capabilities of each such process
users_of() {
    local pid
    for pid in $(pids_of "$1"); do
        awk '$1 == "Uid:" { u = $3 } $1 == "CapEff:" { c = $2 }
            $1 == "CapBnd:" { b = $2 } $1 == "NoNewPrivs:" { n = $2 }
            END { print u, c, b, n }' "/proc/$pid/status"
    done | sort -u
}

case_the_fabric_comes_up_and_slurm_hears_of_it() {
    wait_for 60 fabric_is_configured || return
    wait_for 60 fabric_is_all_up
    for k in $FABRIC_NODES; do
        assert_equal 4 "$(grep -c '^xbar' \
            "$CLUSTER/state.$k/slurm-fabric/mapperd/map")" "crossbars of $k"
    done
}

case_each_daemon_is_who_its_unit_says() {
    assert_equal "64902 0000000000002000 0000000000002000 1" \
        "$(users_of swfabd)" swfabd
    assert_equal "64901 0000000000000000 0000000000000000 1" \
        "$(users_of mapperd)" mapperd
    assert_equal "0 0000000000002001 0000000000002001 1" "$(users_of hsnd)" hsnd
    assert_equal "0 00000000000000c1 00000000000000c1 1
64900 0000000000000000 00000000000000c1 1" "$(users_of switchmgrd)" switchmgrd
}

case_programs_attach_and_talk() {
    run_as_user srun -N4 -n8 --ntasks-per-node=2 "$PING" ping 64
    assert_code 0
    assert_output '^process [0-7]: all 7 answered, 0 wrong, 0 missing$' 8
}

case_a_fault_is_seen_and_heals() {
    fabric_on ctl ln -sfn "$CLUSTER/swfabd/fabric.ctl" "$CLUSTER/fabric.ctl"
    fabric_fault "down n2:0"
    wait_for 60 fabric_is n2 down
    fabric_fault "up n2:0"
    wait_for 90 fabric_is_all_up
}

case_maps_are_stored_for_the_next_start() {
    stored() {
        [ "$(find "$CLUSTER"/state.n?/slurm-fabric/mapperd -name 'mapperd-*.map' \
            -user 64901 | wc -l)" = 4 ]
    }
    wait_for 60 stored
}

# The first process has neither the user nor the capability to signal the other.
switchmgrd_of() { # USER: its process
    local pid
    for pid in $(pids_of switchmgrd); do
        [ "$(awk '$1 == "Uid:" { print $3 }' "/proc/$pid/status")" != "$1" ] ||
            echo "$pid"
    done
}
case_switchmgrd_is_reloaded_and_ends_by_its_first_process() {
    read_again() { grep -q 'switchmgr.conf read again' "$CLUSTER/log/switchmgrd.log"; }
    is_over() { [ -z "$(pids_of switchmgrd)" ]; }
    pidkill HUP "$(switchmgrd_of 0)"
    wait_for 60 read_again
    pidkill TERM "$(switchmgrd_of 0)"
    wait_for 60 is_over
}

run_cases
