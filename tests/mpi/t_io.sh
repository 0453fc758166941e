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
finish
