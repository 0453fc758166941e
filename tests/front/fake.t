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
is "at start the front only looks for ch-run (and has the compiler's entry)" \
    "$(readelf -d "$front" | awk '/INIT_ARRAYSZ/ { print $3 }')" 16

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

# ---- a library is known by what it defines and says ---------------------------
# library SONAME TEXT [MACRO..]: one that says TEXT of itself, in the place of
# the other.
library() {
    local name=$1 text=$2
    shift 2
    mkdir -p "$tmp/known"
    $CC -O1 -fPIC -shared -Wl,-soname,"$name" -DTEXT="\"$text\"" "${@/#/-D}" \
        -o "$tmp/known/$name" "$here/fake_mpi.c" "$here/fake_known.c" &&
        $CC -O1 -pthread -o "$tmp/known/user" "$here/fake_user.c" \
            "$tmp/known/$name" -Wl,-rpath,"$tmp/known"
}
known() { # what the program says; of the back ends $1 is there
    mkdir -p "$tmp/$1" && cp "$tmp/be/backend-libfakempi.so.1" \
        "$tmp/$1/libimpi-$1.so"
    SLURM_IMPI_BACKENDS=$tmp/$1 SLURM_IMPI_AGENT=/x LD_PRELOAD=$front \
        "$tmp/known/user" first 2>&1
}
for text in "MPICH Version:  3.1" "MVAPICH2 Version  2.3.7" \
    "Intel(R) MPI Library 2021.11" "MPI VERSION    : CRAY MPICH version 8.1"; do
    library libmpi_gnu_112.so.12 "$text" MPICH
    like "its ABI is MPICH's: $text" "$(known mpich)" "opened"
done
library libmpi_gnu_112.so.12 "Another MPI" MPICH
like "MPICH's variables alone are not enough" "$(known mpich)" "SF-E501"
library libmpi_cxi.so.7 "Open MPI v5" OPENMPI
like "its ABI is Open MPI's" "$(known openmpi)" "opened"
library libmpi.so.12 "MPICH Version: 5.0" MPICH ABI=-1
like "MPICH that knows of the standard ABI and has its own" "$(known mpich)" \
    "opened"
library libmpi_abi.so.1 "MPICH Version: 5.0" MPICH ABI=1
is "the standard ABI is not MPICH's" \
    "$(known mpich | grep -c opened)" 0
like "the standard ABI has a back end of its own" "$(known abi)" "opened"
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
