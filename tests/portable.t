#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What is loaded into a user's program loads wherever that program runs: with
# glibc from 2.28 on and no library but the C library's own.  A program that is
# linked to musl does not notice the front, an MPI program is told.
# With SF_OLD_ROOT=DIR, the root directory of an old distribution (Debian 11,
# say), it is tried with what that has.
set -u
. "$(dirname "$0")/tap.sh"
: "${CC:=cc}"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset SLURM_IMPI_AGENT SLURM_IMPI_BACKENDS LD_PRELOAD
lib=$build/src/libimpi/.libs
front=$lib/libimpi.so
here=$top/tests/front
last=2.28
# A build that finds mistakes brings more along.
grep -q '^S\["SANITIZED_TRUE"\]="#"' "$build/config.status" ||
    skip_all "a sanitizer needs what its compiler's C library has"

# The versions of the C library's symbols that FILE asks for.
versions() {
    readelf -W --version-info "$1" |
        sed -n '/\.gnu\.version_r/,$s/.*Name: GLIBC_\([0-9.]*\) .*/\1/p' |
        sort -uV
}
# Those of them on stdin that are later than the last one allowed.
later() {
    while IFS= read -r v; do
        [ "$(printf '%s\n%s\n' "$v" "$last" | sort -V | tail -n 1)" = "$last" ] ||
            echo "GLIBC_$v"
    done
}
same "a later version is seen" GLIBC_2.34 "$(printf '2.2.5\n2.28\n2.34\n' | later)"
others() {
    readelf -d "$1" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' |
        grep -vxE 'libc\.so\.6|lib(dl|pthread)\.so\.[02]|ld-linux[-a-z0-9_]*\.so\.[0-9]'
}

for file in "$front" "$lib"/libimpi-*.so; do
    [ -e "$file" ] || continue
    name=${file##*/}
    # Without any, readelf was not understood.
    [ -n "$(versions "$file")" ] || check "$name: versions" "none were read"
    check "$name asks for no symbol later than GLIBC_$last" \
        "$(versions "$file" | later)"
    check "$name needs no library but the C library's own" \
        "$(others "$file")"
done

# ---- a program that is linked to musl ---------------------------------------
musl=$(find /usr/lib/*-linux-musl /usr/lib/musl -name libc.so 2>/dev/null |
    head -n 1)
if [ -n "$musl" ] && type musl-gcc >/dev/null 2>&1; then
    check "the front asks for no symbol that musl lacks" \
        "$(nm -D --undefined-only "$front" |
            awk '$1 == "U" { sub(/@.*/, "", $2); print $2 }' | sort |
            comm -23 - <(nm -D --defined-only "$musl" | awk '{ print $3 }' |
                sort -u))"
    musl-gcc -O1 -x c -o "$tmp/plain" - <<'PROG'
#include <stdio.h>
int main(void) { return puts("plain") < 0; }
PROG
    same "a program without MPI runs with it, in a step" "plain 0" \
        "$(LD_PRELOAD=$front SLURM_IMPI_AGENT=/x "$tmp/plain" 2>&1) $?"
    musl-gcc -O1 -fPIC -shared -Wl,-soname,libmpi.so.12 \
        -o "$tmp/libmpi.so.12" "$here/fake_mpi.c" &&
        musl-gcc -O1 -pthread -o "$tmp/user" "$here/fake_user.c" \
            "$tmp/libmpi.so.12" -Wl,-rpath,"$tmp" || check "musl-gcc" "failed"
    same "an MPI program outside a step calls its library" \
        "pcontrol 9 123456789 987654321" \
        "$(LD_PRELOAD=$front "$tmp/user" vararg 2>&1)"
    out=$(LD_PRELOAD=$front SLURM_IMPI_AGENT=/x "$tmp/user" first 2>&1)
    same "an MPI program in a step ends" 1 $?
    check "and says why and what to do" \
        "$(grep -q 'SF-E506.*libmpi.so.12.*musl.*glibc 2.28' <<<"$out" ||
            echo "$out")"
else
    skipped "a program that is linked to musl" "musl-tools is not installed"
fi

# ---- with an old distribution's C library -----------------------------------
root=${SF_OLD_ROOT:-}
if [ -n "$root" ]; then
    loader=$(find "$root"/lib/*-linux-gnu/ -name 'ld-[0-9]*.so' -o \
        -name 'ld-linux*' | head -n 1)
    old() { # PRELOAD PROGRAM..
        local preload=$1
        shift
        "$loader" --library-path "$root/lib/x86_64-linux-gnu:$root/usr/lib/x86_64-linux-gnu" \
            --preload "$preload" "$@"
    }
    same "a program of $root runs with the front" "plain 0" \
        "$(SLURM_IMPI_AGENT=/x old "$front" "$root/bin/echo" plain 2>&1) $?"
    for file in "$lib"/libimpi-*.so; do
        # Its MPI library is missing, and nothing else.
        check "${file##*/} finds all it asks for there but its MPI library's" \
            "$(old "$file" "$root/bin/true" 2>&1 |
                grep -vE 'ompi_|MPI_|libmpi(ch)?\.so')"
    done
else
    skipped "with an old distribution's C library" "SF_OLD_ROOT is not set"
fi
finish
