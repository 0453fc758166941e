#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a site does in its first week: install, switch over with live jobs,
# and back again.
. "$(dirname "$0")/lib.sh"
need_stage slurm/mpi_impi.so slurm/switch_elan.so
cluster_up --nodes 2 --switch none
cd "$WORK" || exit 1

# installed DIR: what `make install` puts there, relative to the prefix.
installed() {
    ( cd "$1$STAGE" && find . ! -type d | sed 's,^\./,,' | sort )
}

case_install_puts_every_part_in_its_place() {
    local f got
    make -s -C "$SF_TOP_BUILDDIR" install DESTDIR="$case_tmp/root" \
        >"$case_tmp/install.log" 2>&1 || fail "$(tail "$case_tmp/install.log")"
    got=$(installed "$case_tmp/root")
    for f in slurm/switch_elan.so slurm/mpi_impi.so \
        libexec/slurm-fabric/impid libexec/slurm-fabric/impi-server \
        libexec/slurm-fabric/elan-holder \
        lib/slurm-fabric/libimpi.so lib/slurm-fabric/libimpi-abi.so \
        lib/slurm-fabric/libimpi-mpich.so \
        lib/slurm-fabric/libimpi-openmpi.so lib/slurm-fabric/impid_pmix.so \
        lib/libelan.so bin/impi-backend include/elan/rmscall.h \
        share/man/man5/impi.conf.5 share/man/man5/elanhosts.5 \
        share/man/man7/slurm-fabric.7 share/man/man8/impid.8 \
        share/man/man8/impi-server.8 share/man/man1/impi-backend.1; do
        grep -qxF "$f" <<<"$got" || fail "not installed: $f"
    done
    grep -E '^(slurm|lib/slurm-fabric)/.*\.la$' <<<"$got" &&
        fail "libtool archives beside plugins"
    make -s -C "$SF_TOP_BUILDDIR" uninstall DESTDIR="$case_tmp/root" \
        >"$case_tmp/uninstall.log" 2>&1 ||
        fail "$(tail "$case_tmp/uninstall.log")"
    got=$(installed "$case_tmp/root")
    [ -z "$got" ] || fail "left by make uninstall: $got"
    rm -rf "$case_tmp/root"
}

case_plugins_do_not_depend_on_the_build() {
    local f
    for f in "$STAGE"/slurm/*.so "$STAGE"/libexec/slurm-fabric/*; do
        ldd "$f" | grep -F "not found" && fail "$f lacks a library"
        readelf -d "$f" | grep -E 'R(UN)?PATH' | grep -F "$SF_TOP_BUILDDIR/src" &&
            fail "$f looks into the build tree"
    done
    return 0
}

# What a rolling upgrade of Slurm need not replace, as README.md has it.
case_readme_what_is_not_linked_to_slurm() {
    local f
    for f in "$STAGE"/libexec/slurm-fabric/{elan-holder,impid,impi-server} \
        "$STAGE"/lib/*.so "$STAGE"/lib/slurm-fabric/*.so; do
        [ -s "$f" ] || fail "there is no $f"
        readelf -d "$f" | grep 'NEEDED.*slurm' && fail "$f is linked to Slurm"
    done
    return 0
}

# start_gated_job: a batch job whose first step runs until $WORK/go exists,
# and whose second prints its environment.
start_gated_job() {
    rm -f "$WORK"/{go,job.out}
    cat >"$WORK/job.sh" <<'JOB'
#!/bin/sh
srun sh -c 'touch started; until [ -e go ]; do sleep 0.2; done' || exit
srun env
JOB
    chmod 644 "$WORK/job.sh"
    rm -f "$WORK/started"
    run_as_user sbatch --parsable -o job.out job.sh
    job=$out
    wait_for 30 test -e "$WORK/started"
}

set_switch() { # TYPE
    daemon stop slurmctld
    sed -i "s,^SwitchType=.*,SwitchType=switch/$1," "$SLURM_CONF"
}

# change_switch TYPE: as the README says it.
change_switch() {
    set_switch "$1"
    daemon start slurmctld
    wait_for 30 scontrol ping
    local n
    for n in n0 n1; do
        daemon stop $n
        daemon start $n
    done
}

end_gated_job() {
    touch "$WORK/go"
    wait_for 60 no_job_left
    assert_equal COMPLETED "$(scontrol -o show job "$job" |
        grep -o 'JobState=[A-Z]*' | cut -d= -f2)" "job state"
}

# steps_can_be_read_with TYPE: those that slurmctld saved with the other one; a
# matter of Slurm's alone (doc/slurm-versions.md).
steps_can_be_read_with() {
    slurm_since 24.11 || ! slurm_since 23.02 ||
        { [ "$1" = elan ] && slurm_since 23.11; }
}

# refused_with_live_steps TYPE OLD: slurmctld does not start with it; back with
# the old one it lacks nothing.  (The cluster's own is started with -i.)
refused_with_live_steps() {
    set_switch "$1"
    run_as_root ctl slurmctld -D -f "$SLURM_CONF"
    assert_code 1
    log_has slurmctld.log 'fatal: Incomplete job state save file' ||
        fail "no word on the steps"
    change_switch "$2"
    assert_equal RUNNING "$(squeue -h -j "$job" -o %T)" "job state"
}

# switch_over TYPE OLD: while a job runs; $WORK/job.out is of a step after it.
switch_over() {
    local job
    start_gated_job
    if steps_can_be_read_with "$1"; then
        change_switch "$1"
    else
        refused_with_live_steps "$1" "$2"
        end_gated_job
        change_switch "$1"
        start_gated_job
    fi
    end_gated_job
}

case_switch_over_with_a_live_job() {
    switch_over elan none
    grep -q ^RMS_RANK= "$WORK/job.out" || fail "second step has no RMS_RANK"
}

case_way_back_with_a_live_job() {
    switch_over none elan
    grep ^RMS_RANK= "$WORK/job.out" && fail "second step has RMS_RANK"
    run_as_user srun -N2 true
    assert_code 0
}

# unmounted PLACE FILE..: who still ends may hold them for a moment.
unmounted() {
    local file
    for file in "${@:2}"; do
        run_as_root "$1" sh -c '! mountpoint -q "$0" || umount "$0"' "$file"
        [ "$code" = 0 ] || return 1
    done
}

# A node that was forgotten: what Slurm 22.05 says does not tell the reason.
case_verify_finds_a_node_without_the_plugin() {
    local part
    run_as_root n0 "$STAGE/bin/sfabric" verify
    assert_output '^ok +mpi_impi.so '
    assert_output '^ok +(elan-holder|impid|impi-server) ' 3
    for part in slurm/mpi_impi.so libexec/slurm-fabric/impid; do
        run_as_root n1 mount --bind /dev/null "$STAGE/$part"
        assert_code 0
    done
    run_as_root n1 "$STAGE/bin/sfabric" verify
    assert_code_not 0
    assert_output '^wrong +mpi_impi.so '
    assert_output '^warn +impid .*/impid: Permission denied; without it no task'
    run_as_user srun --mpi=impi -N2 -n2 true
    assert_error 'Task launch .*failed on node n1: Unspecified error'
    wait_for 60 unmounted n1 "$STAGE/slurm/mpi_impi.so" \
        "$STAGE/libexec/slurm-fabric/impid"
    run_as_root n1 "$STAGE/bin/sfabric" verify
    assert_output '^ok +mpi_impi.so '
}

# without PLACE PLUGIN: it is not installed there.
without() {
    run_as_root "$1" mkdir -p "$WORK/few"
    run_as_root "$1" sh -c "cp '$STAGE'/slurm/*.so '$WORK/few' &&
        rm '$WORK/few/$2' && mount --bind '$WORK/few' '$STAGE/slurm'"
    assert_code 0
}

with_all() { # PLACE
    wait_for 60 unmounted "$1" "$STAGE/slurm"
    rm -rf "$WORK/few"
}

# What doc/trouble.md says that one sees.
case_readme_login_node_without_a_plugin() {
    local said="MPI: Cannot create context for mpi/impi"
    change_switch elan
    without ctl mpi_impi.so
    run_as_user srun --mpi=impi -n1 true
    assert_error "srun: error: $said"
    run_as_root ctl "$STAGE/bin/sfabric" verify --explain "$said"
    assert_output "mpi_impi.so is not in PluginDir"
    with_all ctl
    without ctl switch_elan.so
    run_as_user srun -n1 true
    assert_error "Can't find plugin for switch/elan"
    with_all ctl
    run_as_user srun -n1 true
    assert_code 0
}

# The number of the Slurm that it was built for stands in each plugin.
other_version() { # PLUGIN
    python3 - "$STAGE/slurm/$1" "$WORK/other.so" <<'PY'
import re, struct, subprocess, sys
text = subprocess.run(["srun", "--version"], capture_output=True, text=True)
number = [int(n) for n in re.findall(r"\d+", text.stdout)[:3]]
now = struct.pack("<I", number[0] << 16 | number[1] << 8 | number[2])
data = open(sys.argv[1], "rb").read()
assert now in data
number[2] += 1
later = struct.pack("<I", number[0] << 16 | number[1] << 8 | number[2])
open(sys.argv[2], "wb").write(data.replace(now, later))
PY
}

case_readme_plugin_of_another_version() {
    other_version switch_elan.so || fail "no such plugin could be made"
    local place
    for place in ctl n1; do
        run_as_root $place mount --bind "$WORK/other.so" \
            "$STAGE/slurm/switch_elan.so"
        assert_code 0
    done
    run_as_user srun -n1 true
    assert_error 'Incompatible Slurm plugin .* version'
    daemon stop n1
    daemon start n1 >/dev/null 2>&1
    wait_for 20 log_has slurmd.n1.log "Can't find plugin for switch/elan"
    for place in ctl n1; do
        wait_for 60 unmounted $place "$STAGE/slurm/switch_elan.so"
    done
    daemon start n1
    run_as_user srun -N2 true
    assert_code 0
}

# Each daemon is asked at its control socket; swfabd.sock is for hosts.
listens() { # NAME
    run_as_root n0 test -S "/run/slurm-fabric/$1"
    [ "$code" = 0 ]
}
case_verify_asks_the_daemons_of_this_host() {
    local name
    for name in hsnd swfabd; do
        [ -x "$STAGE/libexec/slurm-fabric/$name" ] || skip "no $name"
    done
    printf '%s\n' Board=020000000001 \
        "MungeSocket=$CLUSTER/munge.n0/munge.socket" \
        >"$CLUSTER/etc.fabric/hsn.conf"
    printf '%s\n' Net=build:ring:4 \
        "MungeSocket=$CLUSTER/munge.n0/munge.socket" \
        >"$CLUSTER/etc.fabric/swfabd.conf"
    run_as_root n0 "$STAGE/bin/sfabric" verify
    assert_output '^ok +(hsnd|swfabd) +does not run on this host' 2
    for name in hsnd swfabd; do
        "$MINISLURM" exec --dir "$CLUSTER" --on n0 --as root -- \
            "$STAGE/libexec/slurm-fabric/$name" \
            >"$CLUSTER/log/$name.log" 2>&1 </dev/null &
    done
    wait_for 60 listens hsnd-0.ctl
    wait_for 60 listens swfabd.ctl
    run_as_root n0 "$STAGE/bin/sfabric" verify
    assert_output '^ok +(hsnd|swfabd) +answers' 2
}

run_cases
