# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# Trees such as sysfs has for NICs, below any directory: names and formats as
# the kernel writes them.  ROOT is the directory that has sys and dev.

nic_write() { # FILE TEXT: in one step, as a reader of sysfs sees it
    mkdir -p "${1%/*}"
    printf '%s\n' "$2" >"$1.new" && mv "$1.new" "$1"
}

# nic_set ROOT DEVICE PORT FILE TEXT: of ports/PORT.
nic_set() {
    nic_write "$1/sys/class/infiniband/$2/ports/$3/$4" "$5"
}

# nic_link ROOT DEVICE PORT up|down|init
nic_link() {
    case $4 in
    up) nic_set "$1" "$2" "$3" phys_state '5: LinkUp'
        nic_set "$1" "$2" "$3" state '4: ACTIVE' ;;
    init) nic_set "$1" "$2" "$3" phys_state '5: LinkUp'
        nic_set "$1" "$2" "$3" state '2: INIT' ;;
    *) nic_set "$1" "$2" "$3" phys_state '2: Polling'
        nic_set "$1" "$2" "$3" state '1: DOWN' ;;
    esac
}

# nic_rdma ROOT DEVICE MODEL LAYER: one port, with a link; its uverbs device.
nic_rdma() {
    local root=$1 device=$2 at=$1/sys/class/infiniband/$2 c n
    mkdir -p "$at/ports/1/counters" "$at/ports/1/hw_counters" "$root/dev/infiniband"
    [ -z "$3" ] || nic_write "$at/hca_type" "$3"
    nic_set "$root" "$device" 1 link_layer "$4"
    nic_set "$root" "$device" 1 rate '100 Gb/sec (4X EDR)'
    for c in symbol_error link_error_recovery link_downed port_rcv_errors \
        port_xmit_discards local_link_integrity_errors \
        excessive_buffer_overrun_errors; do
        nic_set "$root" "$device" 1 counters/$c 0
    done
    for c in rnr_nak_retry_err local_ack_timeout_err roce_slow_restart; do
        nic_set "$root" "$device" 1 hw_counters/$c 0
    done
    nic_link "$root" "$device" 1 up
    n=$(find "$root/sys/class/infiniband_verbs" -mindepth 1 -maxdepth 1 \
        2>/dev/null | wc -l)
    nic_write "$root/sys/class/infiniband_verbs/uverbs$n/ibdev" "$device"
    : >"$root/dev/infiniband/uverbs$n"
}

# nic_interface ROOT NAME MAC SPEED: an interface with a carrier.
nic_interface() {
    local at=$1/sys/class/net/$2
    nic_write "$at/address" "$3"
    nic_write "$at/speed" "$4"
    nic_write "$at/operstate" up
    nic_write "$at/carrier" 1
    nic_write "$at/carrier_down_count" 0
    nic_write "$at/dev_port" 0
    nic_write "$at/statistics/rx_crc_errors" 0
}

# nic_infiniband ROOT DEVICE MODEL GUID (16 hex digits)
nic_infiniband() {
    nic_rdma "$1" "$2" "$3" InfiniBand
    nic_set "$1" "$2" 1 gids/0 \
        "fe80:0000:0000:0000:${4:0:4}:${4:4:4}:${4:8:4}:${4:12:4}"
}

# nic_roce ROOT DEVICE MODEL INTERFACE MAC
nic_roce() {
    nic_rdma "$1" "$2" "$3" Ethernet
    nic_interface "$1" "$4" "$5" 100000
    nic_set "$1" "$2" 1 gid_attrs/ndevs/0 "$4"
    mkdir -p "$1/sys/class/infiniband/$2/device/net/$4"
}
