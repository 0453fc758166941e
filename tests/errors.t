#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Every error code that the sources use is explained in doc/errors.md, and no
# code is explained that nobody uses.
set -u
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
codes() {
    grep -rhoE 'SF-E[0-9]{3}' "$@" | sort -u
}
silent=$(comm -23 <(codes "$top/src") <(codes "$top/doc/errors.md") | xargs)
# impid puts the number into the text: the bare number is use enough.
numbers=$(grep -rhoE '\b[1-9][0-9]{2}\b' "$top/src" | sed 's/^/SF-E/' | sort -u)
stale=$(comm -13 <({ codes "$top/src"; echo "$numbers"; } | sort -u) \
    <(codes "$top/doc/errors.md") | xargs)
echo 1..2
if [ -z "$silent" ]; then echo "ok 1 - every code is explained"; else
    echo "not ok 1 - not in doc/errors.md: $silent"; fi
if [ -z "$stale" ]; then echo "ok 2 - every explained code is used"; else
    echo "not ok 2 - nobody uses: $stale"; fi
[ -z "$silent$stale" ]
