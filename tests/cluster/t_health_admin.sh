#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# What an administrator has of switchmgrd: its configuration, sfabric, metrics.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so libexec/slurm-fabric/switchmgrd bin/sfabric
. "$SF_TOP_SRCDIR/tests/cluster/health.sh"
health_up

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

# has_taken_hup PID: none waits for it, and it is not still at one.
has_taken_hup() {
    local key value
    while read -r key value; do
        case $key in
        SigPnd: | ShdPnd: | SigBlk:) ((16#$value & 1)) && return 1 ;;
        esac
    done <"/proc/$1/status"
}

# More of them than the way to the collector holds.
case_hangups_do_not_hold_up_the_updater() {
    local updater collector
    updater=$(switchmgr_pids | head -1)
    collector=$(switchmgr_pids | tail -1)
    pidkill STOP "$collector"
    for _ in {1..400}; do
        kill -HUP "$updater"
        has_taken_hup "$updater" || wait_for 10 has_taken_hup "$updater"
    done
    switchmgr_conf MetricsListen=127.0.0.1:0 DryRun=yes
    kill -HUP "$updater"
    pidkill CONT "$collector"
    wait_for 10 is_dry
    switchmgr_conf MetricsListen=127.0.0.1:0
    kill -HUP "$updater"
    wait_for 10 is_not_dry
}

what_cannot_be_used_here_is_told() {
    local line
    for line in Listen=abc Listen=:99999 MetricsListen=localhost:9839 \
        MetricsListen=99999 \
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

is_dry() {
    sfabric | grep -q 'dry run'
}

is_not_dry() {
    ! is_dry
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

all_have_reported() {
    metrics
    [ "$(grep -c ^slurm_fabric_nic_sent_total <<<"$out")" = 4 ] &&
        grep -q '^slurm_fabric_slurmctld_reachable 1' <<<"$out"
}

# Each family of metrics is told with its type, in one group.
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

case_control_socket_is_for_root() {
    run_as_user "$SFABRIC"
    assert_code 0
}

# ADDRESS:PORT, as in /proc, of each TCP socket at which switchmgrd listens.
listens() {
    local pid inode
    for pid in $(switchmgr_pids); do
        for inode in $(find "/proc/$pid/fd" -lname 'socket:*' -printf '%l\n' |
            tr -dc '0-9\n'); do
            awk -v inode="$inode" '$4 == "0A" && $10 == inode { print $2 }' \
                "/proc/$pid/net/tcp" "/proc/$pid/net/tcp6"
        done
    done | sort -u
}

# Reports come by a Unix socket here.
case_there_is_no_page_unless_a_place_is_named() { # WP-06
    local begin
    begin=$(switchmgr_log | wc -l)
    switchmgr_stop
    switchmgr_conf
    switchmgr_start
    assert_empty "$(listens)" "places without MetricsListen"
    switchmgr_stop
    assert_empty "$(switchmgr_log | tail -n +$((begin + 1)) |
        grep 'metrics at')" "what is said of it"
    switchmgr_conf MetricsListen=0
    switchmgr_start
    assert_equal 0100007F "$(listens | sed 's/:.*//')" "where a port alone is"
    switchmgr_stop
    switchmgr_conf MetricsListen=127.0.0.1:0
    switchmgr_start
}

run_cases
