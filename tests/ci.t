#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tools/ci, which CI runs: the sum of the stages is the last line; a stage that
# fails, or that takes too long, fails the run; what this machine cannot do is
# a skipped stage with its reason, within seconds.  The sources, and what the
# machine has, are a pretence here.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d /tmp/ci.XXXXXX)
trap 'rm -rf "$tmp"' EXIT
mkdir -p "$tmp/src/tools" "$tmp/src/tests/cluster" "$tmp/bin"
cp "$top"/tools/{ci,configured.sh,packages.sh,progress.sh} "$tmp/src/tools"
cp "$top/packages.txt" "$tmp/src"
cp "$top/tests/cluster/fresh" "$tmp/src/tests/cluster"

program() { # FILE LINE..
    printf '%s\n' '#!/bin/sh' "${@:2}" >"$1"
    chmod 755 "$1"
}

ci() { # WORD..
    PATH=$tmp/bin:$PATH "$tmp/src/tools/ci" "$@" >"$tmp/said" 2>&1
}

sum_is() { # TEXT
    [ "$(tail -n 1 "$tmp/said")" = "$1" ]
}

ended() { # PID: soon
    for _ in {1..100}; do
        grep -qs '^State:[[:space:]]*[^Z]' "/proc/$1/status" || return 0
        sleep 0.1
    done
    return 1
}

# What dpkg, apt and the mirror would say.
program "$tmp/bin/dpkg-query" "echo ii"
program "$tmp/src/quickstart" "echo '  tests/a'" \
    "echo '5 passed, 0 failed, 1 skipped'"
program "$tmp/bin/clang" 'exit 1'
ci check && sum_is '5 passed, 0 failed, 1 skipped' &&
    grep -q '^  tests/a' "$tmp/said" &&
    grep -Eq '^ci: check +passed ' "$tmp/said"
report $? "the output of a stage is shown, and its tests are counted" "$tmp/said"

# A stage without tests, and one that fails without a number.
program "$tmp/src/configure" 'touch config.status' \
    'echo "all check:; @:" >Makefile'
ci check clang && sum_is '6 passed, 0 failed, 1 skipped'
report $? "a stage that counts no tests is one case" "$tmp/said"
program "$tmp/src/configure" 'touch config.status' \
    'echo "all:; @echo x.c:1: error: bad; exit 1" >Makefile'
! ci check clang && sum_is '5 passed, 1 failed, 1 skipped' &&
    grep -q 'x.c:1: error: bad' "$tmp/said" &&
    grep -Eq '^ci: clang +failed ' "$tmp/said"
report $? "a stage that fails is a failure, whose reason is shown" "$tmp/said"

program "$tmp/src/quickstart" "echo '5 passed, 2 failed, 0 skipped'" 'exit 1'
! ci check && sum_is '5 passed, 2 failed, 0 skipped'
report $? "so are tests that fail" "$tmp/said"
program "$tmp/src/quickstart" "echo '5 passed, 0 failed, 0 skipped'" 'exit 1'
! ci check && sum_is '5 passed, 1 failed, 0 skipped'
report $? "and a stage whose tests pass, but which fails" "$tmp/said"

program "$tmp/src/quickstart" 'sleep 300 & echo $! >'"$tmp/slow; wait"
! ci --seconds 6 check && sum_is '0 passed, 1 failed, 0 skipped' &&
    grep -q 'failed: ended after [56] s' "$tmp/said" &&
    ended "$(cat "$tmp/slow")"
report $? "what takes too long is ended with all that it started" "$tmp/said"

program "$tmp/src/quickstart" "echo '5 passed, 0 failed, 0 skipped'"
ci --seconds 100 check clang fuzz && sum_is '5 passed, 0 failed, 2 skipped' &&
    grep -q 'stage fuzz: skipped: only [0-9]* s of 100 are left' "$tmp/said"
report $? "what cannot begin in time is skipped" "$tmp/said"

# Packages that are missing where no mirror answers.
program "$tmp/bin/dpkg-query" 'exit 1'
program "$tmp/bin/apt-get" 'exit 1'
program "$tmp/bin/debootstrap" 'exit 1'
DEBIAN_MIRROR=http://nothere.invalid/debian
export DEBIAN_MIRROR
sed -i "s|^packages_mirror() {|&\n    echo $DEBIAN_MIRROR; return|" \
    "$tmp/src/tools/packages.sh"
ci check chroot container trixie clang smoke sid &&
    sum_is '5 passed, 0 failed, 5 skipped' &&
    [ "$(grep -cE '^ci: [a-z]+ +skipped .*(does not answer|not root)' \
        "$tmp/said")" = 6 ]
report $? "without packages and network stages are skipped by name" "$tmp/said"

# They are there, but the mirror is not.
program "$tmp/bin/dpkg-query" "echo ii"
program "$tmp/src/configure" 'touch config.status' 'echo "all check:; @:" >Makefile'
ci check chroot container trixie smoke sid &&
    sum_is '5 passed, 0 failed, 4 skipped' &&
    [ "$(grep -cE '^ci: [a-z]+ +skipped .*(does not answer|must run as root|CAP_SYS_ADMIN|MB are free)' \
        "$tmp/said")" = 5 ]
report $? "so are root directories that cannot be made" "$tmp/said"

# Each has a root directory of its kind: guide, of no kind of its own, Debian 12.
program "$tmp/src/tests/cluster/fresh" 'echo "of fresh: $*"'
ci chroot trixie guide
grep -qE 'stage chroot: skipped: (of fresh: --like chroot --why-not|.*MB are free)' \
    "$tmp/said" &&
    grep -qE 'stage trixie: skipped: (of fresh: --suite trixie --why-not|.*MB are free)' \
        "$tmp/said" &&
    grep -qE 'stage guide: skipped: (of fresh: --why-not|.*MB are free)' "$tmp/said"
report $? "a stage asks for a root directory that there is" "$tmp/said"

# A root directory where each step does what a case of the test says.
step() { # STEP LINE..: of tests/cluster/smoke; install is in `sh -c`
    printf '%s\n' "*'smoke $1'*)" "${@:2}" ';;' >"$tmp/step.$1"
}
roots() { # [SUITE]: the step is so in that release only
    program "$tmp/src/tests/cluster/fresh" 'case "$*" in' \
        '*--why-not*) ;;' \
        "$(sed "s/^\*'smoke/*'${1:+--suite $1 }'&/" "$tmp"/step.* 2>/dev/null)" \
        "*'smoke test'*) echo '3 passed, 0 failed, 0 skipped' ;;" 'esac'
}
sed -i -E 's/^(smoke|sid) ([0-9]+) [0-9]+$/\1 \2 0/; s/-lt \$\(\(limit - 420\)\)/-lt 1000/;
    s/^need_space\(\) \{/& return;/' "$tmp/src/tools/ci"
roots
ci && sum_is '8 passed, 0 failed, 0 skipped' &&
    grep -q '^ci: smoke  *passed .* 3 passed, 0 failed, 0 skipped$' "$tmp/said" &&
    grep -q '^ci: sid  *passed .* 3 passed, .*(not counted)$' "$tmp/said"
report $? "without a name there are check, smoke and sid" "$tmp/said"

ci sid && sum_is '0 passed, 0 failed, 0 skipped'
report $? "sid alone counts nothing and is no failure" "$tmp/said"

step test "echo 'FAIL: tests/x 1 - y'" "echo '2 passed, 1 failed, 0 skipped'" 'exit 1'
roots sid
ci && sum_is '8 passed, 0 failed, 0 skipped' &&
    grep -q '^FAIL: tests/x' "$tmp/said" &&
    grep -q '^ci: sid  *failed .* 2 passed, 1 failed, .*(not counted)$' "$tmp/said"
report $? "what fails on sid is shown and fails nothing" "$tmp/said"
roots
! ci && sum_is '7 passed, 1 failed, 0 skipped' &&
    grep -q '^ci: smoke  *failed ' "$tmp/said"
report $? "what fails on the other release does" "$tmp/said"
rm "$tmp/step.test"

step build 'echo "x.c:1: error: bad"; exit 1'
roots
! ci check smoke && sum_is '5 passed, 1 failed, 0 skipped' &&
    grep -q 'x.c:1: error: bad' "$tmp/said"
report $? "so does what does not build there" "$tmp/said"
step build 'sleep 300 & echo $! >'"$tmp/slow; wait"
roots
ci --seconds 6 check smoke && sum_is '5 passed, 0 failed, 1 skipped' &&
    grep -Eq 'skipped: (installing packages|building): ended after [0-9]* s$' "$tmp/said" &&
    ended "$(cat "$tmp/slow")"
report $? "a machine too slow to build there is a reason to skip" "$tmp/said"
rm "$tmp/step.build"
step install 'echo "E: 503 Service Unavailable"; exit 100'
roots
ci check smoke && sum_is '5 passed, 0 failed, 1 skipped' &&
    grep -q 'skipped: packages cannot be installed: E: 503' "$tmp/said"
report $? "so are packages that cannot be installed" "$tmp/said"
rm "$tmp/step.install"
# A test of ours that stands still is none.
step test 'sleep 300 & echo $! >'"$tmp/slow; wait"
roots
! ci --seconds 15 check smoke && sum_is '5 passed, 1 failed, 0 skipped' &&
    ended "$(cat "$tmp/slow")"
report $? "a test that stands still there is a failure" "$tmp/said"

program "$tmp/src/quickstart" "echo '0 passed, 0 failed, 3 skipped'"
! ci check clang && sum_is '1 passed, 1 failed, 3 skipped'
report $? "a stage of whose tests none passed is a failure" "$tmp/said"
ci clangg
[ $? = 2 ] && grep -q 'tools/ci .--seconds' "$tmp/said"
report $? "a stage that there is not is wrong usage" "$tmp/said"
mkdir -p "$tmp/src/.ci"
cp "$top/.ci/run" "$tmp/src/.ci"
PATH=$tmp/bin:$PATH "$tmp/src/.ci/run" --help >"$tmp/said" 2>&1 &&
    grep -q 'tools/ci .--seconds' "$tmp/said" && ! grep -q 'ci: stage' "$tmp/said"
report $? "who asks for help gets it, not all the stages" "$tmp/said"
finish
