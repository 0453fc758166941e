#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Several launches are one job: each srun is a client of an IMPI server that
# was started by hand; only the agents of their nodes are connected.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
need_stage bin/impirun
cluster_up --nodes 4 --mpi-default impi
impi_programs
KEY=IMPI_AUTH_KEY=31415926

# The server in the background; its address in $at.
start_server() {
    rm -f "$WORK/at"
    mkfifo -m 666 "$WORK/at"
    run_as_user env "$KEY" sh -c \
        "$STAGE/bin/impirun -server $1 >$WORK/at 2>$WORK/server.err &"
    read -r at <"$WORK/at"
}

# launch RANK ARGS..: one client, in the background of a shell of the user.
client() {
    echo "SLURM_IMPI_JOIN=$at SLURM_IMPI_CLIENT=$1 $KEY srun ${*:2}"
}

case_two_launches_are_one_job() {
    start_server 2
    run_as_user sh -c "$(client 0 -N2 -n2 -w n0,n1 "$M") & a=\$!
        $(client 1 -N2 -n3 -w n2,n3 "$O"); b=\$?; wait \$a && exit \$b"
    assert_code 0
    assert_world 5
    assert_nothing_left
}

has_said() { [ "$(tail -n 1 "$WORK/said")" = "$1" ]; }

# The server is a script; the agent of the second host is stopped, so that its
# process cannot say that it has finished.
case_fini_waits_for_the_last_host() {
    local srun late end=$WORK/fini fifo=$case_tmp/questions
    mkfifo "$fifo"
    python3 "$SF_TOP_SRCDIR/tests/impi_server.py" 31415926 "$fifo" \
        >"$WORK/said" 2>&1 &
    wait_for 30 test -s "$WORK/said"
    at=$(head -n 1 "$WORK/said")
    start_as_user env "$KEY" SLURM_IMPI_JOIN="$at" SLURM_IMPI_CLIENT=0 \
        srun -N2 -n2 -w n0,n1 "$M" until "$end"
    srun=$!
    wait_for 30 ready 2 || return
    late=$(agents_of n1)
    pidkill STOP "$late"
    run_as_user touch "$end"
    wait_for 30 test -e "$end.0"
    [ ! -e "$end.1" ] || fail "the second host was not late"
    echo "has FINI come?" >"$fifo"
    wait_for 30 has_said 'not yet'
    pidkill CONT "$late"
    collect $srun
    assert_code 0
    assert_world 2
    wait_for 30 has_said FINI
    assert_nothing_left
}

case_one_library_per_client() {
    start_server 1
    run_as_user sh -c "$(client 0 -n1 "$M" : -n1 "$O")"
    [ "$code" != 0 ] || fail "srun said 0"
    run_as_user sh -c "$(client 0 -n1 "$M")"
    assert_code 0
    assert_world 1
}

case_wrong_words_are_refused() {
    run_as_user env SLURM_IMPI_JOIN=somewhere SLURM_IMPI_CLIENT=0 srun -n1 "$M"
    [ "$code" != 0 ] || fail "srun said 0"
    assert_error 'expected ADDRESS:PORT'
    run_as_user env SLURM_IMPI_JOIN=127.0.0.1:9 srun -n1 "$M"
    [ "$code" != 0 ] || fail "srun said 0"
    assert_error 'SLURM_IMPI_CLIENT'
    assert_nothing_left
}

case_a_launch_that_dies_ends_the_other() {
    start_server 2
    run_as_user sh -c "$(client 0 -n1 "$M" kill 0 9) & a=\$!
        $(client 1 -n1 "$O" kill 0 9); b=\$?; wait \$a; exit \$b"
    [ "$code" != 0 ] || fail "srun said 0"
    assert_error 'SF-E322: lost host 0'
    assert_nothing_left
}

run_cases
