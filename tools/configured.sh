# SPDX-License-Identifier: BSD-3-Clause
# Whether the build directory has to be configured, and how: a build that was
# configured before a package came knows nothing of it.
# Uses: top (the source directory), packages_of() of packages.sh.

# older TARGET FILE..: one of the files is newer than the target.
older() {
    local f target=$1
    shift
    [ -e "$target" ] || return 0
    for f; do [ "$f" -nt "$target" ] && return 0; done
    return 1
}

# The packages that configure may find, with their versions.
packages_found() {
    # shellcheck disable=SC2046
    dpkg-query -W -f '${db:Status-Abbrev} ${Package} ${Version}\n' \
        $(packages_of run build test) 2>/dev/null |
        awk '$1 == "ii" { print $2, $3 }' | sort -u
}

# configure_how BUILD: "not", "again" (packages were added), or "anew" (in an
# empty directory: other sources, another configure, a package that is gone or
# has another version).
configure_how() {
    local build=$1
    if [ "$(cat "$build/.source" 2>/dev/null)" != "$top" ] ||
        older "$build/config.status" "$top/configure" ||
        [ ! -e "$build/.packages" ]; then
        echo anew
    elif [ -n "$(packages_found | comm -13 - "$build/.packages")" ]; then
        echo anew
    elif [ -n "$(packages_found | comm -23 - "$build/.packages")" ]; then
        echo again
    else
        echo not
    fi
}

# What the configuration that was just made knows.
configured() {
    packages_found >"$1/.packages"
    echo "$top" >"$1/.source"
}

# words_of BUILD NAME: what the variable of its Makefile holds.
words_of() {
    printf 'include Makefile\nsf-words:\n\t@echo WORDS: $(%s)\n' "$2" |
        make -s -C "$1" -f - sf-words 2>/dev/null | sed -n 's/^WORDS: //p'
}

# logs_of TEST..: what make calls the result of a test.
logs_of() {
    printf '%s\n' "$@" | sed -E 's/\.(sh|t)$//; s/$/.log/'
}

# count_results BUILD: PASSED FAILED SKIPPED, of every test that left a result.
count_results() {
    find "$1/tests" -name '*.trs' -exec cat {} + 2>/dev/null | awk '
        /^:test-result: (PASS|XFAIL)/ { p++ }
        /^:test-result: (FAIL|XPASS|ERROR)/ { f++ }
        /^:test-result: SKIP/ { s++ }
        END { print p + 0, f + 0, s + 0 }'
}
