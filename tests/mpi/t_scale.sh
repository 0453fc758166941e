#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Many clients and many ranks on this machine: they start, reduce, send a token
# round, and end.  SCALE_CLIENTS clients (both libraries in turn) of SCALE_PROCS
# processes each; `make check-mpi` runs 32 of 16.  Every process has a soft
# limit of 256 descriptors, less than there are ranks.
. "$(dirname "$0")/lib.sh"
clients=${SCALE_CLIENTS:-8}
procs=${SCALE_PROCS:-4}
limit=${SCALE_SECONDS:-100}
unset IMPI_AUTH_NONE
export IMPI_AUTH_KEY=4711
# MPICH's start waits for processes of one node in a loop that never yields.
export MPIR_CVAR_NOLOCAL=1

need_both ring
need_stage impirun
trap 'kill $server $pids 2>/dev/null; wait; rm -rf "$TMPDIR"' EXIT
ulimit -Sn 256

mkfifo "$TMPDIR/hostport"
"${limited[@]}" "$limit" "$impirun" -server "$clients" >"$TMPDIR/hostport" \
    2>"$TMPDIR/out.server" &
server=$!
read -r hostport <"$TMPDIR/hostport"
pids=
for ((c = 0; c < clients; c++)); do
    family=mpich
    [ $((c % 2)) = 0 ] || family=openmpi
    "${limited[@]}" "$limit" "$impirun" -client "$c" "$hostport" -np "$procs" \
        "$dir/ring.$family" >"$TMPDIR/out.$c" 2>&1 &
    pids+=" $!"
done
rc=0
for pid in $server $pids; do
    wait "$pid" || rc=1
done
server='' pids=''

ranks=$((clients * procs))
title="many_clients: $ranks ranks in $clients clients"
[ $rc = 0 ] && [ "$(cat "$TMPDIR"/out.* | grep -c "^rank .* of $ranks:")" \
    = $ranks ] && grep -q '^PASS ring' "$TMPDIR/out.0"
rc=$?
cat "$TMPDIR"/out.* | grep -v '^rank' | sort | uniq -c | head -40 \
    >"$TMPDIR/all"
rm "$TMPDIR"/out.*
mv "$TMPDIR/all" "$TMPDIR/out"
report $rc "$title"
finish
