#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# doc/requirements.md names the tests that show each requirement.  Every name
# in backquotes in its third column must be a test that exists: a function of
# a unit test, a case of a cluster test (case_NAME), a bench or a file.
set -u
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
doc=$top/doc/requirements.md
words=$(mktemp)
trap 'rm -f "$words"' EXIT

grep -rhoE '[A-Za-z_][A-Za-z0-9_]{3,}' "$top/tests" --include='*.c' \
    --include='*.sh' --include='*.py' --include='*.t' --include='*.f90' |
    sort -u >"$words"
[ -r "$doc" ] || { echo "1..0 # SKIP no doc/requirements.md"; exit 0; }

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
    n=$((n + 1))
    if [ -z "$missing" ]; then
        echo "ok $n - $id"
    else
        echo "not ok $n - $id names tests that do not exist:$missing"
    fi
done <"$doc"
if [ "$n" = 0 ]; then echo "1..0 # SKIP empty"; else echo "1..$n"; fi
