#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# mpi_soname.sh FILE: print the SONAME of the MPI library that shared object
# FILE is linked with: the library it needs itself that defines PMPI_Init.
set -u
needed=$(readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
for name in $needed; do
    path=$(ldd "$1" | awk -v n="$name" '$1 == n && $3 ~ /^\// { print $3 }')
    [ -n "$path" ] || continue
    if nm -D --defined-only "$path" | grep -q ' PMPI_Init$'; then
        echo "$name"
        exit 0
    fi
done
echo "$1 needs no MPI library that can be found (needed: $needed)" >&2
exit 1
