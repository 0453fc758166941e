#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The list of functions against the libraries of this machine.
. "$(dirname "$0")/lib.sh"
: "${AWK:=awk}"
defs="$top/src/libimpi/overrides.def $top/src/libimpi/calls.def"

gen() { # MODE
    # shellcheck disable=SC2086
    $AWK -f "$top/src/libimpi/calls.awk" -v mode="$1" $defs
}
functions() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort -u; }

gen list | sort >"$tmp/list"
functions "$front" >"$tmp/front"
fortran="mpi_attr_get_ mpi_comm_get_attr_ mpi_comm_get_attr_f08_ mpi_win_get_attr_ mpi_win_get_attr_f08_"
{
    cat "$tmp/list"
    sed 's/^/P/' "$tmp/list"
    for name in $fortran; do echo "$name"; echo "p$name"; done
} | sort >"$tmp/both"
is "the front exports MPI_X and PMPI_X for the list, Fortran's few, no more" \
    "$(diff "$tmp/both" "$tmp/front")" ""

for f in $(families); do
    mpicc "$f" -x c -o "$tmp/linked" - \
        <<<'int MPI_Finalize(void); int main(void) { return MPI_Finalize(); }'
    path=$(ldd "$tmp/linked" |
        awk '$1 ~ /^libmpi/ && $3 ~ /^\// { print $3 }' | head -1)
    functions "$path" >"$tmp/$f.all"
    # Both names exist: a function of the interface, not a constant.
    sed -n 's/^PMPI/MPI/p' "$tmp/$f.all" | sort >"$tmp/$f.pmpi"
    grep -xE 'MPI_[A-Z][a-z].*|MPI_T_[a-z].*' "$tmp/$f.all" |
        sort >"$tmp/$f.mpi"
    comm -12 "$tmp/$f.mpi" "$tmp/list" >"$tmp/$f.have"
    is "$f: the back end has no open reference to an MPI function" \
        "$(nm -D "$lib/libimpi-$f.so" | grep -E ' U P?MPIX?_[A-Z][a-z]')" ""
    is "$f: the back end exports its three functions only" \
        "$(functions "$lib/libimpi-$f.so" | tr '\n' ' ')" \
        "impi_backend_open impi_backend_symbol impi_fortran_attr "

    # What mpi.h declares; a library may have more (what MPI 3.0 removed).
    # Releases do not agree about const where a function only reads.
    mpicc "$f" -E -x c - <<<'#include <mpi.h>' 2>/dev/null |
        grep -ohE '\bMPIX?_[A-Za-z0-9_]+' | sort -u |
        comm -12 - "$tmp/$f.have" >"$tmp/$f.declared"
    {
        echo '#include <mpi.h>'
        echo '#include "libimpi/calls_types.h"'
        gen types | sed -n '/^typedef .* impi_[A-Za-z0-9_]*_f(/{
            s/ impi_\([A-Za-z0-9_]*_f(\)/ loose_\1/; s/const //g; p; }'
        echo '#define IS(name, type) '\
'__builtin_types_compatible_p(__typeof__(name), type)'
        echo '#define CHECK(name, bare) _Static_assert('\
'IS(name, impi_##bare##_f) || IS(name, loose_##bare##_f), #name);'
        gen check | awk -v have="$tmp/$f.declared" '
            BEGIN { while ((getline n <have) > 0) ok[n] = 1 }
            /^#ifndef/ { name = $2; hold = $0; next }
            /^CHECK/ { if (name in ok) print hold "\n" $0 "\n#endif" }'
    } >"$tmp/check_$f.c"
    prototypes=$(grep -c '^CHECK' "$tmp/check_$f.c")
    wrong=$(mpicc "$f" -fsyntax-only -Wno-deprecated-declarations \
        "$tmp/check_$f.c" 2>&1 | grep -E 'error' | head -5)
    [ "$prototypes" -gt 380 ] || wrong="only $prototypes prototypes checked"
    check "$f: $prototypes prototypes agree with mpi.h" "$wrong"
done

is "every function of ours is called between clients" \
    "$(awk '/^MPI_/ { print $1 }' "$top/src/libimpi/overrides.def" | sort |
        comm -23 - <(grep -ohwE 'MPI_[A-Z][A-Za-z0-9_]+' "$top"/tests/mpi/*.[cf]* \
            "$top"/src/conform/*.c | sort -u))" ""
if [ "$(families | wc -l)" = 2 ]; then
    comm -12 "$tmp/mpich.mpi" "$tmp/openmpi.mpi" >"$tmp/common"
    is "every function that both libraries have is listed" \
        "$(comm -23 "$tmp/common" "$tmp/list")" ""
else
    skipped "every function that both libraries have is listed" "one library"
fi
# Names of a family of calls are one row of the page's table.
is "what does not span is no function of MPI 3.1, and is in doc/libimpi.md" \
    "$(gen probe | sed -n 's/^.*PROBE(\([A-Za-z_]*\).*/\1/p' | sort -u |
        while read -r name; do
            case $name in
            # To complete one that is none of the program's own.
            Grequest_complete) continue ;;
            Comm_*_buffer*) name=Comm_attach_buffer ;;
            Request_get_status_a* | Request_get_status_some)
                name=Request_get_status_all ;;
            MPIX_*stream* | MPIX_Stream_* | MPIX_*_enqueue*)
                name=MPIX_Stream_comm_create ;;
            MPIX_*hreadcomm*) name=MPIX_Threadcomm_init ;;
            MPIX_Comm_*) ;;
            *) echo "$name" ;;
            esac
            [[ $name = MPIX_Comm_* ]] && name=${name#MPIX_Comm_}
            grep -q "$name" <(sed -n '/^| not available/,/^$/p' \
                "$top/doc/libimpi.md") || echo "$name is not told"
        done)" ""
# MPI 4 functions that can reach a communicator or request, by mpi.h's words.
if [ -e "$tmp/mpich.mpi" ]; then
    header=$(mpicc mpich -M -x c - <<<'#include <mpi.h>' 2>/dev/null |
        tr ' \\' '\n\n' | grep '/mpi_proto.h$')
    grep -v '^typedef' "${header:-/dev/null}" | tr '\n' ' ' | tr ';' '\n' |
        grep -E 'MPI_Comm [a-z]|MPI_Request ([*]?[a-z])|MPI_Message' |
        grep -oE '\b(MPIX?_[A-Z][A-Za-z_0-9]+) ?\(' | tr -d ' (' |
        sort -u >"$tmp/reach"
    is "every function of MPICH that takes a communicator or request is listed" \
        "$(comm -12 "$tmp/reach" "$tmp/mpich.all" | comm -23 - "$tmp/list" |
            grep -vE '_c2f$|_f2c$|^MPI_R(put|get|accumulate|get_accumulate)_c$|^MPI_File_i|^MPIX_Grequest')" ""
else
    skipped "every function of MPICH that takes a communicator is listed" \
        "no MPICH"
fi
finish
