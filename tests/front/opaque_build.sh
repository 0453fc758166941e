#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# opaque_build.sh BUILD OUT MPICC..: compile opaque.c by MPICC into OUT, with
# each constant of MPI that src/libimpi names and this mpi.h has.  BUILD is the
# build directory, for headers that are made.
set -u
[ $# -ge 3 ] || { sed -n '3,/^set/s/^# //p' "$0" >&2; exit 2; }
top=$(cd "$(dirname "$0")/../.." && pwd) build=$1 out=$2
shift 2
flags=(-std=gnu11 -w "-I$out.d" "-I$top/src" "-I$build/src")
mkdir -p "$out.d"

# MPI_SOURCE and the like are members, MPI_ATTR_GET and such names of ours;
# MPI_ERRORS_ABORT is asked for only where it is there (failed.c), and
# MPI_ABI_VERSION by the preprocessor (calls.h).  MPI_COMM_PARENT is a text.
grep -ohwE 'MPI_[A-Z2][A-Z0-9_]+' "$top"/src/libimpi/*.[ch] | sort -u |
    grep -vxE 'MPI_(SOURCE|TAG|ERROR|ATTR_GET|COMM_GET_ATTR|ERRORS_ABORT|ABI_VERSION|COMM_PARENT)' |
    sed 's/.*/V(&)/' >"$out.d/opaque_names.h"
# What mpi.h does not know is left out.
"$@" "${flags[@]}" -fsyntax-only -fmax-errors=0 "$top/tests/front/opaque.c" 2>&1 |
    sed -nE "s/.*error: .(MPI_[A-Z0-9_]+). undeclared.*/V(\1)/p" |
    sort -u >"$out.d/missing"
grep -vxF -f "$out.d/missing" "$out.d/opaque_names.h" >"$out.d/names"
mv "$out.d/names" "$out.d/opaque_names.h"
"$@" "${flags[@]}" -O1 -o "$out" "$top/tests/front/opaque.c" -ldl || exit 1
sed -n 's/^V(\(.*\))$/\1/p' "$out.d/missing" >"$out.missing"
rm -r "$out.d"
