#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# MPI_Comm_spawn under a real Slurm: a step of the same job, of the same or
# another library, where the allocation has room, and why not where it has none.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 3 --switch elan

for l in mpich openmpi; do
    [ -x "$SF_TOP_BUILDDIR/tests/mpi/spawn.$l" ] ||
        skip_all "spawn.$l is not built"
    install -m 755 "$SF_TOP_BUILDDIR/tests/mpi/spawn.$l" "$WORK/spawn.$l"
done
cd "$WORK" || exit 1
M=$WORK/spawn.mpich O=$WORK/spawn.openmpi

# spawned N: the parents' world and its N children's are well, and all of both
# was seen at the parents' srun.
spawned() {
    assert_code 0
    assert_output '^PASS spawn$' 1
    assert_output '^PASS child$' "${2:-1}"
    assert_output "^child [0-9]+ of $1 on " "$1"
}

# in_job COMMAND..: in an allocation of three nodes with four processors each.
in_job() {
    run_as_user salloc -Q -N3 --ntasks-per-node=4 "${to_the_last_step[@]}" "$@"
}

case_a_world_of_one_library_has_another_started() {
    in_job srun --mpi=impi -N1 -n2 --exact "$M" world "$O" 2
    spawned 2
    assert_output '^universe 12$' 2
    in_job srun --mpi=impi -N1 -n2 --exact "$O" world "$M" 3
    spawned 3
    assert_nothing_left
}

case_a_spanning_world_has_others_started() {
    in_job srun --mpi=impi -N1 -n1 --exact "$M" world "$O" 2 \
        : -N1 -n1 --exact "$O" world "$O" 2
    spawned 2
    in_job srun --mpi=impi -N1 -n2 --exact "$O" half "$M" 2 \
        : -N1 -n2 --exact "$M" half "$M" 2
    spawned 2
    assert_nothing_left
}

case_from_self_and_twice() {
    in_job srun --mpi=impi -N1 -n2 --exact "$M" self "$M" 1
    spawned 1
    in_job srun --mpi=impi -N1 -n2 --exact "$O" twice "$M" 1
    assert_code 0
    assert_output '^PASS child$' 2
    assert_nothing_left
}

# True: the second one is given time, or it has failed.
second_waits() {
    pgrep -f -- "--immediate=[0-9]+ .* $WORK/spawn" >/dev/null ||
        grep -q "Unable to create step" "$case_tmp/bg.err"
}

# Twelve processors: the second ten find the first ten still there, which have
# said goodbye.
case_children_that_leave_make_room() {
    local parents

    rm -f "$WORK/leave"
    start_as_user salloc -Q -N3 --ntasks-per-node=4 \
        "${to_the_last_step[@]}" srun --mpi=impi -N1 -n2 --exact "$M" lingers "$O" 10
    parents=$!
    wait_for 60 second_waits
    run_as_user touch "$WORK/leave"
    collect "$parents"
    assert_code 0
    assert_output '^PASS spawn$' 1
    assert_output '^PASS child$' 2
    assert_output '^child [0-9]+ of 10 on ' 20
    assert_nothing_left
}

case_several_commands_are_one_world() {
    in_job srun --mpi=impi -N1 -n2 --exact "$M" world "$M" 1 "$O" 2
    spawned 3
    assert_output '^command 0$' 1 # MPI_APPNUM
    assert_output '^command 1$' 2
    assert_nothing_left
}

case_info_keys_say_where() {
    run_as_user mkdir -p "$WORK/there"
    in_job srun --mpi=impi -w n0 -N1 -n1 --exact "$M" world host=n2 \
        wdir="$WORK/there" path="$WORK" spawn.openmpi 2
    spawned 2
    assert_output "^child [01] of 2 on n2 in $WORK/there\$" 2
    assert_nothing_left
}

case_a_full_allocation_says_so_at_once() {
    run_as_user srun --mpi=impi -N1 -n2 "$M" fails "$M" 1
    assert_code 0
    assert_output '^PASS spawn$' 1
    run_as_user srun --mpi=impi -N1 -n2 "$O" world "$M" 1
    [ "$code" != 0 ] || fail "it was spawned"
    grep -q "MPI_Comm_spawn(.*Unable to create step" <<<"$err" ||
        fail "no reason: $err"
    run_as_user srun --mpi=impi -N1 -n2 "$M" world slurm_overlap=yes "$O" 1
    spawned 1
    assert_nothing_left
}

# Twelve processors, of which the parents have two.
case_fewer_where_soft_lets_it_be() {
    in_job srun --mpi=impi -N1 -n2 --exact "$M" world soft=0:20 "$O" 12/10
    spawned 10
    in_job srun --mpi=impi -N1 -n2 --exact "$O" world soft=1,4,8,16 "$M" 20/8
    spawned 8
    in_job srun --mpi=impi -N1 -n2 --exact "$O" world soft=2:9:3 "$M" 5/5
    spawned 5
    in_job srun --mpi=impi -N1 -n2 --exact "$M" world soft=1:8 \
        "$M" 4/4 "$O" 8/6
    spawned 10
    in_job srun --mpi=impi -N1 -n2 --exact "$M" fails soft=11:12 "$O" 12
    assert_code 0
    assert_output '^PASS spawn$' 1
    in_job srun --mpi=impi -N1 -n2 --exact "$M" world soft=2:x "$O" 4
    [ "$code" != 0 ] || fail "it was spawned"
    grep -q 'MPI_Comm_spawn(.*the info key soft is "2:x"' <<<"$err" ||
        fail "no reason: $err"
    assert_nothing_left
}

case_soft_where_the_allocation_is_full() {
    run_as_user srun --mpi=impi -N1 -n2 "$M" fails soft=0:2 "$M" 2
    assert_code 0
    assert_output '^PASS spawn$' 1
    run_as_user srun --mpi=impi -N1 -n2 "$O" world soft=1:4 "$M" 4
    [ "$code" != 0 ] || fail "it was spawned"
    grep -q "MPI_Comm_spawn(.*Unable to create step" <<<"$err" ||
        fail "no reason: $err"
    assert_nothing_left
}

# Of the children that are seen none has been started before the world could
# meet them.
case_none_is_started_for_a_world_that_cannot_meet_it() {
    in_job srun --mpi=impi -N1 -n2 --exact "$M" deaf "$O" 2
    spawned 2
    in_job srun --mpi=impi -N1 -n2 --exact "$O" deaf "$M" 1
    spawned 1
    in_job srun --mpi=impi -N1 -n1 --exact "$M" deaf "$O" 2 \
        : -N1 -n1 --exact "$O" deaf "$O" 2
    spawned 2
    assert_nothing_left
}

case_a_program_that_is_not_there() {
    in_job srun --mpi=impi -N1 -n1 --exact "$M" fails "$WORK/nobody" 2
    assert_code 0
    assert_output '^PASS spawn$' 1
    in_job srun --mpi=impi -N1 -n1 --exact "$M" fails /bin/true 2
    assert_code 0
    assert_output '^PASS spawn$' 1
    assert_nothing_left
}

case_the_children_s_death_is_an_error() {
    in_job srun --mpi=impi -N1 -n2 --exact "$O" dies "$M" 2
    assert_code 0
    assert_output '^PASS spawn$' 1
    grep -q "SF-E515: lost rank" <<<"$err" || fail "not told: $err"
    assert_nothing_left
}

run_cases
