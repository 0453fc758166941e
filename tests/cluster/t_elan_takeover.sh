#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# A backup slurmctld takes over, gives back and takes over again, while a
# program lives.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so
SHOW=$SF_TOP_BUILDDIR/tests/cluster/elan_show
# 4 contexts: what leaks is missed at once
cluster_up --nodes 1 --switch elan \
    --conf 'SlurmctldHost=ctl(127.0.0.1)' \
    --conf 'SlurmctldHost=ctl2(127.0.0.2)' \
    --conf CommunicationParameters=NoCtldInAddrAny \
    --conf SwitchParameters=base_context=100,top_context=103
remembered=$(programs_remembered)

# A second slurmctld on a host of its own; the same configuration but for the
# files of the process itself.
backup_up() {
    local conf=$CLUSTER/etc/backup.conf
    sed -e "s,^SlurmctldPidFile=.*,SlurmctldPidFile=$CLUSTER/state/backup.pid," \
        -e "s,^SlurmctldLogFile=.*,SlurmctldLogFile=$CLUSTER/log/backup.log," \
        "$CLUSTER/etc/slurm.conf" >"$conf"
    echo "127.0.0.2 ctl2" >>"$CLUSTER/etc/hosts"
    "$MINISLURM" exec --dir "$CLUSTER" --on ctl --as root -- setsid -f \
        unshare --uts sh -c \
        "hostname ctl2; exec slurmctld -D -i -f $conf" \
        >"$CLUSTER/log/backup.err" 2>&1 </dev/null
}
backup_up

# terms LOG N: has the slurmctld of that log been in charge N times?
terms() {
    [ "$(grep -c 'Running as primary controller' "$CLUSTER/log/$1")" -ge "$2" ]
}

standby() { # N times
    [ "$(grep -c 'running in background mode' \
        "$CLUSTER/log/backup.log")" -ge "$1" ]
}

number() {
    grep -oE ' prg=[0-9]+' <<<"$1" | head -1 | tr -dc 0-9
}

contexts() {
    grep -oE 'of=[0-9]+-[0-9]+' <<<"$1" | head -1
}

new_step_differs() { # LOG of who is in charge
    run_as_user srun -n1 -w n0 "$SHOW"
    assert_code 0
    [ "$(number "$out")" -gt "$(number "$old")" ] ||
        fail "number $(number "$out") is not above $(number "$old")"
    [ "$remembered" = 0 ] || [ "$(contexts "$out")" != "$(contexts "$old")" ] ||
        fail "$(contexts "$out") given twice"
    wait_for 10 programs_are "$remembered" "$1" # the old one is still known
    [ "$remembered" = 1 ] || assert_log "$1" SF-E115
}

case_backup_takes_over_with_a_live_program() { # SL-11
    wait_for 20 standby 1
    start_as_user srun -n1 -w n0 --overlap sh -c \
        "$SHOW; until [ -e $WORK/go ]; do sleep 0.1; done"
    wait_for 20 grep -q '^task' "$case_tmp/bg.out"
    old=$(cat "$case_tmp/bg.out")
    run_as_root ctl scontrol takeover
    wait_for 40 terms backup.log 1
    new_step_differs backup.log
}

case_primary_comes_back_and_the_program_ends() { # SL-11
    old=$(cat "$case_tmp/bg.out")
    daemon start slurmctld
    wait_for 40 terms slurmctld.log 2
    wait_for 40 standby 2
    new_step_differs slurmctld.log
    run_as_user touch "$WORK/go"
    wait_for 40 no_job_left
}

# The backup was in charge before, when the program lived.
case_second_takeover_has_all_contexts() { # SL-11 EL-19
    run_as_root ctl scontrol takeover
    wait_for 40 terms backup.log 2
    run_as_user srun -n4 -w n0 "$SHOW"
    assert_code 0
    assert_output 'of=100-103' 4
}

run_cases
