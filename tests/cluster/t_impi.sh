#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# mpi/impi with switch/elan: which tasks make one world.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 4 --switch elan --proctrack "${PROCTRACK:-linuxproc}"
impi_programs

case_list_shows_impi() {
    run_as_user srun --mpi=list
    grep -qw impi <<<"$out$err" || fail "impi is not listed"
}

case_one_component_of_mpich_on_two_nodes() {
    run_as_user srun --mpi=impi -N2 -n4 "$M"
    assert_code 0
    assert_world 4
    assert_output 'by mpich$' 4
    assert_nothing_left
}

case_one_component_of_openmpi_on_two_nodes() {
    run_as_user srun --mpi=impi -N2 -n4 "$O"
    assert_code 0
    assert_world 4
    assert_output 'by openmpi$' 4
    assert_nothing_left
}

case_hetjob_of_both_libraries() {
    run_as_user srun --mpi=impi -n2 "$M" : -n2 "$O"
    assert_code 0
    assert_world 4
    assert_output '^rank [01] .* by mpich$' 2
    assert_output '^rank [23] .* by openmpi$' 2
    assert_nothing_left
}

case_three_components_and_two_nodes_per_client() {
    run_as_user srun --mpi=impi -N2 -n3 "$O" : -N1 -n2 "$M" : -N1 -n1 "$M"
    assert_code 0
    assert_world 6
    assert_nothing_left
}

case_components_of_a_hetstep_have_programs() {
    run_as_user salloc -N2 --ntasks-per-node=2 \
        srun --mpi=impi -N1 -n2 "$M" : -N1 -n2 "$O"
    assert_code 0
    assert_world 4
    assert_nothing_left
}

case_one_group_of_a_hetjob() {
    run_as_user salloc -N1 -n2 : -N1 -n2 \
        sh -c "srun --mpi=impi --het-group=1 $M && srun --mpi=impi \
            --het-group=0,1 $O"
    assert_code 0
    assert_output '^rank [01] of 2 sum 3 .* by mpich$' 2
    assert_output '^rank [0-3] of 4 sum 10 .* by openmpi$' 4
    assert_nothing_left
}

case_multi_prog_on_one_node_is_one_program() {
    printf '0,2 %s\n1,3 %s\n' "$O" "$M" >"$WORK/prog.conf"
    run_as_user srun --mpi=impi -N1 -n4 --multi-prog "$WORK/prog.conf"
    assert_code 0
    assert_world 4
    assert_output '^rank [02] .* by openmpi$' 2
    assert_nothing_left
}

# The same library once more, which says another text of itself.
case_two_builds_of_one_library_in_one_component() {
    local lib
    lib=$(ldd "$M" | awk '$1 ~ /^libmpich/ { print $3 }')
    mkdir "$WORK/lib"
    sed 's/MPICH Release date/MPICH release date/' "$lib" >"$WORK/lib/${lib##*/}"
    ! cmp -s "$lib" "$WORK/lib/${lib##*/}" || fail "$lib has no such text"
    printf '%s\n' "0,2 $M" "1,3 env LD_LIBRARY_PATH=$WORK/lib $M" \
        >"$WORK/builds"
    run_as_user env IMPI_STATS=1 srun --mpi=impi -N2 -n4 --multi-prog \
        "$WORK/builds"
    assert_code 0
    assert_world 4
    # Who exchanged anything with processes of which client.
    assert_error '^slurm-fabric: rank [02]: +[13] +1 '
    assert_error '^slurm-fabric: rank [13]: +[02] +0 '
    assert_nothing_left
}

case_each_node_a_client() {
    run_as_user env SLURM_IMPI_CLIENTS=node srun --mpi=impi -N3 -n5 "$M"
    assert_code 0
    assert_world 5
    run_as_user env SLURM_IMPI_CLIENTS=moon srun --mpi=impi -n1 "$M"
    assert_code_not 0
    assert_error "SLURM_IMPI_CLIENTS=moon: must be 'node' or 'library'"
    assert_nothing_left
}

# The flow of a job's own is the one that doc/impi-data.md gives, not that of
# worlds with strangers (64 KB, a PROTOACK for every ten packets).
case_flow_of_a_job_is_our_own() {
    local f acks packets
    for f in mpich openmpi; do
        install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/sizes.$f" "$WORK/sizes.$f"
    done
    run_as_user env IMPI_TRACE=1 srun --mpi=impi \
        -n1 "$WORK/sizes.mpich" : -n1 "$WORK/sizes.openmpi"
    assert_code 0
    assert_output '^PASS sizes$' 1
    assert_error ' DATASYNC .* len 262144 of '
    assert_error ' DATA .* len 1048576 of '
    packets=$(grep -cE 'rank 0: to 1: (DATA|SYNCACK)' <<<"$err")
    acks=$(grep -c 'rank 0: from 1: PROTOACK' <<<"$err")
    [ $((acks * 64)) -le "$packets" ] && [ "$packets" -ge 64 ] ||
        fail "$acks PROTOACKs for $packets packets"
    assert_nothing_left
}

case_cyclic_distribution() {
    run_as_user srun --mpi=impi -N2 -n5 -m cyclic "$M" : -N2 -n3 -m cyclic "$O"
    assert_code 0
    assert_world 8
    assert_nothing_left
}

case_several_programs_in_turn() {
    run_as_user srun --mpi=impi -n2 sh -c "$M; $O; $M" : -n2 \
        sh -c "$O; $O; $M"
    assert_code 0
    assert_output '^rank [0-3] of 4 sum 10 ' 12
    assert_nothing_left
}

case_wrapper_script_and_foreign_variables() {
    run_as_user env PMI_RANK=7 PMI_SIZE=9 PMI_FD=3 PMIX_NAMESPACE=x \
        PMIX_RANK=5 srun --mpi=impi -n2 sh -c "exec $M" : -n2 sh -c "exec $O"
    assert_code 0
    assert_world 4
    run_as_user srun --mpi=impi -n1 env
    assert_output '^SLURM_IMPI_AGENT=/' 1
    assert_output '^LD_PRELOAD=.*/libimpi.so$' 1
    assert_output '^SLURM_IMPI_SECRET=' 0
    assert_nothing_left
}

# SLURM_IMPI_* are not the user's environment: they reach the tasks anyway.
# Without HOME Open MPI 5 itself does not start as a user who has none.
case_export_none_for_srun() {
    local home=HOME=$CLUSTER/home
    run_as_user srun --mpi=impi --export=NONE -n2 "$M" : \
        --export=NONE -n2 /usr/bin/env "$home" "$O"
    assert_code 0
    assert_world 4
    run_as_user env FOREIGN=1 srun --mpi=impi --export=NONE -n1 /usr/bin/env
    assert_output '^FOREIGN=' 0
    assert_output '^SLURM_IMPI_AGENT=/' 1
    assert_nothing_left
}
case_export_none_for_a_batch_script() {
    local home=HOME=$CLUSTER/home
    # For this script slurmd asks the user's login shell, and holds the job of
    # one who has none.
    if slurm_since 25.05 && [[ $(getent passwd "$JOB_USER") = *nologin ]]; then
        skip "$JOB_USER has no login shell, which this Slurm asks"
    fi
    printf '#!/bin/sh\n%s --mpi=impi -n2 %s : -n2 /usr/bin/env %s %s\n' \
        "$(command -v srun)" "$M" "$home" "$O" >"$WORK/none.sh"
    run_as_user sbatch -W --export=NONE -N2 --ntasks-per-node=2 \
        -o "$WORK/none.out" "$WORK/none.sh"
    assert_code 0
    out=$(cat "$WORK/none.out")
    assert_world 4
    assert_nothing_left
}

# What a container is to us: other namespaces, the same two directories.  The
# libraries' own shared memory does not get across.
# One task of MPICH only: two of it may stay in MPICH's own MPI_Finalize with
# UCX_TLS=tcp,self (doc/impi.md, Limits).
# As slurm-fabric(7) says; else whichever component is first reads it.
case_standard_input_goes_where_it_is_wanted() {
    local read='x=$(cat); echo "$SLURM_PROCID read $x"'
    for _ in 1 2 3; do
        run_as_user sh -c "echo it | salloc -Q -N2 srun --mpi=impi -n1 \
            sh -c '$read' : --input=none -n1 sh -c '$read'"
        assert_code 0
        assert_output '^0 read it$' 1
        assert_output '^1 read $' 1
        run_as_user sh -c "echo it | salloc -Q -N2 srun --mpi=impi \
            --input=none -n1 sh -c '$read' : --input=all -n1 sh -c '$read'"
        assert_code 0
        assert_output '^0 read $' 1
        assert_output '^1 read it$' 1
    done
}

case_tasks_in_namespaces() {
    local new="unshare --map-current-user --mount --ipc --pid --fork"
    run_as_user $new true
    [ "$code" = 0 ] || skip "users may not make namespaces"
    run_as_user env UCX_TLS=tcp,self OMPI_MCA_btl=tcp,self \
        OMPI_MCA_pml=ob1 srun --mpi=impi -n1 $new "$M" : -n2 $new "$O"
    assert_code 0
    assert_world 3
    assert_nothing_left
}

case_batch_script_with_several_steps() {
    printf '#!/bin/sh\nfor i in 1 2 3; do srun --mpi=impi -n2 %s : -n2 %s
done\n' "$M" "$O" >"$WORK/batch.sh"
    run_as_user sbatch -W -N2 --ntasks-per-node=2 -o "$WORK/batch.out" \
        "$WORK/batch.sh"
    assert_code 0
    out=$(cat "$WORK/batch.out")
    assert_output '^rank [0-3] of 4 sum 10 ' 12
    assert_nothing_left
}

case_programs_without_mpi() {
    run_as_user srun --mpi=impi -N4 -n4 printenv SLURMD_NODENAME
    assert_code 0
    assert_output '^n[0-3]$' 4
    run_as_user srun --mpi=impi -n2 sh -c 'exit 5'
    assert_code 5
    assert_nothing_left
}

# (Ports of which minislurm gives its daemons none: host.sh.)
case_ports_and_network_of_impi_conf() {
    printf 'PortRange=18000-18999\nNetwork=127.0.0.0/8\n' \
        >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -n1 sh -c 'echo $SLURM_IMPI_SERVER'
    assert_code 0
    assert_output '^127\.0\.0\.[0-9]+:18[0-9][0-9][0-9]$'
    run_as_user srun --mpi=impi -n2 "$M" : -n2 "$O"
    assert_world 4
    echo 'Network=203.0.113.0/24' >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -n1 true
    assert_code_not 0
    assert_error 'no interface has an address in 203.0.113.0/24'
    echo 'Colour=red' >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -n1 true
    assert_code_not 0
    assert_error 'impi.conf:1: Colour: no such key'
    rm "$CLUSTER/etc.fabric/impi.conf"
    assert_nothing_left
}

# srun said why, and then waited KillWait and more, with the nodes in its hands.
jobs_so_far() {
    grep -c '_slurm_rpc_allocate_resources\|_slurm_rpc_.*step_create' \
        "$CLUSTER/log/slurmctld.log"
}
refused_before_nodes() { # WHY COMMAND..
    local why=$1 before
    before=$(jobs_so_far)
    shift
    run_as_user "$@"
    assert_code 1
    assert_equal 1 "$(grep -c "$why" <<<"$err")" "lines of it"
    assert_equal 1 "$(wc -l <<<"$err")" "lines"
    assert_equal "$before" "$(jobs_so_far)" "allocations"
}
refused_with_nodes() { # WHY COMMAND..
    local why=$1
    shift
    run_as_user "$@"
    assert_code 1
    assert_equal 1 "$(grep -c "$why" <<<"$err")" "lines of it"
    assert_output 'not to be run' 0
    ! grep -qE 'Waiting up to|Timed out|SF-E302' <<<"$err" ||
        fail "srun waited: $err"
}
case_srun_that_refuses_ends_at_once() {
    local conf=$CLUSTER/etc.fabric/impi.conf
    echo 'Colour=red' >"$conf"
    refused_before_nodes 'SF-E304: .*impi.conf:1: Colour: no such key' \
        srun --mpi=impi -N2 echo not to be run
    rm "$conf"
    refused_before_nodes 'SF-E304: SLURM_IMPI_CLIENTS=moon' \
        env SLURM_IMPI_CLIENTS=moon srun --mpi=impi echo not to be run
    refused_before_nodes 'SF-E304: SLURM_IMPI_DIRECT=x' \
        env SLURM_IMPI_DIRECT=x srun --mpi=impi echo not to be run
    refused_before_nodes 'SF-E304: SLURM_IMPI_JOIN=x' \
        env SLURM_IMPI_JOIN=x srun --mpi=impi echo not to be run
    # What depends on the nodes.
    echo 'Advertise=ctl' >"$conf"
    refused_with_nodes 'SF-E304: .*Advertise=ctl is not an address' \
        srun --mpi=impi -N2 echo not to be run
    echo 'Network=203.0.113.0/24' >"$conf"
    refused_with_nodes 'SF-E304: .*no interface has an address' \
        srun --mpi=impi -n1 echo not to be run : -n1 echo not to be run
    rm "$conf"
    run_as_user srun --mpi=list
    assert_code 0
    assert_nothing_left
}

case_what_is_ignored_is_told() {
    run_as_user env SLURM_IMPI_THREAD=many SLURM_IMPI_DATA=foo IMPI_SHM=1 \
        IMPI_TOLERATE=foo SLURM_IMPI_LOG="$WORK/no/such" \
        srun --mpi=impi -n1 "$M" : -n1 "$O"
    assert_code 0
    assert_world 2
    assert_error "SF-E305: SLURM_IMPI_THREAD=many is ignored: 'multiple' and 'no'"
    assert_error "SF-E305: SLURM_IMPI_DATA=foo is ignored: 'external32' is known"
    assert_error "SF-E305: no log of impi-server: .*/no/such: No such file"
    assert_error "SF-E305: no log of impid on node n[0-3]: .*/no/such: No such"
    assert_error "rank 0: SF-E406: IMPI_TOLERATE: unknown word 'foo'"
    assert_equal 5 "$(grep -c SF-E <<<"$err")" "lines"
    assert_nothing_left
}

# Server, agents, the line between nodes and processes, all of IPv6.
case_network_of_ipv6() {
    grep -q "^0*1 .* lo$" /proc/net/if_inet6 2>/dev/null || skip "no IPv6 here"
    echo 'Network=::1' >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -n1 sh -c 'echo $SLURM_IMPI_SERVER'
    assert_output '^\[::1\]:[0-9]+$'
    run_as_user srun --mpi=impi -N2 -n2 "$M" : -N2 -n2 "$O"
    assert_code 0
    assert_world 4
    echo 'Advertise=::1' >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -n1 "$M" : -n1 "$O"
    assert_world 2
    echo 'Advertise=ctl' >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -n1 true
    assert_code_not 0
    assert_error 'Advertise=ctl is not an address'
    rm "$CLUSTER/etc.fabric/impi.conf"
    assert_nothing_left
}

# What impid found wrong stood in the log of its node alone.
case_wrong_interface_is_told() {
    run_as_user env IMPI_IFNAME=lo srun --mpi=impi -N2 -n2 "$M" : -N2 -n2 "$O"
    assert_code 0
    assert_world 4
    run_as_user env IMPI_IFNAME=no0 srun --mpi=impi -n1 "$M" : -n1 "$O"
    assert_code 1
    assert_error 'SF-E317: node n[0-9]: IMPI_IFNAME=no0: no interface no0 is up'
    assert_nothing_left
}

# Slurm signals the whole container, impid in it included.
case_signals_are_for_the_tasks() {
    local srun signal job end=$WORK/signalled
    start_as_user srun --mpi=impi -n2 \
        sh -c "trap '' USR1 TERM HUP; exec $M until $end" : -n2 \
        sh -c "trap '' USR1 TERM HUP; exec $O until $end"
    srun=$!
    wait_for 30 ready 4
    for signal in USR1 HUP TERM; do
        for job in $(squeue -h -o %A); do
            run_as_user scancel -s "$signal" "$job"
        done
    done
    touch "$end"
    collect $srun
    assert_code 0
    assert_world 4
    assert_nothing_left
}

case_suspend_and_resume() {
    local srun end=$WORK/resumed
    start_as_user srun --mpi=impi -J susp -n2 "$M" until "$end" : \
        -n2 "$O" until "$end"
    srun=$!
    wait_for 30 ready 4
    suspend_all suspend S
    sleep 2 # how long does not matter, that time passes does
    suspend_all resume R
    touch "$end"
    collect $srun
    assert_code 0
    assert_world 4
    assert_nothing_left
}

# By the first component's number, which means all of them.  A busy slurmctld
# may still be at a change of before, and then refuses.
suspend_all() { # VERB STATE-AFTER
    local job
    job=$(squeue -h -n susp -o %A | sort -n | head -n 1)
    wait_for 60 scontrol "$1" "$job" && wait_for 60 all_in "$2"
}

all_in() {
    [ "$(squeue -h -n susp -o %t | sort -u)" = "$1" ]
}
run_cases
