#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The health of nodes' NICs in Slurm, with nothing else of ours on them but
# nicd: what goes wrong in a node's sysfs is told by sinfo and sfabric, and is
# over when it is mended.
. "$(dirname "$0")/lib.sh"
need_stage libexec/slurm-fabric/nicd libexec/slurm-fabric/switchmgrd \
    bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/nics.sh"
cluster_up --nodes 4 --switch none --node-conf "Features=$FABRIC_FEATURES"
nics_up

says() { # PATTERN NODE: sfabric why
    run_as_root ctl "$STAGE/bin/sfabric" why "$2"
    grep -Eq "$1" <<<"$out"
}
others_are_well() { # NODE
    local k
    for k in $FABRIC_NODES; do
        [ "$k" = "$1" ] || { is_idle "$k" && fabric_is "$k" up; } ||
            fail "$k: $(fabric_log | grep "host $k")"
    done
}
told_once() { # NODE STATE
    assert_equal 1 "$(fabric_log | grep -cE "host $1 .*-> $2")" "times told"
}
kill_all() { # NAME
    local pid
    for pid in $(fabric_pids "$1"); do pidkill KILL "$pid"; done
}

case_a_port_without_a_link_is_drained_and_comes_back() { # SL-24
    fabric_settles
    nic_link "$CLUSTER/nic.n2" mlx5_0 1 down
    wait_for 60 is_drained n2
    capture sinfo -h -n n2 -o %E
    assert_output \
        '^switchmgrd: fabric rail 0 down \(mlx5_0/1 no link: Polling\) since 20'
    says 'mlx5_0/1 no link: Polling' n2 || fail "sfabric why: $out"
    others_are_well n2
    told_once n2 down
    nic_link "$CLUSTER/nic.n2" mlx5_0 1 up
    fabric_settles
}

# RoCE: the port says ACTIVE, the interface behind it is what is down.
case_the_interface_behind_a_port_counts() { # SL-24
    fabric_settles
    nic_write "$CLUSTER/nic.n1/sys/class/net/eth1/operstate" down
    wait_for 60 is_drained n1
    capture sinfo -h -n n1 -o %E
    assert_output '^switchmgrd: fabric rail 1 down \(mlx5_1/1 no link: down\)'
    nic_write "$CLUSTER/nic.n1/sys/class/net/eth1/operstate" up
    fabric_settles
}

case_a_device_that_vanishes_is_drained() { # SL-24
    local at=$CLUSTER/nic.n3/sys/class/infiniband
    fabric_settles
    mv "$at/mlx5_0" "$CLUSTER/nic.n3/away"
    wait_for 60 is_drained n3
    capture sinfo -h -n n3 -o %E
    assert_output '^switchmgrd: fabric rail 0 down \(mlx5_0/1 vanished\)'
    others_are_well n3
    mv "$CLUSTER/nic.n3/away" "$at/mlx5_0"
    fabric_settles
}

# Degraded is not down: shown, and nobody's drain.
case_half_the_width_is_shown_and_drains_nobody() { # SL-24
    fabric_settles
    nic_set "$CLUSTER/nic.n1" mlx5_0 1 rate '25 Gb/sec (1X EDR)'
    wait_for 60 fabric_is n1 degraded
    says 'mlx5_0/1 runs 1x of 4x' n1 || fail "sfabric why: $out"
    is_idle n1 || fail "n1 is $(sinfo -h -n n1 -o '%T %E')"
    nic_set "$CLUSTER/nic.n1" mlx5_0 1 rate '100 Gb/sec (4X EDR)'
    fabric_settles
}

case_errors_are_shown_with_rate_and_limit() { # SL-24
    local n=0
    fabric_settles
    while ! fabric_is n2 degraded && [ $n -lt 60000 ]; do
        nic_set "$CLUSTER/nic.n2" mlx5_0 1 counters/symbol_error $((n += 500))
        sleep 1
    done
    says 'mlx5_0/1 symbol errors [0-9]+/s > 10/s' n2 || fail "why: $out"
    capture scontrol show node n2
    assert_output 'Extra=.*why=mlx5_0/1_symbol_errors_[0-9]+/s_>'
    is_idle n2 || fail "n2 is $(sinfo -h -n n2 -o '%T %E')"
    told_once n2 degraded
    nic_set "$CLUSTER/nic.n2" mlx5_0 1 counters/symbol_error 0 # a new driver
    wait_for 120 fabric_is n2 up
    fabric_settles
}

case_a_management_interface_is_left_alone() { # SL-24
    fabric_settles
    nic_write "$CLUSTER/nic.n0/sys/class/net/eth0/operstate" down
    nic_link "$CLUSTER/nic.n2" mlx5_0 1 down # when this is seen, so would that
    wait_for 60 is_drained n2
    others_are_well n2
    nic_write "$CLUSTER/nic.n0/sys/class/net/eth0/operstate" up
    nic_link "$CLUSTER/nic.n2" mlx5_0 1 up
    fabric_settles
}

# A reboot: nicd begins anew, and its port has no link.  What it was like before
# switchmgrd knows.
case_a_cable_lost_over_a_reboot_is_told() { # SL-24
    local pid
    fabric_settles
    for pid in $(fabric_pids nicd); do
        grep -qa "nicd.n2" "/proc/$pid/cmdline" && pidkill KILL "$pid"
    done
    nic_link "$CLUSTER/nic.n2" mlx5_0 1 down
    nics_start_nicd n2
    wait_for 60 is_drained n2
    others_are_well n2
    nic_link "$CLUSTER/nic.n2" mlx5_0 1 up
    fabric_settles
}

case_all_daemons_started_again_drain_nobody() { # SL-24
    local k
    fabric_settles
    nic_link "$CLUSTER/nic.n3" mlx5_1 1 down
    wait_for 60 is_drained n3
    kill_all nicd
    kill_all switchmgrd
    nic_set "$CLUSTER/nic.n1" mlx5_0 1 counters/symbol_error 60000
    fabric_program ctl switchmgrd.log switchmgrd
    for k in $FABRIC_NODES; do nics_start_nicd "$k"; done
    wait_for 60 says 'nicd *says down \(mlx5_1/1 no link' n3
    is_drained n3 || fail "n3 is $(sinfo -h -n n3 -o '%T %E')"
    others_are_well n3
    assert_empty "$(fabric_log | grep -E 'host n[012] .*-> (down|degraded)')" \
        "what was told"
    nic_link "$CLUSTER/nic.n3" mlx5_1 1 up
    fabric_settles
}

collector_waits() { [ -n "$(find "${1%/*}" -name 'disk.*' -user nobody)" ]; }
# The state is written each second, and waits for the disk.  Slurm is told when
# what we want of it is on the disk, so as to know later what was ours.
case_a_disk_that_stands_still_holds_up_no_report() { # SL-24
    local slow=$WORK/slow/disk
    fabric_settles
    mkdir -m 777 "${slow%/*}"
    kill_all switchmgrd
    fabric_daemon ctl switchmgrd.log env SLOW_DISK="$slow" \
        LD_PRELOAD="$SF_TOP_BUILDDIR/tests/cluster/slow_disk.so" \
        "$STAGE/libexec/slurm-fabric/switchmgrd"
    fabric_settles # it has read its history
    touch "$slow"
    wait_for 60 collector_waits "$slow"
    nic_link "$CLUSTER/nic.n1" mlx5_0 1 down
    wait_for 60 says 'nicd *says down \(mlx5_0/1 no link' n1
    is_drained n1 && fail "n1 is drained, and that is nowhere on the disk"
    rm "$slow"
    wait_for 60 is_drained n1
    nic_link "$CLUSTER/nic.n1" mlx5_0 1 up
    kill_all switchmgrd
    fabric_program ctl switchmgrd.log switchmgrd
    fabric_settles
}

case_an_admins_drain_stays() { # SL-24
    fabric_settles
    scontrol update nodename=n0 state=drain reason='bad fan'
    nic_link "$CLUSTER/nic.n0" mlx5_0 1 down
    wait_for 60 fabric_is n0 down
    nic_link "$CLUSTER/nic.n0" mlx5_0 1 up
    wait_for 60 fabric_is n0 up
    capture sinfo -h -n n0 -o '%T %E'
    assert_output '^drained.? bad fan$'
    scontrol update nodename=n0 state=resume
    fabric_settles
}

run_cases
