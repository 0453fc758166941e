#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# One-sided communication in worlds of several IMPI clients on this machine,
# without Slurm: windows, epochs, operations, datatypes, targets that are out of
# MPI, processes that die.
. "$(dirname "$0")/lib.sh"
export BARE_FRONT=$front

# case_run TITLE NAME CLIENTS... [-- ARGUMENTS]: it says PASS in that world.
case_run()
{
    local title=$1 name=$2 world=()
    shift 2
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        world+=("$1")
        shift
    done
    "${limited[@]}" 120 "$dir/bare_world" "${world[@]}" -- "$dir/$name" "${@:2}" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS $name" "$TMPDIR/out"
    report $? "$title: $name in ${world[*]}${2:+, ${*:2}}"
}

# All wait for ever where the target's help is needed.
case_target_is_out_of_mpi() # FLAVOR CLIENTS..
{
    rm -f "$TMPDIR/fifo"
    mkfifo "$TMPDIR/fifo"
    case_run target_is_out_of_mpi rma_passive "${@:2}" -- "$TMPDIR/fifo" "$1"
}

case_death_ends_all() # WHO CLIENTS..
{
    local title=death_in_an_epoch_ends_all
    can_see_what_is_left || {
        skipped "$title: $*" "no namespaces"
        return
    }
    death_ends "$dir/bare_world" "${@:2}" -- "$dir/rma_death" "$1"
    report $? "$title: $*"
}

# The job's launcher leaves the processes alone.  Each of them says who was lost,
# with rank and window, and who waits there, for what (a pattern).
case_all_name_the_dead_and_the_window() # TITLE WHO WHAT CLIENTS.., the 2nd of 1
{
    local title=$1 rc rank=0 n=0 world
    for world in "${@:4}"; do
        n=$((n + ${world#*:}))
    done
    "${limited[@]}" 60 "$dir/bare_world" -l "${@:4}" -- \
        "$dir/rma_death" "$2" >"$TMPDIR/out" 2>&1
    rc=$?
    for ((; rank < n; rank++)); do
        [ $rank = 1 ] || grep -qE "^slurm-fabric: rank $rank: SF-E402: lost \
rank 1 \(client 1[,)].*in a window of $n processes, shelf$" "$TMPDIR/out" || rc=99
    done
    [ $rc = 1 ] && grep -qE "SF-E402: lost rank 1 .*$3 in a window of" \
        "$TMPDIR/out"
    report $? "$title: $2 in ${*:4}"
}

# What only the target can see: each origin's call returns the error, and each
# says whose memory it was, and of which window.
case_refusals_name_rank_and_window() # CLIENTS.., of three processes
{
    local title=refusals_name_rank_and_window rc rank at
    "${limited[@]}" 120 "$dir/bare_world" "$@" -- "$dir/win" \
        >"$TMPDIR/out" 2>&1
    rc=$?
    for rank in 0 1 2; do
        for at in 4096 8192; do
            grep -q "^slurm-fabric: rank $rank: SF-E513: rank $(((rank + 1) % 3)) \
refused an access at displacement $at of a window of 3 processes, raft: it is not \
within the memory of its window$" "$TMPDIR/out" || rc=99
        done
    done
    [ $rc = 0 ] && grep -q "^PASS win" "$TMPDIR/out"
    report $? "$title: $*"
}

# Each client's launcher is in a user namespace of its own: the kernel refuses
# its processes the others' memory, as yama may.
make_launchers_apart()
{
    local launcher path
    mkdir -p "$TMPDIR/apart" || return
    for launcher in mpiexec.hydra mpirun.openmpi; do
        path=$(command -v $launcher) || return
        # shellcheck disable=SC2016 # $APART is its caller's
        printf '#!/bin/sh\nexec unshare --user --map-root-user $APART %s "$@"\n' \
            "$path" >"$TMPDIR/apart/$launcher"
        chmod +x "$TMPDIR/apart/$launcher"
    done
    "$TMPDIR/apart/mpirun.openmpi" --version >/dev/null 2>&1
}

# Messages between clients go this way.
case_apart() # TITLE WAY PROGRAM CLIENTS.. [-- ARGUMENTS]
{
    local title=$1 way=$2 prog=$3 world=()
    shift 3
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        world+=("$1")
        shift
    done
    PATH=$TMPDIR/apart:$PATH IMPI_STATS=1 "${limited[@]}" 120 \
        "$dir/bare_world" "${world[@]}" -- "$dir/$prog" "${@:2}" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS $prog" "$TMPDIR/out" &&
        [ "$(awk '/^slurm-fabric: rank 0: +[0-9]/ && $5 > 0 { print $NF }' \
            "$TMPDIR/out" | sort -u)" = "$way" ]
    report $? "$title: $prog in ${world[*]}${2:+, ${*:2}}"
}

# Of two processes of different clients none has found the other's memory, or
# this would show nothing.
case_memory_of_others_is_refused() # PROGRAM CLIENTS.. [-- ARGUMENTS]
{
    case_apart memory_of_others_is_refused TCP "$1" -p "${@:2}"
}

# Who may open both passes it.
case_memory_of_others_is_passed() # PROGRAM CLIENTS.. [-- ARGUMENTS]
{
    case_apart memory_of_others_is_passed memory "$@"
}

need_both rma_sync

title=windows_of_all_processes
for prog in rma_sync rma_ops rma_types rma_win; do
    case_run $title $prog mpich:1 openmpi:1
    case_run $title $prog mpich:2 openmpi:2
    case_run $title $prog -i mpich:2 openmpi:1 mpich:2
done
title=windows_of_shared_memory
for prog in rma_sync rma_ops rma_types; do
    for world in "mpich:1 openmpi:1" "-i mpich:2 openmpi:3"; do
        # shellcheck disable=SC2086
        WINDOWS_ALLOCATED=1 case_run $title $prog $world
    done
done
title=windows_by_tcp_as_between_machines
export IMPI_SHM=0
for prog in rma_sync rma_ops rma_types; do
    case_run $title $prog -i openmpi:2 mpich:1
done
case_run $title rma_long openmpi:1 mpich:2
unset IMPI_SHM
title=windows_by_messages_through_shared_memory
for prog in rma_sync rma_ops rma_types rma_win; do
    SLURM_IMPI_WINDOWS=messages case_run $title $prog -i openmpi:1 mpich:2
done
SLURM_IMPI_WINDOWS=messages case_run $title rma_long mpich:2 openmpi:1
title=with_clients_that_keep_nothing_before_a_lock
for prog in rma_sync rma_ops rma_types; do
    IMPI_SHM=0 case_run $title $prog -e openmpi:1 mpich:2
done
SLURM_IMPI_WINDOWS=messages case_run $title rma_locks -e mpich:2 openmpi:1
title=locks_that_operations_bring_along
IMPI_SHM=0 case_run $title rma_locks mpich:1 openmpi:1
IMPI_SHM=0 case_run $title rma_locks -i openmpi:2 mpich:2
SLURM_IMPI_WINDOWS=messages case_run $title rma_locks mpich:2 openmpi:1
SOME_BY_MESSAGES=1 case_run $title rma_locks mpich:2 openmpi:2
case_run $title rma_locks mpich:2 openmpi:2
title=with_clients_that_share_no_windows
case_run $title rma_sync -s mpich:1 openmpi:2
title=both_ways_at_once
for prog in rma_sync rma_ops rma_types rma_win; do
    SOME_BY_MESSAGES=1 case_run $title $prog mpich:3 openmpi:2
    SOME_BY_MESSAGES=1 WINDOWS_ALLOCATED=1 case_run $title $prog \
        -i mpich:2 openmpi:2
done
title=what_a_library_alone_gets_wrong
case_run $title rma_win openmpi:1 mpich:2 -- our_classes our_bases \
    our_no_memory
case_run $title rma_win mpich:1 openmpi:1 -- our_no_memory
title=memory_of_one_machine_for_all_clients
for world in "mpich:1 openmpi:1" "openmpi:1 mpich:1" "-i mpich:2 openmpi:2 mpich:1"; do
    # shellcheck disable=SC2086
    case_run $title rma_win $world -- our_shared our_apart
done
title=windows_by_mpif_h_and_mpi_f08
for prog in rma_fold rma_f08; do
    if [ -x "$dir/$prog.mpich" ] && [ -x "$dir/$prog.openmpi" ]; then
        case_run $title $prog mpich:2 openmpi:1
    else
        skipped "$title: $prog" "no Fortran compiler for both"
    fi
done
for flavor in create allocate; do
    case_target_is_out_of_mpi $flavor mpich:2 openmpi:1
    case_target_is_out_of_mpi $flavor openmpi:1 mpich:2
    IMPI_SHM=0 case_target_is_out_of_mpi $flavor mpich:1 openmpi:1
    SLURM_IMPI_WINDOWS=messages case_target_is_out_of_mpi $flavor \
        mpich:1 openmpi:2
done
# Neither does the target's thread help: memory is shared, or copied.
SLURM_IMPI_THREAD=no case_target_is_out_of_mpi allocate mpich:1 openmpi:1
SLURM_IMPI_THREAD=no case_target_is_out_of_mpi allocate -i openmpi:2 mpich:2
title=target_of_other_memory_is_out_of_mpi
if [ "$(cat /proc/sys/kernel/yama/ptrace_scope 2>/dev/null || echo 0)" = 0 ]; then
    for world in "mpich:1 openmpi:1" "openmpi:1 mpich:2"; do
        rm -f "$TMPDIR/fifo"
        mkfifo "$TMPDIR/fifo"
        # shellcheck disable=SC2086
        SLURM_IMPI_THREAD=no case_run $title rma_passive $world -- \
            "$TMPDIR/fifo" create locks
    done
else
    skipped $title "processes may not be copied"
fi
if make_launchers_apart; then
    for prog in rma_sync rma_ops rma_types rma_win; do
        case_memory_of_others_is_refused $prog mpich:1 openmpi:2
    done
    for flavor in create allocate; do
        rm -f "$TMPDIR/fifo"
        mkfifo "$TMPDIR/fifo"
        case_memory_of_others_is_refused rma_passive mpich:1 openmpi:1 -- \
            "$TMPDIR/fifo" $flavor
    done
    for prog in rma_sync rma_ops rma_types rma_win; do
        case_memory_of_others_is_passed $prog mpich:1 openmpi:2
    done
    for world in "mpich:1 openmpi:1" "openmpi:1 mpich:2"; do
        rm -f "$TMPDIR/fifo"
        mkfifo "$TMPDIR/fifo"
        # shellcheck disable=SC2086
        SLURM_IMPI_THREAD=no case_memory_of_others_is_passed rma_passive \
            $world -- "$TMPDIR/fifo" allocate
        # shellcheck disable=SC2086
        case_memory_of_others_is_passed rma_win $world -- our_shared our_apart
        # shellcheck disable=SC2086
        APART="--pid --kill-child --mount-proc" \
            case_memory_of_others_is_passed rma_win $world -- our_shared our_apart
    done
else
    skipped memory_of_others_is_refused "no user namespaces"
    skipped memory_of_others_is_passed "no user namespaces"
fi
for who in target origin holder fence; do
    case_death_ends_all $who mpich:2 openmpi:2
    case_death_ends_all $who -i openmpi:2 mpich:1
    SLURM_IMPI_WINDOWS=messages case_death_ends_all $who mpich:2 openmpi:1
done
case_refusals_name_rank_and_window mpich:2 openmpi:1
case_refusals_name_rank_and_window -i openmpi:2 mpich:1
case_deaths_are_told() # TITLE FLUSH CLIENTS..
{
    local title=$1 flush=$2
    shift 2
    case_all_name_the_dead_and_the_window "$title" target "$flush" "$@"
    case_all_name_the_dead_and_the_window "$title" origin \
        "waits for the epoch of all" "$@"
    case_all_name_the_dead_and_the_window "$title" holder \
        "(waits for the lock of|had or awaited a lock of) rank 0" "$@"
    case_all_name_the_dead_and_the_window "$title" fence \
        "waits for (a flush of rank 1|the fence of all)" "$@"
}

for world in "mpich:1 openmpi:1 mpich:2" "openmpi:1 mpich:1 openmpi:2"; do
    # shellcheck disable=SC2086
    IMPI_SHM=0 case_deaths_are_told all_see_the_end_of_a_connection \
        "waits for a flush of rank 1" $world
done
# Not all of these have a connection to the dead one, and a flush has nothing to
# wait for.
for world in "mpich:1 openmpi:1 mpich:4" "openmpi:1 mpich:1 openmpi:4"; do
    # shellcheck disable=SC2086
    case_deaths_are_told all_see_the_end_of_a_neighbour "it was" $world
done
for who in target holder fence; do
    ERRORS_RETURN=1 case_all_name_the_dead_and_the_window \
        no_handler_is_asked $who "(it was|waits for .*|had or awaited a lock of rank 0)" \
        mpich:1 openmpi:1 mpich:3
done
finish
