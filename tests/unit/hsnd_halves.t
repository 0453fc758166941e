#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hsnd as it is started, beside a board that sends halves of messages
# (hsn_half.c): they wait for as long as hsn.conf says, and a hsnd that was
# started again numbers its messages as another incarnation.
set -u
. "$(dirname "$0")/netns.sh"
. "$(dirname "$0")/hsnd.sh"

start_munged good
printf '%s\n' "xbar a 4" "host h1 020000000001" "host h2 020000000002" \
    "cable h1 a:0" "cable h2 a:1" >"$tmp/net"
printf '%s\n' "Net=$tmp/net" "Socket=$tmp/fabric" \
    "ControlSocket=$tmp/fabric.ctl" "MungeSocket=$tmp/good.munge" \
    >"$tmp/swfabd.conf"
echo "020000000002 neighbour 1" >"$tmp/routes.h1"
start_swfabd

half() { # FragmentTimeout=..: of a new hsnd; $incarnation
    rm -f "$tmp/h1"
    start_hsnd h1 020000000001 Nic=ring "Fabric=$tmp/fabric" \
        "MungeSocket=$tmp/good.munge" "$@"
    incarnation=
    ok "$*: a half is sent" eval 'incarnation=$(within 60 \
        "$build/tests/unit/hsn_half" "$tmp/fabric" "$tmp/good.munge")'
}
no_more() {
    signal TERM "$last"
    wait "$last"
}

half FragmentTimeout=60000
first=$incarnation
ok "it waits for the other half" until_ok 15 is h1 status halves 1
no_more
half FragmentTimeout=1
ok "it is let go" until_ok 15 is h1 counters counters fragment_expired 1
ok "... and none waits" until_ok 15 is h1 status halves 0
no_more
ok "started again it is another incarnation: $first, $incarnation" \
    test "$incarnation" -gt 0 -a "$incarnation" != "$first"
finish
