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
        lib/slurm-fabric/libimpi.so lib/slurm-fabric/libimpi-mpich.so \
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

# change_switch TYPE: as the README says it.
change_switch() {
    daemon stop slurmctld
    sed -i "s,^SwitchType=.*,SwitchType=switch/$1," "$CLUSTER/etc/slurm.conf"
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

case_switch_over_with_a_live_job() {
    local job
    start_gated_job
    change_switch elan
    end_gated_job
    grep -q ^RMS_RANK= "$WORK/job.out" || fail "second step has no RMS_RANK"
}

case_way_back_with_a_live_job() {
    local job
    start_gated_job
    change_switch none
    end_gated_job
    grep ^RMS_RANK= "$WORK/job.out" && fail "second step has RMS_RANK"
    run_as_user srun -N2 true
    assert_code 0
}

# A node that was forgotten: what Slurm 22.05 says does not tell the reason.
case_sl_21_verify_finds_a_node_without_the_plugin() {
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
    run_as_root n1 umount "$STAGE/slurm/mpi_impi.so" \
        "$STAGE/libexec/slurm-fabric/impid"
    run_as_root n1 "$STAGE/bin/sfabric" verify
    assert_output '^ok +mpi_impi.so '
}

run_cases
