#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# systemd finds nothing wrong with our units as they were built.  The programs in
# them are those of the build directory, for it looks whether they are there.
set -u
. "$(dirname "$0")/tap.sh"
. "$top/tests/cluster/mini/patience.sh"
command -v systemd-analyze >/dev/null || skip_all "no systemd-analyze"
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
units='hsnd mapperd nicd swfabd switchmgrd'
# Units of other packages that ours name.
printf '[Service]\nExecStart=/bin/true\n' >"$tmp/munge.service"
cp "$tmp/munge.service" "$tmp/slurmd.service"
cp "$tmp/munge.service" "$tmp/slurmctld.service"
for u in $units; do
    sed "s,^ExecStart=.*/,ExecStart=$build/src/$u/," \
        "$build/dist/$u.service" >"$tmp/$u.service"
    # config.status takes what configure knows out of the Makefile's own rules.
    check "$u: every place in it is one of this build" \
        "$(grep -nE '@[A-Za-z_]+@' "$tmp/$u.service")"
done
# Others look for a socket where its user may not make it: without its name
# there the daemon serves nobody.
for u in mapperd swfabd; do
    grep -qE '^ExecStartPost=\+/bin/ln -sfn ' "$tmp/$u.service"
    report $? "$u without its socket's other name fails" "$tmp/$u.service"
done
for u in $units; do
    SYSTEMD_UNIT_PATH=$tmp: timeout "$(patience 60)" systemd-analyze verify \
        --man=no "$tmp/$u.service" >"$tmp/out" 2>&1 &&
        ! grep -q "^$tmp/$u.service\|^$u.service" "$tmp/out"
    report $? "$u.service" "$tmp/out"
done
for u in $units; do
    grep -q '^Type=notify$' "$top/dist/$u.service.in" &&
        grep -q 'notify_manager(NOTIFY_READY)' "$top"/src/"$u"/*.c
    report $? "$u says when it is ready"
done
# Those of the other rails: each with a configuration of its own, without which
# it is not started, and beside the first one's sockets and state.
# of_rail NAME LINE..
of_rail() {
    local name=$1 line at=$build/dist/$1@.service
    shift
    sed "s,^ExecStart=[^ ]*/,ExecStart=$build/src/$name/," "$at" \
        >"$tmp/$name@.service"
    SYSTEMD_UNIT_PATH=$tmp: timeout "$(patience 60)" systemd-analyze verify \
        --man=no "$tmp/$name@.service" >"$tmp/out" 2>&1 &&
        ! grep -q "^$tmp/$name@\|^$name@" "$tmp/out"
    report $? "$name@.service" "$tmp/out"
    for line; do
        sed 's,=[^ ]*/\(slurm-fabric/[a-z]*-%i.conf\)$,=\1,
            s,^ExecStart=[^ ]*/,ExecStart=,; s, -f [^ ]*/, -f ,' "$at" |
            grep -qxF -- "$line"
        report $? "$name@: $line" "$at"
    done
    check "$name@: all else is as the first rail's" "$(diff \
        <(grep -vE '^(Description|After|Before|Wants|ExecStart(Post)?)=' \
            "$build/dist/$name.service") \
        <(grep -vE '^(Description|After|Before|Wants|ExecStart(Post)?|ConditionPathExists)=' \
            "$at" | grep -v mapperd-%i.sock))"
}
of_rail hsnd ConditionPathExists=slurm-fabric/hsn-%i.conf \
    'ExecStart=hsnd -f hsn-%i.conf' \
    'Before=slurmd.service mapperd@%i.service'
of_rail mapperd ConditionPathExists=slurm-fabric/mapper-%i.conf \
    'ExecStart=mapperd -f mapper-%i.conf --unit=%i' \
    'After=hsnd@%i.service munge.service'
grep -qE '^ExecStartPost=\+/bin/ln -sfn mapperd/mapperd-%i.sock /.*/slurm-fabric/$' \
    "$build/dist/mapperd@.service"
report $? "mapperd@'s socket is where switchmgrd asks" \
    "$build/dist/mapperd@.service"
# says LINE UNIT..: has that line.
says() {
    local u
    for u in "${@:2}"; do
        grep -qxF -- "$1" "$top/dist/$u.service.in"
        report $? "$u: $1"
    done
}
# Started again after a crash, slower than systemd's limit of five in ten
# seconds, and with what it left behind in /run and /var/lib.
says Restart=on-failure $units
says RestartSec=1 $units
says RuntimeDirectoryPreserve=yes hsnd mapperd swfabd switchmgrd
says StateDirectory=slurm-fabric hsnd switchmgrd
# Directories of root's are not shared with a user: systemd would give them to
# whom it starts.
says StateDirectory=slurm-fabric/mapperd mapperd
says "RuntimeDirectory=slurm-fabric/mapperd gm_mapper" mapperd
says RuntimeDirectory=slurm-fabric/swfabd swfabd
says User=slurm-fabric-mapper mapperd
says User=slurm-fabric-swfab swfabd
says User=slurm-fabric nicd
for u in mapperd nicd swfabd; do
    user=$(sed -n 's/^User=//p' "$top/dist/$u.service.in")
    grep -q "^u $user " "$top/dist/sysusers/slurm-fabric.conf" &&
        grep -q "\"$user\"" "$top/src/base/service.h"
    report $? "$u: $user is made, and trusted"
done
# exposed UNIT TENTHS: no more than that by systemd's own judgement
exposed() {
    (cd "$tmp" && systemd-analyze security --offline=yes --threshold="$2" \
        "./$1.service") >"$tmp/out" 2>&1
    report $? "$1: exposure of at most $2 tenths" "$tmp/out"
}
if systemd-analyze security --help 2>&1 | grep -q -- --offline; then
    exposed mapperd 25
    exposed swfabd 25
    exposed nicd 25
    exposed switchmgrd 25
    exposed hsnd 30
else
    skipped "exposure" "systemd-analyze judges no files before systemd 250"
fi
# Each capability that one keeps is justified there.
for u in $units; do
    check "$u: why it keeps what it keeps" "$(for c in $(sed -n \
        's/^CapabilityBoundingSet=//p' "$top/dist/$u.service.in"); do
        case $u/$c in
        switchmgrd/*) grep -q '^# .*For that, and' "$top/dist/$u.service.in" ;;
        swfabd/*) grep -q '^# For Ethernet=' "$top/dist/$u.service.in" ;;
        *) grep -q "^# $c: " "$top/dist/$u.service.in" ;;
        esac || echo "$c"
    done)"
done
says NotifyAccess=all switchmgrd # its collector, a child, is ready
says 'ExecReload=/bin/kill -HUP $MAINPID' switchmgrd
# What runs before the daemon may end with any status: systemd starts the unit
# again, also after the 2 of a wrong configuration.
for u in $units; do
    grep -q '^RestartPreventExitStatus=2$' "$top/dist/$u.service.in" &&
        ! grep -q '^ExecStartPre=' "$top/dist/$u.service.in"
    report $? "$u with a wrong configuration is not started again"
done
finish
