#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Files in worlds of several IMPI clients on this machine, without Slurm: how
# they are opened, all ways to read and write, by the system's calls and by the
# library's handle.
. "$(dirname "$0")/lib.sh"
export BARE_FRONT=$front

# case_run TITLE NAME CLIENTS..: it says PASS in that world.
case_run()
{
    local title=$1 name=$2
    shift 2
    IO_DIR=$TMPDIR/io
    export IO_DIR
    rm -rf "$IO_DIR"
    mkdir "$IO_DIR"
    "${limited[@]}" 120 "$dir/bare_world" "$@" -- "$dir/$name" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS $name" "$TMPDIR/out"
    report $? "$title: $name in $*"
}

# Seeds of io_mix.
case_mix() # SEED CLIENTS..
{
    local seed=$1
    shift
    IO_DIR=$TMPDIR/io
    export IO_DIR
    rm -rf "$IO_DIR"
    mkdir "$IO_DIR"
    "${limited[@]}" 120 "$dir/bare_world" "$@" -- "$dir/io_mix" "$seed" 20 \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS io_mix" "$TMPDIR/out"
    report $? "the_file_is_what_the_calls_say: seed $seed in $*"
}

case_full() # CLIENTS..
{
    local title=nothing_is_lost_where_it_is_full
    if ! unshare -m true 2>/dev/null; then
        skipped "$title: $*" "no namespaces"
        return
    fi
    mkdir -p "$TMPDIR/small"
    # shellcheck disable=SC2016
    IO_DIR=$TMPDIR/small "${limited[@]}" 60 unshare -m bash -c '
        mount -t tmpfs -o size=1m none "$IO_DIR" || exit 98
        exec "$@"' - "$dir/bare_world" "$@" -- "$dir/io_full" \
        >"$TMPDIR/out" 2>&1 && grep -q "^PASS io_full" "$TMPDIR/out"
    report $? "$title${IO_DRIVER:+, by the library}: $*"
}

# faulty FAULT WHAT [OPTION..] CLIENTS..: io_fault WHAT on such a disk.
faulty()
{
    IO_DIR=$TMPDIR/io
    export IO_DIR
    rm -rf "$IO_DIR"
    mkdir "$IO_DIR"
    FAULTY_DISK=$1 BARE_FRONT=$faulty:$front "${limited[@]}" 60 \
        "$dir/bare_world" "${@:3}" -- "$dir/io_fault" "$2" >"$TMPDIR/out" 2>&1
}

case_all_hear() # TITLE FAULT WHAT CLIENTS..
{
    local title=$1
    shift
    faulty "$@" && grep -q "^PASS io_fault" "$TMPDIR/out"
    report $? "$title: $*"
}

# Whoever sees that one is dead says so, with its rank and the file, and the job
# ends with these words.  SAYERS: how many have a connection to it.
case_death() # SAYERS WHAT CLIENTS..
{
    local title=who_dies_in_a_write_is_told_with_its_file n=$1 rc
    faulty "die 1" "$2" -l "${@:3}"
    rc=$?
    [ $rc = 1 ] && ! grep -qE "came through|^PASS" "$TMPDIR/out" &&
        [ "$(grep -cE "^slurm-fabric: rank [0-9]: SF-E402: lost rank 1 \
\(client 1, [^)]*\): .*; in a collective call on $IO_DIR/fault, which may not be \
whole$" "$TMPDIR/out")" -ge "$n" ] &&
        grep -qE "ending the job: rank [0-9] ended it: SF-E402: lost rank 1 .*\
; in a collective call on $IO_DIR/fault, which may not be whole$" "$TMPDIR/out"
    report $? "$title: $2 $3 $4 ${5-}"
}

# Before it the others may not have begun.
case_absent() # CLIENTS..
{
    local title=who_dies_before_a_write_is_told rc
    faulty none absent -l "$@"
    rc=$?
    [ $rc = 1 ] && ! grep -qE "came through|^PASS" "$TMPDIR/out" &&
        grep -qE "ending the job: rank 0 ended it: SF-E402: lost rank 1 " \
            "$TMPDIR/out"
    report $? "$title: $*"
}

# Also where the dead one has colleagues of its own client, and nothing stays.
case_death_leaves_nothing() # FAULT WHAT CLIENTS..
{
    local title=who_dies_in_a_write_leaves_nothing
    if ! can_see_what_is_left; then
        skipped "$title: $*" "no namespaces"
        return
    fi
    IO_DIR=$TMPDIR/io
    export IO_DIR
    rm -rf "$IO_DIR"
    mkdir "$IO_DIR"
    FAULTY_DISK=$1 BARE_FRONT=$faulty:$front death_ends "$dir/bare_world" \
        "${@:3}" -- "$dir/io_fault" "$2" &&
        ! grep -q "came through" "$TMPDIR/out"
    report $? "$title: $*"
}

case_stall_ends() # WHAT CLIENTS..
{
    local title=a_file_system_that_stalls_ends_the_job rc
    IMPI_FILE_SILENCE=2 faulty "stall 1" "$@"
    rc=$?
    [ $rc = 1 ] && ! grep -qE "came through|^PASS" "$TMPDIR/out" &&
        grep -q "ending the job: rank 1 ended it: SF-E411: $IO_DIR/fault: a \
write has not come back for [0-9]* s on $(uname -n) " "$TMPDIR/out"
    report $? "$title: $*"
}

# Without a limit it is told, and nothing is lost when it is over.
case_stall_is_told() # CLIENTS..
{
    local title=a_file_system_that_stalls_is_told world
    mkfifo "$TMPDIR/until"
    FAULTY_UNTIL=$TMPDIR/until faulty "stall 1" stalled "$@" &
    world=$!
    until grep -q "^slurm-fabric: rank 1: SF-E411: .*fault: a write has not \
come back for " "$TMPDIR/out" 2>/dev/null || ! kill -0 $world 2>/dev/null; do
        read -rt 0.2 <>"$TMPDIR/never"
    done
    ! kill -0 $world || : >"$TMPDIR/until"
    wait $world && grep -q "^PASS io_fault" "$TMPDIR/out" &&
        grep -q "SF-E411" "$TMPDIR/out"
    report $? "$title: $*"
    rm "$TMPDIR/until"
}

need_both io_data

title=files_of_all_processes
for prog in io_open io_data; do
    case_run $title $prog mpich:1 openmpi:1
    case_run $title $prog mpich:2 openmpi:2
    case_run $title $prog -i mpich:2 openmpi:1 mpich:2
done
title=files_by_tcp_as_between_machines
IMPI_SHM=0 case_run $title io_data -i openmpi:2 mpich:1
title=files_by_the_librarys_handle
for prog in io_open io_data; do
    IO_DRIVER=library case_run $title $prog -i mpich:2 openmpi:2
done
# Open MPI 5 does everywhere what 4.1 does when it is told to.
title=files_that_the_library_locks_itself
OMPI_MCA_fs_ufs_lock_algorithm=3 IO_DRIVER=library case_run $title io_data \
    mpich:1 openmpi:2
for seed in 1 2 3; do
    case_mix $seed mpich:2 openmpi:2
    case_mix $seed -i openmpi:1 mpich:2
done
IO_DRIVER=library case_mix 4 mpich:1 openmpi:2
case_full mpich:1 openmpi:1
case_full -i openmpi:2 mpich:2
IO_DRIVER=library case_full mpich:1 openmpi:1

mkfifo "$TMPDIR/never"
faulty=$TMPDIR/faulty_disk.so
if gcc -shared -fPIC -o "$faulty" "$tests/mpi/faulty_disk.c" -ldl \
    2>"$TMPDIR/out"; then
    title=everybody_hears_that_a_quota_is_reached
    case_all_hear $title "quota 1" quota mpich:1 openmpi:1
    case_all_hear $title "quota 0" quota -i mpich:2 openmpi:2
    title=everybody_hears_what_shows_at_the_end
    case_all_hear $title "close 1" close -i mpich:2 openmpi:2
    IO_DRIVER=library case_all_hear $title "close 0" close openmpi:1 mpich:1
    case_death 2 write mpich:1 openmpi:1 mpich:1
    case_death 1 ordered openmpi:1 mpich:1 openmpi:1
    case_absent mpich:1 openmpi:1
    for what in write ordered; do
        case_death_leaves_nothing "die 1" $what -i mpich:2 openmpi:2
    done
    case_death_leaves_nothing none absent mpich:2 openmpi:2
    case_stall_ends write mpich:1 openmpi:1
    case_stall_ends ordered -i openmpi:2 mpich:2
    case_stall_is_told mpich:2 openmpi:1
else
    report 1 "a disk with faults is made"
fi
finish
