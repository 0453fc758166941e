#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Worlds that meet by a port, without Slurm: each of the two is one that
# bare_world starts.
. "$(dirname "$0")/lib.sh"
export BARE_FRONT=$front
export SLURM_IMPI_NAMES=$TMPDIR/names

# world ROLE WHAT CLIENTS..: one of two worlds, its words in out.ROLE.
program=ports
world()
{
    local role=$1 what=$2
    shift 2
    # shellcheck disable=SC2086
    "${limited[@]}" 60 "$dir/bare_world" "$@" -- "$dir/$program" "$role" ocean \
        $what >"$TMPDIR/out.$role" 2>&1
}

# case_meet TITLE ACCEPTOR CONNECTOR [WHAT]: clients in words.
case_meet()
{
    local acceptor codes what=${4:-talk}
    rm -rf "$SLURM_IMPI_NAMES"
    # shellcheck disable=SC2086
    world accept "$what" $2 &
    acceptor=$!
    # shellcheck disable=SC2086
    world connect "$what" $3
    codes=$?
    wait $acceptor
    codes+=" $?"
    [ "$codes" = "0 0" ] && grep -q "^PASS" "$TMPDIR/out.accept" &&
        grep -q "^PASS" "$TMPDIR/out.connect" &&
        [ -z "$(ls -A "$SLURM_IMPI_NAMES")" ]
    report $? "$1: $2 with $3"
}

# all_three WHAT CLIENTS CLIENTS CLIENTS: three worlds; their codes in $codes,
# each with a dot if it did not say PASS.
all_three()
{
    local what=$1 role i=1
    local -a roles=(accept connect third) pids=()
    rm -rf "$SLURM_IMPI_NAMES"
    for role in "${roles[@]}"; do
        i=$((i + 1))
        # shellcheck disable=SC2086
        world "$role" "$what" ${!i} &
        pids+=($!)
    done
    codes=
    for i in 0 1 2; do
        wait "${pids[i]}"
        codes+=" $?"
        grep -q "^PASS" "$TMPDIR/out.${roles[i]}" || codes+=.
    done
}

case_three() # CLIENTS CLIENTS CLIENTS
{
    local codes
    all_three three "$@"
    [ "$codes" = " 0 0 0" ]
    report $? "three_worlds_talk: $1, $2 with $3"
}

# The first of them is killed in collective calls of all three.
case_lost_of_three() # WHAT CLIENTS CLIENTS CLIENTS
{
    local codes program=lost_coll
    all_three "$1 three" "${@:2}"
    [[ $codes = *". 0 0" ]]
    report $? "two_worlds_have_an_error_of_a_collective_call_with_the_lost_third\
: $1, $2, $3 with $4"
}

# What one of a world does by itself.
case_one()
{
    local title=$1 what=$2
    shift 2
    rm -rf "$SLURM_IMPI_NAMES"
    world accept "$what" "$@" && grep -q "^PASS" "$TMPDIR/out.accept"
    report $? "$title: $*"
}

# The other world dies; this one is told and goes on.
case_lost() # TITLE WHAT ACCEPTOR CONNECTOR
{
    local acceptor
    rm -rf "$SLURM_IMPI_NAMES"
    # shellcheck disable=SC2086
    world accept "$2" $3 &
    acceptor=$!
    # shellcheck disable=SC2086
    world connect "$2" $4 && grep -q "^PASS" "$TMPDIR/out.connect" &&
        grep -q "SF-E515: lost rank 0 of the other world" "$TMPDIR/out.connect"
    report $? "$1: $3 with $4"
    wait $acceptor
}

# The other world is killed in collective calls of all kinds, WHAT being the
# first: each of this one has an error.
case_lost_call() # WHAT ACCEPTOR CONNECTOR
{
    local program=lost_coll
    case_lost all_have_an_error_of_a_collective_call_with_the_lost:_"$1" "$@"
}

# The same where nobody handles the error: this world is ended by it.
case_lost_and_ended() # WHAT ACCEPTOR CONNECTOR
{
    local acceptor program=lost_coll rc
    rm -rf "$SLURM_IMPI_NAMES"
    # shellcheck disable=SC2086
    world accept "$1 fatal" $2 &
    acceptor=$!
    # shellcheck disable=SC2086
    world connect "$1 fatal" $3
    rc=$?
    [ $rc != 0 ] && [ $rc != 124 ] &&
        grep -q "ended it: SF-E512: MPI_" "$TMPDIR/out.connect"
    report $? "unhandled_such_an_error_ends_the_world: $1, $2 with $3"
    wait $acceptor
}

# Another user who knows the port's name is refused, and the next one is not.
case_refused()
{
    local acceptor codes
    rm -rf "$SLURM_IMPI_NAMES"
    # shellcheck disable=SC2086
    world accept talk $1 &
    acceptor=$!
    # shellcheck disable=SC2086
    world connect talk -o $2
    [ $? != 0 ] && grep -q "SF-E519: the other world may not meet this one" \
        "$TMPDIR/out.connect"
    codes=$?
    # shellcheck disable=SC2086
    world connect talk $2
    codes+=" $?"
    wait $acceptor
    codes+=" $?"
    [ "$codes" = "0 0 0" ] && grep -q "SF-E517.*SF-E519" "$TMPDIR/out.accept"
    report $? "another_user_is_refused: $1 with $2"
}

# A world that may meet no other calls: both have an error, and nobody waits.
case_barred()
{
    local acceptor codes
    rm -rf "$SLURM_IMPI_NAMES"
    # shellcheck disable=SC2086
    world accept "barred connect" $2 &
    acceptor=$!
    # shellcheck disable=SC2086
    SLURM_IMPI_DATA=external32 world connect "barred connect" $3
    codes=$?
    wait $acceptor
    codes+=" $?"
    [ "$codes" = "0 0" ] && grep -q "^PASS" "$TMPDIR/out.accept" &&
        grep -q "^PASS" "$TMPDIR/out.connect"
    report $? "$1: $2 with $3"
}

need_both ports
need_both lost_coll

title=two_worlds_talk
case_meet $title mpich:1 openmpi:1
case_meet $title openmpi:2 mpich:3
case_meet $title mpich:2 mpich:1
case_meet $title "mpich:1 openmpi:1" mpich:2
case_meet $title "-i openmpi:2 mpich:2" "mpich:1 openmpi:2"
IMPI_SHM=0 case_meet two_worlds_talk_by_tcp openmpi:2 mpich:2
case_meet two_worlds_talk_over_ipv6 "-6 mpich:1" "-6 openmpi:2"
title=worlds_whose_leaders_met_alone_are_brought_together
case_meet $title mpich:2 openmpi:2 alone
case_meet $title openmpi:3 mpich:1 alone
case_meet $title mpich:2 "mpich:1 openmpi:1" alone
case_three mpich:1 openmpi:1 mpich:1
case_three openmpi:2 mpich:2 openmpi:1
case_three "mpich:1 openmpi:1" openmpi:2 mpich:2
title=they_share_a_file
case_meet $title mpich:2 openmpi:2 files
case_meet $title openmpi:1 "mpich:1 openmpi:2" files
case_meet $title mpich:1 mpich:2 files
title=they_share_windows
case_meet $title mpich:1 openmpi:1 windows
case_meet $title openmpi:2 mpich:3 windows
case_meet $title "mpich:1 openmpi:2" mpich:2 windows
case_meet $title "mpich:1 openmpi:1" "openmpi:1 mpich:1" windows
IMPI_SHM=0 case_meet they_share_windows_by_tcp mpich:2 openmpi:2 windows
case_one halves_of_a_world_talk world mpich:4
case_one halves_of_a_world_talk world openmpi:3
case_one halves_of_a_world_talk world -i mpich:2 openmpi:2
case_one mistakes_are_told names mpich:1
case_one mistakes_are_told names openmpi:2
case_one mistakes_are_told names mpich:1 openmpi:1
case_refused mpich:1 openmpi:1
case_refused openmpi:2 "mpich:1 openmpi:1"
title=the_loss_of_the_other_world_is_an_error
case_lost $title lost mpich:1 openmpi:1
case_lost $title lost openmpi:2 "mpich:1 openmpi:1"
title=who_has_never_talked_hears_of_a_loss
case_lost $title unheard mpich:2 openmpi:2
case_lost $title unheard openmpi:3 "mpich:1 openmpi:2"
case_lost_call barrier mpich:2 openmpi:3
case_lost_call bcast openmpi:2 mpich:3
case_lost_call long_allreduce mpich:1 "mpich:1 openmpi:2"
case_lost_call gather openmpi:2 "mpich:2 openmpi:2"
case_lost_call split "mpich:1 openmpi:1" mpich:3
case_lost_call write_all mpich:2 openmpi:3
case_lost_call write_ordered openmpi:1 "mpich:2 openmpi:1"
case_lost_of_three barrier mpich:2 openmpi:2 mpich:2
case_lost_of_three bcast openmpi:2 mpich:1 openmpi:2
case_lost_of_three write_all mpich:1 openmpi:1 "mpich:1 openmpi:1"
case_lost_and_ended barrier mpich:2 openmpi:3
case_lost_and_ended long_bcast openmpi:2 "mpich:2 openmpi:1"
title=a_window_with_a_lost_world_goes_on
case_lost $title lost-window mpich:1 openmpi:1
case_lost $title lost-window openmpi:2 mpich:2
case_lost $title lost-window mpich:2 "mpich:1 openmpi:2"
title=a_process_that_cannot_listen_is_an_error_in_both_groups
case_meet $title mpich:2 openmpi:1 "deaf accept"
case_meet $title mpich:1 openmpi:2 "deaf connect"
case_meet $title openmpi:2 mpich:2 "deaf-alone accept"
case_meet $title openmpi:1 mpich:3 "deaf-alone connect"
title=so_is_a_world_that_may_meet_no_other
case_barred $title mpich:1 openmpi:2
case_barred $title openmpi:2 "mpich:1 openmpi:1"
title=so_is_a_root_without_descriptors
case_meet $title mpich:1 openmpi:2 "deaf-root accept"
case_meet $title openmpi:2 "mpich:1 openmpi:1" "deaf-root accept"
case_meet $title openmpi:1 mpich:2 "deaf-root connect"
case_meet $title mpich:2 "openmpi:1 mpich:1" "deaf-root connect"
case_meet $title mpich:1 openmpi:1 "deaf-alone accept"
case_meet $title openmpi:1 mpich:1 "deaf-alone accept"
case_one $title "deaf-join accept" mpich:1 openmpi:1
case_one $title "deaf-join connect" mpich:1 openmpi:1
case_one $title "deaf-join connect" openmpi:2
title=without_a_leader_the_whole_group_has_an_error
case_lost $title leaderless mpich:1 "mpich:1 openmpi:1"
case_lost $title leaderless openmpi:2 mpich:3
finish
