#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What quickstart looks for before it does anything, and the progress that it
# shows: each thing that a machine lacks is said with what to do, a machine that
# has all is told nothing.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
work=$tmp build=$tmp/build
mkdir "$tmp/bin"
. "$top/tools/packages.sh"
. "$top/tools/machine.sh"
. "$top/tools/progress.sh"
os_release=$tmp/os-release
printf 'ID=debian\nVERSION_CODENAME=trixie\n' >"$os_release"
packages_missing() { cat "$tmp/missing"; }
mb_free() { echo 100000; }
mb_memory() { echo 100000; }
packages_mirror() { echo http://nothere.invalid/debian; }
packages_reachable() { :; }
: >"$tmp/missing"

lacks() { # WORD..
    machine_lacks "$@" >"$tmp/said" 2>&1
}

lacks run build test && [ ! -s "$tmp/said" ]
report $? "a machine that has all is told nothing" "$tmp/said"

# program NAME LINE: in the place of a command
program() {
    printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
    chmod 755 "$tmp/bin/$1"
}

echo gcc >"$tmp/missing"
mb_free() { echo $((MB_PACKAGES + MB_BUILD + MB_TMP)); }
lacks run build && [ ! -s "$tmp/said" ]
report $? "room for packages and build together is enough" "$tmp/said"
lacks run build test
if [ "$(stat -c %d "$tmp")" = "$(stat -c %d /usr)" ]; then
    grep -q "MB are free for .*/usr.*QUICKSTART_DIR" "$tmp/said"
    report $? "for the tests it is not, which is said with where" "$tmp/said"
else
    skipped "for the tests it is not, which is said with where" \
        "/usr and $tmp are on two file systems"
fi
: >"$tmp/missing"
mb_free() { echo 10; }
lacks run build && grep -q '10 MB are free for.*are needed: make room' "$tmp/said"
report $? "a full disk is seen before anything is begun" "$tmp/said"
mb_free() { echo 100000; }

mb_memory() { echo 200; }
lacks run build && grep -q "200 MB of memory are available, $MB_MEMORY" "$tmp/said"
report $? "so is too little memory" "$tmp/said"
mb_memory() { echo 100000; }

real=$(sed -n '/^packages_reachable()/,/^}/p' "$top/tools/packages.sh")
(
    eval "$real"
    lacks run && [ ! -s "$tmp/said" ] || exit
    echo slurmd >"$tmp/missing"
    lacks run && grep -q 'nothere.invalid/debian does not answer.*http_proxy' \
        "$tmp/said"
)
report $? "so is a server of packages, where some are missing" "$tmp/said"
: >"$tmp/missing"

(
    command() { [ "${2-}" != apt-get ] && builtin command "$@"; }
    lacks run && [ ! -s "$tmp/said" ] || exit
    echo slurmd >"$tmp/missing"
    lacks run && grep -q 'no apt-get, and not installed are: slurmd.*guide' \
        "$tmp/said"
)
report $? "where there is no apt-get and packages are missing is refused" "$tmp/said"
(
    printf 'ID=ubuntu\nPRETTY_NAME="Ubuntu 24.04"\nVERSION_CODENAME=noble\n' \
        >"$os_release"
    : >"$tmp/missing"
    lacks run && [ ! -s "$tmp/said" ] || exit
    echo slurmd >"$tmp/missing"
    lacks run && grep -q 'Ubuntu 24.04, and not installed are: slurmd.*Debian 13' \
        "$tmp/said"
)
report $? "so is another distribution" "$tmp/said"
: >"$tmp/missing"

if unshare --net true 2>/dev/null; then
    unshare --net bash -c '. "$1/tools/machine.sh"; lacks_network' - "$top" \
        >"$tmp/said" 2>&1
    grep -q 'nobody can connect to 127.0.0.1 .*ip link set lo up' "$tmp/said"
    report $? "a machine whose loopback is down is told so" "$tmp/said"
else
    skipped "a machine whose loopback is down is told so" "no network namespaces"
fi
if unshare --mount true 2>/dev/null; then
    unshare --mount bash -c '. "$1/tools/machine.sh" &&
        mount -t tmpfs -o noexec none /tmp &&
        mount -t tmpfs -o ro none /dev/shm &&
        lacks_directories' - "$top" >"$tmp/said" 2>&1
    grep -q '^/tmp lets no program run' "$tmp/said" &&
        grep -q '^/dev/shm cannot be written to' "$tmp/said"
    report $? "/tmp without programs, a /dev/shm that is shut are told" "$tmp/said"
else
    skipped "/tmp without programs, a /dev/shm that is shut are told" \
        "no mount namespaces"
fi

# ---- progress ----------------------------------------------------------------
PROGRESS_SECONDS=0
printf '  CC       a.lo\n  CCLD     b\nmake: nothing\n  CC       c.o\n' |
    compiled | progress "building file" 3 | sed 's/[0-9:]\{8\}/TIME/' >"$tmp/said"
same "files that make makes are counted, with the time" \
    "quickstart: TIME building file 1 of 3: a.lo
quickstart: TIME building file 2 of 3: b
quickstart: TIME building file 3 of 3: c.o" "$(cat "$tmp/said")"
printf 'dlstatus:1:0.5:Retrieving file 3 of 40\npmstatus:a:1:Unpacking a\n' |
    fetched | progress fetching 40 | sed 's/[0-9:]\{8\}/TIME/' >"$tmp/said"
same "so are packages that are fetched" \
    "quickstart: TIME fetching 3 of 40: 40" "$(cat "$tmp/said")"
printf '%s\n' pmstatus:a:1:Unpacking 'pmstatus:a:2:Installed a (amd64)' \
    pmstatus:b:3:Preparing 'pmstatus:b:4:Installed b (amd64)' |
    installed | progress installing 0 | sed 's/[0-9:]\{8\}/TIME/' >"$tmp/said"
same "and installed" "quickstart: TIME installing 1: a
quickstart: TIME installing 2: b" "$(cat "$tmp/said")"
PROGRESS_SECONDS=1000
printf '1 a\n2 b\n' | progress x 2 >"$tmp/said"
check "what is over soon says nothing in a log" "$(cat "$tmp/said")"
if command -v script >/dev/null; then
    script -qec "bash -c '. $top/tools/progress.sh
        printf \"1 a\n2 b\n\" | progress x 2'" /dev/null </dev/null |
        tr '\r' '\n' >"$tmp/said"
    grep -q 'x 1 of 2: a' "$tmp/said" && grep -q 'x 2 of 2: b' "$tmp/said" &&
        [ "$(tr -cd '\n' <"$tmp/said" | wc -c)" = 3 ]
    report $? "on a terminal it is one line" "$tmp/said"
else
    skipped "on a terminal it is one line" "no script(1)"
fi
finish
