#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs of the real libraries under the front, outside an IMPI step: they
# must behave as if it were not there.
. "$(dirname "$0")/lib.sh"

under_front() { LD_PRELOAD=$front${PRELOAD:+:$PRELOAD} "$@" 2>&1; }

name_of() { [ "$1" = mpich ] && echo MPICH || echo "Open MPI"; }

world=$build/tests/mpi/bare_world

for f in $(families); do
    want="rank 0 of 1: $(name_of "$f") sum 21 time 1"
    mpicc "$f" -o "$tmp/hello" "$here/hello.c" &&
        mpicc "$f" -DPLUGIN -fPIC -shared -o "$tmp/hello.so" \
            "$here/hello.c" &&
        mpicc "$f" -fPIC -shared -o "$tmp/tool.so" "$here/tool.c" &&
        mpicc "$f" -o "$tmp/tooled" "$here/hello.c" "$here/tool.c" &&
        cc -o "$tmp/loader" "$here/loader.c" ||
        { echo "Bail out! cannot compile"; exit 1; }

    is "$f: a program runs" "$(under_front "$tmp/hello")" "$want"
    is "$f: loaded locally, as Python does it" \
        "$(under_front "$tmp/loader" "$tmp/hello.so")" "$want"
    is "$f: a profiling tool linked into the program is called" \
        "$(under_front "$tmp/tooled")" "tool: MPI_Allreduce
$want"
    is "$f: a preloaded profiling tool is called, though the front is first" \
        "$(PRELOAD=$tmp/tool.so under_front "$tmp/hello")" \
        "tool: MPI_Allreduce
$want"
    is "$f: a preloaded profiling tool before the front is called" \
        "$(LD_PRELOAD=$tmp/tool.so:$front "$tmp/hello" 2>&1)" \
        "tool: MPI_Allreduce
$want"
    if [ -x "$world" ]; then
        cp "$tmp/hello" "$tmp/hello.$f"
        is "$f: a preloaded tool is called between two clients" \
            "$(BARE_FRONT=$front:$tmp/tool.so "$world" "$f:1" "$f:1" -- \
                "$tmp/hello" 2>&1 | sort)" \
            "$(printf 'rank %d of 2: '"$(name_of "$f")"' sum 43 time 1\n' 0 1
                printf 'tool: MPI_Allreduce\n%.0s' 0 1)"
    else
        skipped "$f: a preloaded tool is called between two clients" \
            "bare_world is not built"
    fi
    if command -v "mpifort.$f" >/dev/null &&
        "mpifort.$f" -o "$tmp/fortran" "$here/hello.f90" 2>"$tmp/err"; then
        is "$f: a Fortran program runs" "$(under_front "$tmp/fortran")" \
            "fortran rank 0 of 1 sum 21"
    else
        skipped "$f: a Fortran program runs" "no Fortran compiler"
    fi
done
finish
