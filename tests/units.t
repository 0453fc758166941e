#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# systemd finds nothing wrong with our units.  The programs in them are those
# of the build directory, for it looks whether they are there.
set -u
top=${SF_TOP_SRCDIR:-$(cd "$(dirname "$0")/.." && pwd)}
build=${SF_TOP_BUILDDIR:-.}
. "$top/tests/cluster/mini/patience.sh"
command -v systemd-analyze >/dev/null || {
    echo "1..0 # SKIP no systemd-analyze"
    exit 0
}
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
units='hsnd mapperd swfabd switchmgrd'
# Units of other packages that ours name.
printf '[Service]\nExecStart=/bin/true\n' >"$tmp/munge.service"
cp "$tmp/munge.service" "$tmp/slurmd.service"
cp "$tmp/munge.service" "$tmp/slurmctld.service"
for u in $units; do
    sed "s,@pkglibexecdir@/,$build/src/$u/," "$top/dist/$u.service.in" \
        >"$tmp/$u.service"
done
echo "1..12"
n=0 failed=0
for u in $units; do
    n=$((n + 1))
    if SYSTEMD_UNIT_PATH=$tmp: timeout "$(patience 60)" systemd-analyze verify --man=no \
        "$tmp/$u.service" >"$tmp/out" 2>&1 &&
        ! grep -q "^$tmp/$u.service\|^$u.service" "$tmp/out"; then
        echo "ok $n - $u.service"
    else
        echo "not ok $n - $u.service"
        failed=1
        sed 's/^/# /' "$tmp/out"
    fi
done
for u in $units; do
    n=$((n + 1))
    if grep -q '^Type=notify$' "$top/dist/$u.service.in" &&
        grep -q 'notify_manager(NOTIFY_READY)' "$top"/src/"$u"/*.c; then
        echo "ok $n - $u says when it is ready"
    else
        echo "not ok $n - $u says when it is ready"
        failed=1
    fi
done
# What runs before the daemon may end with any status: systemd starts the unit
# again, also after the 2 of a wrong configuration.
for u in $units; do
    n=$((n + 1))
    if grep -q '^RestartPreventExitStatus=2$' "$top/dist/$u.service.in" &&
        ! grep -q '^ExecStartPre=' "$top/dist/$u.service.in"; then
        echo "ok $n - $u with a wrong configuration is not started again"
    else
        echo "not ok $n - $u with a wrong configuration is not started again"
        failed=1
    fi
done
exit $failed
