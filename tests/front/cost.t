#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a native call costs more because we are there, in instructions: alone
# in a world of one client, and beside another library.
. "$(dirname "$0")/lib.sh"

[ "$(uname -m)" = x86_64 ] || skip_all "x86-64 only"
world=$build/tests/mpi/bare_world
[ -x "$world" ] && [ "$(families | wc -l)" = 2 ] ||
    skip_all "two MPI libraries are needed"
export BARE_FRONT=$front

for f in mpich openmpi; do
    mpicc "$f" -mno-red-zone -o "$tmp/cost.$f" "$here/cost.c" || exit 1
    "$tmp/cost.$f" >"$tmp/native.$f" || exit 1
    "$world" "$f:1" -- "$tmp/cost" >"$tmp/alone.$f" || exit 1
done
"$world" mpich:1 openmpi:1 -- "$tmp/cost" >"$tmp/both.mpich" || exit 1
cp "$tmp/both.mpich" "$tmp/both.openmpi"

# at_most NAME FAMILY CALL COMM WORLD LIMIT
at_most() {
    local a b
    a=$(awk -v k="$2 $3 $4" '$1 " " $2 " " $3 == k { print $4 }' \
        "$tmp/native.$2")
    b=$(awk -v k="$2 $3 $4" '$1 " " $2 " " $3 == k { print $4 }' "$tmp/$5.$2")
    [ -n "$a" ] && [ -n "$b" ] && [ $((b - a)) -le "$6" ]
    report $? "$1: $((b - a)) more than $a" - \
        <<<"native: $a, with us: $b, allowed: $6 more"
}

for f in mpich openmpi; do
    for call in send recv; do
        at_most "${f}_${call}_alone" $f $call world alone 2
        at_most "${f}_${call}_on_native_communicator" \
            $f $call self both 40
    done
    for call in put flush; do
        for where in alone both; do
            at_most "${f}_${call}_on_native_window_$where" \
                $f $call self $where 2
        done
    done
    at_most "${f}_message_alone" $f message world alone 8
done
# Irecv, Send and Wait in MPI_COMM_WORLD, with a rank of the own client.
at_most message_inside_first_client mpich message world both 120
# Here the ranks differ from the library's, so that MPI_Irecv needs a request
# of ours, which translates the status.
at_most message_inside_other_client openmpi message world both 120
finish
