#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doc/requirements.md names the tests that show each requirement, doc/security.md
# those of each promise.  Every name
# in backquotes in its third column must be a test that is run: a function that
# cmocka is given, a function of an MPI program or of a peer, a case of a shell
# test, a titled world of t_worlds.sh, or a whole script of `make check`.
# Documents may stand beside tests, never alone; where no test is possible the
# column says "no test:" and why.  No number of a group may be left out.
set -u
. "$(dirname "$0")/tap.sh"
doc=${SF_REQUIREMENTS:-$top/doc/requirements.md}
promises=${SF_REQUIREMENTS:-$top/doc/security.md}
words=$(mktemp)
trap 'rm -f "$words"' EXIT

# matches EXPRESSION GLOB: what sed's EXPRESSION finds in files of that name.
matches() {
    find "$top/tests" -name "$2" -exec sed -nE "s/$1/\\1/p" {} +
}
word='[a-z][A-Za-z0-9_]{3,}'
# Whatever is only defined is not run.
used_words() {
    find "$top/tests" \( -name '*.[ch]' -o -name '*.sh' -o -name '*.t' -o \
        -name '*.py' \) -exec grep -ohwE "$word" {} + | sort | uniq -d
}
{
    # Of cmocka; its setups and teardowns are int.
    matches "^static void ($word)\(void \*\*.*" '*.[ch]'
    matches "^($word)\(void \*\*.*" '*.c' # a long name has a line of its own
    # Of MPI programs and of peers that are scripts.
    find "$top/tests/mpi" -name '*.c' -exec \
        sed -nE "s/^static void ($word)\(.*/\1/p" {} +
    matches "^def ($word)\(.*" '*.py'
    # Of shell scripts that name each case they run.
    matches "^(case_[A-Za-z0-9_]+)\(\).*" '*.sh'
} | sort -u | comm -12 - <(used_words) >"$words"
all_run='^run_cases|contain_cases'
{
    # Of shell scripts whose cases are all run.
    find "$top/tests" -name '*.sh' -exec grep -lZE "$all_run" {} + |
        xargs -0 sed -nE 's/^(case_[A-Za-z0-9_]+)\(\).*/\1/p'
    matches "^title=($word)$" '*.sh'
    matches "^case_end ($word) .*" '*.sh'
} >>"$words"
[ -r "$doc" ] || skip_all "no doc/requirements.md"

# A script that `make check` runs.
is_script() {
    [[ $1 =~ ^tests/.*\.t$ || $1 =~ ^tests/.*/t_[a-z_]+\.sh$ ]] &&
        [ -x "$top/$1" ]
}

# wrong COLUMN: what is wrong with it, one line each.
wrong() {
    local name shown='' rest=$1
    while [[ $rest =~ \`([^\`]+)\`(.*) ]]; do
        name=${BASH_REMATCH[1]} rest=${BASH_REMATCH[2]}
        if [ -n "${run[$name]-}" ] || is_script "$name"; then
            shown=1
        elif [[ $name != doc/*.md || ! -e $top/$name ]]; then
            echo "$name is no test"
        fi
    done
    if [[ ${1,,} =~ (^|[^a-z_])later([^a-z_]|$) ]]; then
        echo 'says "later"'
    elif [ -z "$shown" ] && [[ ! $1 =~ ^\ *no\ test:\ .{20,} ]]; then
        echo "names no test"
    fi
}

declare -A run group_last
while read -r name; do run[$name]=1; done <"$words"
while IFS='|' read -r _ id _ tests _; do
    id=${id// /}
    [[ $id =~ ^[A-Z0-9]{2}-[0-9]+$ ]] || continue
    missing=$(wrong "$tests")
    group=${id%-*} number=$((10#${id#*-}))
    [[ $group =~ ^(EL|IM|G1|G2|HS|SL|AB|WP|OW|LF|SC)$ ]] ||
        missing+=${missing:+$'\n'}"there is no group $group"
    last=${group_last[$group]:-0}
    [ "$number" = $((last + 1)) ] ||
        missing+=${missing:+$'\n'}"there is no row $group-$((last + 1))"
    group_last[$group]=$number
    check "$id" "$missing"
done < <(cat "$doc"; [ "$promises" = "$doc" ] || cat "$promises")
[ -n "${SF_REQUIREMENTS-}" ] || check "there are promises in doc/security.md" \
    "$([ "${group_last[SC]:-0}" -gt 10 ] || echo "only ${group_last[SC]:-0}")"
# This test itself: each row of such a document is refused.
refuses_all() {
    local rows=$words.rows bad
    printf '| %s |\n' 'EL-01 | a | `no_such_test`' \
        'EL-02 | a document alone | `doc/elan.md`' \
        'EL-03 | a program, not a test | `tests/mpi/ring.c`' \
        'EL-04 | nothing | -' 'EL-06 | a number is left out | `packed_data_cross`' \
        'EL-07 | too short a reason | no test: none' \
        'EL-08 | put off | `packed_data_cross`; later: more' \
        'ZZ-01 | a group that is none | `packed_data_cross`' >"$rows"
    bad=$(SF_REQUIREMENTS=$rows "$0" | grep -c '^not ok')
    rm -f "$rows"
    [ "$bad" = 8 ]
}
if [ -z "${SF_REQUIREMENTS-}" ]; then
    refuses_all
    report $? "rows without a test are refused"
fi
finish
