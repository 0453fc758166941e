#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# quickstart leaves a Slurm or MUNGE that runs on the machine alone: nothing
# is installed that would touch its packages.  apt-get is a pretence here.  Of
# tests that fail it shows why.
set -u
. "$(dirname "$0")/tap.sh"
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
tmp=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$tmp"' EXIT
mkdir "$tmp/bin"

# apt-get -s says what $tmp/touched holds; all other calls are written down.
cat >"$tmp/bin/apt-get" <<'APT'
#!/bin/sh
here=${0%/bin/*}
[ "$1" != -s ] || exec cat "$here/touched"
echo "$*" >>"$here/calls"
APT
chmod 755 "$tmp/bin/apt-get"
# Starting services is forbidden by a file in /usr/sbin: not in a test.
policy_begin() { :; }
policy_end() { :; }
say() { printf '%s\n' "$*" >>"$tmp/said"; }
eval "$(sed -e '/^policy_begin()/,/^}/d' -e '/^policy_end()/,/^}/d' \
    "$top/tools/packages.sh")"
packages_missing() { echo "$@"; }
real_live_daemons=$(declare -f live_daemons)
live_daemons() { echo "munged (17)"; }

# try TOUCHED PACKAGE..: "install PACKAGE" with apt-get about to do TOUCHED.
try() {
    printf '%s\n' "$1" >"$tmp/touched"
    shift
    : >"$tmp/calls"
    : >"$tmp/said"
    PATH=$tmp/bin:$PATH packages_install "$tmp/log" "$@"
}

installed() {
    grep -q '^install .*-y' "$tmp/calls"
}

! try "Inst munge (0.5.15)" munge && ! installed
report $? "munge is not installed beside a live munged"

grep -q 'munged (17)' "$tmp/said" && grep -q 'left alone' "$tmp/said"
report $? "the live daemon and what would disturb it are named"

! try "Remv slurmd [22.05]" libcmocka-dev && ! installed
report $? "a package that would remove slurmd is not installed"

try "Inst libcmocka-dev (1.1)" libcmocka-dev && installed
report $? "what touches neither is installed"

eval "$real_live_daemons"
cp /bin/sleep "$tmp/munged"
"$tmp/munged" 60 &
daemon=$!
until [ "$(cat "/proc/$daemon/comm")" = munged ]; do :; done
live_daemons | grep -qxF "munged ($daemon)"
report $? "a live munged is found"

# What a failed test printed stands beside its failure; the driver of tests has
# put its own lines between.
build=$tmp/build
mkdir -p "$build/tests"
eval "$(sed -n '/^show_progress()/,/^}/p' "$top/quickstart")"
cat >"$build/tests/a.log" <<'LOG'
ok 1 - one
PASS: tests/a.sh 1 - one
# of two
not ok 2 - two
FAIL: tests/a.sh 2 - two
# after two
ok 3 - three
# of three
ERROR: tests/a.sh - exited with status 1
LOG
printf '%s\n' 'bus error' 'ERROR: tests/b - exited' >"$build/tests/b.log"
show_progress >"$tmp/progress" <<'LINES'
PASS: tests/a.sh 1 - one
FAIL: tests/a.sh 2 - two
PASS: tests/a.sh 3 - three
ERROR: tests/a.sh - exited with status 1
ERROR: tests/b - exited
PASS: tests/c 1 - one
LINES
diff - "$tmp/progress" >"$tmp/diff" <<'SHOWN'
  FAIL tests/a.sh 2 - two
  ERROR tests/a.sh - exited with status 1
    # of two
    not ok 2 - two
    # after two
  tests/a.sh
  ERROR tests/b - exited
    bus error
  tests/b
  tests/c
SHOWN
check "the reasons of a failure are shown beside it" "$(cat "$tmp/diff")"
finish
