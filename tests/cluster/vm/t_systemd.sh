#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The units under a systemd that is process 1, as `make install` leaves them,
# with the example configuration, and a slurmctld.  In a guest only:
#     vm --systemd -- t_systemd.sh     (see vm/check)
# $SF_SITE is what `make install DESTDIR=` made; it is laid over the guest's
# files, which a memory disk takes.
set -u
. "${SF_TOP_SRCDIR:?}/tests/tap.sh"
[ "$(cat /proc/1/comm)" = systemd ] && [ -d /run/vm ] ||
    skip_all "not in a guest with systemd as process 1"
. "$top/tests/cluster/mini/patience.sh"
. "$top/tests/cluster/vm/soft_roce.sh"
conf=/etc/slurm-fabric

is() { # TEXT COMMAND..
    "${@:2}" >/tmp/out 2>&1
    result $? "$1" || {
        echo "${*:2}"
        cat /tmp/out
        [ -z "${unit-}" ] ||
            journalctl -u "$unit" -n 15 --no-pager -o cat | sed 's/^/  /'
    } | sed 's/^/# /'
}
value() { systemctl show -P "$1" "$unit"; }
has() { [ "$(value "$1")" = "$2" ]; } # PROPERTY VALUE
active() { wait_until 20 has ActiveState active; }
fails() { ! "$@"; }

install_it() {
    cp -a "${SF_SITE:?}/." / && mkdir -p $conf &&
        cp "$SF_TOP_SRCDIR"/etc/*.example $conf &&
        for f in $conf/*.example; do mv "$f" "${f%.example}"; done
    # What a site says: which node of the table this is, where reports go, and
    # a topology.conf, which is Slurm's.
    echo "Health=127.0.0.1" | tee -a $conf/hsn.conf $conf/nicd.conf \
        >>$conf/mapper.conf
    echo VerbsEvents=virtual >>$conf/nicd.conf
    echo MapFile=/var/lib/slurm-fabric/mapperd/map >>$conf/mapper.conf
    printf '%s\n' Nic=ring Fabric=/run/slurm-fabric/swfabd.sock >>$conf/hsn.conf
    printf '%s\n' UpAfter=0 StartGrace=0 TopologyInterval=2 \
        TopologyConf=/etc/slurm/topology.conf >>$conf/switchmgr.conf
    mkdir -p /etc/slurm /var/spool/slurmctld
    printf '%s\n' ClusterName=vm SlurmctldHost="$(hostname)" SlurmUser=root \
        AuthType=auth/munge StateSaveLocation=/var/spool/slurmctld \
        SlurmctldPidFile=/run/slurmctld.pid ProctrackType=proctrack/linuxproc \
        'NodeName=n0 NodeAddr=127.0.0.1 State=UNKNOWN Features=fabric_up,fabric_degraded,fabric_down' \
        'PartitionName=all Nodes=ALL' >/etc/slurm/slurm.conf
    echo 127.0.0.1 "$(hostname)" >>/etc/hosts
    ldconfig
    systemctl daemon-reload
}

# user_of UNIT: of its main process, as the kernel says
user_of() { stat -c %U "/proc/$(systemctl show -P MainPID "$1")"; }
has_caps() { # UNIT WORD: CapBnd
    [ "$(awk '$1 == "CapBnd:" { print $2 }' \
        "/proc/$(systemctl show -P MainPID "$1")/status")" = "$2" ]
}
refused_none() { # UNIT: it met no wall
    ! journalctl -u "$1" -o cat --no-pager | grep -iE 'not permitted|denied|SIGSYS'
}

each_is_behind_its_walls() {
    is "mapperd is its user" test "$(user_of mapperd)" = slurm-fabric-mapper
    is "swfabd is its user" test "$(user_of swfabd)" = slurm-fabric-swfab
    is "mapperd has no capability" has_caps mapperd 0000000000000000
    is "hsnd has two" has_caps hsnd 0000000000002001
    is "nicd is nobody important" test "$(user_of nicd)" = slurm-fabric
    is "nicd has no capability" has_caps nicd 0000000000000000
    for unit in swfabd hsnd mapperd nicd switchmgrd; do
        is "$unit has a filter of system calls" grep -qx 'Seccomp:.2' \
            "/proc/$(value MainPID)/status"
        is "$unit met no wall" refused_none "$unit"
        is "/etc is not to be written in $unit" fails nsenter -m \
            -t "$(value MainPID)" touch /etc/slurm-fabric/x
    done
    unit=
}

linked() { journalctl -u hsnd -o cat --no-pager | grep -qF 'link up: '; }
each_starts_and_serves() {
    for unit in munge swfabd hsnd mapperd nicd switchmgrd; do
        is "systemctl start $unit" systemctl start "$unit"
        is "$unit is active" active
        is "$unit needed no second start" has NRestarts 0
    done
    unit=hsnd
    is "hsnd is attached" wait_until 60 linked
    unit=mapperd
    is "mapperd says that the network is configured" wait_until 60 sfabric --timeout=10 local
    is "mapperd has mapped the fabric" wait_until 60 test -s /var/lib/slurm-fabric/mapperd/map
    is "what root left is its user's" \
        test "$(stat -c %U /var/lib/slurm-fabric/mapperd/old)" = slurm-fabric-mapper
    unit=switchmgrd
    # Slurm, which tells it the nodes, is not there yet.
    is "switchmgrd answers" sh -c 'sfabric --timeout=10 --json | grep -q hosts'
    is "its directories are those of its user" \
        test "$(stat -c %U /run/slurm-fabric/switchmgrd /var/lib/slurm-fabric/switchmgrd | sort -u)" = slurm-fabric
    unit=
}

# Its walls let what it starts open devices of verbs, and nothing else.
nicd_hears_events() {
    unit=nicd
    heard() { journalctl -u nicd -o cat --no-pager | grep -F "$1"; }
    if ! make_device >/tmp/device 2>&1; then
        result 0 "nicd hears events # SKIP no soft-RoCE: $(tail -n 1 /tmp/device)"
        return
    fi
    chmod 666 /dev/infiniband/* # udev's rules do
    systemctl restart nicd
    is "nicd hears events of a device" wait_until 60 heard 'events of rxe0 are heard'
    is "nicd met no wall on the way" refused_none nicd
    unit=
}

health_reaches_slurm() {
    systemctl start slurmctld
    unit=switchmgrd
    is "health reaches Slurm from behind the unit's walls" \
        wait_until 60 sh -c 'scontrol show node n0 | grep -q "Extra=fabric=up"'
    is "sfabric calls all healthy" wait_until 60 sfabric --timeout=10
    is "topology.conf can be written" wait_until 60 grep -q n0 /etc/slurm/topology.conf
    is "systemctl reload" systemctl reload switchmgrd
    is "it is active after the reload" active
    is "its collector is nobody important" \
        pgrep -u slurm-fabric -f libexec/slurm-fabric/switchmgrd
    is "/usr is not to be written in it" fails nsenter -m -t "$(value MainPID)" touch /usr/x
}

a_killed_one_is_started_again() {
    local was
    for unit in swfabd hsnd mapperd nicd switchmgrd; do
        was=$(value MainPID)
        systemctl kill -s KILL "$unit"
        other() { [ "$(value MainPID)" != "$was" ] && has ActiveState active; }
        is "$unit killed is started again" wait_until 20 other
    done
    unit=
    is "all find each other again" wait_until 60 sfabric --timeout=10 local
}

a_wrong_configuration_ends_it() { # UNIT FILE
    unit=$1
    cp "$conf/$2" /tmp/good
    echo NoSuchKey=1 >>"$conf/$2"
    systemctl reset-failed "$unit"
    systemctl start "$unit" 2>/dev/null
    is "$unit with a wrong $2 fails" wait_until 20 has ActiveState failed
    # It would be started again after a second.
    sleep "$(patience 1)"
    is "and is not started again" has NRestarts 0
    is "and stays so" has ActiveState failed
    cp /tmp/good "$conf/$2"
    systemctl reset-failed "$unit"
}

stopped_is_stopped() {
    for unit in switchmgrd nicd mapperd hsnd swfabd; do
        is "systemctl stop $unit" systemctl stop "$unit"
        is "$unit is inactive, not failed" has ActiveState inactive
    done
    unit=
    is "what it leaves in /run is there for the others" test -d /run/slurm-fabric
}

install_it >/tmp/install.log 2>&1
# What mapperd left when it was root, moved by a package.
mkdir -p /var/lib/slurm-fabric/mapperd && touch /var/lib/slurm-fabric/mapperd/old
is "make install's sysusers apply" systemd-sysusers
is "there is a user slurm-fabric" getent passwd slurm-fabric
each_starts_and_serves
each_is_behind_its_walls
nicd_hears_events
health_reaches_slurm
a_killed_one_is_started_again
stopped_is_stopped
a_wrong_configuration_ends_it hsnd hsn.conf
a_wrong_configuration_ends_it mapperd mapper.conf
a_wrong_configuration_ends_it switchmgrd switchmgr.conf
a_wrong_configuration_ends_it swfabd swfabd.conf
finish
