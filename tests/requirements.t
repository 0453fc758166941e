#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doc/requirements.md names the tests that show each requirement.  Every name
# in backquotes in its third column must be a test that exists: a test
# function of a unit test or of an MPI program, a case of a cluster test
# (case_NAME), a titled world of t_worlds.sh, or a file.  No number of a group
# may be left out.
set -u
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
doc=$top/doc/requirements.md
words=$(mktemp)
trap 'rm -f "$words"' EXIT

# matches EXPRESSION GLOB: what sed's EXPRESSION finds in files of that name.
matches() {
    find "$top/tests" -name "$2" -exec sed -nE "s/$1/\\1/p" {} +
}
word='[a-z][a-z0-9_]{3,}'
{
    # Of cmocka; its setups and teardowns are int.
    matches "^static void ($word)\(void \*\*.*" '*.c'
    matches "^($word)\(void \*\*.*" '*.c' # a long name has a line of its own
    # Of MPI programs and of peers that are scripts.
    matches "^static void (im_[a-z0-9_]+)\(.*" '*.c'
    matches "^def (im_[a-z0-9_]+)\(.*" '*.py'
    # Of shell scripts.
    matches "^(case_[A-Za-z0-9_]+)\(\).*" '*.sh'
    matches "^title=(im_[a-z0-9_]+)$" '*.sh'
    matches "^case_end (im_[a-z0-9_]+) .*" '*.sh'
} | sort -u >"$words"
[ -r "$doc" ] || { echo "1..0 # SKIP no doc/requirements.md"; exit 0; }

declare -A group_last
n=0
while IFS='|' read -r _ id _ tests _; do
    id=${id// /}
    [[ $id =~ ^(EL|IM|G1|G2|HS|SL)-[0-9]+$ ]] || continue
    missing=
    for name in $(grep -oE '`[^`]+`' <<<"$tests" | tr -d '`'); do
        case $name in
        */*) [ -e "$top/$name" ] || missing+=" $name" ;;
        *) grep -qxF "$name" "$words" || missing+=" $name" ;;
        esac
    done
    group=${id%-*} number=$((10#${id#*-}))
    last=${group_last[$group]:-0}
    [ "$number" = $((last + 1)) ] ||
        missing+=" $group-$((last + 1)) (no such row)"
    group_last[$group]=$number
    n=$((n + 1))
    if [ -z "$missing" ]; then
        echo "ok $n - $id"
    else
        echo "not ok $n - $id: missing:$missing"
    fi
done <"$doc"
if [ "$n" = 0 ]; then echo "1..0 # SKIP empty"; else echo "1..$n"; fi
