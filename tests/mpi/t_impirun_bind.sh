#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# A host of ours calls another from the address that it has declared (IM-103),
# also where the kernel would take another one: in a network namespace with a
# second address, to a strict peer that knows callers by their address.
# Runs what is installed below stage/.
if [ "${SF_BIND_OF-}" != "$0" ]; then
    . "$(dirname "$0")/../tap.sh"
    command -v ip >/dev/null || skip_all "ip is not installed"
    [ "$(id -u)" = 0 ] || skip_all "needs root for a network namespace"
    unshare -n ip link set lo up 2>/dev/null ||
        skip_all "no network namespaces here"
    SF_BIND_OF=$0 exec unshare -n bash "$0" "$@"
fi
ip link set lo up
ip address add 10.77.0.5/32 dev lo
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impirun.sh"

need_both strict
need_stage impirun
# Ours declares the address by which it reaches the server; the peer is at
# 127.0.1.1, which the kernel would call from 127.0.0.1.
start_server_there()
{
    start_server "$@" && hostport=10.77.0.5:${hostport##*:}
}
SERVER=start_server_there
case_strict 1 mpich
case_strict 1 openmpi
finish
