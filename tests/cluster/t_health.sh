#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Fabric health in Slurm: from reports to sinfo and back, by a scripted
# reporter on each node.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
cluster_up --nodes 4 --switch elan \
    --node-conf "Features=gpu,$FEATURES"
switchmgr_conf MetricsListen=127.0.0.1:0
run_as_root ctl scontrol reconfigure # slurmctld reads switchmgr.conf
switchmgr_start
for node in n0 n1 n2 n3; do reporter $node; done

case_all_nodes_are_up() { # SL-24
    local node
    for node in n0 n1 n2 n3; do
        wait_for 20 active_features_are $node gpu,fabric_up
        wait_for 10 extra_has $node fabric=up:rail0=up
    done
    run_as_user srun -N4 -C fabric_up true
    assert_code 0
    fabric
    assert_code 0
}

case_fault_reaches_sinfo_and_goes_again() { # SL-24
    say n2 hsnd down no carrier
    wait_for 10 extra_has n2 fabric=down:rail0=down
    wait_for 10 active_features_are n2 gpu,fabric_down
    wait_for 10 is_drained n2
    capture sinfo -h -n n2 -o %E
    assert_output '^switchmgrd: fabric rail 0 down \(no carrier\) since [0-9]+, 1 times'
    capture sinfo -h -O NodeList,StateLong,Features:60,Extra:60
    assert_output 'n2 .*drained.*fabric=down'
    fabric
    assert_code 2
    fabric why n2
    assert_output 'no carrier'
    say n2 hsnd up
    wait_for 20 is_idle n2
    wait_for 10 active_features_are n2 gpu,fabric_up
    fabric
    assert_code 0
}

# The table is read before each step; the job may be there already.
case_step_on_a_down_node_is_refused() { # EL-57 SL-26
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    wait_for 10 is_drained n1
    # An allocation that stands since before.
    run_as_user srun -N1 -w n3 true
    assert_code 0
    scontrol update nodename=n1 state=resume
    wait_for 10 is_idle n1
    wait_for 20 refused_on n1 # the table is up to a second old
    assert_log slurmctld.log 'refused: the fabric of node n1 is down since'
    # an admin's resume is respected: not drained again for this fault
    wait_for 10 is_idle n1 # the refused job may still be completing
    say n1 hsnd up
    wait_for 20 extra_has n1 fabric=up
    wait_for 20 runs_on n1
}

# srun by itself asks again only after one to two minutes.
case_a_waiting_step_runs_when_the_node_heals() { # SL-26
    reread Drain=no BusyGrace=3600
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
    say n1 hsnd down gone
    wait_for 10 extra_has n1 fabric=down
    "$MINISLURM" exec --dir "$CLUSTER" -- srun -N1 -w n1 true \
        >"$case_tmp/waits" 2>&1 &
    wait_for 20 log_has slurmctld.log 'waits: the fabric of node n1 is down'
    say n1 hsnd up
    wait $! || fail "the waiting launch failed: $(cat "$case_tmp/waits")"
    assert_log slurmctld.log \
        'waits for the fabric of node n1 is told to ask again'
    reread
    run_as_root ctl scontrol reconfigure
    wait_for 20 all_idle
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

runs_on() {
    run_as_user srun -N1 -w "$1" true
    [ "$code" = 0 ]
}

refused_on() {
    ! runs_on "$1"
}

case_admins_drain_is_untouched() { # SL-25
    scontrol update nodename=n0 state=drain reason="bad memory"
    say n0 hsnd down gone
    wait_for 10 extra_has n0 fabric=down
    say n0 hsnd up
    wait_for 20 extra_has n0 fabric=up
    assert_equal "bad memory" "$(reason_of n0)" "reason of n0"
    wait_for 10 is_drained n0
    scontrol update nodename=n0 state=resume
    wait_for 10 is_idle n0
}

case_others_features_and_texts_stay() {
    scontrol update nodename=n3 extra="rack=7" comment="ours"
    wait_for 10 extra_has n3 rack=7
    say n3 hsnd degraded errors
    wait_for 10 active_features_are n3 gpu,fabric_degraded
    capture scontrol show node n3
    assert_output 'Extra=rack=7 fabric=degraded'
    assert_output 'Comment=ours'
    say n3 hsnd up
    wait_for 10 active_features_are n3 gpu,fabric_up
    # What the node has and an admin has made inactive stays so.
    scontrol update nodename=n3 activefeatures=fabric_up
    say n3 hsnd degraded errors
    wait_for 10 active_features_are n3 fabric_degraded
    scontrol update nodename=n3 activefeatures=gpu,fabric_degraded
    say n3 hsnd up
    wait_for 10 active_features_are n3 gpu,fabric_up
}

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

sfabric_says() {
    sfabric why "$1" | grep -q "$2"
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
    assert_output '^switchmgrd: fabric'
}

case_reconfigure_does_not_lose_features() { # SL-24
    run_as_root ctl scontrol reconfigure
    wait_for 20 active_features_are n1 gpu,fabric_up
    wait_for 20 active_features_are n2 gpu,fabric_up
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
    sfabric why "$1" | grep -oE 'is down since .* went down [0-9]+ times'
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
    sleep 3 # longer than DrainAfter
    assert_equal idle "$(sinfo -h -n n2 -o %T)" "state of n2"
    say n2 hsnd up
    wait_for 20 extra_has n2 fabric=up
}

# A list, or another file that the configuration names, may be what is wrong.
case_a_wrong_list_changes_nothing() {
    local pid good=MetricsListen=127.0.0.1:0
    pid=$(switchmgr_pids | head -1)
    switchmgr_conf $good DryRun=yes Reporters=n0
    capture "$SWITCHMGRD" --test-config \
        -f "$CLUSTER/etc.fabric/switchmgr.conf"
    assert_code 2
    assert_error 'switchmgr.conf:[0-9]+: Reporters: not NAME=ADDRESS: n0$'
    assert_equal "$(grep -n ^Reporters "$CLUSTER/etc.fabric/switchmgr.conf")" \
        "$(grep -oE ':[0-9]+: Rep' <<<"$err" | tr -dc 0-9):Reporters=n0" line
    what_cannot_be_used_here_is_told
    switchmgr_conf $good DryRun=yes Reporters=n0
    pidkill HUP "$pid"
    wait_for 10 log_of_switchmgrd_has 'Reporters: not NAME=ADDRESS: n0'
    is_dry && fail "half of a wrong configuration was taken"
    echo 'n0 two' >"$CLUSTER/etc.fabric/bad.hosts"
    switchmgr_conf $good DryRun=yes "Elanhosts=$CLUSTER/etc.fabric/bad.hosts"
    pidkill HUP "$pid"
    wait_for 10 log_of_switchmgrd_has 'bad.hosts: it has errors'
    is_dry && fail "half of a wrong configuration was taken"
    switchmgr_conf $good DryRun=yes
    pidkill HUP "$pid"
    wait_for 10 is_dry
    switchmgr_conf $good
    pidkill HUP "$pid"
    wait_for 10 is_not_dry
}

what_cannot_be_used_here_is_told() {
    local line
    for line in Listen=abc Listen=:99999 MetricsListen=localhost:9839 \
        User=no-such-user 'MapperNodes=n[1-' 'LinkNodes=n[1-' \
        ControlGroup=no-such-group SlurmConf=/no/such Elanhosts=/no/such \
        LinkStatus=tree StaleAfter=1; do
        switchmgr_conf $good "$line"
        capture "$SWITCHMGRD" --test-config \
            -f "$CLUSTER/etc.fabric/switchmgr.conf"
        assert_code 2
        assert_error "switchmgr.conf:[0-9]+: ${line%%=*}: "
    done
    getent passwd slurm-fabric >/dev/null && return
    echo >"$case_tmp/empty.conf"
    capture "$SWITCHMGRD" --test-config -f "$case_tmp/empty.conf"
    assert_code 2
    assert_error "empty.conf: User: there is no such user: slurm-fabric$"
}

log_of_switchmgrd_has() {
    switchmgr_log | grep -q "$1"
}

is_dry() {
    sfabric | grep -q 'dry run'
}

is_not_dry() {
    ! is_dry
}

# Both processes take up another configuration.
reread() { # LINE..
    local before
    before=$(times_read)
    switchmgr_conf MetricsListen=127.0.0.1:0 "$@"
    pidkill HUP "$(switchmgr_pids | head -1)"
    wait_for 10 read_more_than "$before"
}

times_read() {
    switchmgr_log | grep -c 'switchmgr.conf read again'
}

read_more_than() {
    [ "$(times_read)" -gt "$1" ]
}

# Each thing that would be done is told once; Slurm and its steps see nothing.
# switchmgrd's log after its first N lines.
since() { # N
    switchmgr_log | tail -n "+$(($1 + 1))"
}

case_a_dry_run_tells_and_does_nothing() { # SL-25
    local drain='dry run: n1 would be drained: switchmgrd: fabric rail 0 down'
    local begin fell told what
    wait_for 20 extra_has n1 fabric=up
    begin=$(switchmgr_log | wc -l)
    reread DryRun=yes
    say n1 hsnd down pulled
    wait_for 10 log_of_switchmgrd_has "$drain"
    wait_for 10 log_of_switchmgrd_has 'dry run: n1 would get .*fabric=down'
    wait_for 10 sfabric_says n1 'dry run'
    extra_has n1 fabric=up || fail "Slurm was told"
    run_as_user srun -N1 -w n1 true
    assert_code 0
    sleep 3 # as many looks at Slurm
    # Once for each time that it fell: whoever is kept from reporting in between
    # makes it unknown.
    fell=$(since "$begin" | grep -c 'host n1 rail 0: .* -> down')
    for what in "$drain" 'n1 would get .*fabric=down'; do
        told=$(since "$begin" | grep -c "$what")
        [ "$told" -ge 1 ] && [ "$told" -le "$fell" ] ||
            fail "told $told times, fell $fell times: $what"
    done
    reread
    wait_for 10 is_drained n1
    wait_for 10 extra_has n1 fabric=down
    say n1 hsnd up
    wait_for 20 is_idle n1
}

case_maintenance_ends_and_the_node_is_drained() { # SL-25
    reread 'Maintenance=n[1-2]'
    say n1 hsnd down pulled
    wait_for 10 extra_has n1 fabric=down
    sleep 2 # longer than DrainAfter
    assert_equal idle "$(sinfo -h -n n1 -o %T)" "state of n1"
    sfabric_says n1 'in maintenance: not drained' ||
        fail "sfabric why does not tell of the maintenance"
    fabric -l -h
    assert_output '^down +1 .* maint +pulled +n1$'
    reread
    wait_for 10 is_drained n1
    say n1 hsnd up
    wait_for 20 is_idle n1
}

# The same by command, until the configuration is read again.
case_maintenance_by_command() { # SL-25
    fabric maintenance
    assert_code 0
    assert_empty "$out" "nodes in maintenance"
    fabric maintenance on 'n[1-2]'
    assert_code 0
    fabric maintenance
    assert_output '^n\[1-2\]$'
    fabric maintenance --json
    assert_output '"n2"'
    say n1 hsnd down pulled
    wait_for 10 extra_has n1 fabric=down
    sleep 2 # longer than DrainAfter
    assert_equal idle "$(sinfo -h -n n1 -o %T)" "state of n1"
    fabric maintenance off n1
    assert_code 0
    wait_for 10 is_drained n1
    fabric maintenance
    assert_output '^n2$'
    only_known_nodes_and_by_root
    reread
    fabric maintenance
    assert_empty "$out" "nodes in maintenance"
    say n1 hsnd up
    wait_for 20 is_idle n1
}

only_known_nodes_and_by_root() {
    fabric maintenance on 'n[2-4]'
    assert_code 3
    assert_error 'there is no node n4'
    run_as_user "$SFABRIC" -s "$CLUSTER/run.ctl/switchmgrd.sock" \
        maintenance on n3
    assert_code 3
    fabric maintenance on
    assert_code 3
    assert_error 'usage: sfabric maintenance'
    fabric maintenance
    assert_output '^n2$'
}

# More are down than may be drained: told once, drained when there is room.
case_the_caps_let_go() { # SL-25
    local before
    before=$(switchmgr_log | grep -c SF-E701)
    reread DrainMax=1 DrainInterval=6 DrainPercent=100
    say n1 hsnd down storm
    say n2 hsnd down storm
    wait_for 10 one_is_held
    wait_for 20 is_drained n1
    wait_for 20 is_drained n2
    wait_for 10 none_is_held
    assert_empty "$(switchmgr_log | grep -o 'SF-E701.*allow (' |
        tail -n +$((before + 1)) | sort | uniq -d)" "what was told twice"
    reread
    say n1 hsnd up
    say n2 hsnd up
    wait_for 30 all_idle
}

case_who_is_drained_is_not_held() { # SL-25
    local held=n1
    reread DrainMax=1 DrainInterval=600 DrainPercent=100
    say n1 hsnd down storm
    say n2 hsnd down storm
    wait_for 10 one_is_held
    sfabric_says n1 'not drained yet' || held=n2
    scontrol update nodename=$held state=drain reason="bad memory"
    wait_for 20 sfabric_says $held 'drained by somebody else'
    sfabric_says $held 'not drained yet' && fail "$held is drained and held"
    scontrol update nodename=$held state=resume
    reread
    say n1 hsnd up
    say n2 hsnd up
    wait_for 30 all_idle
}

one_is_held() {
    sfabric_says n1 'not drained yet' || sfabric_says n2 'not drained yet'
}

none_is_held() {
    ! one_is_held
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

case_lying_reporters_are_refused() { # SL-23
    wait_for 20 extra_has n2 fabric=up
    # n1's root speaks for n2
    lie n1 root 'as n2 down'
    assert_output '^refused'
    # an ordinary user of n1 speaks for n1
    lie n1 daemon 'hsnd down'
    assert_output '^refused'
    # n1 is allowed to
    lie n1 root 'hsnd up'
    assert_output '^accepted'
    fabric events
    assert_output 'alarm: report of n2 refused: made on another host \(127\.[0-9.]+, not 127\.[0-9.]+; see Reporters'
    assert_output 'alarm: report of n1 refused: made by an ordinary user'
    extra_has n2 fabric=up || fail "n2 is not up"
}

lie() { # NODE USER LINE
    timeout "$(patience 20)" "$MINISLURM" exec --dir "$CLUSTER" --on "$1" --as "$2" -- \
        "$REPORT" "$CLUSTER/reports.sock" "$1" \
        "$CLUSTER/munge.$1/munge.socket" >"$case_tmp/lie" 2>&1 <<<"$3"
    out=$(cat "$case_tmp/lie") err=
}

# Since switchmgrd began, which a case before may just have done.
all_healthy() {
    sfabric -h | grep -Eq '^healthy +4 '
}

case_sfabric_in_sinfos_manner() {
    wait_for 20 all_healthy
    fabric -h
    assert_code 0
    assert_output '^healthy +4 n\[0-3\]$'
    fabric -N -h
    assert_output '^n[0-3] +healthy' 4
    fabric -o '%.3D|%T|%N'
    assert_output '^NOD\|STATE\|NODELIST$'
    assert_output '^  4\|healthy\|n\[0-3\]$'
    fabric -R -h
    assert_empty "$out" "what is not healthy"
    fabric --json
    assert_output '"healthy": *4'
    fabric -o '%Q'
    assert_code 3
    fabric nonsense
    assert_code 3
    fabric why n99
    assert_code 3
    fabric verify
    assert_output '^ok +switch_elan.so'
    assert_output '^ok +SwitchType +switch/elan'
}

# As wide and as high as the terminal: the summary stays on it.
case_watch_fits_a_small_terminal() {
    command -v script >/dev/null || skip "no script(1)"
    wait_for 20 all_healthy
    run_as_root ctl timeout -s KILL "$(patience 30)" script -qec "
        stty rows 5 cols 30
        timeout $(patience 3) $SFABRIC watch 1 || true" /dev/null
    tr -d '\r' <<<"$out" | sed 's/\x1b\[[0-9;]*m//g' >"$case_tmp/watch"
    grep -q '^healthy' "$case_tmp/watch" || fail "no summary: $out"
    # Of each screen: what follows the sequence that clears it.
    awk -v RS='\033\\[H\033\\[2J' 'NR > 1 {
        n = split($0, line, "\n")
        if (n > 5) print "lines: " n
        for (i = 1; i <= n; i++)
            if (length(line[i]) > 30) print "too wide: " line[i]
    }' "$case_tmp/watch" >"$case_tmp/wrong"
    assert_empty "$(cat "$case_tmp/wrong")" "what does not fit"
}

# Each family of metrics is told with its type, in one group.
metrics() {
    local port
    port=$(sed -n 's/.*metrics at 127.0.0.1:\([0-9]*\)$/\1/p' \
        "$CLUSTER/log/switchmgrd.log" | tail -n 1)
    run_as_root ctl python3 -c '
import sys, urllib.request
print(urllib.request.urlopen(sys.argv[1], timeout=20).read().decode())' \
        "http://127.0.0.1:$port/metrics"
}

all_have_reported() {
    metrics
    [ "$(grep -c ^slurm_fabric_nic_sent_total <<<"$out")" = 4 ] &&
        grep -q '^slurm_fabric_slurmctld_reachable 1' <<<"$out"
}

case_metrics_are_prometheus_text() {
    wait_for 20 all_healthy
    wait_for 20 all_have_reported
    metrics
    assert_code 0
    assert_output '^slurm_fabric_hosts.state="healthy". 4$'
    assert_output '^slurm_fabric_slurmctld_reachable 1$'
    assert_output '^slurm_fabric_reports_total.result="accepted". [1-9]'
    assert_output '^slurm_fabric_nic_sent_total.node="n[0-3]",rail="0". 1$' 4
    assert_output '^slurm_fabric_nic_lost_total.node="n[0-3]",rail="0". 2$' 4
    assert_empty "$(python3 "$SF_TOP_SRCDIR/tests/cluster/metrics_check.py" \
        <<<"$out" 2>&1)" "what is wrong with the metrics"
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

table_has() {
    grep -q "^$1 down" "$CLUSTER/run.ctl/switchmgrd/health"
}

# Anybody may connect: who says nothing makes room for who reports.
case_idle_connections_keep_nobody_out() { # SL-23
    local idle
    switchmgr_stop
    (
        ulimit -n 256
        switchmgr_start
    )
    wait_for 20 all_healthy
    silence n3 # its place is taken, too
    "$MINISLURM" exec --dir "$CLUSTER" --on ctl --as root -- python3 -c '
import socket, sys
held = []
for i in range(400):
    s = socket.socket(socket.AF_UNIX)
    s.connect(sys.argv[1])
    held.append(s)
print("held", flush=True)
sys.stdin.read()' "$CLUSTER/reports.sock" >"$case_tmp/idle" < <(
        while [ -e "$case_tmp/idle" ] && [ ! -e "$case_tmp/idle.over" ]; do
            sleep 0.2
        done
    ) &
    idle=$!
    wait_for 20 grep -q held "$case_tmp/idle"
    reporter n3
    say n3 hsnd degraded errors
    wait_for 20 extra_has n3 fabric=degraded
    say n3 hsnd up
    touch "$case_tmp/idle.over"
    wait "$idle"
    wait_for 20 all_healthy
    switchmgr_stop
    switchmgr_start
}

# Reporters that stall in mid-message, announce too much, send JSON that is
# huge or nested deeply: each is refused or cut off, others are heard meanwhile.
case_bad_reporters_hurt_only_themselves() { # SL-23
    local bad
    wait_for 20 all_healthy
    timeout "$(patience 60)" "$MINISLURM" exec --dir "$CLUSTER" --on n1 \
        --as root -- python3 "$SF_TOP_SRCDIR/tests/cluster/bad_reporters.py" \
        "$CLUSTER/reports.sock" "$CLUSTER/munge.n1/munge.socket" \
        >"$case_tmp/bad" 2>&1 &
    bad=$!
    wait_for 20 grep -q 'stalls$' "$case_tmp/bad"
    say n3 hsnd degraded errors
    wait_for 20 extra_has n3 fabric=degraded
    say n3 hsnd up
    wait "$bad" || fail "bad_reporters.py: $(cat "$case_tmp/bad")"
    out=$(cat "$case_tmp/bad") err=
    assert_output '^nested deeply: refused$'
    assert_output '^huge: refused$'
    assert_output '^not JSON: refused$'
    assert_output '^announces 4 GB: cut off$'
    assert_output '^stalled: cut off$'
    wait_for 20 all_healthy
}

# Each bad credential costs munged a round trip: who sends no others is not
# heard for a while, others are.
case_a_flood_of_bad_reports_is_turned_away() { # SL-23
    wait_for 20 all_healthy
    flood_with_reports "$CLUSTER/reports.sock" 1
    assert_output '^turned away after [0-9]+, at most 256 on a connection$'
    fabric events -n 200
    assert_output 'alarm: too many bad reports from uid 1: not heard for now$'
    say n1 hsnd degraded errors # by root, from the same node
    say n3 hsnd degraded errors
    wait_for 20 extra_has n1 fabric=degraded
    wait_for 20 extra_has n3 fabric=degraded
    say n1 hsnd up
    say n3 hsnd up
    wait_for 20 all_healthy
}

flood_with_reports() { # WHERE FROM
    capture timeout "$(patience 60)" "$MINISLURM" exec --dir "$CLUSTER" \
        --on n1 --as root -- python3 \
        "$SF_TOP_SRCDIR/tests/cluster/flood_reports.py" "$1" "$2"
    assert_code 0
}

case_a_flood_by_one_address_leaves_others() { # SL-23
    local port
    port=$(python3 -c 'import socket
s = socket.socket()
s.bind(("127.0.0.1", 0))
print(s.getsockname()[1])')
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0 "Listen=127.0.0.1:$port"
    switchmgr_start
    flood_with_reports "127.0.0.1:$port" 127.0.0.66
    flood_with_reports "127.0.0.1:$port" 127.0.0.67
    # As many as the first had; none, if they were one.
    assert_output '^turned away after [0-9]{4,}, at most 256 on a connection$'
    fabric events -n 200
    assert_output 'alarm: too many bad reports from 127.0.0.66: not heard'
    assert_output 'alarm: too many bad reports from 127.0.0.67: not heard'
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0
    switchmgr_start
    wait_for 20 all_healthy
}

case_silence_is_unknown() { # SL-23
    silence n3
    wait_for 40 extra_has n3 fabric=unknown
    wait_for 10 active_features_are n3 gpu
    assert_equal idle "$(sinfo -h -n n3 -o %T)" "state of n3"
    reporter n3
    wait_for 20 active_features_are n3 gpu,fabric_up
}

case_the_network_side_is_nobody() { # SL-23
    local pid users
    users=$(for pid in $(switchmgr_pids); do
        stat -c %U "/proc/$pid"
    done | sort | xargs)
    assert_equal "nobody root" "$users" "users of the two processes"
}

case_control_socket_is_for_root() {
    run_as_user "$SFABRIC"
    assert_code 0
}

case_too_many_are_not_drained() { # SL-25
    all_say hsnd down storm
    wait_for 10 extra_has n3 fabric=down
    wait_for 10 capped
    sleep 2
    [ "$(sinfo -h -t drain -o %n | grep -c .)" -le 2 ] ||
        fail "more than half of the nodes drained: $(sinfo -R)"
    all_say hsnd up
    wait_for 30 all_idle
}

capped() {
    grep -q SF-E701 "$CLUSTER/log/switchmgrd.log"
}

# -t idle would take those that are drained, too.
all_idle() {
    [ "$(sinfo -h -o '%T %D')" = "idle 4" ]
}

# Four nodes of an empty cluster: neighbours, so broadcasts are possible.  Of
# the case before the table may still have a node as down.
case_four_nodes_may_broadcast() { # EL-20 EL-27
    wait_for 20 all_healthy
    wait_for 20 all_show
    assert_output 'cap0=[a-z]+\+bc' 4
}

all_show() {
    run_as_user srun -N4 "$SF_TOP_BUILDDIR/tests/cluster/elan_show"
    [ "$code" = 0 ]
}

run_cases
