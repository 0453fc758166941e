#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# quickstart leaves a Slurm or MUNGE that runs on the machine alone: nothing
# is installed that would touch its packages, nor where Debian's Slurm is
# another; services stay unstarted; and wherever it lies and is called from, it
# builds in a place that suits, and gives that to whom the sources belong.
# Of tests that fail it shows why.  apt-get is a pretence here, and so are the
# sources to build.
set -u
. "$(dirname "$0")/tap.sh"
tmp=$(mktemp -d /tmp/quickstart.XXXXXX)
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
cat >"$tmp/bin/apt-cache" <<'APT'
#!/bin/sh
here=${0%/bin/*}
[ ! -e "$here/slurm" ] || printf '%s:\n  Candidate: %s\n' "$2" "$(cat "$here/slurm")"
APT
chmod 755 "$tmp"/bin/apt-*
say() { printf '%s\n' "$*" >>"$tmp/said"; }
. "$top/tools/packages.sh"
. "$top/tools/progress.sh"
# A machine of a release that is supported, and one of another.
os_release=$tmp/os-release
debian() { # NUMBER NAME
    printf 'PRETTY_NAME="Debian %s"\nID=debian\nVERSION_CODENAME=%s\n' \
        "$1" "$2" >"$os_release"
}
debian 12 bookworm
# Starting services is forbidden by a file in /usr/sbin: not in a test.
policy=$tmp/policy
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

# Debian's Slurm is the right one, another, not known.
live_daemons() { :; }
echo 22.05.8-4+deb12u3 >"$tmp/slurm"
try "" libcmocka-dev libslurm-dev && installed
report $? "Debian 12's Slurm is installed"
echo 24.11.5-4 >"$tmp/slurm"
debian 13 trixie
try "" libcmocka-dev libslurm-dev && installed
report $? "so is Debian 13's"
echo 24.11.99-1 >"$tmp/slurm"
! try "" libcmocka-dev libslurm-dev && ! installed &&
    grep -q '24\.11\.99-1.*not known.*Nothing was installed' "$tmp/said"
report $? "where Slurm is another, that is told before anything is installed"
echo 22.05.8-4 >"$tmp/slurm"
debian 11 bullseye
! try "" libcmocka-dev && ! installed &&
    grep -q 'system is Debian 11; .*Debian 12 .*Debian 13 .*Nothing was' \
        "$tmp/said"
report $? "on another system that is told, with those that are supported"
debian 12 bookworm
echo 22.05.8-4+deb12u3 >"$tmp/slurm"
! try "Remv slurm-smd-dev [25.11.7-1]
Remv slurm-smd [25.11.7-1]" libslurm-dev && ! installed &&
    grep -q 'take away slurm-smd-dev slurm-smd$' "$tmp/said"
report $? "no package of SchedMD's is taken away for Debian's, though it rests"
rm "$tmp/slurm"
! try "" libslurm-dev && ! installed && grep -q 'no network' "$tmp/said"
report $? "so is that apt knows of no Slurm"

# apt-get that looks at the policy, and one that is killed.
sed -i '$a [ ! -e "$here/policy" ] || cp "$here/policy" "$here/policy.seen"' "$tmp/bin/apt-get"
try "" libcmocka-dev
grep -qx 'exit 101' "$tmp/policy.seen" && [ ! -e "$policy" ]
report $? "services are not started meanwhile, and later again"
printf '#!/bin/sh\n# by slurm-fabric quickstart 0\nexit 101\n' >"$policy"
try "" libcmocka-dev
[ ! -e "$policy" ]
report $? "what a killed quickstart left is taken away"
echo "the machine's" >"$policy"
try "" libcmocka-dev
cmp -s "$policy" "$tmp/policy.seen" && [ "$(cat "$policy")" = "the machine's" ]
report $? "a policy of the machine stays"

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
show_progress 3 >"$tmp/progress" <<'LINES'
PASS: tests/a.sh 1 - one
FAIL: tests/a.sh 2 - two
PASS: tests/a.sh 3 - three
ERROR: tests/a.sh - exited with status 1
ERROR: tests/b - exited
PASS: tests/c 1 - one
LINES
diff - "$tmp/progress" >"$tmp/diff" <<'SHOWN'
  [1/3] tests/a.sh
  FAIL tests/a.sh 2 - two
  ERROR tests/a.sh - exited with status 1
    # of two
    not ok 2 - two
    # after two
  [2/3] tests/b
  ERROR tests/b - exited
    bus error
  [3/3] tests/c
SHOWN
check "the reasons of a failure are shown beside it" "$(cat "$tmp/diff")"

# ---- the whole of it, with sources that are built in no time ----------------
# Who calls is what $tmp/uid says; sudo writes down what it is asked for.
printf '#!/bin/sh\n[ "$*" = -u ] && exec cat "%s"\nexec /usr/bin/id "$@"\n' \
    "$tmp/uid" >"$tmp/bin/id"
printf '#!/bin/sh\necho "$*" >"%s"\n' "$tmp/sudo" >"$tmp/bin/sudo"
chmod 755 "$tmp/bin"/{id,sudo} "$tmp"
echo 0 >"$tmp/uid"

sources() { # DIR
    mkdir -p "$1"
    cp -r "$top/quickstart" "$top/tools" "$1"
    touch "$1"/{packages.txt,configure.ac,acinclude.m4}
    printf '#!/bin/sh\ncd "${0%%/*}" && cp conf.in configure\n' >"$1/autogen.sh"
    printf '#!/bin/sh\necho "all:; touch made" >Makefile; touch config.status\n' \
        >"$1/conf.in"
    chmod 755 "$1"/{autogen.sh,conf.in}
}

quick() { # COMMAND..: in another directory
    (cd "$tmp" && PATH=$tmp/bin:$PATH "$@") >"$tmp/said" 2>&1
}

sources "$tmp/a b"
! quick "$tmp/a b/quickstart" build && grep -q 'a b.* has a space' "$tmp/said" &&
    [ ! -e "$tmp/a b/.quickstart" ]
report $? "a directory with a space in its name is refused with a reason"

sources "$tmp/src"
! quick "$tmp/src/quickstart" biuld && grep -q '^usage' "$tmp/said" &&
    ! quick "$tmp/src/quickstart" build more
report $? "another command, or a word too many, is wrong usage"
quick sh src/quickstart help && grep -q '^usage' "$tmp/said"
report $? "sh may be told to run it"
echo 1000 >"$tmp/uid"
quick env QUICKSTART_DIR=there "$tmp/src/quickstart" build &&
    [ "$(cat "$tmp/sudo")" = "QUICKSTART_DIR=there $tmp/src/quickstart build" ]
report $? "who is not root is asked for by sudo"
echo 0 >"$tmp/uid"

# As root only: it becomes user nobody to look, and gives things away.
if [ "$(/usr/bin/id -u)" != 0 ]; then
    skipped "where it builds and whose that is" "not root"
    finish
fi
quick env QUICKSTART_DIR=there "$tmp/src/quickstart" build &&
    [ -e "$tmp/there/build/made" ] &&
    grep -qF "built in $tmp/there/build" "$tmp/said"
report $? "QUICKSTART_DIR may be relative to where it is called"

# A Makefile whose tests pass as soon as they are asked for.
sources "$tmp/some"
mkdir "$tmp/some/tests"
cat >"$tmp/some/conf.in" <<'CONF'
#!/bin/sh
touch config.status
mkdir -p tests
printf '%s\n' 'all stage:; @:' 'TESTS = tests/a tests/b' \
    'check: $(TESTS:=.log)' \
    'tests/%.log:; @echo :test-result: PASS >tests/$*.trs; touch $@' \
    '	@echo "PASS: tests/$* 1 - one"' >Makefile
CONF
echo 'floor top 2' >"$tmp/some/tests/floors"
quick "$tmp/some/quickstart" check && grep -qx '  .2/2. tests/[ab]' "$tmp/said" &&
    [ "$(tail -n 1 "$tmp/said")" = '2 passed, 0 failed, 0 skipped' ]
report $? "check runs all tests" "$tmp/said"
rm -f "$tmp/some/.quickstart/build/tests/a.log" # make check does
quick "$tmp/some/quickstart" check tests/b.t && ! grep -q tests/a "$tmp/said" &&
    [ "$(tail -n 1 "$tmp/said")" = '1 passed, 0 failed, 0 skipped' ]
report $? "or those that are named" "$tmp/said"
printf '%s\n' 'check_PROGRAMS = tests/a tests/tool' 'tests/tool:; @touch $@' \
    >>"$tmp/some/.quickstart/build/Makefile"
quick "$tmp/some/quickstart" check tests/b.t &&
    [ -e "$tmp/some/.quickstart/build/tests/tool" ]
report $? "with the programs that scripts run" "$tmp/said"
rm -f "$tmp"/some/.quickstart/build/tests/[ab].log
quick "$tmp/some/quickstart" check --floors &&
    [ "$(tail -n 1 "$tmp/said")" = '3 passed, 0 failed, 0 skipped' ]
report $? "with --floors their number is one case more" "$tmp/said"
! quick "$tmp/some/quickstart" check --floors tests/a.t &&
    grep -q 'of top 1 cases passed' "$tmp/said" &&
    [ "$(tail -n 1 "$tmp/said")" = '1 passed, 1 failed, 0 skipped' ]
report $? "which fails when there are too few" "$tmp/said"
! quick "$tmp/some/quickstart" check ../a && grep -q '^usage' "$tmp/said" &&
    ! quick "$tmp/some/quickstart" check --flors && grep -q '^usage' "$tmp/said"
report $? "what is no test's name is wrong usage" "$tmp/said"

# What is built and staged is given to the demonstration that was asked for.
sources "$tmp/ib"
echo 'echo "stage:; touch staged" >>Makefile' >>"$tmp/ib/conf.in"
printf '%s\n' '#!/bin/sh' 'echo "demo of $1, $(ls "$1/staged")"' \
    >"$tmp/ib/tools/demo-infiniband"
quick "$tmp/ib/quickstart" demo infiniband &&
    grep -q "^demo of $tmp/ib/.quickstart/build, .*/staged" "$tmp/said" &&
    ! quick "$tmp/ib/quickstart" demo ethernet && grep -q '^usage' "$tmp/said"
report $? "demo infiniband builds, stages and runs that demonstration" "$tmp/said"

sources "$tmp/shut"
echo 'readlink /proc/self/fd/0 >input' >>"$tmp/shut/conf.in"
quick sh -c "exec '$tmp/shut/quickstart' build <&-" &&
    [ "$(cat "$tmp/shut/.quickstart/build/input")" = /dev/null ]
report $? "without a standard input builds and tests have an empty one"

sources "$tmp/theirs"
chown -R nobody:nogroup "$tmp/theirs"
ln -s theirs/quickstart "$tmp/link"
quick "$tmp/link" build && [ -e "$tmp/theirs/.quickstart/build/made" ]
report $? "it may be called by a link"
check "all that it makes belongs to the owner of the sources" \
    "$(find "$tmp/theirs" ! -user nobody)"
echo 'exit 1' >"$tmp/theirs/conf.in"
touch -d 'next hour' "$tmp/theirs/configure.ac"
! quick "$tmp/theirs/quickstart" demo && grep -q 'failed: Configuring' "$tmp/said"
report $? "what fails is named"
check "also after a failure all is the owner's" \
    "$(find "$tmp/theirs" ! -user nobody)"

# The first builds until it is told to go on; the second says that it waits.
sources "$tmp/one"
echo "echo conf >>'$tmp/order'; until [ -e '$tmp/go' ]; do sleep 0.1; done
    echo done >>'$tmp/order'" >>"$tmp/one/conf.in"
(quick "$tmp/one/quickstart" build) &
first=$!
until [ -e "$tmp/order" ]; do :; done
PATH=$tmp/bin:$PATH "$tmp/one/quickstart" build >"$tmp/second" 2>&1 &
second=$!
until grep -q . "$tmp/second"; do :; done
touch "$tmp/go"
wait "$first" "$second"
grep -q 'another quickstart is at work in .*: waiting' "$tmp/second" &&
    grep -q 'built in' "$tmp/second" &&
    [ "$(xargs <"$tmp/order")" = 'conf done' ]
report $? "two at once take their turns"

mkdir "$tmp/full"
sources "$tmp/big"
sed -i '$a head -c 2M /dev/zero >big || exit 1' "$tmp/big/conf.in"
sed -i 's/^MB_BUILD=.*/MB_BUILD=0/' "$tmp/big/tools/machine.sh"
if unshare -m true 2>/dev/null; then
    ! quick unshare -m sh -c "mount -t tmpfs -o size=1m none '$tmp/full' &&
        QUICKSTART_DIR='$tmp/full' '$tmp/big/quickstart' build" &&
        grep -q "no space left in $tmp/full" "$tmp/said"
    report $? "a full disk is named"
else
    skipped "a full disk is named" "no mount namespaces here"
fi

sources "$tmp/home/src"
chmod 700 "$tmp/home"
elsewhere=/var/tmp/slurm-fabric-$(cksum <<<"$tmp/home/src" | cut -d' ' -f1)
trap '[ -z "$daemon" ] || kill "$daemon"; rm -rf "$tmp" "$elsewhere"' EXIT
quick "$tmp/home/src/quickstart" build && [ -e "$elsewhere/build/made" ] &&
    grep -qF "so this builds in $elsewhere" "$tmp/said"
report $? "sources that jobs cannot reach are built elsewhere, as it says"
[ ! -e "$tmp/home/src/.quickstart" ]
report $? "and leave no empty directory behind"
chown nobody "$elsewhere"
! quick "$tmp/home/src/quickstart" build &&
    grep -qF "$elsewhere is somebody else's" "$tmp/said"
report $? "but not in a directory that another user made there"
finish
