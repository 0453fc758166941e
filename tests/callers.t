#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A function that only tests call shows nothing about what is installed.  Each
# function of src/ is called by another part of it, or is what a library or a
# plugin exports, or stands in tests/callers with the reason why not.
#
# What the objects of the build define, less what other objects of src/ ask for,
# less what shared objects export, less what is named a second time in the
# sources (a call within its own file, a table): the rest is called by nobody.
set -u
. "$(dirname "$0")/tap.sh"
build=${SF_TOP_BUILDDIR:-.}
allowed=$top/tests/callers
export LC_ALL=C
command -v nm >/dev/null || skip_all "there is no nm"

# symbols DIR OPTION TYPE: of all its objects.
symbols() {
    find "$1" -name '*.o' -exec nm "$2" {} + 2>/dev/null |
        awk -v type="$3" 'NF > 1 && $(NF - 1) == type { print $NF }' | sort -u
}
exported() {
    find "$1" -path '*/.libs/*' -name '*.so*' -type f \
        -exec nm -D --defined-only {} + 2>/dev/null |
        awk 'NF == 3 { sub(/@.*/, "", $3); print $3 }' | sort -u
}
# Words that stand in the sources once; headers only declare.
named_once() {
    find "$1" \( -name '*.[cS]' -o -name '*.awk' -o -name '*.def' \) \
        -exec cat {} + |
        grep -owE '[A-Za-z_][A-Za-z0-9_]{2,}' | sort | uniq -u
}
# uncalled OBJECTS SOURCES
uncalled() {
    comm -12 <(symbols "$1" --defined-only T) <(named_once "$2") |
        comm -23 - <(symbols "$1" --undefined-only U) |
        comm -23 - <(exported "$1") | grep -vxE 'main|LLVMFuzzer.*'
}

found=$(uncalled "$build/src" "$top/src")
names=$(grep -oE '^[a-z][A-Za-z0-9_]+' "$allowed" | sort)
check "the build has objects" \
    "$(symbols "$build/src" --defined-only T | grep -qx hsn_page_keep ||
        echo "hsn_page_keep is not there")"
check "each function is called by what is installed, or has a reason" \
    "$(comm -23 <(echo "$found") <(echo "$names"))"
check "each reason is still needed" \
    "$(comm -13 <(echo "$found") <(echo "$names"))"
check "each name has a reason" "$(grep -vE \
    '^(#|$)|^[a-z][A-Za-z0-9_]+: .{15,}' "$allowed")"

# This test itself: of three functions the one that nobody calls is found.
finds_the_lonely_one() {
    local dir rc
    dir=$(mktemp -d) || return 1
    printf '%s\n' 'void shown(void);' 'void helped(void) { shown(); }' \
        'void lonely(void) { helped(); }' >"$dir/a.c"
    echo 'void shown(void) { }' >"$dir/b.c"
    (cd "$dir" && ${CC:-cc} -c a.c b.c) &&
        [ "$(uncalled "$dir" "$dir")" = lonely ]
    rc=$?
    rm -rf "$dir"
    return $rc
}
if command -v "${CC:-cc}" >/dev/null 2>&1; then
    finds_the_lonely_one
    report $? "a function that nobody calls is found"
else
    skipped "a function that nobody calls is found" "there is no compiler"
fi
finish
