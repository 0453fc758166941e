#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Worlds that impirun starts: programs of both libraries in clients that only
# their hosts connect (relay), and a strict IMPI 0.0 peer with all its habits.
# Runs what is installed below stage/.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impirun.sh"

# case_habits RANK FAMILY TOLERATE HABIT...: as case_strict, with a peer that
# does what real ones do.
case_habits()
{
    local rank=$1 family=$2 list=$3 rc
    shift 3
    start_server 2
    IMPI_TOLERATE=$list client "$rank" 1 "$dir/habits.$family" "$@"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" \
        $((1 - rank)) --key "$IMPI_AUTH_KEY" --habits "$@" \
        >"$TMPDIR/out.peer" 2>&1
    rc=$?
    codes_of_all >"$TMPDIR/out.codes"
    [ $rc = 0 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ] &&
        grep -q "^PASS habits rank $rank" "$TMPDIR/out.$rank"
    report $? "peers_with_habits: our client $rank is $family, $*"
}

# case_warned TIMES RANK FAMILY TOLERATE HABIT...: our client RANK warns so often
# that the data of such a peer may be in the order of its machine.
case_warned()
{
    local times=$1 rank=$2 family=$3 list=$4
    shift 4
    start_server 2
    IMPI_TOLERATE=$list client "$rank" 1 "$dir/habits.$family"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" \
        $((1 - rank)) --key "$IMPI_AUTH_KEY" --habits "$@" \
        >"$TMPDIR/out.peer" 2>&1
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(grep -c "SF-E409: client $((1 - rank)) looks .*IMPI_TOLERATE=\
native-order .*=big-endian" "$TMPDIR/out.$rank")" = "$times" ] &&
        { [ "$times" = 1 ] || [ "$(cat "$TMPDIR/out.codes")" = "0 0" ]; }
    report $? "native_order_is_warned_of: $times, '$list', peer: $*"
}

case_swapped_packets_are_refused()
{
    start_server 2
    client "$1" 1 "$dir/habits.$2"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" \
        $((1 - $1)) --key "$IMPI_AUTH_KEY" --habits swapped \
        >"$TMPDIR/out.peer" 2>&1
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" != "0 0" ] &&
        grep -q "SF-E322: host $((1 - $1)) (client $((1 - $1))) broke the \
protocol: sends the numbers of its packets in the byte order of its machine" \
            "$TMPDIR/out.$1"
    report $? "swapped_packets_are_refused: our client $1"
}

case_ours_are_not_warned_of()
{
    start_server 2
    client 0 1 "$dir/ring.mpich"
    client 1 1 "$dir/ring.openmpi"
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" = "0 0 0" ] &&
        ! grep -q SF-E409 "$TMPDIR"/out.*
    report $? ours_are_not_warned_of
}

# A peer that matches Bcasts by arrival.
case_turns()
{
    start_server 2
    IMPI_TOLERATE="bcast-master big-endian" client 0 2 "$dir/turns.$1"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" 1 \
        --key "$IMPI_AUTH_KEY" --turns >"$TMPDIR/out.peer" 2>&1
    local rc=$?
    codes_of_all >"$TMPDIR/out.codes"
    [ $rc = 0 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ] &&
        [ "$(grep -c "^PASS turns" "$TMPDIR/out.0")" = 2 ]
    report $? "bcasts_from_two_roots_come_in_turn: from $1"
}

# No byte of what is ours reaches it, whatever was asked for.
case_strict_peer_sees_tcp_only() # RANK FAMILY
{
    IMPI_FABRIC=tcp IMPI_STATS=1 strict_world "$@" &&
        grep -q "no fabric: messages to other clients are relayed" \
            "$TMPDIR/out.$1" &&
        ! grep -q "frames out" "$TMPDIR/out.$1" &&
        grep -qE "^slurm-fabric: rank $1: +[01] .* TCP$" "$TMPDIR/out.$1"
    report $? "strict_peer_sees_tcp_only: IMPI_FABRIC=tcp, our client $1 is $2"
}

# A server that waits for all at each label, and two addresses of it: $hostport
# and $slow, which has latency.
start_waiting_server() # CLIENTS [BUSY]
{
    rm -f "$TMPDIR/hostport"
    mkfifo "$TMPDIR/hostport"
    "${limited[@]}" 100 python3 "$tests/impi_server.py" "$IMPI_AUTH_KEY" \
        --waits "$@" >"$TMPDIR/hostport" 2>"$TMPDIR/out.server" &
    server=$!
    { read -r hostport && read -r slow; } <"$TMPDIR/hostport"
}

# case_waiting_server PROGRAM PLACE:FAMILY...: nothing of ours is lost there.
case_waiting_server()
{
    local rank=0 spec at codes
    start_waiting_server $(($# - 1))
    at=$hostport
    for spec in "${@:2}"; do
        [ "${spec%:*}" = near ] && hostport=$at || hostport=$slow
        client $rank 1 "$dir/$1.${spec#*:}"
        rank=$((rank + 1))
    done
    codes_of_all >"$TMPDIR/out.codes"
    codes=$(tr -d ' \n' <"$TMPDIR/out.codes")
    [ -z "${codes//0/}" ] && grep -q "^PASS $1" "$TMPDIR"/out.*
    report $? "server_that_waits_at_each_label: ${*:2}"
}

# A server that has too many strangers closes what came last or first: who was
# not answered comes again.
case_busy_server()
{
    start_waiting_server 2 5
    client 0 1 "$dir/ring.mpich"
    client 1 1 "$dir/ring.openmpi"
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" = "0 0 0" ] &&
        grep -q "^PASS ring" "$TMPDIR"/out.*
    report $? busy_server_is_asked_again
}

# Ours beside the model that goes label by label.
case_waiting_server_and_peer()
{
    local rc
    start_waiting_server 2
    hostport=$slow client 0 1 "$dir/strict.mpich"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" 1 \
        --key "$IMPI_AUTH_KEY" >"$TMPDIR/out.peer" 2>&1
    rc=$?
    codes_of_all >"$TMPDIR/out.codes"
    [ $rc = 0 ] && [ "$(cat "$TMPDIR/out.codes")" = "0 0" ] &&
        grep -q "^PASS strict rank 0" "$TMPDIR/out.0"
    report $? server_that_waits_and_a_strict_peer
}

# The server does lose what a client sends ahead.
case_waiting_server_loses_bursts()
{
    local at
    start_waiting_server 2
    for at in 0 1; do
        "${limited[@]}" 100 python3 "$tests/impi_peer.py" "$hostport" $at \
            --key "$IMPI_AUTH_KEY" --burst >"$TMPDIR/out.$at" 2>&1 &
        pids+=" $!"
    done
    codes_of_all >"$TMPDIR/out.codes"
    grep -q "^impi_server.py: lost [0-9]* bytes of client" "$TMPDIR/out.server"
    report $? waiting_server_loses_bursts
}

# A peer whose packet only a process can judge: who broke what, in one line.
case_breach_is_named()
{
    local rank=$1 family=$2 other=$((1 - $1))
    start_server 2
    client "$rank" 1 "$dir/strict.$family"
    "${limited[@]}" 100 python3 "$tests/impi_host.py" "$hostport" $other \
        --key "$IMPI_AUTH_KEY" --breach >"$TMPDIR/out.peer" 2>&1
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" != "0 0" ] &&
        grep -q "SF-E408: rank $other (client $other, host $other at \
127.0.$((other + 1)).1) broke IMPI: sends a packet longer" "$TMPDIR/out.$rank"
    report $? "breach_is_named: by rank $other"
}

case_unknown_tolerance_is_named()
{
    start_server 2
    IMPI_TOLERATE=long9 client 0 1 "$dir/habits.mpich"
    client 1 1 "$dir/habits.openmpi"
    codes_of_all >"$TMPDIR/out.codes"
    [ "$(cat "$TMPDIR/out.codes")" != "0 0 0" ] &&
        grep -q "SF-E406: IMPI_TOLERATE: unknown word 'long9'" "$TMPDIR/out.0"
    report $? unknown_tolerance_is_named
}

# Its second connection is closed, and the log of our host says of whom.
case_host_comes_twice() # RANK FAMILY
{
    mkdir -p "$TMPDIR/logs"
    SLURM_IMPI_LOG=$TMPDIR/logs strict_world "$@" --twice &&
        cat "$TMPDIR"/logs/* >"$TMPDIR/out.log" && grep -q 'a stranger said that it was a host: dropped' "$TMPDIR/out.log"
    report $? "host_comes_twice: our client $1 is $2"
}

# case_thresholds REDUCE GATHER BYTES [VARIABLE=VALUE]: so many messages of each
# go to rank 0 from four clients, of which the second has two processes.
case_thresholds()
{
    local rank=0 spec got
    export IMPI_TRACE=1 "${4-IMPI_TRACE=1}"
    start_server 4
    for spec in 1:mpich 2:openmpi 1:mpich 1:openmpi; do
        client $rank "${spec%:*}" "$dir/thresholds.${spec#*:}" "$3"
        rank=$((rank + 1))
    done
    set -- "$@" IMPI_TRACE
    unset IMPI_TRACE "${4%%=*}"
    codes_of_all >"$TMPDIR/out.codes"
    got="$(grep -c 'rank 0: from .* DATA.* tag 190 ' "$TMPDIR/out.0")"
    got+=" $(grep -c 'rank 0: from .* DATA.* tag 130 ' "$TMPDIR/out.0")"
    echo "messages: $got" >"$TMPDIR/out.got"
    [ "$got" = "$1 $2" ] && grep -q '^PASS thresholds' "$TMPDIR/out.0"
    report $? "thresholds: $3 bytes, $4"
}

need_both ring
need_stage impirun
case_strict 0 mpich
case_strict 1 openmpi
case_strict 0 openmpi --strangers
case_strict 1 mpich
case_host_comes_twice 0 mpich
case_strict_peer_sees_tcp_only 0 openmpi
case_strict_peer_sees_tcp_only 1 mpich
if [ "$(id -u)" = 0 ]; then
    case_strict 0 mpich --flood 65534
else
    skipped host_in_a_flood "only root has another user's sockets"
fi
case_habits 0 mpich ""
case_habits 1 openmpi "" garbage
case_habits 0 openmpi long8 long8
case_habits 1 mpich "reduce-p2p" reduce-p2p
case_habits 0 mpich native-order native-order
case_habits 1 mpich "long8, reduce-p2p" long8 reduce-p2p garbage
case_habits 0 openmpi "long8 reduce-p2p" long8 reduce-p2p garbage
case_warned 1 0 mpich "" native-order
case_warned 1 1 openmpi "long8" native-order garbage
case_warned 0 0 openmpi native-order native-order garbage
case_warned 0 1 mpich big-endian garbage
case_warned 1 0 mpich "" changed garbage
case_warned 0 1 openmpi "" changed
case_ours_are_not_warned_of
case_thresholds 3 3 1023
case_thresholds 3 4 1024
case_thresholds 3 3 99 IMPI_COLL_XSIZE=100
case_thresholds 3 4 100 IMPI_COLL_XSIZE=100
case_thresholds 3 4 1 IMPI_COLL_XSIZE=0
case_thresholds 2 2 1 IMPI_COLL_MAXLINEAR=3
case_thresholds 2 2 1 IMPI_TOLERATE=linear-below
case_swapped_packets_are_refused 0 mpich
case_swapped_packets_are_refused 1 openmpi
case_turns mpich
case_turns openmpi
case_waiting_server ring far:mpich near:openmpi
case_waiting_server ring near:openmpi far:mpich near:mpich
case_waiting_server_and_peer
case_busy_server
case_waiting_server_loses_bursts
case_breach_is_named 0 mpich
case_breach_is_named 1 openmpi
case_unknown_tolerance_is_named
# The standard's rule for context ids wants one agreement at a time.
export THREADS_ONE_MAKER=1
for program in ring flood order mixes sizes probe coll collv comms groups foreign threads; do
    STRICT_WORLD=1 case_world $program 2:mpich 2:openmpi
done
IMPI_TOLERATE=bcast-master STRICT_WORLD=1 case_world coll 2:mpich 3:openmpi
for spec in "1:openmpi 2:mpich" "2:mpich 3:openmpi"; do
    # shellcheck disable=SC2086 # the clients are several words
    STRICT_WORLD=1 case_world foreign $spec
done
case_world ring 2:mpich 1:openmpi 1:mpich
case_world coll 1:openmpi 2:mpich 1:openmpi
case_world order 1:mpich 3:openmpi
case_nothing_is_left
finish
