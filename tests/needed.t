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
    [libimpi-abi.so]="libdl libpthread"
    [libimpi-mpich.so]="libdl libpthread"
    [libimpi-openmpi.so]="libdl libpthread"
    [libimpi.so]="libdl"
    [mpi_impi.so]="libinih"
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
# The Slurm that this build is for: its daemons bind slurm_* of a plugin there,
# and a header may declare what the library has no more.
prefix=$(sed -n 's/^S\["SLURM_PREFIX"\]="\(.*\)"$/\1/p' "$build/config.status")
slurm=$(find "$prefix"/lib/*/slurm-wlm "$prefix"/lib64/slurm \
    "$prefix"/lib/slurm -name libslurmfull.so 2>/dev/null | head -n 1)
not_in_slurm() { # what of the names on stdin it has not
    sort -u | comm -23 - <(nm -D --defined-only "$slurm" |
        awk '{ sub(/@.*/, "", $NF); print $NF }' | sort -u)
}
[ -z "$slurm" ] || check "a function that Slurm has not is seen" \
    "$([ "$(printf 'slurm_no_such\nslurm_xfree\n' | not_in_slurm)" = \
        slurm_no_such ] || echo "by none")"
# The linker lets a plugin call what nobody has; Slurm loads it all the same.
# What is weak may be missing.
for file in plugins/*/.libs/*.so; do
    if [ -n "$slurm" ]; then
        check "${file##*/} calls only what this Slurm has" \
            "$(nm -D --undefined-only "$file" |
                awk '$1 == "U" && $2 ~ /^slurm_/ { print $2 }' | not_in_slurm)"
    fi
    check "${file##*/} calls only what there is" \
        "$(nm -D --undefined-only "$file" | awk '$1 == "U" { print $2 }' |
            grep -vE '@|^(slurm|ini|munge)_|^__(asan|ubsan|tsan)_')"
done
# A back end is built where its MPI library is there.
unset 'may[libimpi-abi.so]' 'may[libimpi-mpich.so]' 'may[libimpi-openmpi.so]'
check "all of the list were there" "${!may[*]}"
finish
