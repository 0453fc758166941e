#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# impi-backend builds a back end for a site's own MPI, and says what is wrong
# when it cannot.
. "$(dirname "$0")/lib.sh"

cmd=$build/src/libimpi/impi-backend
export SLURM_IMPI_BACKEND_SOURCE=$build/src/libimpi/kit

for f in $(families); do
    out=$("$cmd" --mpicc "mpicc.$f" --output "$tmp/be" 2>&1)
    is "$f: built" "$?" 0
    soname=$(basename "$(readlink -f "$out")")
    like "$f: named after the library's SONAME" "$soname" "backend-libmpi"
    is "$f: the same functions as the one built with the package" \
        "$(nm -D --defined-only "$out" | awk '{ print $3 }' | tr '\n' ' ')" \
        "impi_backend_open impi_backend_symbol impi_fortran_attr "
    is "$f: no open reference into other parts" \
        "$(ldd -r "$out" 2>&1 | grep 'undefined symbol')" ""
done
is "no --mpicc: usage" "$("$cmd" >/dev/null 2>&1; echo $?)" 2
like "no such compiler: code" "$("$cmd" --mpicc /nonexistent 2>&1)" SF-E520
like "no sources: code" \
    "$(SLURM_IMPI_BACKEND_SOURCE=/nonexistent "$cmd" --mpicc cc 2>&1)" SF-E521
like "a compiler without MPI: code" \
    "$("$cmd" --mpicc cc --output "$tmp/x" 2>&1)" SF-E523
finish
