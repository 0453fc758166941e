#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# nicd over trees such as sysfs has for adapters of each make, names and formats
# as their drivers have them: which ports it watches, what it says of each, what
# it leaves out; what is no such tree stops it not; what it costs.
set -u
. "$(dirname "$0")/../tap.sh"
. "$(dirname "$0")/../nic_tree.sh"
. "$top/tests/cluster/mini/patience.sh"
nicd=$build/src/nicd/nicd
tmp=$(mktemp -d)
pid=
end() {
    [ -z "$pid" ] || { kill "$pid" && wait "$pid"; } 2>/dev/null
    pid=
}
trap 'end; rm -rf "$tmp"' EXIT
root=$tmp/root
mkdir -p "$root/sys/class" "$root/dev"

# nobody listens there, and no munged seals: what is told stands in the log
begin() { # LINE..: of nicd.conf
    end
    printf '%s\n' "Root=$root" "Health=$tmp/reports" "MungeSocket=$tmp/munge" \
        NodeName=n0 LinkWait=0 VanishAfter=0 "$@" >"$tmp/nicd.conf"
    : >"$tmp/log"
    "$nicd" -v -f "$tmp/nicd.conf" 2>"$tmp/log" &
    pid=$!
    wait_until 20 grep -q 'looks at the NICs' "$tmp/log"
}
told() { grep -qxF -- "nicd: debug: $1" "$tmp/log"; }
soon() { # LINE
    wait_until 20 told "$1"
    report $? "$1" "$tmp/log"
}
not_told() { # PATTERN
    check "nothing of $1" "$(grep "nicd: debug: .*$1" "$tmp/log")"
}

ib=$root/sys/class/infiniband
nic_infiniband "$root" mlx5_0 MT4123 0c42a10300001010
nic_infiniband "$root" mlx5_10 MT4123 0c42a10300001020
nic_roce "$root" mlx5_2 MT4125 ens2np0 0c:42:a1:00:00:02
# A virtual function is not the machine's.
nic_roce "$root" mlx5_3 MT4126 ens2v0 0c:42:a1:00:00:03
mkdir -p "$ib/mlx5_3/device/physfn"
begin
soon 'rail 0: MT4123 mlx5_0/1: up'
soon 'rail 1: MT4125 mlx5_2/1: up'
soon 'rail 2: MT4123 mlx5_10/1: up'
not_told mlx5_3
nic_link "$root" mlx5_10 1 down
soon 'rail 2: MT4123 mlx5_10/1: down: mlx5_10/1 no link: Polling'
nic_link "$root" mlx5_10 1 init
soon 'rail 2: MT4123 mlx5_10/1: down: mlx5_10/1 is INIT: no subnet manager'
mv "$ib/mlx5_10" "$tmp/away"
soon 'rail 2: MT4123 mlx5_10/1: down: mlx5_10/1 vanished'
mv "$tmp/away" "$ib/mlx5_10"
nic_link "$root" mlx5_10 1 up
# The carrier was lost ten times between two looks.
nic_write "$root/sys/class/net/ens2np0/operstate" dormant
soon 'rail 1: MT4125 mlx5_2/1: down: mlx5_2/1 no link: dormant'
rm -rf "$root/sys/class/net/ens2np0"
soon 'rail 1: MT4125 mlx5_2/1: down: mlx5_2/1 no link: no interface'
nic_interface "$root" ens2np0 0c:42:a1:00:00:02 25000
soon 'rail 1: MT4125 mlx5_2/1: degraded: mlx5_2/1 runs 25 Gb/s of 100 Gb/s'
rm "$root/dev/infiniband/uverbs0"
soon 'rail 0: MT4123 mlx5_0/1: degraded: mlx5_0/1 has no uverbs device'
: >"$root/dev/infiniband/uverbs0"

# mlx4: two ports of one device, the second is Ethernet's.
rm -rf "${root:?}/sys" "${root:?}/dev"
nic_infiniband "$root" mlx4_0 MT4099 0002c90300a1b2c3
mkdir -p "$ib/mlx4_0/ports/2/counters" "$ib/mlx4_0/device/net"/{ens3,ens3d1}
nic_set "$root" mlx4_0 2 link_layer Ethernet
nic_set "$root" mlx4_0 2 rate '40 Gb/sec (4X QDR)'
nic_link "$root" mlx4_0 2 up
nic_interface "$root" ens3 00:02:c9:00:00:01 40000
nic_interface "$root" ens3d1 00:02:c9:00:00:02 40000
nic_write "$root/sys/class/net/ens3d1/dev_port" 1
nic_write "$root/sys/class/net/ens3d1/operstate" lowerlayerdown
begin
soon 'rail 0: MT4099 mlx4_0/1: up'
soon 'rail 1: MT4099 mlx4_0/2: down: mlx4_0/2 no link: lowerlayerdown'

# hfi1 (Omni-Path): InfiniBand's files, no hca_type.
rm -rf "${root:?}/sys" "${root:?}/dev"
nic_rdma "$root" hfi1_0 '' InfiniBand
nic_write "$ib/hfi1_0/device/vendor" 0x8086
nic_write "$ib/hfi1_0/device/device" 0x24f0
nic_set "$root" hfi1_0 1 phys_state '3: Disabled'
nic_set "$root" hfi1_0 1 state '1: DOWN'
# irdma and bnxt_re: RoCE, the interface by the card.
nic_rdma "$root" irdma0 '' Ethernet
mkdir -p "$ib/irdma0/device/net/ens1f0"
nic_interface "$root" ens1f0 b4:96:91:00:00:01 100000
nic_rdma "$root" bnxt_re0 BCM57508 Ethernet
mkdir -p "$ib/bnxt_re0/device/net/ens4"
nic_interface "$root" ens4 bc:97:e1:00:00:01 200000
nic_write "$root/sys/class/net/ens4/operstate" down
# EFA: always ACTIVE, no interface of its own.
nic_rdma "$root" rdmap0s6 '' Unspecified
nic_write "$ib/rdmap0s6/device/vendor" 0x1d0f
nic_write "$ib/rdmap0s6/device/device" 0xefa1
nic_interface "$root" eth0 02:00:00:00:00:01 100000
nic_write "$root/sys/class/net/eth0/operstate" down
# cxi (Slingshot): no RDMA device, the interface of the card.
mkdir -p "$root/sys/class/cxi/cxi0/device/net/hsn0"
nic_interface "$root" hsn0 02:00:00:00:00:02 200000
begin
soon 'rail 0: BCM57508 bnxt_re0/1: down: bnxt_re0/1 no link: down'
soon 'rail 1: 0x8086:0x24f0 hfi1_0/1: down: hfi1_0/1 no link: Disabled'
soon 'rail 2: irdma0/1: up'
soon 'rail 3: 0x1d0f:0xefa1 rdmap0s6/1: up'
soon 'rail 4: cxi0: up'
not_told eth0
nic_write "$root/sys/class/net/hsn0/operstate" down
soon 'rail 4: cxi0: down: cxi0 no link: down'
begin Behind=rdmap0s6:eth0,mlx5_9:eth9 Ignore='bnxt_*,ens1f*'
soon 'rail 0: BCM57508 bnxt_re0/1: left out'
soon 'rail 0: irdma0/1: left out'
soon 'rail 1: 0x1d0f:0xefa1 rdmap0s6/1: down: rdmap0s6/1 no link: down'
# Named ones alone, interfaces too; no interface that a device is in front of.
begin Watch=eth0,hfi1_0,ens1f0,lo Rail=3
soon 'rail 3: 0x8086:0x24f0 hfi1_0/1: down: hfi1_0/1 no link: Disabled'
soon 'rail 4: irdma0/1: up'
soon 'rail 5: eth0: down: eth0 no link: down'
soon 'rail 0: cxi0: left out'
not_told ': ens1f0:'

# What is no sysfs: long names and lines, many entries, what is no file.
rm -rf "${root:?}/sys" "${root:?}/dev"
nic_infiniband "$root" mlx5_0 MT4123 0c42a10300001010
long=$(printf 'x%.0s' {1..250})
mkdir -p "$ib/$long/ports/1" "$ib/ports/ports/ports" "$ib/none" "$ib/no.port/ports/0"
for i in {1..1500}; do mkdir "$ib/mlx5_0/ports/p$i"; done
head -c 1000000 /dev/zero | tr '\0' 7 >"$ib/mlx5_0/ports/1/rate"
mkfifo "$ib/none/ports"
nic_infiniband "$root" mlx5_1 "$long" zzzz
rm "$ib/mlx5_1/ports/1/state"
mkfifo "$ib/mlx5_1/ports/1/state"
nic_infiniband "$root" mlx5_4 $'\e[31m"\x01' 0c42a10300001040
ln -s ../mlx5_5 "$ib/mlx5_5"
begin
soon 'rail 0: MT4123 mlx5_0/1: up'
soon 'rail 1: __31m__ mlx5_4/1: up'
not_told mlx5_1
not_told mlx5_5

# What it costs: eight ports of two makes.
rm -rf "${root:?}/sys" "${root:?}/dev"
for i in 0 1 2 3; do
    nic_infiniband "$root" mlx5_$i MT4123 0c42a1030000101$i
    nic_roce "$root" mlx5_$((i + 4)) MT4125 eth$i 0c:42:a1:00:00:0$i
done
begin
soon 'rail 7: MT4125 mlx5_7/1: up'
reads() { awk '/^syscr/ { print $2 }' "/proc/$pid/io"; }
many() { [ $(($(reads) - before)) -gt 400 ]; }
peak() { awk '/^VmHWM/ { print $2 }' "/proc/$pid/status"; }
if [ -r "/proc/$pid/io" ] && ! grep -q asan "$build/config.status"; then
    begin=$EPOCHREALTIME before=$(reads)
    wait_until 60 many
    took=$(((${EPOCHREALTIME/./} - ${begin/./}) / 1000))
    each=$(((($(reads) - before) * 1000) / (took + 1)))
    [ "$each" -le 100 ]
    report $? "at most 100 files a second are read, for eight ports" - <<<"$each"
    [ "$(peak)" -le 4096 ]
    report $? "at most 4 MB of memory" - <<<"$(peak) KB"
else
    skipped "what it costs" "no /proc/PID/io, or a sanitizer's memory"
fi
end

# By the kernel's word: a look would come in an hour.
printf '%s\n' "Health=$tmp/reports" "MungeSocket=$tmp/munge" LinkWait=0 \
    NodeName=n0 Watch=v0 LookInterval=3600 >"$tmp/nicd.conf"
: >"$tmp/log"
# The root directory may be no mount point (a chroot).
unshare -n -m --propagation unchanged bash -c '
    . "$1/tests/cluster/mini/patience.sh"
    mount --make-rprivate /sys && mount -t sysfs none /sys && ip link add v0 type veth peer name v1 &&
        ip link set v0 up && ip link set v1 up || exit 77
    "$2" -v -f "$3/nicd.conf" 2>"$3/log" &
    wait_until 20 grep -q "rail 0: v0: up" "$3/log" &&
        ip link set v1 down &&
        wait_until 20 grep -q "v0: down: v0 no link: lowerlayerdown" "$3/log"
    rc=$?
    kill $! && wait $!
    exit $rc' - "$top" "$nicd" "$tmp" 2>"$tmp/said"
rc=$?
case $rc in
0 | 1) report $rc "a look when the kernel says so" "$tmp/log" ;;
*) skipped "a look when the kernel says so" "no name space with a sysfs here" ;;
esac

# Configuration.
wrong() { # LINE..: says what is wrong
    printf '%s\n' "$@" >"$tmp/nicd.conf"
    "$nicd" --test-config -f "$tmp/nicd.conf" >"$tmp/log" 2>&1
    [ $? = 2 ]
    report $? "refused: $*" "$tmp/log"
}
says() {
    grep -qF -- "$1" "$tmp/log"
    report $? "$1" "$tmp/log"
}
wrong 'Rail=0'
says "SF-E870 $tmp/nicd.conf: Health: missing"
wrong Health=ctl Rail=8
says "nicd.conf:2: Rail"
wrong Health=ctl "Rules=$tmp/none"
says "$tmp/none"
printf 'down drain\nvanished sometimes\n' >"$tmp/rules"
wrong Health=ctl "Rules=$tmp/rules"
says "$tmp/rules:2: not FAULT and ignore, show, degrade or drain"
printf '%s\n' Health=ctl "Root=$tmp/nowhere" >"$tmp/nicd.conf"
"$nicd" -f "$tmp/nicd.conf" >"$tmp/log" 2>&1
[ $? = 1 ]
report $? "a tree that is not there" "$tmp/log"
says "SF-E870 $tmp/nowhere/sys: No such file or directory"
finish
