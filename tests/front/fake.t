#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What the front does, seen with an MPI library that is not one.
. "$(dirname "$0")/lib.sh"
: "${CC:=cc}"

$CC -O1 -fPIC -shared -Wl,-soname,libfakempi.so.1 -o "$tmp/libfakempi.so.1" \
    "$here/fake_mpi.c" &&
    $CC -O1 -pthread -o "$tmp/user" "$here/fake_user.c" \
        "$tmp/libfakempi.so.1" -Wl,-rpath,"$tmp" &&
    mkdir "$tmp/be" "$tmp/refuse" "$tmp/junk" "$tmp/noentry" &&
    $CC -O1 -I"$top/src" -fPIC -shared -o "$tmp/be/backend-libfakempi.so.1" \
        "$here/fake_backend.c" &&
    $CC -O1 -I"$top/src" -DREFUSE -fPIC -shared \
        -o "$tmp/refuse/backend-libfakempi.so.1" "$here/fake_backend.c" &&
    $CC -O1 -fPIC -shared -x c -o "$tmp/noentry/backend-libfakempi.so.1" \
        /dev/null || { echo "Bail out! cannot compile"; exit 1; }
echo junk >"$tmp/junk/backend-libfakempi.so.1"

run() { LD_PRELOAD=$front "$tmp/user" "$@" 2>&1; }
in_step() { SLURM_IMPI_AGENT=/x run "$@"; }

# ---- outside an IMPI step ---------------------------------------------------
is "arguments in registers and on the stack reach the first call" \
    "$(run first)" "sendrecv 1 2 3 4 5 6 7 8 9 10 11 12
rc 42 wtime 12.5"
is "a variadic first call gets its doubles" "$(run vararg)" \
    "pcontrol 9 123456789 987654321"
is "threads may make the first call at once" "$(run threads)" "threads 16"
like "a function that the library lacks: message with code" \
    "$(run absent; echo "rc $?")" "SF-E504"

# ---- a program without MPI ---------------------------------------------------
is "the front needs the C library alone" \
    "$(readelf -d "$front" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        sort | tr '\n' ' ')" "libc.so.6 libdl.so.2 "
maps=$(LD_PRELOAD=$front cat /proc/self/maps | grep -cE 'libmpi|libmpich|/backend-lib')
is "a program without MPI gets no MPI library" "$maps" 0
is "no MPI call: nothing happens, in a step without a back end either" \
    "$(in_step idle)" idle
is "the front runs no code of its own at start (the compiler's one entry)" \
    "$(readelf -d "$front" | awk '/INIT_ARRAYSZ/ { print $3 }')" 8

# ---- in an IMPI step ----------------------------------------------------------
out=$(in_step first; echo "rc $?")
like "unknown MPI library: code" "$out" SF-E501
like "unknown MPI library: its name" "$out" "libfakempi.so.1"
like "unknown MPI library: the command that helps" "$out" "impi-backend --mpicc"
like "unknown MPI library: the program ends" "$out" "rc 1"

export SLURM_IMPI_BACKENDS="/nonexistent::$tmp/be"
is "a back end is found by the library's SONAME, answers, and steps aside" \
    "$(in_step first)" "opened
sendrecv 1 2 3 4 5 6 7 8 9 10 11 12
rc 42 wtime 99.5"
like "threads: the back end is opened once" \
    "$(in_step threads | sort | tr '\n' ' ')" "opened threads 16 "
SLURM_IMPI_BACKENDS=$tmp/refuse
like "a back end that refuses: code and reason" "$(in_step first)" \
    "SF-E503: back end $tmp/refuse/backend-libfakempi.so.1 refuses: not today"
SLURM_IMPI_BACKENDS=$tmp/junk
like "a back end that cannot be loaded: code" "$(in_step first)" SF-E502
SLURM_IMPI_BACKENDS=$tmp/noentry
like "a library that is no back end: code" "$(in_step first)" SF-E503
unset SLURM_IMPI_BACKENDS

$CC -O1 -x c -o "$tmp/none" - <<'PROG'
int MPI_Init(int *, char ***);
__attribute__((weak)) int MPI_Init(int *, char ***);
int main(void) { return MPI_Init ? MPI_Init(0, 0) : 3; }
PROG
like "an MPI call without any MPI library: code" \
    "$(LD_PRELOAD=$front "$tmp/none" 2>&1)" SF-E505
finish
