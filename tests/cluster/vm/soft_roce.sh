# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# A soft-RoCE device of the guest's kernel, rxe0, on a cable whose other end
# nothing uses: who sends to its own address, $IP, is heard.
IP=10.9.0.1
make_device() {
    local version module
    version=$(uname -r)
    mkdir -p "/lib/modules/$version" &&
        mount --bind "$SF_VM_MODULES/$version" "/lib/modules/$version" ||
        return
    for module in veth crc32_generic rdma_rxe rdma_ucm; do
        /bin/busybox modprobe $module || return # there may be no kmod
    done
    ip link add veth0 type veth peer name veth1 &&
        ip link set veth0 up && ip link set veth1 up &&
        ip addr add $IP/24 dev veth0 &&
        rdma link add rxe0 type rxe netdev veth0 && ulimit -l unlimited
}
