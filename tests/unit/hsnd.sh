# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# For tests that run hsnd and swfabd, in $tmp of netns.sh: sourced after it.
hsnd=$build/src/hsnd/hsnd
swfabd=$build/src/swfabd/swfabd

ok() { # DESCRIPTION COMMAND..
    "${@:2}" >"$tmp/last" 2>&1
    report $? "$1" "$tmp"/*.log "$tmp/last"
}

# start_swfabd: with $tmp/swfabd.conf; $swfabd_pid is its pid.
start_swfabd() {
    rm -f "$tmp/fabric"
    "$swfabd" -f "$tmp/swfabd.conf" 2>>"$tmp/swfabd.log" &
    swfabd_pid=$!
    mine "$swfabd_pid"
    until_ok 15 test -S "$tmp/fabric"
}

# start_hsnd NAME BOARD LINES..: by the command `in_place`, if any; $last is its
# pid.
in_place=()
start_hsnd() {
    local name=$1 board=$2
    shift 2
    printf '%s\n' "NodeName=$name" "Board=$board" "Socket=$tmp/$name" \
        "ControlSocket=$tmp/$name.ctl" "EchoInterval=${echo-1}" \
        "Routes=$tmp/routes.$name" "$@" >"$tmp/$name.conf"
    "${in_place[@]}" "$hsnd" -f "$tmp/$name.conf" 2>>"$tmp/$name.log" &
    last=$!
    mine "$last"
    until_ok 15 test -S "$tmp/$name"
}

ask() { # NAME VERB KEY..: of its control socket
    python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect(sys.argv[1])
s.sendall(json.dumps({"verb": sys.argv[2]}).encode() + b"\n")
v = json.loads(s.makefile().readline())
for k in sys.argv[3:]:
    v = v[int(k) if isinstance(v, list) else k]
print(v)' "$tmp/$1.ctl" "${@:2}"
}
is() { [ "$(ask "${@:1:$#-1}")" = "${*: -1}" ]; }
