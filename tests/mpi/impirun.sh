# SPDX-License-Identifier: BSD-3-Clause
# shellcheck shell=bash
# What the tests of jobs that impirun starts share.
unset IMPI_AUTH_NONE
export IMPI_AUTH_KEY=4711

# The server of N clients in the background; its address in $hostport, its
# end by `wait $server`.  Both are started by "${under[@]}".
under=()
start_server()
{
    rm -f "$TMPDIR/hostport"
    mkfifo "$TMPDIR/hostport"
    "${limited[@]}" 100 "${under[@]}" "$impirun" -server "$@" \
        >"$TMPDIR/hostport" 2>"$TMPDIR/out.server" &
    server=$!
    hostport=
    read -r hostport <"$TMPDIR/hostport"
    [ -n "$hostport" ]
}

# client RANK NP PROGRAM: in the background; waited for by codes_of_all.
pids='' SERVER=''
client()
{
    "${limited[@]}" 100 "${under[@]}" "$impirun" -client "$1" "$hostport" \
        -np "$2" "${@:3}" >"$TMPDIR/out.$1" 2>&1 &
    pids+=" $!"
}

# Exit codes of server and clients, in order.
codes_of_all()
{
    local pid codes=
    for pid in $server $pids; do
        wait "$pid"
        codes+=" $?"
    done
    pids=
    echo "${codes# }"
}

# case_world NAME NP:FAMILY...: program NAME says PASS, one client each.
case_world()
{
    local name=$1 rank=0 spec codes
    shift
    ${SERVER:-start_server} $#
    for spec; do
        client $rank "${spec%:*}" "$dir/$name.${spec#*:}"
        rank=$((rank + 1))
    done
    codes_of_all >"$TMPDIR/out.codes"
    codes=$(tr -d ' \n' <"$TMPDIR/out.codes")
    [ -z "${codes//0/}" ] && grep -q "^PASS $name" "$TMPDIR"/out.*
    report $? "messages_cross_by_relay: $name in $*${SERVER:+, $SERVER}"
}

# strict_world RANK FAMILY [ARGS]: our client RANK, the script is the other.
strict_world()
{
    ${SERVER:-start_server} 2
    client "$1" 1 "$dir/strict.$2"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" $((1 - $1)) \
        --key "$IMPI_AUTH_KEY" "${@:3}" >"$TMPDIR/out.peer" 2>&1
    local rc=$?
    codes_of_all >"$TMPDIR/out.codes"
    [ $rc = 0 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ] &&
        grep -q "^PASS strict rank $1" "$TMPDIR/out.$1"
}

case_strict() # the same
{
    strict_world "$@"
    report $? "strict_peer: our client $1 is $2 ${*:3}${SERVER:+, $SERVER}"
}

# At the end: no directory is left behind.
case_nothing_is_left()
{
    # shellcheck disable=SC2012
    [ "$(ls -d "$TMPDIR"/impirun.* 2>/dev/null | wc -l)" = 0 ]
    report $? nothing_is_left
}
