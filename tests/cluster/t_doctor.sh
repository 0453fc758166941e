#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# `sfabric verify` on a host and `sfabric doctor` for all: each thing that is
# wrong is said by node and address, with what to do.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so slurm/mpi_impi.so bin/sfabric
cluster_up --nodes 3 --switch elan
SFABRIC=$STAGE/bin/sfabric

verify() { # NODE OPTION..
    run_as_root "$1" "$SFABRIC" verify "${@:2}"
}
state_is() { [ "$(sinfo -h -n "$1" -o %T)" = "$2" ]; }
impi_conf() { # LINE..
    printf '%s\n' "$@" >"$CLUSTER/etc.fabric/impi.conf"
}

case_a_whole_installation_is_all_right() {
    verify n0
    assert_code 0
    assert_output '^ok +munged +answers at '
    assert_output '^ok +(slurmctld|clock|this node) ' 3
    assert_output '^ok +nodes +3, all take jobs'
    assert_output '^ok +libimpi.so '
    verify n0 --brief
    assert_code 0
    assert_empty "$out" "what is not right"
    run_as_root n0 "$SFABRIC" --json verify
    assert_output '"exit_status": *0'
    run_as_root ctl "$SFABRIC" doctor
    assert_code 0
    assert_output '^ok +n[0-2] +IDLE, slurmd at 127\.0\.0\.1[0-2] port ' 3
    assert_output '^ok +verify +ran on n0,n1,n2$'
}

# verify said that all was well while every node was drained.
case_a_drained_node_is_named_with_its_reason() {
    run_as_root ctl scontrol update nodename=n1 state=drain reason='bad fan'
    verify n0
    assert_code 1
    assert_output '^warn +nodes +1 of 3 get no jobs: n1 \(IDLE\+DRAIN: bad fan '
    verify n1
    assert_output '^warn +this node +IDLE\+DRAIN: bad fan .*it gets no jobs$'
    run_as_root ctl "$SFABRIC" doctor --no-run
    assert_code 1
    assert_output '^warn +n1 +IDLE\+DRAIN: bad fan'
    for k in n0 n2; do
        run_as_root ctl scontrol update nodename=$k state=drain reason=all
    done
    verify n0
    assert_code 2
    assert_output '^wrong +nodes +3 of 3 get no jobs'
    run_as_root ctl scontrol update nodename=n0,n1,n2 state=resume
    wait_for 20 state_is n1 idle
}

case_what_verify_finds_on_a_node_reaches_the_doctor() {
    need_namespaces # files of n2 alone are hidden
    run_as_root n2 mount --bind /dev/null "$STAGE/libexec/slurm-fabric/impid"
    assert_code 0
    run_as_root ctl "$SFABRIC" doctor
    assert_code 1
    assert_output '^warn +n2 +impid: .*Permission denied; without it no task'
    run_as_root n2 mount --bind /dev/null "$STAGE/lib/slurm-fabric/libimpi.so"
    verify n2
    assert_code 2
    assert_output '^wrong +libimpi.so .*rank 0 of 1: install'
    run_as_root n2 umount "$STAGE/libexec/slurm-fabric/impid" \
        "$STAGE/lib/slurm-fabric/libimpi.so"
}

case_a_node_without_slurmd_is_named_with_its_address() {
    daemon kill n1
    run_as_root ctl "$SFABRIC" doctor --no-run
    assert_code 2
    assert_output '^wrong +n1 +slurmd cannot be reached at 127\.0\.0\.11 port [0-9]+ \(Connection refused\)'
    daemon start n1
    wait_for 20 doctor_reaches n1
}
doctor_reaches() {
    run_as_root ctl "$SFABRIC" doctor --no-run
    grep -q "^ok *$1 " <<<"$out"
}

# A munged of its own on n1, in the place of the node's.
other_munged() {
    local dir=$CLUSTER/munge.other
    mkdir "$dir"
    dd if=/dev/urandom of="$dir/key" bs=128 count=1 2>/dev/null
    chmod 600 "$dir/key"
    chown -R munge "$dir"
    run_as_root n1 setpriv --reuid munge --regid munge --clear-groups \
        /usr/sbin/munged --key-file="$dir/key" --socket="$dir/munge.socket" \
        --pid-file="$dir/pid" --log-file="$dir/log" --seed-file="$dir/seed"
    assert_code 0
    run_as_root n1 mount --bind "$dir" "$CLUSTER/munge"
    assert_code 0
}
case_another_munge_key_is_told_from_a_munged_that_is_not_there() {
    need_namespaces # a socket of n1 alone is another
    other_munged
    verify n1
    assert_code 2
    assert_output '^ok +munged +'
    assert_output '^wrong +slurmctld .*munge.key here is not the controller'
    pidkill TERM "$(cat "$CLUSTER/munge.other/pid")"
    wait_for 20 no_munged
    run_as_root n1 umount "$CLUSTER/munge"
    verify n1
    assert_code 0
}
no_munged() {
    verify n1
    grep -qE '^wrong +munged .*start it' <<<"$out"
}

case_another_slurm_is_named_with_the_command_that_builds_for_it() {
    mkdir -p "$WORK/newer"
    printf '#!/bin/sh\necho slurm 99.05.1\n' >"$WORK/newer/sinfo"
    chmod 755 "$WORK/newer/sinfo"
    run_as_root n0 env PATH="$WORK/newer:$PATH" "$SFABRIC" verify
    assert_code 2
    assert_output '^wrong +Slurm +slurm 99\.05\.1 is installed.*/rebuild '
}

# scontrol of another day; of the node's, only what it says of the time.
case_a_plugin_that_does_not_fit_slurm_is_named_with_what_it_lacks() {
    need_namespaces # a file of n1 alone is another
    run_as_root n1 mount --bind "$STAGE/slurm/mpi_impi.so" \
        "$STAGE/slurm/switch_elan.so"
    verify n1
    assert_code 2
    assert_output '^wrong +switch_elan\.so +does not fit .*/libslurmfull\.so: the plugin lacks switch_p_[a-z_]+, .*/rebuild '
    run_as_root n1 umount "$STAGE/slurm/switch_elan.so"
    verify n1
    assert_code 0
}

case_a_clock_that_is_off_is_said_in_seconds() {
    mkdir "$WORK/bin"
    cat >"$WORK/bin/scontrol" <<'SH'
#!/bin/sh
real=$(PATH=${PATH#*:} command -v scontrol)
then=$(date -d '-10 min' +%Y-%m-%dT%H:%M:%S)
"$real" "$@" | sed "s/^\(Configuration data as of \).*/\1$then/"
SH
    chmod 755 "$WORK/bin/scontrol"
    run_as_root n0 env PATH="$WORK/bin:$PATH" "$SFABRIC" verify
    assert_code 2
    assert_output '^wrong +clock +(59|60)[0-9] s away from slurmctld'
}

case_impi_conf_is_read_as_srun_reads_it() {
    impi_conf PortRnage=4000-4100
    verify n0
    assert_code 2
    assert_output '^wrong +impi.conf .*impi.conf:1: PortRnage.*is refused$'
    impi_conf PortRange=40000-40001
    verify n0
    assert_code 1
    assert_output '^warn +PortRange +40000-40001 is 2 ports; a node needs '
    impi_conf Network=203.0.113.0/24 Advertise=nowhere
    verify n0
    assert_code 2
    assert_output '^wrong +Network .*203\.0\.113\.0/24.*correct Network'
    assert_output '^wrong +Advertise +nowhere in impi.conf is not an address'
    impi_conf Advertise=127.0.0.1
    verify n0
    assert_code 0
    assert_output '^ok +Advertise +127.0.0.1, reached from 127.0.0.1'
    rm "$CLUSTER/etc.fabric/impi.conf"
}

run_cases
