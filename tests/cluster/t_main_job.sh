#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The main job: one MPI program over MPICH and Open MPI, under
# `srun --mpi=impi` with switch/elan, in every way Slurm can start it.
. "$(dirname "$0")/lib.sh"
need_stage slurm/mpi_impi.so slurm/switch_elan.so
need_hello
cluster_up --nodes 4
cp "$SF_TOP_BUILDDIR"/examples/hello_{mpich,openmpi} "$WORK"
cd "$WORK" || exit 1
export LD_LIBRARY_PATH=$STAGE/lib
M=./hello_mpich O=./hello_openmpi

# assert_world N [MPICH-RANKS OPENMPI-RANKS]: one world of N, all right.
assert_world() {
    assert_code 0
    assert_output "^rank [0-9]+ of $1 " "$1"
    assert_output '^all results are right$' 1
    [ $# = 1 ] || assert_equal "$2" "$(ranks_of 'MPICH')" "MPICH's ranks"
    [ $# = 1 ] || assert_equal "$3" "$(ranks_of 'Open MPI')" \
        "Open MPI's ranks"
}

ranks_of() {
    sed -n "s/^rank \([0-9]*\) of .* $1.*/\1/p" <<<"$out" | xargs
}

nodes_of_ranks() {
    sed -n 's/^rank [0-9]* of [0-9]* *node \([^ ]*\).*/\1/p' <<<"$out" | xargs
}

# rms NAME: its value for every rank, in order.
rms() {
    grep -oE "\b$1=[^ ]+" <<<"$out" | cut -d= -f2 | xargs
}

contexts() {
    grep -oE 'contexts 0x[0-9a-f]+-0x[0-9a-f]+' <<<"$out" | sort -u
}

case_mpi_list_shows_impi() {
    run_as_user srun --mpi=list
    grep -qw impi <<<"$out$err" || fail "not in: $out$err"
}

case_hetjob() {
    run_as_user srun --mpi=impi -n2 $M : -n2 $O
    assert_world 4 "0 1" "2 3"
    assert_equal "0 1 0 1" "$(rms RMS_RANK)" RMS_RANK
    assert_equal "2 2 2 2" "$(rms RMS_NPROCS)" RMS_NPROCS
    assert_equal 2 "$(contexts | wc -l)" "ranges of contexts"
}

case_hetjob_other_way_round() {
    run_as_user srun --mpi=impi -n2 $O : -n2 $M
    assert_world 4 "2 3" "0 1"
}

# A node where the job before still completes would be passed over.
case_two_nodes_per_client() {
    wait_for 20 no_job_left
    run_as_user srun --mpi=impi -N2 -n4 --ntasks-per-node=2 $M : \
        -N2 -n4 --ntasks-per-node=2 $O
    assert_world 8 "0 1 2 3" "4 5 6 7"
    assert_equal "n0 n0 n1 n1 n2 n2 n3 n3" "$(nodes_of_ranks)" nodes
    assert_equal "2 2 2 2 2 2 2 2" "$(rms RMS_NNODES)" RMS_NNODES
}

case_cyclic_distribution() {
    local shape='-N2 -n4 --ntasks-per-node=2 -m cyclic'
    wait_for 20 no_job_left
    # shellcheck disable=SC2086
    run_as_user srun --mpi=impi $shape $M : $shape $O
    assert_world 8 "0 1 2 3" "4 5 6 7"
    assert_equal "n0 n1 n0 n1 n2 n3 n2 n3" "$(nodes_of_ranks)" nodes
}

case_three_components() {
    run_as_user srun --mpi=impi -n2 $M : -n1 $O : -n3 $M
    assert_world 6 "0 1 3 4 5" "2"
}

case_four_clients_of_uneven_size() {
    run_as_user srun --mpi=impi -n1 $O : -n3 $M : -n2 $O : -n1 $M
    assert_world 7 "1 2 3 6" "0 4 5"
}

case_mpich_only() {
    run_as_user srun --mpi=impi -N2 -n4 $M
    assert_world 4 "0 1 2 3" ""
}

case_openmpi_only() {
    run_as_user srun --mpi=impi -N2 -n4 $O
    assert_world 4 "" "0 1 2 3"
}

case_one_rank() {
    run_as_user srun --mpi=impi -n1 $M
    assert_world 1 "0" ""
    run_as_user srun --mpi=impi -n1 $O
    assert_world 1 "" "0"
}

case_multi_prog_on_one_node() {
    printf '0-1 %s\n2-3 %s\n' $M $O >"$WORK/block.conf"
    run_as_user srun --mpi=impi -N1 -n4 --multi-prog block.conf
    assert_world 4 "0 1" "2 3"
    assert_equal 1 "$(contexts | wc -l)" "ranges of contexts"
}

case_multi_prog_interleaved() {
    printf '0,2 %s\n1,3 %s\n' $M $O >"$WORK/mixed.conf"
    run_as_user srun --mpi=impi -N2 -n4 --multi-prog mixed.conf
    assert_world 4 "0 2" "1 3"
    assert_equal "0 1 2 3" "$(rms RMS_RANK)" RMS_RANK # by rank in MPI
}

case_wrapper_script_chooses() {
    run_as_user srun --mpi=impi -N2 -n4 sh -c \
        'case $SLURM_PROCID in [01]) exec ./hello_mpich ;; esac
         exec ./hello_openmpi'
    assert_world 4 "0 1" "2 3"
}

case_clients_by_node() {
    run_as_user env SLURM_IMPI_CLIENTS=node srun --mpi=impi -N3 -n3 $M
    assert_world 3 "0 1 2" ""
}

# As between machines: by a provider of libfabric, of the user's word or the
# site's, and the tables say so of all messages.
assert_all_by_fabric() {
    assert_error '^slurm-fabric: rank [0-9]+: +[0-9]+ +[01] .* tcp[^ ]*$'
    assert_error ' [1-9][0-9]* frames out with [1-9]'
    ! grep -E '^slurm-fabric: rank .* TCP$' <<<"$err" || fail "by TCP: $err"
}

case_messages_by_libfabric() {
    local n
    ldconfig -p | grep -qF 'libfabric.so.1' || skip "no libfabric1"
    for n in 1 2; do
        run_as_user env IMPI_FABRIC=tcp IMPI_SHM=0 IMPI_STATS=1 \
            srun --mpi=impi -N$n -n2 $M : -N$n -n2 $O
        assert_world 4 "0 1" "2 3"
        assert_all_by_fabric
    done
    echo 'Fabric=cxi,tcp' >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user env IMPI_SHM=0 IMPI_STATS=1 srun --mpi=impi -n2 $M : -n2 $O
    assert_world 4 "0 1" "2 3"
    assert_all_by_fabric
    run_as_user env IMPI_FABRIC=none IMPI_SHM=0 IMPI_STATS=1 \
        srun --mpi=impi -n1 $M : -n1 $O
    rm "$CLUSTER/etc.fabric/impi.conf"
    assert_world 2
    assert_error ' TCP$'
    ! grep -q 'frames out' <<<"$err" || fail "a fabric: $err"
}

# Debian's MPICH 4.0.2, by TCP of UCX, stood still in its own MPI_Finalize in
# half of the runs.
case_mpich_by_tcp_comes_to_an_end() {
    local _
    for _ in 1 2 3 4; do
        run_as_user env UCX_TLS=tcp,self srun --mpi=impi -O -N2 -n4 $M
        assert_world 4
    done
    run_as_user env UCX_TLS=tcp,self srun --mpi=impi -n2 $M : -n1 $O : -N2 -n2 $M
    assert_world 5
}

case_two_programs_in_a_row() {
    run_as_user srun --mpi=impi -n2 sh -c "$M && $O" : -n2 sh -c "$O && $M"
    assert_code 0
    assert_output '^all results are right$' 2
    assert_output '^rank [0-9]+ of 4 ' 8
}

case_hetstep() {
    run_as_user salloc -Q -N2 --ntasks-per-node=2 \
        srun --mpi=impi -N1 -n2 $M : -N1 -n2 $O
    assert_world 4 "0 1" "2 3"
}

case_batch_script_with_several_steps() {
    cat >"$WORK/job.sh" <<'JOB'
#!/bin/bash
#SBATCH --ntasks=2 --output=job.out
#SBATCH hetjob
#SBATCH --ntasks=2
srun --mpi=impi --het-group=0,1 ./hello_mpich || exit
srun --mpi=impi ./hello_mpich : ./hello_openmpi || exit
srun --mpi=impi --het-group=1 ./hello_openmpi || exit
echo batch done
JOB
    chown "$JOB_USER" "$WORK/job.sh"
    run_as_user sbatch -W job.sh
    assert_code 0
    out=$(cat "$WORK/job.out")
    assert_output '^batch done$' 1
    assert_output '^all results are right$' 3
    assert_output '^rank [0-9]+ of 4 ' 8
    assert_output '^rank [0-9]+ of 2 .*Open MPI' 2
}

case_without_switch_elan() {
    local d=$CLUSTER.none
    mkdir "$d"
    capture env -u MINISLURM_DIR "$MINISLURM" run --dir "$d" --nodes 2 \
        --stage "$STAGE" --switch none --user "$JOB_USER" -- \
        srun --mpi=impi -n2 $M : -n2 $O
    assert_world 4 "0 1" "2 3"
}

case_proctrack_cgroup() {
    need_cgroups
    local d=$CLUSTER.cgroup
    mkdir "$d"
    capture env -u MINISLURM_DIR "$MINISLURM" run --dir "$d" --nodes 2 \
        --stage "$STAGE" --proctrack cgroup --user "$JOB_USER" -- \
        srun --mpi=impi -n2 $M : -n2 $O
    assert_world 4 "0 1" "2 3"
}

case_nothing_left() {
    wait_for 20 no_job_left
    wait_for 10 none_of_user
    assert_no_step_left
}

none_of_user() {
    [ -z "$(user_pids)" ]
}

run_cases
