#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/floors: a check in which tests were skipped, or were not there, is seen
# by their number; one that another machine skips for a known reason is not.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/tests/unit" "$tmp/tests/cluster"

# tested NAME RESULT..: what the driver of tests leaves of a test.
tested() {
    local name=$1 k=0 result
    shift
    for result; do
        k=$((k + 1))
        echo ":test-result: ${result%% *}"
    done >"$tmp/tests/${name%.*}.trs"
    k=0
    for result; do
        k=$((k + 1))
        echo "${result%% *}: tests/$name $k - case_$k ${result#* }"
    done >"$tmp/tests/${name%.*}.log"
}

floors() { # LINE..
    printf '%s\n' "$@" >"$tmp/floors"
    "$top/tools/floors" "$tmp" "$tmp/floors" >"$tmp/said" 2>&1
}

tested unit/test_a.c PASS PASS PASS
tested cluster/t_a.sh PASS "SKIP # SKIP no such thing"
tested nhc.t PASS "SKIP # SKIP nhc is not installed"
all=('floor unit 3' 'floor cluster 1' 'floor top 1'
    'skip tests/nhc.t nhc is not *' 'skip tests/cluster/t_a.sh no such thing')

floors "${all[@]}" && [ ! -s "$tmp/said" ]
report $? "what comes to every floor, with skips that may be, is right" "$tmp/said"

! floors "${all[@]}" 'floor unit 4' &&
    grep -q 'of unit 3 cases passed, .* 4 or more' "$tmp/said"
report $? "one case less than a floor is wrong" "$tmp/said"

! floors "${all[@]}" 'floor mpi 1' &&
    grep -q 'of mpi 0 cases passed' "$tmp/said"
report $? "a group of which nothing ran is wrong" "$tmp/said"

! floors "${all[@]:0:4}" &&
    grep -q 'skipped.*tests/cluster/t_a.sh: 2 - case_2 # SKIP no such' "$tmp/said"
report $? "a skip that is not in the list is wrong, and named" "$tmp/said"

! floors "${all[@]:0:4}" 'skip tests/nhc.t no such thing' &&
    grep -q 'tests/cluster/t_a.sh' "$tmp/said"
report $? "the reason is for that test only" "$tmp/said"

# What skip_all of tap.sh comes to in the log.
tested cluster/t_b.sh "SKIP - must run as root"
! floors "${all[@]}" && grep -q 'tests/cluster/t_b.sh.*must run as root' "$tmp/said"
report $? "so is a script that was skipped as a whole" "$tmp/said"
floors "${all[@]}" 'skip tests/cluster/t_b.sh must run as *'
report $? "unless the list has it" "$tmp/said"
rm "$tmp"/tests/cluster/t_b.trs
floors "${all[@]}"
report $? "a log of an earlier run does not count" "$tmp/said"

tested cluster/t_a.sh FAIL "SKIP # SKIP no such thing"
! floors "${all[@]}" && grep -q 'of cluster 0 cases passed' "$tmp/said"
report $? "what fails is not counted as passed" "$tmp/said"
tested cluster/t_a.sh PASS "SKIP # SKIP no such thing"

! floors "${all[@]}" 'floor unit 0' && ! floors "${all[@]}" 'floor unit many' &&
    ! floors "${all[@]}" 'skip tests/nhc.t' && ! floors "${all[@]}" 'flor unit 1'
report $? "a floor of nothing, a skip for any reason, other words are refused"

# The list that CI takes.
check "every group of tests has a floor" "$(
    {
        find "$top/tests" -mindepth 2 -maxdepth 2 -name Makemodule.am \
            -exec grep -lE '^TESTS|_tests' {} + | sed 's,/Makemodule.am$,,; s,.*/,,'
        echo top
    } | sort -u | while read -r group; do
        grep -q "^floor $group [1-9]" "$top/tests/floors" || echo "$group"
    done)"
finish
