#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The plain MPI programs of tests/mpi, unmodified, as hetjobs of both
# libraries under srun.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 3 --switch elan

for f in attrs flood ring order sizes probe mixes coll comms types errors threads ends \
    win io_open io_data ports; do
    for l in mpich openmpi; do
        [ -x "$SF_TOP_BUILDDIR/tests/mpi/$f.$l" ] ||
            skip_all "$f.$l is not built"
        install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/$f.$l" "$WORK/$f.$l"
    done
done

# two NAME: two ranks of each library on a node each.
two() {
    run_as_user srun --mpi=impi -N1 -n2 "$WORK/$1.mpich" : \
        -N1 -n2 "$WORK/$1.openmpi"
    assert_code 0
    assert_output "^PASS $1\$" 1
}

# three NAME: three clients, one of them on two nodes.
three() {
    run_as_user env SLURM_IMPI_CLIENTS=node srun --mpi=impi -N1 -n1 \
        "$WORK/$1.openmpi" : -N2 -n3 "$WORK/$1.mpich"
    assert_code 0
    assert_output "^PASS $1\$" 1
}

case_point_to_point_of_both_libraries() {
    two ring
    two order
    two sizes
    two probe
    two mixes
    two types
    assert_nothing_left
}

case_collectives_and_communicators() {
    two coll
    two comms
    three coll
    three comms
    assert_nothing_left
}

case_errors_threads_and_ends() {
    two errors
    two threads
    two ends
    assert_nothing_left
}

case_one_sided_of_both_libraries() {
    two win
    three win
    assert_nothing_left
}

case_files_of_both_libraries() {
    run_as_user mkdir -p "$WORK/io"
    export IO_DIR=$WORK/io
    two io_open
    two io_data
    three io_data
    unset IO_DIR
    assert_nothing_left
}

# snakes PYTHONS OPTION..: as many of python3 are right, and the file is the one
# that the first world left.
snakes() {
    rm -f "$WORK/file"
    run_as_user env SNAKE_FILE="$WORK/file" srun --mpi=impi "${@:2}"
    assert_code 0
    assert_output '^python [0-9] is right$' "$1"
    [ -e "$WORK/first" ] || cp "$WORK/file" "$WORK/first"
    cmp "$WORK/first" "$WORK/file" || fail "not the file of the first world"
}

# As its users start it: one client (no world spans), two, and beside C of the
# other library.
case_python_scripts() {
    local script=(/usr/bin/python3 "$WORK/snake.py") c=$WORK/snake.mpich
    /usr/bin/python3 -c 'import mpi4py' 2>/dev/null || skip "no mpi4py"
    install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/snake.mpich" \
        "$SF_TOP_SRCDIR/tests/mpi/snake.py" "$WORK"
    snakes 4 -N1 -n4 "${script[@]}"
    assert_nothing_left
    export SLURM_IMPI_CLIENTS=node
    snakes 4 -N2 -n4 "${script[@]}"
    unset SLURM_IMPI_CLIENTS
    assert_nothing_left
    snakes 2 -N1 -n2 "${script[@]}" : -N1 -n2 "$c"
    assert_nothing_left
    snakes 3 -N1 -n1 "$c" : -N2 -n3 "${script[@]}"
    assert_nothing_left
}

# Two launches of one user, one of each library, and one that spans.
case_two_launches_meet_by_a_port() {
    local meet
    run_as_user mkdir -p "$WORK/names"
    export SLURM_IMPI_NAMES=$WORK/names
    meet='srun --mpi=impi -N1 -n2 '$WORK/ports.openmpi' connect ocean talk'
    start_as_user bash -c "$meet"
    run_as_user srun --mpi=impi -N1 -n2 "$WORK/ports.mpich" accept ocean talk
    assert_code 0
    assert_output "^PASS ports\$" 1
    wait $!
    assert_equal 0 $?
    start_as_user bash -c "$meet"
    run_as_user srun --mpi=impi -N1 -n1 "$WORK/ports.mpich" accept ocean talk \
        : -N1 -n1 "$WORK/ports.openmpi" accept ocean talk
    assert_code 0
    assert_output "^PASS ports\$" 1
    wait $!
    assert_equal 0 $?
    assert_equal "" "$(ls -A "$WORK/names")"
    unset SLURM_IMPI_NAMES
    assert_nothing_left
}

# A file, and memory, of two launches: one of each library, and of one that
# spans and one that does not.
case_two_launches_share_a_file_and_windows() {
    local meet ports="env TMPDIR=$WORK/both $WORK/ports"
    run_as_user mkdir -p "$WORK/names" "$WORK/both"
    export SLURM_IMPI_NAMES=$WORK/names
    meet="srun --mpi=impi -N1 -n2 $ports.openmpi connect ocean shared"
    start_as_user bash -c "$meet"
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -N2 -n3 $ports.mpich accept ocean shared
    assert_code 0
    assert_output "^PASS ports\$" 1
    wait $!
    assert_equal 0 $?
    start_as_user bash -c "$meet"
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi -N1 -n1 $ports.mpich accept ocean shared \
        : -N1 -n2 $ports.openmpi accept ocean shared
    assert_code 0
    assert_output "^PASS ports\$" 1
    wait $!
    assert_equal 0 $?
    assert_equal "" "$(ls -A "$WORK/names" "$WORK/both" | grep -v :)"
    unset SLURM_IMPI_NAMES
    assert_nothing_left
}

# Root knows the name of the port, too.
case_another_user_is_refused_at_a_port() {
    local acceptor
    run_as_user mkdir -p "$WORK/names"
    mkdir -p "$case_tmp/names"
    export SLURM_IMPI_NAMES=$WORK/names
    start_as_user srun --mpi=impi -N1 -n2 "$WORK/ports.mpich" accept ocean talk
    acceptor=$!
    wait_for 60 test -s "$WORK/names/ocean" || fail "no name"
    cp "$WORK/names/ocean" "$case_tmp/names"
    SLURM_IMPI_NAMES=$case_tmp/names run_as_root ctl \
        srun --mpi=impi -N1 -n1 "$WORK/ports.openmpi" connect ocean talk
    [ "$code" != 0 ] || fail "root was let in"
    grep -q 'SF-E519: .*it belongs to user 0' "$case_tmp/bg.err" ||
        fail "the acceptor says: $(cat "$case_tmp/bg.err")"
    grep -q 'SF-E519' <<<"$err" || fail "root hears: $err"
    run_as_user srun --mpi=impi -N1 -n1 "$WORK/ports.openmpi" connect ocean talk
    assert_code 0
    wait $acceptor
    assert_equal 0 $? "the acceptor's code"
    unset SLURM_IMPI_NAMES
    assert_nothing_left
}

case_external32_by_request() {
    export SLURM_IMPI_DATA=external32
    two types
    two coll
    unset SLURM_IMPI_DATA
    assert_nothing_left
}

# Fewer connections are allowed than there are peers: impids pass on.
case_relay_beyond_the_limit_of_connections() {
    run_as_user mkdir -p "$WORK/log"
    export SLURM_IMPI_DIRECT=1 SLURM_IMPI_LOG=$WORK/log
    two flood
    assert_equal 2 "$(cat "$WORK"/log/impid.* | grep -c 'pass packets on')"
    three coll
    export SLURM_IMPI_DIRECT=2
    rm -f "$WORK"/log/impid.*
    two ring
    assert_equal 0 "$(cat "$WORK"/log/impid.* | grep -c 'pass packets on')"
    unset SLURM_IMPI_DIRECT SLURM_IMPI_LOG
    assert_nothing_left
}

# Processes that have no network, not even the own machine's loopback: only the
# impids are connected.  (Open MPI's processes need the loopback for PMIx.)
case_relay_for_processes_without_a_network() {
    local new="unshare --map-current-user --net"
    run_as_user $new true
    [ "$code" = 0 ] || skip "users may not make namespaces"
    run_as_user env SLURM_IMPI_DIRECT=1 UCX_TLS=self srun --mpi=impi \
        -n1 $new "$WORK/coll.mpich" : -n1 "$WORK/coll.openmpi" : \
        -n1 $new "$WORK/coll.mpich"
    assert_code 0
    assert_output '^PASS coll$' 1
    assert_nothing_left
}

# Each process is alone on its node, and so with its impid.
case_hosts_are_impids() {
    run_as_user env ATTRS_OWN_HOSTS=1 srun --mpi=impi \
        -N2 -n2 "$WORK/attrs.mpich" : -N1 -n1 "$WORK/attrs.openmpi"
    assert_code 0
    assert_output '^PASS attrs$' 1
    two attrs # one of each client
    assert_nothing_left
}

# The same of a world that would have libfabric, which says why it has none.
case_relay_beyond_the_limit_with_a_fabric() {
    ldconfig -p | grep -qF 'libfabric.so.1' || skip "no libfabric1"
    export IMPI_FABRIC=tcp IMPI_SHM=0 IMPI_STATS=1 SLURM_IMPI_DIRECT=1
    for prog in flood order types; do
        two $prog
        assert_error 'no fabric: messages to other clients are relayed'
        ! grep -q 'frames out' <<<"$err" || fail "a fabric: $err"
    done
    three coll
    export SLURM_IMPI_DIRECT=2
    two flood
    assert_error 'frames out with [1-9]'
    ! grep -q 'no fabric' <<<"$err" || fail "none: $err"
    unset IMPI_FABRIC IMPI_SHM IMPI_STATS SLURM_IMPI_DIRECT
    assert_nothing_left
}

run_cases
