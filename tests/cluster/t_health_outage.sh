#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fabric health in Slurm while slurmctld, switchmgrd or munged hangs, dies or
# begins anew: nothing is lost, and nobody else is held up.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
health_up

case_slurmctld_restarted_in_the_middle() { # SL-24
    stop_and_keep_state
    say n2 hsnd down pulled
    wait_for 10 sfabric_says n2 down
    the_updater_rests
    daemon start slurmctld
    wait_for 20 scontrol ping
    wait_for 20 extra_has n2 fabric=down
    wait_for 20 active_features_are n2 gpu,fabric_down
    wait_for 20 active_features_are n1 gpu,fabric_up
    wait_for 20 is_drained n2
    a_killed_slurmctld_hears_of_our_drain_again
    say n2 hsnd up
    wait_for 20 is_idle n2
}

# The nodes as slurmctld saves them when it ends in order.
stop_and_keep_state() {
    wait_for 20 is_idle n2
    daemon stop slurmctld
    mkdir -p "$CLUSTER/before"
    cp "$CLUSTER"/state/ctld/node_state* "$CLUSTER/before"
}

# With work to do and nobody to do it for, it must not spin.
the_updater_rests() {
    local updater before
    updater=$(switchmgr_pids | head -1)
    before=$(cpu_ticks "$updater")
    sleep 2 # how much of two seconds
    [ $(($(cpu_ticks "$updater") - before)) -lt 50 ] ||
        fail "the updater spins while slurmctld is away"
}
cpu_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# Killed before it saved its nodes: as if with the state of before the drain.
a_killed_slurmctld_hears_of_our_drain_again() {
    daemon kill slurmctld
    rm -f "$CLUSTER"/state/ctld/node_state*
    cp "$CLUSTER"/before/* "$CLUSTER/state/ctld"
    daemon start slurmctld
    wait_for 20 log_has switchmgrd.log 'n2: .* has lost our drain'
    wait_for 20 is_drained n2
    capture sinfo -h -n n2 -o %E
    assert_output '^switchmgrd: fabric rail 0 down \(pulled\) since 20[0-9]{2}-[0-9-]{5}T[0-9:]{8}'
}

case_switchmgrd_killed_and_restarted() { # SL-24
    local before
    wait_for 10 is_saved_as n2 healthy
    say n2 hsnd down pulled
    wait_for 10 is_drained n2
    wait_for 10 is_saved_as n2 down
    before=$(since_and_times n2)
    [ -n "$before" ] || fail "sfabric why n2 does not say since when"
    switchmgr_stop KILL
    switchmgr_start
    wait_for 15 sfabric_says n2 down
    assert_equal drained "$(sinfo -h -n n2 -o %T)" "state of n2"
    assert_equal "$before" "$(since_and_times n2)" "what is known of n2"
    say n2 hsnd up
    wait_for 20 is_idle n2
}

# What is known of the nodes is saved every two seconds.
is_saved_as() { # NODE STATE
    grep -q "\"name\":\"$1\"[^{]*\"state\":\"$2\"" \
        "$CLUSTER/switchmgr.state/switchmgrd/model.json"
}

since_and_times() {
    sfabric why "$1" | grep -oE 'is down since .* went down (once|[0-9]+ times)'
}

case_a_resume_while_switchmgrd_is_away_is_respected() { # SL-25
    say n2 hsnd down pulled
    wait_for 10 is_drained n2
    switchmgr_stop KILL
    scontrol update nodename=n2 state=resume
    wait_for 10 is_idle n2
    switchmgr_start
    wait_for 15 sfabric_says n2 down
    wait_for 15 log_of_switchmgrd_has 'n2: our drain was taken back'
    say n3 hsnd down pulled # DrainAfter passes for both
    wait_for 20 is_drained n3
    say n3 hsnd up
    wait_for 20 is_idle n3
    assert_equal idle "$(sinfo -h -n n2 -o %T)" "state of n2"
    say n2 hsnd up
    wait_for 20 extra_has n2 fabric=up
}

case_one_dies_the_other_ends() {
    local first
    first=$(switchmgr_pids | tail -1)
    pidkill KILL "$first"
    wait_for 15 no_switchmgrd
    switchmgr_start
}

# As a service manager does, which counts another code as a failure.
case_told_together_both_end_in_order() {
    local first second
    switchmgr_stop
    switchmgr_start
    { read -r first; read -r second; } <<<"$(switchmgr_pids)"
    pidkill STOP "$second"
    pidkill TERM "$first"
    pidkill TERM "$second"
    wait_for 10 grep -q do_wait "/proc/$first/wchan" # waits for the other
    pidkill CONT "$second"
    wait "$(cat "$case_tmp/switchmgrd.pid")" || fail "it ended with $?"
    switchmgr_start
}

# Its table ages: steps go by StalePolicy, and slurmctld's log says why.
case_a_switchmgrd_that_hangs_shows_in_slurmctlds_log() { # SL-26
    wait_for 20 all_healthy
    wait_for 20 runs_on n1
    for_switchmgrd STOP
    wait_for 60 stale_is_told # StaleAfter
    for_switchmgrd CONT
    wait_for 20 fresh_is_told
    wait_for 30 all_healthy
}

for_switchmgrd() { # SIGNAL
    local pid
    for pid in $(switchmgr_pids); do pidkill "$1" "$pid"; done
}

stale_is_told() { # each step looks
    runs_on n1 && grep -q 'SF-E112.*older than 30 s.*built without it' \
        "$CLUSTER/log/slurmctld.log"
}

fresh_is_told() {
    runs_on n1 && grep -q 'health table is written again' \
        "$CLUSTER/log/slurmctld.log"
}

# A scrape asks nobody, so it is answered while slurmctld hangs; the table is
# written and sfabric told what happens meanwhile.
case_a_slurmctld_that_hangs_holds_nothing_up() { # SL-24
    local pid
    wait_for 20 all_healthy
    pid=$(daemon pid slurmctld)
    pidkill STOP "$pid"
    say n2 hsnd down pulled
    wait_for 10 sfabric_says n2 'is down'
    wait_for 10 table_has n2
    metrics
    assert_output '^slurm_fabric_host_state.node="n2",rail="0",state="down". 1$'
    pidkill CONT "$pid"
    wait_for 60 is_drained n2
    say n2 hsnd up
    wait_for 40 is_idle n2
}

table_has() {
    grep -q "^$1 down" "$CLUSTER/run.ctl/switchmgrd/health"
}

# Reports wait for it; the table, sfabric and what was told go on.
case_a_munged_that_hangs_holds_nothing_up() { # SL-23
    local munged
    wait_for 20 all_healthy
    munged=$(munged_of ctl)
    pidkill STOP "$munged"
    say n2 hsnd down pulled
    sleep 2 # reports come to munged meanwhile
    stat -c %Y "$CLUSTER/run.ctl/switchmgrd/health" >"$case_tmp/written"
    wait_for 20 written_again
    fabric
    assert_output '^(healthy|unknown) '
    pidkill CONT "$munged"
    wait_for 60 sfabric_says n2 'is down'
    say n2 hsnd up
    wait_for 40 is_idle n2
    wait_for 40 all_healthy
}

munged_of() { # HOST
    local pid
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null |
            grep -q "^[^ ]*munged.*/munge.$1/" && echo "$pid"
    done
}

written_again() {
    [ "$(stat -c %Y "$CLUSTER/run.ctl/switchmgrd/health")" -gt \
        "$(cat "$case_tmp/written")" ]
}

run_cases
