#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a back end takes for granted of any version of its ABI (opaque.c), with
# the libraries of this machine and those of SF_MPIS (prefixes).
. "$(dirname "$0")/lib.sh"
: "${CC:=cc}"

# TITLE FAMILY MPICC..: and LD_LIBRARY_PATH is set.
look_at() {
    local title=$1 family=$2 line
    shift 2
    if ! "$here/opaque_build.sh" "$build" "$tmp/opaque" "$@" 2>"$tmp/err"; then
        report 1 "$title: compiles" "$tmp/err"
        return
    fi
    "$tmp/opaque" values | grep -v ' none$' >"$tmp/values"
    # A version may lack a constant; one that is another is wrong.
    is "$title: constants are those of the ABI" "$(grep -v '^#' \
        "$here/$family.values" | awk -v have="$tmp/values" '
            BEGIN { while ((getline l <have) > 0) { split(l, w, " "); v[w[1]] = l } }
            $1 in v && v[$1] != $0 { print $0 " became " v[$1] }
            $1 in v { n++ }
            END { if (n < 150) print "only " n " constants are there" }')" ""
    while IFS= read -r line; do
        case $line in
        "ok "*) report 0 "$title: ${line#* - }" ;;
        "not ok "*) report 1 "$title: ${line#* - }" ;;
        "1.."*) is "$title: all was looked at" "$line" \
            "1..$([ "$family" = abi ] && echo 5 || echo 6)" ;;
        esac
    done < <("$tmp/opaque" tags 2>&1 || echo "not ok - it ended with $?")
}

for f in $(families); do
    look_at "$f" "$f" "mpicc.$f"
    is "$f: every constant that the sources name is in $f.values" \
        "$(awk '{ print $1 }' "$tmp/values" |
            grep -vxF -f <(awk '{ print $1 }' "$here/$f.values"))" ""
done
# The standard ABI's are in a header of our own; abi.values is what the header of
# a library gave (MPICH 5.0.2's and Open MPI 6.0.0rc2's are alike).
"$here/opaque_build.sh" "$build" "$tmp/opaque" "$CC" -DVALUES_ALONE \
    "-I$top/src/libimpi/standard" 2>"$tmp/err"
report $? "abi: the header of our own compiles" "$tmp/err"
is "abi: what the back end is compiled with is the standard's" \
    "$("$tmp/opaque" values | diff - <(grep -v '^#' "$here/abi.values"))" ""
# Later versions have more of them: a reference that is not weak would keep the
# back end out of the earlier ones.
is "openmpi: the back end needs no object that some version lacks" \
    "$(nm -D "$lib/libimpi-openmpi.so" 2>/dev/null |
        sed -n 's/^ *U \(ompi_.*\)/\&\1/p' |
        grep -vxF -f <(awk '{ print $2 }' "$here/openmpi.values"))" ""
for prefix in ${SF_MPIS-}; do
    f=mpich
    macros=$("$prefix/bin/mpicc" -E -dM -include mpi.h -x c /dev/null)
    [[ $macros != *'define MPI_ABI_VERSION 1'* ]] || f=abi
    [[ $macros != *'define OPEN_MPI '* ]] || f=openmpi
    LD_LIBRARY_PATH=$prefix/lib look_at "$prefix" "$f" "$prefix/bin/mpicc"
done
finish
