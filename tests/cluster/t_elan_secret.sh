#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The job info passes through the user's hands: what a user can do with it.
. "$(dirname "$0")/lib.sh"
FORGE=$SF_TOP_BUILDDIR/tests/cluster/forge/.libs/switch_elan.so
SHOW=$SF_TOP_BUILDDIR/tests/cluster/elan_show
need_stage slurm/switch_elan.so
[ -e "$FORGE" ] || skip_all "forge/switch_elan.so is not built"
cluster_up --nodes 2 --switch elan --conf SlurmctldDebug=debug3 \
    --conf SlurmdDebug=debug3

# The attacker: an own slurm.conf that names an own plugin directory first.
mkdir -p "$CLUSTER/evil"
cp "$FORGE" "$CLUSTER/evil/"
sed "s,^PluginDir=,&$CLUSTER/evil:," "$SLURM_CONF" >"$CLUSTER/evil/slurm.conf"
chmod -R go+rX "$CLUSTER/evil"

# From these releases on slurmstepd takes the info of a step out of the
# credential that slurmctld has signed.
info_is_signed() {
    slurm_since 24.05.2 ||
        { slurm_since 23.11.9 && ! slurm_since 24.05; } ||
        { slurm_since 23.02.8 && ! slurm_since 23.11; }
}

# forge WHAT COMMAND..: the user's srun with a tampered job info.
forge() {
    local what=$1
    ! info_is_signed || skip "srun has no hand in the info of a step"
    shift
    run_as_user env SLURM_CONF="$CLUSTER/evil/slurm.conf" \
        FORGE="$what" FORGE_FILE="$WORK/sealed" "$@"
    # Where it does not load, the site's own is taken.
    assert_empty "$(grep plugin_load_from_file <<<"$err")" "the attacker's own"
}

refused() {
    assert_code 1
    assert_error "SF-E120 .*job info refused: $1"
    assert_empty "$(grep '^task' <<<"$out")" "a task ran"
    assert_log slurmd.n0.log "SF-E120 .*job info refused: $1"
    wait_for 30 no_job_left
}

case_changed_clear_part_is_not_believed() { # SL-09
    forge clear srun -n1 -w n0 "$SHOW"
    assert_code 0
    assert_equal "$(grep -oE 'prg=[0-9]+' <<<"$out" | cut -d= -f2)" \
        "$(grep -oE 'RMS_JOBID=[0-9]+' <<<"$out" | cut -d= -f2)" "program"
    assert_output 'nodes=0-0,entries=1'
}

case_replay_for_another_step_is_refused() { # SL-09
    forge save salloc -Q -N1 -w n0 sh -c "srun -n1 true
        FORGE=replay srun -n1 $SHOW"
    refused 'step: made for step 0, this is step 1'
}

case_replay_for_another_job_is_refused() { # SL-09
    forge save srun -n1 -w n0 true
    assert_code 0
    forge replay srun -n1 -w n0 "$SHOW"
    refused 'job: made for job [0-9]+, this is job'
}

# It has job and step ids of its first run again.
case_replay_for_a_requeued_job_is_refused() { # SL-09
    local job
    forge save sbatch --parsable --requeue -N1 -w n0 -o "$WORK/requeued" \
        --open-mode=append --wrap "
        export SLURM_CONF=$CLUSTER/evil/slurm.conf # slurmd has put its own
        [ -z \"\$SLURM_RESTART_COUNT\" ] || export FORGE=replay
        srun -n1 $SHOW
        [ -n \"\$SLURM_RESTART_COUNT\" ] || scontrol requeue \$SLURM_JOB_ID
        sleep 30"
    assert_code 0
    job=$out
    # Slurm would let some minutes pass first; slurmd refuses a run of the
    # second in which the one before was killed.
    wait_for 60 job_is "$job" PENDING
    run_as_user scontrol update "JobId=$job" StartTime=now+2
    wait_for 60 job_is "$job" RUNNING
    wait_for 60 grep -q 'SF-E120' "$WORK/requeued"
    run_as_user scancel "$job"
    wait_for 30 no_job_left
    out=$(cat "$WORK/requeued")
    assert_output '^task 0 ' 1
    assert_output 'refused: run: made for run 0 of the job, this is run 1' 1
}

# Runs for the second time, or waits to.
job_is() {
    run_as_user scontrol show job "$1"
    grep -q "JobState=$2" <<<"$out" && grep -q 'Restarts=1' <<<"$out"
}

case_cut_job_info_is_refused() { # SL-09
    forge cut srun -n1 -w n0 "$SHOW"
    refused 'decode: munge: '
}

case_missing_seal_is_refused() { # SL-09
    forge none srun -n1 -w n0 "$SHOW"
    refused 'decode: '
}

case_own_seal_is_refused() { # EL-40 SL-09
    forge own srun -n1 -w n0 "$SHOW"
    refused "encoder uid: sealed by uid $(id -u "$JOB_USER"), not by SlurmUser"
}

case_user_can_not_open_the_seal() { # EL-38
    forge save srun -n1 -w n0 true
    run_as_user unmunge --socket "$CLUSTER/munge/munge.socket" \
        --input "$WORK/sealed"
    assert_code_not 0
    assert_error 'Unauthorized'
}

little_endian() {
    local w
    for w; do echo -n "${w:6:2}${w:4:2}${w:2:2}${w:0:2}"; done
}

# has_key FILE: in either byte order, as bytes or as text.
has_key() {
    LC_ALL=C grep -qaiP "$pattern" "$1" 2>/dev/null
}

# look_into PID NAME: is the key in its memory?  0, or 1; 2: could not look.
look_into() {
    local core=$case_tmp/core.$1 rc=1
    gcore -o "$case_tmp/core" "$1" >/dev/null 2>&1
    [ -s "$core" ] || return 2
    has_key "$core" && rc=0
    rm -f "$core"
    return $rc
}

# (Slurmd of 24.11.0 calls itself otherwise in /proc/PID/comm; Debian's file is
# slurmd-wlm.)
program_of() { # PID
    basename "$(readlink "/proc/$1/exe")" -wlm
}

case_key_is_nowhere_to_be_read() { # EL-38 EL-39
    local key be le pid f pattern name rc looked=" "
    command -v gcore >/dev/null || skip "gcore (package gdb) is not installed"
    # (not through srun: it would keep the text)
    start_as_user srun -N2 -n2 sh -c "umask 077
        $SHOW key >$WORK/key.\$SLURM_PROCID
        exec $SHOW until $WORK/looked >/dev/null"
    wait_for 20 grep -q '^key' "$WORK/key.0"
    wait_for 20 grep -q '^key' "$WORK/key.1"
    key=$(sed -n 's/^key //p' "$WORK/key.0")
    # shellcheck disable=SC2086
    be=$(printf '%s' $key) le=$(little_endian $key)
    assert_equal 32 "${#be}" "length of the key"
    pattern=$be\|$le\|${key// /.?}
    pattern+=\|$(sed 's/../\\x&/g' <<<"$be")\|$(sed 's/../\\x&/g' <<<"$le")
    for f in "$CLUSTER"/log/* "$CLUSTER"/state/ctld/* "$CLUSTER"/spool/*/*; do
        has_key "$f" && fail "the key is in $f"
    done
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        has_key "/proc/$pid/environ" && fail "the key is with process $pid"
        has_key "/proc/$pid/cmdline" && fail "the key is with process $pid"
        name=$(program_of "$pid")
        case $name in
        srun | slurmd | slurmstepd | elan-holder) ;;
        *) continue ;;
        esac
        look_into "$pid"
        rc=$?
        [ $rc != 2 ] || [ -z "$(readlink "/proc/$pid/exe")" ] ||
            fail "no core of $name, which lives"
        looked+="$name:$rc " # 2: gone by now
        [ "$name" = elan-holder ] || [ $rc != 0 ] ||
            fail "the key is in the memory of $name"
    done
    # All kinds were there to be looked at; a holder has it, which also shows
    # that the search finds what is there.
    for name in srun:1 slurmd:1 slurmstepd:1 elan-holder:0; do
        [[ $looked == *" $name "* ]] || fail "none was looked at: $name in$looked"
    done
    for pid in $("$MINISLURM" pids --dir "$CLUSTER"); do
        [ "$(program_of "$pid")" = elan-holder ] || continue
        run_as_user cat "/proc/$pid/mem"
        assert_error 'Permission denied'
    done
    has_key "$WORK/key.0" || fail "the search itself does not work"
    touch "$WORK/looked"
    wait
    assert_equal "$(grep '^key' "$WORK/key.0")" "$(grep '^key' "$WORK/key.1")"
}

case_state_is_private() { # EL-39
    run_as_user cat "$CLUSTER/state/ctld/switch_elan_state"
    assert_code_not 0
    assert_equal 600 "$(stat -c %a "$CLUSTER/state/ctld/switch_elan_state")"
}

run_cases
