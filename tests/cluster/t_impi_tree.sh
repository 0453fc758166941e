#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The tree of a step's agents: with FanOut=2 n0 and n1 are impi-server's
# children, n2 and n3 those of n0, n4 and n5 those of n1, n6 and n7 those of n2.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/impi.sh"
cluster_up --nodes 8 --switch elan
impi_programs
echo FanOut=2 >"$CLUSTER/etc.fabric/impi.conf"

fresh_logs() {
    rm -f "$WORK"/impid.* "$WORK"/start* "$WORK"/go*
    export SLURM_IMPI_LOG=$WORK
}
in_log_of() { # NODE TEXT
    cat "$WORK"/impid.*."$1" 2>/dev/null | grep -q "$2"
}
in_logs_of_leaves() { # TEXT
    local node
    for node in n2 n3 n4 n5; do
        in_log_of $node "$1" || return 1
    done
}
# The first exchanges may be over before the tree stands.
contributions_go_by_parents() {
    local node parent
    for node in 2 3 4 5; do
        parent=$(((node - 2) / 2))
        in_log_of n$node "contributions of .* go to agent $parent" ||
            fail "nothing of n$node went by n$parent"
    done
}
attached() { in_logs_of_leaves 'results come by agent'; }

case_results_reach_all_by_inner_nodes() {
    fresh_logs
    run_as_user srun --mpi=impi -N3 -n6 sh -c "$M; $M; $O" : -N3 -n6 \
        sh -c "$O; $M; $O"
    assert_code 0
    assert_output '^rank [0-9]+ of 12 sum 78 on ' 36
    attached || fail "not all are attached"
    in_log_of n0 'is passed on to 2 agents' || fail "n0 passed nothing on"
    in_log_of n1 'is passed on to 2 agents' || fail "n1 passed nothing on"
    ! grep -h . "$WORK"/impid.*.n[2345] | grep 'is passed on' ||
        fail "a leaf passed something on"
    contributions_go_by_parents
    assert_nothing_left
}

case_three_levels_carry_both_ways() {
    fresh_logs
    run_as_user srun --mpi=impi -N4 -n8 sh -c "$M; $O; $M" : -N4 -n8 \
        sh -c "$O; $O; $M"
    assert_code 0
    assert_output '^rank [0-9]+ of 16 sum 136 on ' 48
    in_log_of n6 'contributions of .* go to agent 2' || fail "n6 not by n2"
    in_log_of n2 'contributions of .* go to agent 0' || fail "n2 not by n0"
    in_log_of n2 'is passed on to 2 agents' || fail "n2 passed nothing on"
    assert_nothing_left
}

# The tasks of the inner nodes have ended while the others' run on.
all_parted() { in_logs_of_leaves 'has left the tree'; }
case_inner_node_leaves_before_the_others() {
    fresh_logs
    start_as_user srun --mpi=impi -N6 -n6 sh -c \
        "$M until $WORK/start; [ \$SLURM_PROCID -lt 2 ] ||
            until [ -e $WORK/go ]; do sleep 0.1; done"
    srun_pid=$!
    wait_for 60 attached
    touch "$WORK/start"
    wait_for 60 all_parted
    touch "$WORK/go"
    collect $srun_pid
    assert_code 0
    assert_empty "$err" "messages"
    assert_world 6
    assert_nothing_left
}

gone_from() { # NODE
    [ -z "$(agents_of "$1")" ]
}
# inner_node_leaves COMMAND..: in order, while the process that COMMAND tells
# stands still, and the others end after it.
inner_node_leaves() {
    local still
    fresh_logs
    start_as_user srun --mpi=impi -N6 -n6 sh -c \
        "$M until $WORK/start; until [ -e $WORK/go.\$SLURM_PROCID ]; do
            sleep 0.1; done"
    srun_pid=$!
    wait_for 60 attached
    touch "$WORK/start"
    wait_for 60 ranks_said 6
    still=$("$@")
    pidkill STOP "$still"
    touch "$WORK/go.0"
    wait_for 60 gone_from n0
    pidkill CONT "$still"
    touch "$WORK"/go.{1,2,3,4,5}
    collect $srun_pid
    assert_code 0
    assert_empty "$err" "messages"
    assert_world 6
    assert_nothing_left
}

# That is no fault of the nodes.
case_inner_node_leaves_a_server_that_stands_still() {
    inner_node_leaves impi_pid_of impi-server
}

case_inner_node_leaves_a_leaf_that_stands_still() {
    inner_node_leaves agents_of n2
}

# What its process tells it meanwhile it must not send where nobody is: here by
# a second program, which the others do not start.
asks_its_agent() { # a process `impi_rank alone` sleeps in poll() or recv*()
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null)" = "$M alone " ] &&
            grep -qE '^(0|7|45|47) ' "/proc/$pid/syscall" && return 0
    done
    return 1
}
case_leaf_that_stood_still_reads_first() {
    local still
    fresh_logs
    start_as_user srun --mpi=impi -N6 -n6 sh -c \
        "$M until $WORK/start
         [ \$SLURM_PROCID != 2 ] || {
             touch $WORK/go.ended
             until [ -e $WORK/go.alone ]; do sleep 0.1; done; $M alone; }
         until [ -e $WORK/go.\$SLURM_PROCID ]; do sleep 0.1; done"
    srun_pid=$!
    wait_for 60 attached
    touch "$WORK/start"
    wait_for 60 test -e "$WORK/go.ended"
    still=$(agents_of n2)
    pidkill STOP "$still"
    touch "$WORK/go.alone"
    wait_for 60 asks_its_agent
    touch "$WORK/go.0"
    wait_for 60 gone_from n0
    pidkill CONT "$still"
    touch "$WORK"/go.{1,2,3,4,5}
    collect $srun_pid
    assert_code_not 0
    assert_cause 'rank 0 on node n0 ended without calling MPI_Init'
    grep 'contributions of .* go to' "$WORK"/impid.*.n2 | tail -n 1 |
        grep -q impi-server || fail "n2's last word went to n0, which has left"
    assert_nothing_left
}

# In the second program; by then the tree stands.  What the others have given to
# its exchange goes up before the last one comes.
went_up_from_n1() {
    cat "$WORK"/impid.*.n1 | grep -c 'contributions of .* go to impi-server'
}
all_wait() { [ "$(ls "$WORK"/start.* 2>/dev/null | wc -l)" = 6 ]; }
more_went_up_than() { [ "$(went_up_from_n1)" -gt "$1" ]; }
case_slow_leaf_holds_nothing_back() {
    local before
    fresh_logs
    start_as_user srun --mpi=impi -N6 -n6 sh -c \
        "$M; touch $WORK/start.\$SLURM_PROCID
         until [ -e $WORK/go.\$SLURM_PROCID ]; do sleep 0.1; done
         exec $M"
    srun_pid=$!
    wait_for 60 attached
    wait_for 60 all_wait
    before=$(went_up_from_n1)
    touch "$WORK"/go.{0,1,2,3,4}
    wait_for 60 more_went_up_than "$before"
    touch "$WORK/go.5"
    collect $srun_pid
    assert_code 0
    assert_output '^rank [0-9]+ of 6 sum 21 on ' 12
    assert_nothing_left
}
ranks_said() {
    [ "$(grep -c '^rank' "$case_tmp/bg.out")" = "$1" ]
}

case_lost_inner_node_is_named() {
    fresh_logs
    start_as_user srun --mpi=impi -N3 -n3 "$M" hang : -N3 -n3 "$O" hang
    srun_pid=$!
    wait_for 60 ready 6
    wait_for 60 attached
    pidkill KILL "$(agents_of n1)"
    collect $srun_pid
    assert_code_not 0
    assert_cause 'lost impid on node n1 with client 0 \(rank 1\): '
    assert_nothing_left
}

case_lost_node_between_others_is_named() {
    fresh_logs
    start_as_user srun --mpi=impi -N4 -n4 "$O" hang : -N4 -n4 "$M" hang
    srun_pid=$!
    wait_for 60 ready 8
    pidkill KILL "$(agents_of n2)"
    collect $srun_pid
    assert_code_not 0
    assert_cause 'lost impid on node n2 with client 0 \(rank 2\): '
    assert_nothing_left
}

# The world cannot be whole, since a task waits outside of MPI.
case_inner_node_lost_before_the_world_is_whole() {
    fresh_logs
    start_as_user srun --mpi=impi -N6 -n6 \
        sh -c "[ \$SLURM_PROCID != 5 ] || exec sleep 3000; exec $M"
    srun_pid=$!
    wait_for 60 attached
    pidkill KILL "$(agents_of n0)"
    collect $srun_pid
    assert_code_not 0
    assert_cause 'lost impid on node n0 with rank 0: '
    assert_nothing_left
}

# Nothing listens there for them: all come directly.
case_unreachable_parent_costs_nothing() {
    fresh_logs
    printf 'FanOut=2\nPortRange=18000-18001\n' \
        >"$CLUSTER/etc.fabric/impi.conf"
    run_as_user srun --mpi=impi -N6 -n6 "$M"
    echo FanOut=2 >"$CLUSTER/etc.fabric/impi.conf"
    assert_code 0
    assert_world 6
    in_log_of n0 'cannot listen for other agents' || fail "n0 did listen"
    assert_nothing_left
}
run_cases
