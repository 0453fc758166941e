#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Steps of every kind under switch/elan: what a task is given, and that the
# pool of contexts comes back.
. "$(dirname "$0")/lib.sh"
need_stage slurm/switch_elan.so
SHOW=$SF_TOP_BUILDDIR/tests/cluster/elan_show
# 16 contexts, 2 rails: few enough to run out of
cluster_up --nodes 4 --switch elan \
    --conf SwitchParameters=base_context=100,top_context=115,rails=2

# field NAME: its values in $out, sorted, different ones once.
field() {
    grep -oE "(^| )$1=[^ ]+" <<<"$out" | sed 's/.*=//' | sort -nu | xargs
}

# The lowest nodes: a node that still completes the job before is passed over.
run_on_the_first() {
    wait_for 60 no_job_left
    run_as_user "$@"
}

case_plain_step() { # EL-12 EL-48..53 SL-04
    run_on_the_first srun -N2 -n4 --ntasks-per-node=2 "$SHOW"
    assert_code 0
    assert_equal 2 "$(field RMS_NNODES)" RMS_NNODES
    assert_equal 4 "$(field RMS_NPROCS)" RMS_NPROCS
    assert_equal "0 1" "$(field RMS_NODEID)" RMS_NODEID
    assert_equal "0 1 2 3" "$(field RMS_PROCID)" RMS_PROCID
    assert_output '^task ([0-9]+) .* RMS_PROCID=\1 RMS_RANK=\1 ' 4
    assert_output 'node n0 .* RMS_PROCID=[01] ' 2
    assert_equal 1 "$(field prg | wc -w)" "program numbers"
    assert_equal "$(field prg)" "$(field RMS_JOBID)" RMS_JOBID
}

# No process stands between slurmstepd and the application: signals, exit codes
# and debuggers find the application itself.
# No switchmgrd runs here: told once, with what to do.
case_a_missing_health_table_is_told() { # SL-26
    local told
    assert_log slurmctld.log 'SF-E113 .*no health table: .*No such file'
    assert_log slurmctld.log 'SF-E113 .*is switchmgrd running'
    run_as_user srun -n1 -w n0 true
    assert_code 0
    told=$(grep -c SF-E113 "$CLUSTER/log/slurmctld.log")
    assert_equal 1 "$told" "times told"
}

case_the_task_is_what_slurmstepd_forked() { # EL-54 EL-60
    run_as_user srun -n1 sh -c 'echo "parent $(cat /proc/$PPID/comm)"
        scontrol listpids $SLURM_JOB_ID.$SLURM_STEP_ID $SLURMD_NODENAME |
            grep -w "$$"'
    assert_output '^parent slurmstepd$' 1
    assert_output "^[0-9]+ .* 0 +0 *$" 1
}

# By touching a holder's socket; this one is none, and so nobody takes it.
no_holder_waits() {
    run_as_root n3 sh -c 'ls /run/slurm-fabric/n3/'
    [ $code = 0 ] && ! grep -q ^spare <<<"$out"
}
case_a_holder_is_told_that_a_step_comes() {
    local spare=/run/slurm-fabric/n3/spare-0-1
    wait_for 60 no_holder_waits
    run_as_root n3 touch -d 2001-02-03 $spare
    run_as_user srun -N1 -w n3 true
    assert_code 0
    run_as_root n3 find $spare -newermt 2002-02-03
    assert_output "^$spare\$" 1
    run_as_root n3 rm $spare
}

case_cyclic_step() { # EL-25 EL-52
    run_on_the_first srun -N2 -n4 --ntasks-per-node=2 -m cyclic "$SHOW"
    assert_output 'node n0 .* RMS_PROCID=[02] .*cap0=cyclic' 2
    assert_output 'node n1 .* RMS_PROCID=[13] .*cap0=cyclic' 2
}

case_contiguous_nodes_may_broadcast() { # EL-20 EL-21 EL-27
    run_on_the_first srun -N3 "$SHOW"
    assert_output 'cap0=block[+]bc,' 3
    run_as_user srun -N2 -w n0,n2 "$SHOW"
    assert_output 'cap0=block,' 2
    run_as_user srun -N2 --contiguous "$SHOW"
    assert_output 'cap0=block[+]bc,' 2
}

# Both steps of a job, another job, and both rails of each.
case_every_program_has_keys_of_its_own() { # EL-02 EL-30
    run_as_user srun -N1 -n2 "$SHOW" key # both tasks have the same two
    assert_code 0
    assert_equal 2 "$(grep '^key' <<<"$out" | sort -u | wc -l)" \
        "keys of a program of two rails"
    run_as_user salloc -Q -N1 sh -c "srun -n1 $SHOW key; srun -n1 $SHOW key"
    assert_code 0
    grep '^key' <<<"$out" >"$case_tmp/keys"
    for _ in 1 2; do
        run_as_user srun -N1 -n1 "$SHOW" key
        grep '^key' <<<"$out" >>"$case_tmp/keys"
    done
    # 4 programs, each with a key for each rail: 8 keys of 4 words, and no
    # word of them twice
    assert_equal 8 "$(wc -l <"$case_tmp/keys")" "keys"
    assert_equal 32 "$(tr ' ' '\n' <"$case_tmp/keys" | grep -v key | sort -u |
        wc -l)" "different words"
    assert_empty "$(grep -E ' (00000000|ffffffff)( |$)' "$case_tmp/keys")" \
        "constant words"
}

case_two_rails_and_one() { # EL-59 SL-13
    run_as_user srun -n1 "$SHOW"
    assert_output 'caps=2 .*cap0=.*rail=1 cap1=.*rail=2'
    run_as_user srun -n1 --network=rails=1 "$SHOW"
    assert_output 'caps=1 .*rail=1$'
}

case_extra_contexts() { # SL-13
    run_as_user srun -n1 --network=contexts=3,rails=1 "$SHOW" setcap 0 3 \
        setcap 0 4
    assert_output '^setcap: ok' 1
    assert_output '^setcap: Invalid argument' 1
}

case_unknown_network_word() { # SL-06 SL-13
    run_as_user srun -n1 --network=fast true
    assert_code_not 0
    assert_error 'Error configuring interconnect'
    assert_log slurmctld.log 'SF-E103 .*--network: fast: no such word'
}

# srun said "Error configuring interconnect" and no more; the reason was in
# slurmctld's log, which users do not read.
case_user_is_told_why_a_step_is_refused() { # SL-06
    local why='SF-E103 switch/elan refuses .*--network: fast: no such word; there are: .*rails'
    run_as_user srun -n1 --network=fast true
    assert_code_not 0
    assert_error "srun: .*$why"
    assert_error 'Error configuring interconnect'
    run_as_user srun -n1 --network=rails=9 true
    assert_code_not 0
    assert_error 'srun: .*--network: rails: .*9'
    run_as_user salloc -n1 srun --network=fast true
    assert_code_not 0
    assert_error "salloc: .*$why"
    run_as_user srun -n1 --network=fast true : -n1 true
    assert_code_not 0
    assert_error "srun: .*$why"
    printf '#!/bin/sh\nsrun -n1 --network=fast true\n' \
        >"$CLUSTER/tmp/refused.sh"
    chmod 755 "$CLUSTER/tmp/refused.sh"
    run_as_user sbatch -W -o "$WORK/refused.out" "$CLUSTER/tmp/refused.sh"
    wait_for 20 grep -qE "$why" "$WORK/refused.out"
    # Who asks again is refused again.
    run_as_user salloc -n1 sh -c 'srun --network=fast true; srun --network=fast true'
    assert_code_not 0
    assert_equal 2 "$(grep -c 'SF-E103 switch/elan refuses' <<<"$err")" told
    wait_for 30 no_job_left
    run_as_user srun -n1 true
    assert_code 0
}

case_batch_script_has_steps_but_no_program() { # SL-04
    cat >"$CLUSTER/tmp/batch.sh" <<SCRIPT
#!/bin/sh
echo "batch RMS=\${RMS_NPROCS-none}"
srun -n1 $SHOW
srun -n2 $SHOW
SCRIPT
    chmod 755 "$CLUSTER/tmp/batch.sh"
    run_as_user sbatch -W -n2 -o "$WORK/batch.out" "$CLUSTER/tmp/batch.sh"
    assert_code 0
    out=$(cat "$WORK/batch.out")
    assert_output '^batch RMS=none'
    assert_output 'RMS_NPROCS=1 ' 1
    assert_output 'RMS_NPROCS=2 ' 2
    assert_equal 2 "$(field prg | wc -w)" "programs"
}

case_components_of_a_hetjob_are_programs() { # EL-56 SL-12
    run_as_user srun -N1 -n2 "$SHOW" : -N2 -n3 "$SHOW"
    assert_code 0
    assert_output 'RMS_NPROCS=2 .*RMS_RANK=[01] ' 2
    assert_output 'RMS_NNODES=2 RMS_NPROCS=3 .*RMS_RANK=[012] ' 3
    assert_equal 2 "$(field prg | wc -w)" "programs"
}

case_components_of_a_hetstep_are_programs() { # EL-56 SL-12
    run_as_user salloc -Q -N2 --ntasks-per-node=2 \
        srun -N1 -n2 "$SHOW" : -N1 -n1 "$SHOW"
    assert_code 0
    assert_output 'RMS_NPROCS=2 .*RMS_RANK=[01] ' 2
    assert_output 'RMS_NPROCS=1 .*RMS_RANK=0 ' 1
    assert_equal 2 "$(field prg | wc -w)" "programs"
}

case_interactive_step_has_no_program() { # SL-04
    run_as_user salloc -Q -n2 -w n0 srun --interactive sh -c \
        "echo interactive RMS=\${RMS_NPROCS-none}; $SHOW; srun -n2 $SHOW"
    assert_code 0
    assert_output '^interactive RMS=none$' 1
    assert_output ' prg=No such file or directory' 1
    assert_output ' RMS_NPROCS=2 .* prg=[0-9]+ ' 2
}

case_each_distribution_reaches_its_tasks() { # EL-26
    local d
    for d in block cyclic plane=2 block:cyclic; do
        run_as_user srun -N3 -n6 -m "$d" "$SHOW"
        assert_code 0
        assert_output '^task ([0-9]+) .* RMS_PROCID=\1 RMS_RANK=\1 .*ctx=1' 6
    done
    printf 'n1\nn0\nn1\n' >"$CLUSTER/tmp/hosts"
    chmod 644 "$CLUSTER/tmp/hosts"
    run_as_user env SLURM_HOSTFILE="$CLUSTER/tmp/hosts" srun -n3 -m arbitrary \
        "$SHOW"
    assert_code 0
    assert_output '^task ([0-9]+) .* RMS_PROCID=\1 RMS_RANK=\1 .*ctx=1' 3
    assert_output ' cap0=block[+a-z]*[+]map,' 3
    run_as_user srun -N3 -n6 -m cyclic "$SHOW"
    assert_output '[+]map' 0
}

# A waiting srun asks again when slurmctld connects, or by itself after a
# minute or two.
times_told() {
    grep -c 'waiting launches are told' "$CLUSTER/log/slurmctld.log"
}

times_waited() {
    grep -c 'switch/elan: step .* waits: ' "$CLUSTER/log/slurmctld.log"
}

# No srun of 25.11 and later is told to ask again (doc/elan.md).
need_waiting() {
    ! slurm_since 25.11 ||
        skip "a step that finds no contexts is refused at once"
}

case_full_pool_waits_then_runs() { # EL-18 SL-05
    need_waiting
    local holder told
    run_as_user rm -f "$WORK/go"
    start_as_user salloc -Q -N1 -n2 sh -c "
        srun -n1 --exact --network=contexts=12 sh -c \
            ': >$WORK/first; until [ -e $WORK/go ]; do sleep 0.1; done' &
        until [ -e $WORK/first ]; do sleep 0.1; done
        srun -n1 --exact --network=contexts=12 $SHOW
        wait"
    holder=$!
    wait_for 20 log_has slurmctld.log 'switch/elan: step .* waits: '
    assert_empty "$(cat "$case_tmp/bg.out")" "ran too early"
    told=$(times_told)
    run_as_user touch "$WORK/go"
    wait "$holder"
    assert_equal 0 $? "exit code"
    out=$(cat "$case_tmp/bg.out")
    assert_output 'caps=2'
    assert_equal $((told + 1)) "$(times_told)" "told"
    wait_for 10 programs_are 0
}

one_more_waits() { # than $1; it may ask again meanwhile
    [ "$(times_waited)" -gt "$1" ]
}

# Slurm itself wakes only what waits for the same job's nodes.
case_step_of_another_job_is_woken() { # EL-18
    local told waits holder
    need_waiting
    told=$(times_told) waits=$(times_waited)
    run_as_user rm -f "$WORK/go" "$WORK/first"
    start_as_user srun -n1 -w n0 --network=contexts=15 sh -c \
        ": >$WORK/first; until [ -e $WORK/go ]; do sleep 0.1; done"
    holder=$!
    wait_for 20 test -e "$WORK/first"
    "$MINISLURM" exec --dir "$CLUSTER" -- srun -n1 -w n0 "$SHOW" \
        >"$case_tmp/other" 2>&1 &
    wait_for 20 one_more_waits "$waits"
    run_as_user touch "$WORK/go"
    wait $! || fail "the waiting launch failed"
    wait $holder
    out=$(cat "$case_tmp/other")
    assert_output '^task 0 '
    assert_equal $((told + 1)) "$(times_told)" "told"
    wait_for 20 no_job_left
}

case_immediate_bounds_the_wait() { # EL-18 SL-07
    need_waiting
    start_as_user srun -n1 -w n0 --network=contexts=15 sh -c \
        "echo in; until [ -e $WORK/full ]; do sleep 0.1; done"
    wait_for 20 grep -q in "$case_tmp/bg.out"
    run_as_user srun --immediate=5 -n1 -w n0 true
    assert_code 1
    assert_error 'Unable to create step .*Switch resources currently not'
    run_as_user srun --immediate=5 -n1 -w n1 true : -n1 -w n0 true
    assert_code 1
    run_as_user touch "$WORK/full"
    wait_for 20 no_job_left
    run_as_user rm -f "$WORK/full"
}

# From 25.11 on, in place of the wait: the user reads why, the job goes on, and
# its next step runs when there is room.
case_full_pool_refuses_and_says_why() { # EL-18 SL-05
    local job
    slurm_since 25.11 || skip "a step that finds no contexts waits"
    run_as_user rm -f "$WORK/go" "$WORK/first" "$WORK/room"
    start_as_user srun -n1 -w n0 --network=contexts=15 sh -c \
        ": >$WORK/first; until [ -e $WORK/go ]; do sleep 0.1; done"
    wait_for 20 test -e "$WORK/first"
    "$MINISLURM" exec --dir "$CLUSTER" -- salloc -n1 -w n0 sh -c \
        "srun true && exit 9
        until [ -e $WORK/room ]; do sleep 0.1; done
        srun $SHOW" >"$case_tmp/other" 2>"$case_tmp/other.err" &
    job=$!
    wait_for 30 grep -q 'SF-E103 .*no .*contexts' "$case_tmp/other.err"
    run_as_user touch "$WORK/go"
    wait_for 20 programs_are 0
    run_as_user touch "$WORK/room"
    wait $job
    assert_equal 0 $? "exit code of the job"
    out=$(cat "$case_tmp/other")
    assert_output '^task 0 ' 1
    wait_for 20 no_job_left
    wait
}

# Each holds what the other's second component wants.
case_crossing_launches_do_not_hang() { # SL-07
    local all='-n1 --network=contexts=15'
    # shellcheck disable=SC2086
    start_as_user srun --immediate=3 $all -w n0 true : $all -w n1 true
    # shellcheck disable=SC2086
    run_as_user srun --immediate=3 $all -w n1 true : $all -w n0 true
    assert_code_not 124
    wait_for 40 no_job_left
    wait_for 10 programs_are 0
    wait
}

case_two_hundred_steps_leave_the_pool_empty() { # EL-19 SL-10
    local before after
    before=$(grep -c 'programs live' "$CLUSTER/log/slurmctld.log")
    cat >"$CLUSTER/tmp/churn.sh" <<'SCRIPT'
#!/bin/sh
for n in n0 n1 n2 n3; do
    (i=0; while [ $i -lt 50 ]; do
        srun -Q -N1 -n$((1 + i % 2)) -w $n --exact true || exit 1
        i=$((i + 1))
    done) &
    jobs="$jobs $!"
done
for j in $jobs; do wait $j || exit 1; done
SCRIPT
    chmod 755 "$CLUSTER/tmp/churn.sh"
    LIMIT=240 run_as_user salloc -Q -N4 --ntasks-per-node=2 "$CLUSTER/tmp/churn.sh"
    assert_code 0
    wait_for 10 programs_are 0
    after=$(grep -c 'programs live' "$CLUSTER/log/slurmctld.log")
    [ $((after - before)) -ge 200 ] || fail "only $((after - before)) steps"
}

run_cases
