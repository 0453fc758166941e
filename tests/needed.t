#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What Slurm, a user's program or each step loads brings only those libraries
# along that it calls: each costs every process of every step its loading.
set -u
. "$(dirname "$0")/tap.sh"
cd "$build/src" || exit 99

# file: the libraries that it may need beside libc
declare -A may=(
    [elan-holder]=""
    [impid_pmix.so]="libpmix"
    [libelan.so]=""
    [libhsn.so]=""
    [libimpi-mpich.so]="libnettle libmpich"
    [libimpi-openmpi.so]="libnettle libmpi"
    [libimpi.so]=""
    [mpi_impi.so]="libinih libnettle"
    [switch_elan.so]="libinih libmunge"
)
# Of the compiler, the loader, and what finds mistakes in a build for that.
always='ld-linux.*|libc|libm|libgcc_s|lib[a-z]*san|libgcov'

needed() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\.so.*\]/\1/p' |
        grep -vxE "$always"
}

while IFS= read -r file; do
    name=${file##*/}
    if [ -z "${may[$name]+set}" ]; then
        check "$name is known here" "say in tests/needed.t what it may need"
        continue
    fi
    check "$name needs only what it uses" \
        "$(needed "$file" | grep -vxF "$(tr ' ' '\n' <<<"${may[$name]:-none}")")"
    # A list that names more than is needed would let it come back.
    check "$name needs what is listed" "$(for lib in ${may[$name]}; do
        needed "$file" | grep -qxF "$lib" || echo "not $lib"
    done)"
    unset "may[$name]"
done < <(find . \( -name '*.so' -o -name elan-holder \) \
    \( -type l -o -type f \) | sort)
# The linker lets a plugin call what nobody has; Slurm loads it all the same.
# What is weak may be missing.
for file in plugins/*/.libs/*.so; do
    check "${file##*/} calls only what there is" \
        "$(nm -D --undefined-only "$file" | awk '$1 == "U" { print $2 }' |
            grep -vE '@|^(slurm|ini|munge)_|^__(asan|ubsan|tsan)_')"
done
# A back end is built where its MPI library is there.
unset 'may[libimpi-mpich.so]' 'may[libimpi-openmpi.so]'
check "all of the list were there" "${!may[*]}"
finish
