#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every program, plugin and library that is installed has what the compiler and
# the linker have against attacks.  With directories as arguments, what lies
# there is looked at (packages).
set -u
. "$(dirname "$0")/tap.sh"
command -v readelf >/dev/null || skip_all "no readelf: install binutils"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT

value() { sed -n "s/^$1 = *//p" "$build/Makefile" | head -n 1; }
if [ $# -gt 0 ]; then
    dirs=("$@")
else
    [ -n "$(value HARDENING)" ] && [ "$(value HARDENING)" != off ] ||
        skip_all "configured with --disable-hardening"
    [ -z "$(value SANITIZER)" ] || skip_all "a build with sanitizers"
    MAKEFLAGS='' make -s -C "$build" install DESTDIR="$tmp/root" \
        >"$tmp/log" 2>&1 || {
        report 1 "make install" "$tmp/log"
        finish
    }
    dirs=("$tmp/root")
fi

# Calls that have a checked form.
fortified='memcpy|memmove|memset|strcpy|strncpy|strcat|strncat|sprintf|snprintf'
fortified+='|vsnprintf|vsprintf|printf|fprintf|vfprintf|read|recv|readlink|fgets'
fortified+='|fread|poll|getgroups|asprintf|vasprintf|pread'

has_flag() { grep -qE "\((FLAGS|FLAGS_1)\).*\b$1\b" "$tmp/dynamic"; }
# lacks FILE: one line for each thing that it does not have.
lacks() {
    local name=${1##*/}
    readelf -W -d "$1" >"$tmp/dynamic" 2>/dev/null
    readelf -W -l "$1" >"$tmp/segments" 2>/dev/null
    readelf -W --dyn-syms "$1" | awk '$7 == "UND" { sub(/@.*/, "", $8)
        print $8 }' >"$tmp/calls"
    readelf -W -h "$1" | grep -q 'Type:.*DYN' || echo "PIE"
    grep -q INTERP "$tmp/segments" && ! has_flag PIE && echo "PIE"
    grep -q GNU_RELRO "$tmp/segments" || echo "RELRO"
    has_flag NOW || echo "BIND_NOW"
    grep -q 'GNU_STACK.* RW ' "$tmp/segments" || echo "a stack without code"
    grep -q '(TEXTREL)' "$tmp/dynamic" && echo "code without relocations"
    grep -qx __stack_chk_fail "$tmp/calls" || echo "stack protector"
    if [ "$name" = libimpi.so ]; then
        # Other C libraries do not have those.
        grep '_chk$' "$tmp/calls" | sed 's/$/, which only some C libraries have/'
    elif grep -qxE "$fortified" "$tmp/calls"; then
        grep -q '_chk$' "$tmp/calls" || echo "fortified calls"
    fi
    units_lack "$1" "$name"
}
# What each object was compiled with stands in what it has for debuggers.
units_lack() {
    readelf --debug-dump=info --dwarf-depth=1 "$1" 2>/dev/null |
        grep -E 'DW_AT_(producer|name)' >"$tmp/units"
    grep -q DW_AT_producer "$tmp/units" || return 0
    awk -v cf="$(uname -m | grep -c x86_64)" '
        /DW_AT_producer/ { p = $0 }
        /DW_AT_name/ {
            n = $NF
            if (p !~ /GNU AS/ && p !~ /-fstack-protector-strong/)
                print "stack protector in " n
            if (p !~ /-fstack-clash-protection/)
                print "stack clash protection in " n
            if (cf && p !~ /-fcf-protection/)
                print "control flow protection in " n
        }' "$tmp/units"
}

n=0
while IFS= read -r file; do
    [ "$(head -c 4 "$file" | tr -d '\0')" = $'\177ELF' ] || continue
    readelf -h "$file" 2>/dev/null | grep -qE 'Type: +(DYN|EXEC)' || continue
    n=$((n + 1))
    check "${file##*/} lacks nothing" "$(lacks "$file" 2>&1 | sort -u)"
done < <(find "${dirs[@]}" -type f | sort)
[ $n -ge "$([ $# -gt 0 ] && echo 1 || echo 12)" ]
report $? "all were looked at" - <<<"only $n files"

# A distribution's own flags stay its own, and nothing is said about it.
if [ $# = 0 ]; then
    mkdir "$tmp/own" && (
        cd "$tmp/own" && "$top/configure" --quiet \
            CPPFLAGS='-Wdate-time -D_FORTIFY_SOURCE=2' \
            CFLAGS='-g -O2 -fstack-protector-strong -fcf-protection' \
            LDFLAGS='-Wl,-z,relro'
    ) >"$tmp/log" 2>&1
    report $? "configure with a distribution's flags" "$tmp/log"
    check "it leaves fortified calls to them" \
        "$(grep '^HARDEN_CPPFLAGS = .' "$tmp/own/Makefile")"
    MAKEFLAGS='' make -s -C "$tmp/own" src/base/errbuf.lo >"$tmp/log" 2>&1
    report $? "and compiles" "$tmp/log"
    check "without a warning" "$(grep -i warning "$tmp/log")"
fi
finish
