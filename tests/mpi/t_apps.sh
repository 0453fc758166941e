#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Programs and libraries that others wrote, unmodified, across MPICH and Open
# MPI: mpi4py, ScaLAPACK, NetPIPE, each as the distribution ships it.
. "$(dirname "$0")/lib.sh"
src=$tests/mpi
export BARE_FRONT=$front

# run NAME PATTERN CLIENTS... -- PROGRAM [ARG...]
run()
{
    local name=$1 pattern=$2
    shift 2
    "${limited[@]}" 120 "$dir/bare_world" "$@" >"$TMPDIR/out" 2>&1 &&
        grep -q "$pattern" "$TMPDIR/out"
    report $? "$name: $*"
}

case_mpi4py_beside_c()
{
    if ! /usr/bin/python3 -c 'import mpi4py' 2>/dev/null; then
        skipped mpi4py_beside_c "no mpi4py"
        return
    fi
    ln -s "$dir/snake.mpich" "$TMPDIR/snake.mpich"
    cp "$src/snake.py" "$TMPDIR/snake.openmpi"
    chmod +x "$TMPDIR/snake.openmpi"
    run mpi4py_beside_c "PASS snake" mpich:1 openmpi:1 -- "$TMPDIR/snake"
    run mpi4py_beside_c "PASS snake" mpich:2 openmpi:2 -- "$TMPDIR/snake"
}

case_scalapack_over_both()
{
    local f
    for f in mpich openmpi; do
        if ! "mpif90.$f" -O1 -o "$TMPDIR/linear.$f" "$src/linear.f90" \
            "-lscalapack-$f" 2>/dev/null; then
            skipped scalapack_over_both "no ScaLAPACK for $f"
            return
        fi
    done
    run scalapack_over_both "PASS linear" mpich:1 openmpi:1 -- \
        "$TMPDIR/linear"
    run scalapack_over_both "PASS linear" -i mpich:2 openmpi:2 -- \
        "$TMPDIR/linear"
}

case_netpipe_over_both()
{
    if ! [ -x /usr/bin/NPmpich2 ] || ! [ -x /usr/bin/NPopenmpi ]; then
        skipped netpipe_over_both "no NetPIPE for both"
        return
    fi
    ln -s /usr/bin/NPmpich2 "$TMPDIR/np.mpich"
    ln -s /usr/bin/NPopenmpi "$TMPDIR/np.openmpi"
    run netpipe_over_both "32769 bytes .* check passed" mpich:1 openmpi:1 -- \
        "$TMPDIR/np" -u 40000 -n 3 -i -o "$TMPDIR/np.out"
}

need_both snake
case_mpi4py_beside_c
case_scalapack_over_both
case_netpipe_over_both
finish
