#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# slurmctld ends, in order or not, while programs live.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so
SHOW=$SF_TOP_BUILDDIR/tests/cluster/elan_show
cluster_up --nodes 2 --switch elan
remembered=$(programs_remembered)

number() {
    grep -oE ' prg=[0-9]+' <<<"$1" | head -1 | tr -dc 0-9
}

contexts() {
    grep -oE 'of=[0-9]+-[0-9]+' <<<"$1" | head -1
}

# A step that lives until $WORK/go exists.
start_live_step() {
    run_as_user rm -f "$WORK/go"
    rm -f "$case_tmp/bg.out"
    start_as_user srun -n1 -w n0 --overlap sh -c \
        "$SHOW; until [ -e $WORK/go ]; do sleep 0.1; done; $SHOW"
    live=$!
    wait_for 20 grep -q '^task' "$case_tmp/bg.out"
    old=$(cat "$case_tmp/bg.out")
}

end_live_step() {
    run_as_user touch "$WORK/go"
    wait "$live"
    assert_equal 0 $? "exit code of the live step"
    assert_equal "$(number "$old")" "$(number "$(tail -1 "$case_tmp/bg.out")")" \
        "the live step's program"
    wait_for 20 no_job_left
    wait_for 10 programs_are 0
}

# A new step gets another number and other contexts; when it has ended the old
# one is still known.
check_new_step() {
    wait_for 20 scontrol ping
    run_as_user srun -n1 -w n0 "$SHOW"
    assert_code 0
    [ "$(number "$out")" -gt "$(number "$old")" ] ||
        fail "number $(number "$out") is not above $(number "$old")"
    [ "$(contexts "$out")" != "$(contexts "$old")" ] ||
        fail "$(contexts "$out") given twice"
    wait_for 10 programs_are "$remembered"
    [ "$remembered" = 1 ] || assert_log slurmctld.log SF-E115
}

case_orderly_restart_keeps_programs() { # SL-11
    start_live_step
    daemon stop slurmctld
    daemon start slurmctld
    check_new_step
    end_live_step
}

case_numbers_go_on_in_order() { # EL-10
    local a b
    run_as_user srun -n1 "$SHOW"
    a=$(number "$out")
    daemon stop slurmctld
    daemon start slurmctld
    wait_for 20 scontrol ping
    run_as_user srun -n1 "$SHOW"
    b=$(number "$out")
    assert_equal $((a + 1)) "$b" "next number"
}

# Slurm writes its jobs down some seconds after one has changed.
job_state_is_saved() {
    [ "$CLUSTER/state/ctld/job_state" -nt "$case_tmp/begin" ]
}

case_killed_slurmctld_finds_its_programs() { # SL-11
    start_live_step
    # The step may have been written down since it began, and nothing would be
    # any more: another change is.
    touch "$case_tmp/begin"
    run_as_root ctl scontrol update "jobid=$(squeue -h -o %i)" Comment=saved
    assert_code 0
    wait_for 30 job_state_is_saved
    daemon kill slurmctld
    daemon start slurmctld
    check_new_step
    end_live_step
}

# After a step back to an older version.  slurmctld ended, at each start anew.
case_step_of_a_newer_version_in_the_state() { # SL-11
    start_live_step
    daemon stop slurmctld
    LC_ALL=C sed -i 's/SFJI\x00\x01/SFJI\x00\x02/g' \
        "$CLUSTER"/state/ctld/job_state*
    daemon start slurmctld
    wait_for 20 scontrol ping
    assert_log slurmctld.log 'SF-E114 .*version 2, this is 1'
    assert_equal 1 "$(squeue -h -s -o %i | wc -l)" "steps that live"
    run_as_user touch "$WORK/go"
    wait "$live"
    assert_equal 0 $? "exit code of the live step"
    wait_for 20 no_job_left
    run_as_user srun -n1 -w n0 "$SHOW"
    assert_code 0
}

case_lost_state_starts_numbers_anew() { # EL-11
    daemon stop slurmctld
    echo broken >"$CLUSTER/state/ctld/switch_elan_state"
    daemon start slurmctld
    wait_for 20 scontrol ping
    run_as_user srun -n1 "$SHOW"
    assert_code 0
    assert_log slurmctld.log 'SF-E105 .*program numbers start anew'
}

case_reconfigure_any_number_of_times() { # SL-02
    local i
    start_live_step
    for i in 1 2 3; do
        run_as_root ctl scontrol reconfigure
        assert_code 0
    done
    check_new_step
    end_live_step
}

# From 23.11 on slurmctld starts itself anew, and has no old configuration.
case_wrong_elanhosts_is_told_with_file_and_line() {
    local then='the old configuration stays'
    ! slurm_since 23.11 || then='no step can start'
    printf '# ids\nNodeName=n[0-1] ElanId=4\n' >"$CLUSTER/etc.fabric/elanhosts"
    run_as_root ctl scontrol reconfigure
    wait_for 60 log_has slurmctld.log 'SF-E102 .*elanhosts:2: '
    wait_for 60 log_has slurmctld.log "SF-E101 .*$then"
    rm "$CLUSTER/etc.fabric/elanhosts"
}

case_elanhosts_gives_ids() { # EL-33 EL-51
    echo 'NodeName=n[0-1] ElanId=9,5' >"$CLUSTER/etc.fabric/elanhosts"
    run_as_root ctl scontrol reconfigure
    run_as_user srun -N2 "$SHOW"
    assert_code 0
    assert_output 'node n0 .*RMS_NODEID=0 .*nodes=5-9,entries=2'
    assert_output 'cap0=[a-z]+\+bc' 0
    rm "$CLUSTER/etc.fabric/elanhosts"
    run_as_root ctl scontrol reconfigure
}

no_live_step() {
    [ ! -d "/proc/$live" ] || [ -z "$(ls "/proc/$live/fd" 2>/dev/null)" ]
}

# Slurm then does not know the job, and kills what runs under it.
case_killed_before_the_record_was_written() { # SL-11 EL-11
    start_live_step
    daemon kill slurmctld
    rm -f "$CLUSTER"/state/ctld/job_state*
    # or the lost job's number would be given out again
    echo FirstJobId=5000 >>"$SLURM_CONF"
    daemon start slurmctld
    wait_for 20 scontrol ping
    wait_for 40 no_live_step
    wait "$live" && fail "the lost step ended well"
    wait_for 20 is_idle n0
    run_as_user srun -n1 -w n0 "$SHOW"
    assert_code 0
    [ "$(number "$out")" -gt "$(number "$old")" ] ||
        fail "number $(number "$out") is not above $(number "$old")"
    wait_for 10 programs_are 0
}

run_cases
