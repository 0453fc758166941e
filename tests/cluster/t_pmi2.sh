#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# impid's PMI-2, as what was built for `srun --mpi=pmi2` meets it: Slurm's own
# libpmi2 in processes of a real step.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
compgen -G "/usr/lib/*/libpmi2.so.0" >/dev/null ||
    skip_all "libpmi2 is not installed"
cluster_up --nodes 2
install -m 755 "$SF_TOP_BUILDDIR/tests/cluster/pmi2_rank" "$WORK/rank"

# RANK SIZE NODE APPNUM MAPPING
right() {
    assert_output "^rank $1 of $2 on $3, appnum $4, mapping $5: all is right$" 1
}

case_ranks_keys_fences_and_attributes_over_two_nodes() {
    local r
    run_as_user srun --mpi=impi -N2 -n6 --ntasks-per-node=3 "$WORK/rank"
    assert_code 0
    for r in 0 1 2; do right $r 6 n0 0 '\(vector,\(0,2,3\)\)'; done
    for r in 3 4 5; do right $r 6 n1 0 '\(vector,\(0,2,3\)\)'; done
    assert_nothing_left
}

case_ranks_in_turn_on_the_nodes() {
    local r
    run_as_user srun --mpi=impi -N2 -n4 --ntasks-per-node=2 \
        --distribution=cyclic "$WORK/rank"
    assert_code 0
    for r in 0 2; do right $r 4 n0 0 '\(vector,\(0,2,1\),\(0,2,1\)\)'; done
    for r in 1 3; do right $r 4 n1 0 '\(vector,\(0,2,1\),\(0,2,1\)\)'; done
    assert_nothing_left
}

case_one_rank() {
    run_as_user srun --mpi=impi -n1 "$WORK/rank"
    assert_code 0
    right 0 1 n0 0 '\(vector,\(0,1,1\)\)'
    assert_nothing_left
}

# What another launcher has left does not reach it.
case_variables_of_another_launcher() {
    run_as_user env PMI_RANK=7 PMI_SIZE=9 PMI_FD=3 PMI_JOBID=x PMI_ID=5 \
        PMI2_DEBUG=1 srun --mpi=impi -n2 "$WORK/rank"
    assert_code 0
    right 0 2 'n[01]' 0 '\(vector,.*\)'
    right 1 2 'n[01]' 0 '\(vector,.*\)'
    assert_nothing_left
}

case_abort() {
    run_as_user srun --mpi=impi -N2 -n4 "$WORK/rank" abort 2
    assert_code 1
    assert_cause 'rank 2 .*was ended by its MPI library: MPI_Abort\(1\)'
    assert_nothing_left
}

case_what_is_no_pmi2() {
    run_as_user srun --mpi=impi -N2 -n4 "$WORK/rank" talk 1
    assert_code 1
    assert_cause 'rank 1 .*PMI process [0-9]: message too long'
    assert_nothing_left
}

run_cases
