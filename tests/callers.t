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
# Words that stand in one source only; in_one_source DIR.
in_one_source() {
    find "$1" \( -name '*.[cS]' -o -name '*.awk' -o -name '*.def' \) \
        -exec awk '{
            n = split($0, word, /[^A-Za-z0-9_]+/)
            for (i = 1; i <= n; i++)
                if (!((FILENAME, word[i]) in seen)) {
                    seen[FILENAME, word[i]]
                    print word[i]
                }
        }' {} + | sort | uniq -u
}
# words PATTERN DIR..: those of files with such names.
words() {
    find "${@:2}" -name "$1" -exec cat {} + |
        grep -owE '[A-Za-z_][A-Za-z0-9_]{2,}' | sort -u
}
# What a header declares and one file alone names, tests aside.
# of_one_file OBJECTS SOURCES OTHERS..
of_one_file() {
    comm -12 <(symbols "$1" --defined-only T) <(in_one_source "$2") |
        comm -12 - <(words '*.h' "$2") |
        comm -23 - <(symbols "$1" --undefined-only U) |
        comm -23 - <(exported "$1") |
        comm -23 - <(words '*.[ch]' "${@:3}") | grep -vxE 'main|LLVMFuzzer.*'
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
check "what one file alone calls is static" \
    "$(of_one_file "$build/src" "$top/src" "$top/tests" "$top/bench" |
        comm -23 - <(echo "$names"))"
check "each name has a reason" "$(grep -vE \
    '^(#|$)|^[a-z][A-Za-z0-9_]+: .{15,}' "$allowed")"

# This test itself: of three functions the one that nobody calls is found, and
# the one that a header shows to nobody.
finds_the_lonely_one() {
    local dir rc
    dir=$(mktemp -d) || return 1
    printf '%s\n' 'void shown(void);' 'void helped(void) { shown(); }' \
        'void lonely(void) { helped(); }' >"$dir/a.c"
    echo 'void shown(void) { }' >"$dir/b.c"
    printf '%s\n' 'void shown(void);' 'void helped(void);' >"$dir/a.h"
    mkdir "$dir/none"
    (cd "$dir" && ${CC:-cc} -c a.c b.c) &&
        [ "$(uncalled "$dir" "$dir")" = lonely ] &&
        [ "$(of_one_file "$dir" "$dir" "$dir/none")" = helped ]
    rc=$?
    rm -rf "$dir"
    return $rc
}
if command -v "${CC:-cc}" >/dev/null 2>&1; then
    finds_the_lonely_one
    report $? "a function that nobody calls, or one file alone, is found"
else
    skipped "a function that nobody calls, or one file alone, is found" \
        "there is no compiler"
fi
finish
