#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Another user, who knows nothing of a step, holds hundreds of connections to
# each of its ports and opens more as fast as he can.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 3 --switch elan
impi_programs

STRANGER=$(($(stat -c %u "$WORK") - 1))
# Ports of nobody: minislurm's daemons and t_impi.sh have others.
FIRST=$((10000 + RANDOM % 70 * 100))
LAST=$((FIRST + 99))

flood_start() { # [NAMES OF PROGRAMS..]
    python3 "$SF_TOP_SRCDIR/tests/cluster/flood_ports.py" \
        $FIRST $LAST $STRANGER "$@" >"$case_tmp/flood" 2>&1 &
    flood=$!
    wait_for 30 grep -q ready "$case_tmp/flood"
}
flood_stop() {
    kill -TERM $flood
    wait $flood || fail "the flood: $(tail -n 3 "$case_tmp/flood")"
    sed -n 's/^made/# made/p' "$case_tmp/flood"
}
connections() {
    sed -n 's/^made \([0-9]*\) .*/\1/p' "$case_tmp/flood"
}

# N jobs one after the other; how many of them made their world.  Two that did
# not are enough.
jobs_start() { # N COMMAND..
    local i n=$1 fine=0
    shift
    for ((i = 0; i < n && i < fine + 2; i++)); do
        run_as_user "$@"
        if [ "$code" = 0 ] &&
            [ "$(grep -c "^rank [0-9] of 4 sum 10 on " <<<"$out")" = 4 ]; then
            fine=$((fine + 1))
        else
            echo "# job $i: $code $(grep -m 3 . <<<"$err" | tr '\n' '|')"
        fi
    done
    echo "$fine"
}

# JOBS: how many (20).  FLOODED: names of programs whose ports alone are flooded;
# where they are open for too short a time to be found, once more.
all_start() { # SRUN'S WORDS..
    local started jobs=${JOBS-20} round
    printf 'PortRange=%s-%s\n' $FIRST $LAST >"$CLUSTER/etc.fabric/impi.conf"
    for round in 1 2 3 4; do
        flood_start ${FLOODED-}
        jobs_start "$jobs" srun --mpi=impi "$@" >"$case_tmp/started"
        flood_stop
        grep '^#' "$case_tmp/started"
        started=$(tail -n 1 "$case_tmp/started")
        assert_equal "$jobs" "$started" "jobs that started"
        [ "$(connections)" -le $((250 * jobs)) ] || break
        [ $round -lt 4 ] || fail "that was no flood"
    done
    rm "$CLUSTER/etc.fabric/impi.conf"
    assert_nothing_left
}

case_jobs_of_two_libraries_start_in_a_flood() {
    all_start -n2 "$M" : -n2 "$O"
}

case_jobs_on_several_nodes_start_in_a_flood() {
    all_start -N2 -n4 "$M"
}

# Packets go from host to host.
case_jobs_with_relays_start_in_a_flood() {
    SLURM_IMPI_DIRECT=0 all_start -n2 "$M" : -n2 "$O"
}

# All of the flood is for the ports where processes meet.
case_processes_meet_in_a_flood() {
    JOBS=5 FLOODED="mpich openmpi" all_start -n2 "$M" : -n2 "$O"
}

# All of it is for the ports where relays meet.
case_relays_meet_in_a_flood() {
    JOBS=5 FLOODED=impid SLURM_IMPI_DIRECT=0 all_start -n2 "$M" : -n2 "$O"
}

# Who opens a connection has not called MPI_Init: agents that start now would
# miss the ranks of a program without MPI.
case_program_without_mpi_is_left_alone() {
    local i
    printf 'PortRange=%s-%s\n' $FIRST $LAST >"$CLUSTER/etc.fabric/impi.conf"
    flood_start
    for i in 1 2 3 4 5; do
        run_as_user srun --mpi=impi -N3 sh -c 'sleep 0.$SLURM_PROCID'
        assert_code 0
        assert_equal "" "$err" "what srun says"
    done
    flood_stop
    rm "$CLUSTER/etc.fabric/impi.conf"
    assert_nothing_left
}

run_cases
