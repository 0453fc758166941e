#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Steps that a stepmgr makes, the extern step on the job's first node, out of
# what slurmctld leased to the job (Slurm 24.05 and later).
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so
SHOW=$SF_TOP_BUILDDIR/tests/cluster/elan_show
# 24 contexts: a lease for 4 CPUs a node has 8.
cluster_up --nodes 3 --switch elan \
    --conf SwitchParameters=base_context=100,top_context=123 \
    --conf PrologFlags=Contain \
    --conf SchedulerParameters=permit_job_expansion
slurm_since 24.05 || skip_all "this Slurm has no stepmgr"

field() {
    grep -oE "(^| )$1=[^ ]+" <<<"$out" | sed 's/.*=//' | sort -nu | xargs
}

# First and last context of the programs in $out.
ranges() {
    grep -oE 'of=[0-9]+-[0-9]+' <<<"$out" | sort -u
}

# apart RANGE RANGE: "of=FIRST-LAST"; they share no context.
apart() {
    local a=${1#of=} b=${2#of=}
    [ -n "$a" ] && [ -n "$b" ] &&
        { ((${a#*-} < ${b%-*})) || ((${b#*-} < ${a%-*})); }
}

case_steps_are_given_from_the_lease() { # SL-05
    local first
    run_as_user srun --stepmgr -N2 -n4 --ntasks-per-node=2 "$SHOW"
    assert_code 0
    assert_output '^task ([0-9]+) .* RMS_PROCID=\1 RMS_RANK=\1 ' 4
    first=$(field prg)
    assert_equal 1 "$(wc -w <<<"$first")" "program numbers"
    # A lease begins with a multiple of 1024, and nobody else has made it.
    assert_equal 0 $((first % 1024)) "first number of a lease"
    # (SF-E115 is what 24.11.0 to 24.11.4 themselves forget)
    assert_equal 0 "$(grep 'SF-E' "$CLUSTER/log/slurmctld.log" |
        grep -vc SF-E115)" errors
}

case_steps_at_once_have_programs_of_their_own() { # EL-18
    run_as_user salloc -Q --stepmgr -N2 -n4 sh -c "
        for i in 1 2 3; do
            srun -N2 -n2 --overlap $SHOW &
        done
        wait"
    assert_code 0
    assert_output '^task 0 ' 3
    assert_equal 3 "$(field prg | wc -w)" "program numbers"
}

case_both_kinds_share_a_node() { # EL-18
    local out_own
    run_as_user rm -f "$WORK/go" "$WORK/own"
    start_as_user srun -w n0 -n2 sh -c \
        "$SHOW; : >$WORK/own; until [ -e $WORK/go ]; do sleep 0.1; done"
    wait_for 20 test -e "$WORK/own"
    wait_for 20 grep -q 'of=[0-9]*-[0-9]' "$case_tmp/bg.out" # srun has it
    out=$(cat "$case_tmp/bg.out")
    out_own=$(ranges)
    run_as_user srun --stepmgr -w n0 -n2 "$SHOW"
    assert_code 0
    apart "$out_own" "$(ranges)" ||
        fail "given twice: $out_own and $(ranges)"
    run_as_user touch "$WORK/go"
    wait
    wait_for 20 no_job_left
}

case_more_than_the_lease_is_refused() {
    run_as_user srun --stepmgr -w n0 -n1 --network=contexts=9 true
    assert_code_not 0
    assert_error 'Unable to create step|configuring interconnect'
}

# told_in_a_job_of WORD..: of salloc, which stays until its user has read why
# its step is refused; REASON is what he reads.
told_in_a_job_of() {
    run_as_user rm -f "$WORK/read"
    start_as_user salloc --stepmgr "$@" sh -c \
        "srun $SRUN_WORDS true && exit 9
        until [ -e $WORK/read ]; do sleep 0.1; done"
    wait_for 30 grep -qE "$REASON" "$case_tmp/bg.err"
    run_as_user touch "$WORK/read"
    wait $!
    assert_equal 0 $? "exit code of the job"
}

# It was in the log of slurmd on the job's first node, and nowhere else.
case_the_user_is_told_why_a_stepmgr_refuses() { # SL-06
    SRUN_WORDS=--network=fast \
        REASON='salloc: SF-E103 .*--network: fast: no such word' \
        told_in_a_job_of -w n0 -n1
    wait_for 20 no_job_left
}

case_a_job_without_lease_is_told() { # nobody can give what is not there
    local holder
    run_as_user rm -f "$WORK/go" "$WORK/in"
    start_as_user srun -w n1 -n1 --network=contexts=22 sh -c \
        ": >$WORK/in; until [ -e $WORK/go ]; do sleep 0.1; done"
    holder=$!
    wait_for 20 test -e "$WORK/in"
    run_as_user srun --stepmgr -w n1 -n3 true
    assert_code_not 0
    assert_log slurmctld.log 'SF-E117 .* has no lease'
    SRUN_WORDS='' REASON='SF-E103 .*SF-E117: .*leased no contexts' \
        told_in_a_job_of -w n1 -n3
    run_as_user touch "$WORK/go"
    wait "$holder"
    wait_for 20 no_job_left
    run_as_user srun --stepmgr -w n1 -n3 true
    assert_code 0
}

case_a_lease_outlives_slurmctld() { # SL-11
    local job
    run_as_user rm -f "$WORK/go" "$WORK/in"
    start_as_user salloc -Q --stepmgr -w n2 -n1 sh -c \
        ": >$WORK/in; until [ -e $WORK/go ]; do sleep 0.1; done; srun $SHOW"
    job=$!
    wait_for 20 test -e "$WORK/in"
    daemon stop slurmctld
    daemon start slurmctld
    wait_for 20 scontrol ping
    # All but one of the node's contexts, which would be free without a lease.
    run_as_user srun --immediate=5 -w n2 -n1 --network=contexts=22 true
    assert_code_not 0
    run_as_user touch "$WORK/go"
    wait "$job"
    assert_equal 0 $? "exit code of the job"
    out=$(cat "$case_tmp/bg.out")
    assert_output '^task 0 '
    wait_for 20 no_job_left
    run_as_user srun -w n2 -n1 --network=contexts=22 true
    assert_code 0
}

# Slurm gives no node of a job with a step to another one, and a job has its
# extern step on all of its nodes, which a stepmgr needs.
case_a_job_gets_no_nodes_later() {
    run_as_user rm -f "$WORK/go" "$WORK/in"
    start_as_user salloc -Q --stepmgr -N1 -n1 -w n0 -J grows sh -c "
        : >$WORK/in
        until [ -e $WORK/go ]; do sleep 0.1; done
        srun -n1 $SHOW"
    wait_for 20 test -e "$WORK/in"
    run_as_user salloc -Q -N1 -n1 -w n1 \
        --dependency="expand:$(squeue -h -n grows -o %i)" \
        sh -c 'scontrol update "jobid=$SLURM_JOB_ID" NumNodes=0'
    assert_code 1
    assert_error 'Job step already exists'
    run_as_user touch "$WORK/go"
    wait $!
    assert_equal 0 $? "exit code of the job"
    wait_for 20 no_job_left
}

# The lease stays whole until the job ends: what its stepmgr is not told of
# cannot meet what comes to the node.
case_a_node_that_a_job_gives_back_is_not_given_its_contexts() { # EL-18
    local job own
    run_as_user rm -f "$WORK/go" "$WORK/in"
    start_as_user salloc -Q --stepmgr -N2 -n2 -w n0,n1 -J shrinks sh -c "
        : >$WORK/in
        until [ -e $WORK/go ]; do sleep 0.1; done
        srun -N1 -n1 -w n0 $SHOW"
    job=$!
    wait_for 20 test -e "$WORK/in"
    (cd "$WORK" && run_as_user scontrol update \
        "jobid=$(squeue -h -n shrinks -o %i)" NumNodes=1)
    assert_equal 1 "$(squeue -h -n shrinks -o %D)" nodes
    run_as_user srun -w n1 -n2 "$SHOW"
    assert_code 0
    own=$(ranges)
    run_as_user touch "$WORK/go"
    wait "$job"
    assert_equal 0 $? "exit code of the job"
    out=$(cat "$case_tmp/bg.out")
    apart "$own" "$(ranges)" || fail "given twice: $own and $(ranges)"
    wait_for 20 no_job_left
}

case_leases_come_back() {
    local i
    for i in 1 2 3 4 5 6; do
        run_as_user srun --stepmgr -w n0 -n4 true
        assert_code 0
    done
}

run_cases
