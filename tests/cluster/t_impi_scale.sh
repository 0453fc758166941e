#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One step of many ranks under srun, each client on a node of its own: they
# start, reduce, send a token round, and end.  SCALE_CLIENTS components (both
# libraries in turn) of SCALE_PROCS tasks; `make check-mpi` runs 8 of 64.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
clients=${SCALE_CLIENTS:-4} procs=${SCALE_PROCS:-4}
LIMIT=${SCALE_SECONDS:-120}
# A slurmd that all of them keep from its turn is not dead.
cluster_up --nodes "$clients" --cpus "$procs" --switch elan \
    --conf "SlurmdTimeout=$((LIMIT * ${SF_SLOW:-1}))"

for l in mpich openmpi; do
    [ -x "$SF_TOP_BUILDDIR/tests/mpi/ring.$l" ] ||
        skip_all "ring.$l is not built"
    install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/ring.$l" "$WORK/ring.$l"
done

# One component after the other, for srun.
components() {
    local families=(mpich openmpi) i
    for ((i = 0; i < clients; i++)); do
        [ "$i" = 0 ] || echo :
        printf '%s\n' -N1 "-n$procs" "$WORK/ring.${families[i % 2]}"
    done
}

# MPICH's start waits for processes of one node in a loop that never yields.
case_many_ranks_under_srun() {
    local ranks=$((clients * procs)) step
    mapfile -t step < <(components)
    run_as_user env MPIR_CVAR_NOLOCAL=1 srun --mpi=impi "${step[@]}"
    assert_code 0
    assert_output "^rank [0-9]+ of $ranks: " $ranks
    assert_output "^ring and allreduce right, $ranks ranks\$" 1
    assert_output '^PASS ring$' 1
    assert_nothing_left
}
run_cases
