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
finish
