#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hsnd on every node, joined by swfabd at two levels of crossbars: programs of
# switch/elan talk, and nobody else gets in.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/hsnd \
    libexec/slurm-fabric/swfabd
PING=$SF_TOP_BUILDDIR/tests/cluster/elan_ping
cluster_up --nodes 4 --switch elan

# in_background PLACE LOG COMMAND..
in_background() {
    local place=$1 log=$2
    shift 2
    "$MINISLURM" exec --dir "$CLUSTER" --on "$place" --as root -- "$@" \
        >>"$CLUSTER/log/$log" 2>&1 </dev/null &
}

write_fabric() {
    cat >"$CLUSTER/etc.fabric/swfab.net" <<'NET'
xbar leaf0 8
xbar leaf1 8
xbar spine 4
host n0 020000000000
host n1 020000000001
host n2 020000000002
host n3 020000000003
host x0 0200000000ee
cable n0 leaf0:0
cable n1 leaf0:1
cable x0 leaf0:2
cable n2 leaf1:0
cable n3 leaf1:1
cable leaf0:4 spine:0
cable leaf1:4 spine:1
NET
    cat >"$CLUSTER/etc.fabric/swfabd.conf" <<CONF
Net=$CLUSTER/etc.fabric/swfab.net
Socket=$CLUSTER/fabric.sock
ControlSocket=$CLUSTER/fabric.ctl
MungeSocket=$CLUSTER/munge.ctl/munge.socket
CONF
}

# routes NODE: lines of the file of routes.
routes() {
    local a='020000000000' b='020000000001' c='020000000002' d='020000000003'
    case $1 in
    n0) printf '%s\n' "$b neighbour 1" "$c neighbour 4,1,-4" "$d 4,1,-3" ;;
    n1) printf '%s\n' "$a neighbour -1" "$c 3,1,-4" "$d 3,1,-3" ;;
    n2) printf '%s\n' "$a neighbour 4,-1,-4" "$b 4,-1,-3" "$d 1" ;;
    n3) printf '%s\n' "$a 3,-1,-4" "$b 3,-1,-3" "$c -1" ;;
    esac
}

declare -A hsnd_pid
start_hsnd() {
    in_background "$1" "hsnd.$1.log" \
        "$STAGE/libexec/slurm-fabric/hsnd" -v -f "$CLUSTER/etc.fabric/hsn.$1"
    hsnd_pid[$1]=$!
}

# ask NODE VERB KEY..: a value of the answer of hsnd's control socket.
ask() {
    local node=$1
    shift
    run_as_root "$node" python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX)
s.settimeout(20)
s.connect("/run/slurm-fabric/hsnd-0.ctl")
s.sendall(json.dumps({"verb": sys.argv[1]}).encode() + b"\n")
v = json.loads(s.makefile().readline())
for k in sys.argv[2:]:
    v = v[int(k) if isinstance(v, list) else k]
print(v)' "$@"
    printf '%s' "$out"
}

link_is_up() { [ "$(ask "$1" status link)" = True ]; }
is() { [ "$(ask "$1" "$2" "$3")" = "$4" ]; }

write_fabric
for k in n0 n1 n2 n3; do
    routes $k >"$CLUSTER/etc.fabric/routes.$k"
    printf '%s\n' "NodeName=$k" "Nic=ring" "Fabric=$CLUSTER/fabric.sock" \
        "MungeSocket=$CLUSTER/munge.$k/munge.socket" "EchoInterval=1" \
        "Routes=$CLUSTER/etc.fabric/routes.$k" >"$CLUSTER/etc.fabric/hsn.$k"
done
in_background ctl swfabd.log "$STAGE/libexec/slurm-fabric/swfabd" \
    -f "$CLUSTER/etc.fabric/swfabd.conf"
for k in n0 n1 n2 n3; do start_hsnd $k; done
for k in n0 n1 n2 n3; do wait_until 60 link_is_up $k; done

case_every_board_has_a_link() {
    local k
    for k in n0 n1 n2 n3; do link_is_up $k || fail "$k has no link"; done
    assert_equal 020000000002 "$(ask n2 status board)" board
}

case_programs_talk_on_all_nodes() { # EL-01 EL-47
    run_as_user srun -N4 -n8 --ntasks-per-node=2 "$PING" ping 64
    assert_code 0
    assert_output '^process [0-7]: all 7 answered, 0 wrong, 0 missing$' 8
}

# The process that the capability says is at that context of that node.
case_programs_talk_in_cyclic_order() { # EL-26
    local d
    for d in cyclic block:cyclic; do
        run_as_user srun -N3 -n6 --ntasks-per-node=2 -m "$d" "$PING" ping 64
        assert_code 0
        assert_output '^process [0-5]: all 5 answered, 0 wrong, 0 missing$' 6
    done
}

case_pages_cross_in_two_packets() { # HS-11
    run_as_user srun -N4 -n4 "$PING" ping 8192
    assert_code 0
    assert_output '^process [0-3]: all 3 answered, 0 wrong, 0 missing$' 4
}

sum_of() { # COUNTER: of all nodes
    local k sum=0
    for k in n0 n1 n2 n3; do
        sum=$((sum + $(ask $k counters counters "$1")))
    done
    echo $sum
}

# by_ring SIZE: bytes of messages of that size that came before pages were
# asked for, as the processes say.
by_ring() {
    sed -n 's/^process .* not, \([0-9]*\) before$/\1/p' <<<"$out" |
        awk -v size="$1" '{ n += $1 * size } END { print n + 0 }'
}

# Programs of different nodes, by the shipped library and hsnd: two packets,
# which the receiving hsnd puts together in a page of the process; nothing of it
# goes through a ring. The header is in its place, too (elan_ping looks).
case_data_crosses_in_pages() { # HS-13 HS-25 HS-26 HS-27
    local ring pages size
    for size in 4096 8192; do
        ring=$(sum_of port_copied) pages=$(sum_of page_copied)
        run_as_user srun -N4 -n4 "$PING" pages $size
        assert_code 0
        assert_output '^process [0-3]: all 3 answered, 0 wrong, 0 missing$' 4
        assert_output '^process [0-3]: data came in pages, 0 not, ' 4
        ring=$((ring + $(by_ring $size)))
        assert_equal "$ring" "$(sum_of port_copied)" "bytes copied to rings"
        [ "$(sum_of page_copied)" -ge $((pages + 4 * 3 * 2 * size)) ] ||
            fail "$size: too few bytes in pages"
    done
}

# Processes of one node: pages go from hand to hand, and no byte is copied.
case_pages_within_a_node_are_passed_on() { # HS-12
    local ring copied passed
    ring=$(sum_of port_copied) copied=$(sum_of page_copied)
    passed=$(sum_of page_passed)
    run_as_user srun -N1 -w n1 -n4 "$PING" pages 8192
    assert_code 0
    assert_output '^process [0-3]: all 3 answered, 0 wrong, 0 missing$' 4
    assert_output '^process [0-3]: data came in pages, 0 not, ' 4
    ring=$((ring + $(by_ring 8192)))
    assert_equal "$ring" "$(sum_of port_copied)" "bytes copied to rings"
    assert_equal "$copied" "$(sum_of page_copied)" "bytes copied to pages"
    [ "$(sum_of page_passed)" -ge $((passed + 4 * 3 * 2 * 8192)) ] ||
        fail "too few bytes passed"
}

case_pages_of_the_dead_come_back() { # HS-31
    run_as_user srun -N1 -n1 --network=contexts=2 "$PING" hoard
    assert_code 0
    assert_output '^attach: ok$'
    assert_output '^child got 128 pages$' 6
    assert_equal 0 "$(sum_of port_malformed)" "wrong records"
}

case_nothing_is_left_of_a_program() {
    local k
    for k in n0 n1 n2 n3; do
        wait_for 20 is $k status programs 0
        wait_for 20 is $k status endpoints 0
    done
}

case_member_may_not_take_more_than_his() { # EL-04 EL-40
    run_as_user srun -n1 "$PING" twice
    assert_output '^first: ok'
    assert_output '^same context: EBUSY'
    assert_output '^below the range: ERANGE'
    assert_output '^above the range: ERANGE'
    assert_output '^no context: ERANGE'
    assert_output '^altered key: EACCES'
    assert_output '^altered bitmap: EACCES'
}

case_contexts_of_the_dead_are_free() {
    run_as_user srun -n1 "$PING" die
    assert_output '^child attached: y' 2
    assert_output '^then we: ok' 2
}

has_line() { grep -q "$1" "$2"; }

# A program that holds its contexts on n0 and n1 while others try theirs.
case_rogues_are_refused() { # EL-40
    local cap=$WORK/cap
    start_as_user srun -N1 -n1 -w n0 --network=contexts=2 "$PING" hold "$cap"
    wait_for 30 test -e "$cap"
    chmod 644 "$cap"
    capture "$MINISLURM" exec --dir "$CLUSTER" --on n0 --as daemon -- \
        "$PING" attach "$cap" # another user with the right key
    assert_output '^attach: EPERM'
    capture "$MINISLURM" exec --dir "$CLUSTER" --on n0 --as daemon -- \
        "$PING" forge "$cap"
    assert_output '^forge: EACCES'
    capture "$MINISLURM" exec --dir "$CLUSTER" --on n0 -- \
        "$PING" attach "$cap" # the same user, outside the program
    assert_output '^attach: EPERM'
    run_as_user srun --overlap -N1 -n1 -w n0 "$PING" attach "$cap"
    assert_output '^attach: EPERM' # a member of another program
    run_as_root n0 "$PING" attach "$cap"
    assert_output '^attach: EPERM' # not even root
    run_as_user srun -N1 -n1 -w n1 "$PING" attach "$cap"
    assert_output '^attach: EACCES' # no such program there
    assert_log hsnd.n0.log 'SF-E811 attach refused: uid .*another user'
    assert_log hsnd.n0.log 'SF-E811 attach refused: uid .*no such capability'
    assert_log hsnd.n0.log 'SF-E811 attach refused: uid .*not a member'
    [ "$(ask n0 counters counters refused_capability)" -gt 0 ] ||
        fail "not counted"
    run_as_user touch "$cap.end"
    wait
    out=$(cat "$case_tmp/bg.out")
    assert_output '^attach: ok'
}

counted() { [ "$(ask n0 counters counters "$1")" -ge "$2" ]; }

# Somebody on the fabric itself sends frames that he should not.
case_forged_frames_are_dropped() { # EL-40
    local cap=$WORK/forged before
    before=$(ask n0 counters counters elan_received)
    start_as_user srun -N2 -n2 -w n0,n1 "$PING" hold "$cap"
    wait_for 30 test -e "$cap"
    wait_for 30 is n0 status endpoints 1
    capture "$SF_TOP_BUILDDIR/tests/cluster/elan_forge" "$CLUSTER/fabric.sock" \
        "$CLUSTER/munge.ctl/munge.socket" "$cap"
    assert_output '^sent'
    wait_for 20 counted elan_tag 1
    wait_for 20 counted elan_spoofed 1
    wait_for 20 counted elan_stranger 1
    wait_for 20 counted elan_replay 1
    assert_equal $((before + 1)) "$(ask n0 counters counters elan_received)" \
        "frames received"
    assert_log hsnd.n0.log 'SF-E810 frame of node 1, .*tag is wrong'
    assert_log hsnd.n0.log 'SF-E810 frame of node 1, .*sent by another board'
    assert_log hsnd.n0.log 'SF-E810 frame of node 1, .*replayed'
    run_as_user touch "$cap.end"
    wait
}

case_users_open_nothing_privileged() {
    capture "$MINISLURM" exec --dir "$CLUSTER" --on n0 -- "$PING" open
    assert_output '^mapper packets: EPERM'
    assert_output '^low module: EPERM'
    assert_output '^routes: EPERM'
    assert_output '^elan module: Invalid argument'
}

# One that is being killed still listens; the next would not take its place.
ended() { [ -z "$(tr -d '\0' 2>/dev/null <"/proc/$1/cmdline")" ]; }

case_restarted_hsnd_learns_the_programs_again() { # D2
    local cap=$WORK/again
    start_as_user srun -N1 -n1 -w n2 "$PING" hold "$cap"
    wait_for 30 test -e "$cap"
    pidkill KILL "${hsnd_pid[n2]}"
    wait_for 60 ended "${hsnd_pid[n2]}"
    start_hsnd n2
    wait_for 30 has_line '^attached again: yes' "$case_tmp/bg.out"
    assert_equal 1 "$(ask n2 status programs)" programs
    run_as_user touch "$cap.end"
    wait_for 30 no_job_left
    run_as_user srun -N4 -n4 "$PING" ping 100
    assert_code 0
}

echo_came_back() {
    local v
    v=$(ask n0 peers peers 0 echo_back)
    [ "${v:-0}" -gt 0 ]
}

case_echoes_measure_the_way_to_neighbours() {
    wait_for 30 echo_came_back
    [ "$(ask n0 peers peers 0 rtt_ns)" -gt 0 ] || fail "no round trip"
    ask n0 metrics text >/dev/null
    assert_output '^slurm_fabric_peer_echo_back_total.*peer="020000000001"'
}

run_cases
