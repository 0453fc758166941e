#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Worlds of two clusters meet by address: the name that MPI_Open_port gives in
# the one is all that the other one knows.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 1 --switch none
HOME_CLUSTER=$CLUSTER

# programs_to WORK
programs_to() {
    local l
    for l in mpich openmpi; do
        [ -x "$SF_TOP_BUILDDIR/tests/mpi/ports.$l" ] ||
            skip_all "ports.$l is not built"
        install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/ports.$l" "$1"
    done
}
programs_to "$WORK"

# second_cluster OPTION..: ends with the case that asks for it.
second_cluster() {
    OTHER=$(mktemp -d /tmp/minislurm.XXXXXX)
    "$MINISLURM" up --dir "$OTHER" --owner $$ --user "$JOB_USER" \
        --stage "$STAGE" --nodes 1 --switch none "$@" >"$case_tmp/up" 2>&1 || {
        fail "no second cluster: $(cat "$case_tmp/up")"
        return 1
    }
    programs_to "$OTHER/work"
}

# What follows is of this cluster.
in_cluster() { # DIRECTORY
    CLUSTER=$1 WORK=$1/work
    export MINISLURM_DIR=$1 SLURM_CONF=$1/etc/slurm.conf
}

# Ends what second_cluster has begun; nothing is left of the steps.
leave_second_cluster() {
    in_cluster "$OTHER"
    assert_nothing_left
    in_cluster "$HOME_CLUSTER"
    assert_nothing_left
    "$MINISLURM" down --dir "$OTHER"
}

port_is_told() {
    port=$(sed -n 's/^port //p' "$case_tmp/bg.out")
    [ -n "$port" ]
}

# A world of MPICH in the first cluster, at a port: $port, $acceptor.
accept_at_home() {
    in_cluster "$HOME_CLUSTER"
    start_as_user srun --mpi=impi -n2 "$WORK/ports.mpich" accept - once
    acceptor=$!
    wait_for 60 port_is_told
    in_cluster "$OTHER"
}

connect_to_it() {
    run_as_user srun --mpi=impi -n2 "$WORK/ports.openmpi" connect "$port" once
}

assert_they_have_met() {
    assert_code 0
    assert_output "^PASS ports\$" 1
    wait "$acceptor"
    assert_equal 0 $? "the acceptor's code"
    grep -q '^PASS ports$' "$case_tmp/bg.out" ||
        fail "the acceptor says: $(cat "$case_tmp/bg.err")"
}

case_worlds_of_two_clusters_meet_by_address() {
    second_cluster --munge-key "$HOME_CLUSTER/etc/munge.key" || return
    accept_at_home
    connect_to_it
    assert_they_have_met
    leave_second_cluster
}

# Root of the second cluster has the address, too.
case_another_user_of_a_second_cluster_is_refused() {
    second_cluster --munge-key "$HOME_CLUSTER/etc/munge.key" || return
    accept_at_home
    run_as_root ctl srun --mpi=impi -n1 "$WORK/ports.openmpi" connect \
        "$port" once
    assert_code_not 0
    assert_error 'SF-E519'
    grep -q 'SF-E517.*SF-E519: .*it belongs to user 0, this one to user' \
        "$case_tmp/bg.err" ||
        fail "the acceptor says: $(cat "$case_tmp/bg.err")"
    connect_to_it
    assert_they_have_met
    leave_second_cluster
}

# Nobody can tell whose credential it is; and what the site may do about it.
case_clusters_of_two_keys_are_told_and_may_agree() {
    local c
    second_cluster || return
    accept_at_home
    connect_to_it
    assert_code_not 0
    assert_error 'SF-E519: .*munge: .*one MUNGE key, or PortUsers=any'
    grep -q 'SF-E517.*SF-E519: .*munge: ' "$case_tmp/bg.err" ||
        fail "the acceptor says: $(cat "$case_tmp/bg.err")"
    kill "$acceptor"
    wait "$acceptor" 2>/dev/null
    in_cluster "$HOME_CLUSTER"
    assert_nothing_left
    for c in "$HOME_CLUSTER" "$OTHER"; do
        echo 'PortUsers=any' >"$c/etc.fabric/impi.conf"
    done
    accept_at_home
    connect_to_it
    assert_they_have_met
    rm "$HOME_CLUSTER/etc.fabric/impi.conf"
    leave_second_cluster
}

run_cases
