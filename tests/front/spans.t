#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What a back end has not got fails with an error that names the function:
# every generated wrapper of each library is called with what it must refuse.
. "$(dirname "$0")/lib.sh"
: "${AWK:=awk}"

$AWK -f "$top/src/libimpi/calls.awk" -v mode=probe \
    "$top/src/libimpi/overrides.def" "$top/src/libimpi/calls.def" \
    >"$tmp/probes.h" || exit 1
for f in $(families); do
    objects=$(sed "s|.*/\(.*\)\.c\$|$build/src/libimpi/$f/\1.o|" \
        "$build/src/libimpi/kit/sources")
    # shellcheck disable=SC2046,SC2086
    if ! mpicc "$f" -I"$tmp" -Wno-deprecated-declarations -o "$tmp/spans" \
        "$here/spans.c" $objects "$build/src/libimpi/libsupport.a" \
        $(cat "$build/src/libimpi/kit/ldlibs") 2>"$tmp/err"; then
        report 1 "$f: compiles" "$tmp/err"
        continue
    fi
    library=$(ldd "$tmp/spans" | awk '$1 ~ /^libmpi/ { print $1; exit }')
    out=$("$tmp/spans" "$library" 2>&1)
    rc=$?
    is "$f: exit code" "$rc" 0
    while IFS= read -r line; do
        case $line in
        "ok "*) report 0 "$f: ${line#* - }" ;;
        "not ok "*) report 1 "$f: ${line#* - }" ;;
        esac
    done <<<"$out"
    like "$f: the whole list was tried" "$out" "nothing stays in the way"
    # An Open MPI process without a launcher loses this message now and then,
    # its own errors too.
    for _ in 1 2 3 4 5 6; do
        out=$("$tmp/spans" "$library" fatal 2>&1; echo "rc $?")
        [[ $out == *SF-E510* ]] && break
    done
    like "$f: without an error handler the program ends and names it" \
        "$out" "SF-E510: MPI_Grequest_complete is not supported across IMPI clients"
    [[ $out != *"rc 0"* ]]
    report $? "$f: it ends with an error"
done
finish
