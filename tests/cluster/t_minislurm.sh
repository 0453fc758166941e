#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# The embedded cluster itself: it starts, runs jobs, and leaves nothing.
. "$(dirname "$0")/lib.sh"
cluster_up --nodes 4 --switch none

case_srun_on_four_nodes() {
    run_as_user srun -N4 printenv SLURMD_NODENAME
    assert_code 0
    assert_equal "n0 n1 n2 n3" "$(sort <<<"$out" | xargs)" "names"
}

case_each_node_has_a_host_name_of_its_own() {
    need_namespaces
    run_as_user srun -N4 hostname
    assert_equal "n0 n1 n2 n3" "$(sort <<<"$out" | xargs)" "host names"
}

# What a container's root has: the environment says where a node's files are.
case_without_namespaces_and_cgroups() {
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    capture_two_nodes "$d" --plain -- srun -N2 sh -c '
        echo "$SLURMD_NODENAME $(uname -n) $SLURM_FABRIC_CONFDIR"
        setsid sleep 300 <&- >&- 2>&- &'
    assert_code 0
    assert_output "^n[01] $(uname -n) $d/etc.fabric$" 2
    assert_empty "$err" "stderr"
    assert_empty "$(traces "$d")" "left behind"
}

# So that a step of one node is opened there by a munged that has not seen it.
case_plain_nodes_have_munged_and_run_time_directories() {
    local d k
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    capture_two_nodes "$d" --plain -- sh -c 'cd "$MINISLURM_DIR" &&
        for k in ctl n0 n1; do stat -Lc %i munge.$k/munge.socket run.$k/.; done
        grep -h ^AuthInfo etc/slurm*.conf'
    assert_code 0
    assert_equal 9 "$(sort -u <<<"$out" | wc -l)" "files of their own"
}

case_plain_refuses_proctrack_cgroup() {
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    capture_two_nodes "$d" --plain --proctrack cgroup -- true
    assert_code 2
    assert_error 'proctrack cgroup needs a writable cgroup tree'
    rmdir "$d"
}

# hsnd shows its memory to nobody; a container's root may not look all the same.
case_plain_ends_who_cannot_be_looked_at() {
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    # shellcheck disable=SC2089 # a program in Python, as it stands
    hidden='import ctypes, os, sys, time
ctypes.CDLL(None).prctl(4, 0)
os.rename(sys.argv[1] + ".new", sys.argv[1])
time.sleep(300)'
    # shellcheck disable=SC2090
    export hidden
    capture setpriv --bounding-set="$(sed -n 's/^container_caps=//p' \
        "$SF_TOP_SRCDIR/tests/cluster/fresh")" -- \
        env -u MINISLURM_DIR -u SLURM_CONF "$MINISLURM" run --dir "$d" \
        --nodes 1 --switch none --plain -- sh -c 'f=$MINISLURM_DIR/work/hidden
        touch $f.new
        setsid python3 -c "$hidden" $f <&- >&- 2>&- &
        until [ -e $f ]; do sleep 0.1; done
        ls -l /proc/$!/environ'
    assert_code 0
    assert_output ' root root '
    assert_empty "$(traces "$d")" "left behind"
}

case_job_user_is_unprivileged() {
    run_as_user srun -n1 id -un
    assert_equal "$JOB_USER" "$out"
}

case_exit_code_of_task() {
    run_as_user srun -n1 sh -c 'exit 7'
    assert_code 7
}

case_batch_script() {
    run_as_user sh -c 'cd $HOME && printf "#!/bin/sh\nsrun -n2 printenv SLURMD_NODENAME\n" |
        sbatch -W -n2 -o out.txt && cat out.txt'
    assert_code 0
    assert_output '^n0$' 2
}

case_each_node_has_its_own_munged() {
    need_namespaces
    run_as_user srun -N2 sh -c 'stat -c %i '"$CLUSTER/munge/munge.socket"
    assert_equal 2 "$(sort -u <<<"$out" | wc -l)" "different sockets"
}

case_restart_of_slurmctld() {
    local before
    before=$(daemon pid slurmctld)
    daemon kill slurmctld
    daemon start slurmctld
    wait_for 20 scontrol ping
    wait_for 20 daemon pid slurmctld
    [ "$before" != "$(daemon pid slurmctld)" ] || fail "still pid $before"
    run_as_user srun -N4 true
    assert_code 0
}

# "stop" did nothing to a daemon that had not yet written its pid file, and the
# next "start" made a second one.
case_daemon_is_stopped_before_its_pid_file_is_there() {
    rm "$CLUSTER/state/slurmd.n3.pid"
    daemon stop n3
    daemon pid n3 && fail "it still runs"
    daemon start n3
    run_as_user srun -N4 true
    assert_code 0
}

# Everything that carries the name of the cluster's directory.  Other clusters
# come and go, and may leave something.
traces() {
    local d=$1
    grep -lF "$d" /proc/[0-9]*/cmdline 2>/dev/null
    ls -d "$d" 2>/dev/null
    grep -lxF "$d" /dev/shm/minislurm-*/cluster 2>/dev/null
    grep -lF "$d" /run/minislurm/*/dir 2>/dev/null
    return 0
}

no_traces() {
    [ -z "$(traces "$1")" ]
}

# Replaces the shell that calls it, so that $! is minislurm itself.
run_two_nodes() {
    exec env -u MINISLURM_DIR -u SLURM_CONF "$MINISLURM" run --dir "$1" \
        --nodes 2 --switch none "${@:2}"
}

# What it printed is shown when the case fails.
capture_two_nodes() {
    capture env -u MINISLURM_DIR -u SLURM_CONF "$MINISLURM" run --dir "$1" \
        --nodes 2 --switch none "${@:2}"
}

case_run_returns_exit_code() {
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    capture_two_nodes "$d" -- \
        srun -N2 sh -c 'setsid sleep 300 <&- >&- 2>&- & exit 5'
    assert_code 5
    assert_empty "$(traces "$d")" "left behind"
}

# Its keeper, which looks up from reading three times a second, took "p" for
# another word than "up" and ended a cluster that had just come up.
case_cluster_whose_word_comes_in_two_parts_stays() {
    local d pid began ports id=mshalves$$
    ports=/run/minislurm/$id/ports
    d=$(mktemp -u /tmp/minislurm.XXXXXX)
    setsid "$MINISLURM" keeper "$d" $id 1 >/dev/null 2>&1 \
        < <(printf u; wait_until 20 test -s $ports; sleep 1; echo p) &
    pid=$! began=$(started $!)
    wait_for 20 test -s $ports
    wait_for 20 pgrep -P "$pid" -x sleep # it looks after its owner now
    "$SF_TOP_SRCDIR/tests/cluster/mini/pidkill" TERM "start=$began" "$pid"
    wait "$pid"
    assert_empty "$(traces "$d")" "left behind"
}

case_what_another_cluster_left_is_not_ours() {
    local d m=/dev/shm/minislurm-msother$$
    d=$(mktemp -u /tmp/minislurm.XXXXXX)
    mkdir "$m"
    echo /tmp/minislurm.other >"$m/cluster"
    assert_empty "$(traces "$d")" "another's"
    echo "$d" >"$m/cluster"
    assert_equal "$m/cluster" "$(traces "$d")" "ours"
    rm -r "$m"
}

case_both_proctracks() {
    need_cgroups
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    capture_two_nodes "$d" --proctrack cgroup -- \
        srun -N2 cat /proc/self/cgroup
    assert_code 0
    assert_output 'job_1/step_0'
    assert_empty "$(traces "$d")" "left behind"
}

case_pid_of_a_stranger_is_not_killed() {
    local pid began pidkill=$SF_TOP_SRCDIR/tests/cluster/mini/pidkill
    sleep 300 &
    pid=$! began=$(started $!)
    "$pidkill" KILL "start=$((began + 1))" "$pid"
    assert_equal 0 $? "exit code"
    "$pidkill" KILL "cgroup=/minislurm-of-nobody/" "$pid"
    assert_equal 0 $? "exit code"
    assert_equal "$began" "$(started "$pid")" "start time"
    "$pidkill" TERM "start=$began" "$pid"
    wait "$pid"
    assert_equal 143 $? "exit code of who is meant"
    "$pidkill" KILL "start=$began" "$pid" # nobody any more
    assert_equal 0 $? "exit code"
}

case_interrupted_run_leaves_nothing() {
    local d pid began
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    run_two_nodes "$d" -- srun -N2 sleep 300 >/dev/null 2>&1 &
    pid=$! began=$(started $!)
    wait_for 20 grep -q StepId=1.0 "$d/log/slurmd.n0.log"
    "$SF_TOP_SRCDIR/tests/cluster/mini/pidkill" KILL "start=$began" "$pid"
    wait "$pid" 2>/dev/null
    wait_for 20 no_traces "$d"
}

# `up` has no owner who is watched: what it had made stayed for ever.  (With a
# node that is drained it does not come to its end before it is killed.)
case_killed_while_it_comes_up_leaves_nothing() {
    local d pid began made
    for made in log etc/slurm.conf ns/ctl log/slurmctld.log; do
        d=$(mktemp -d /tmp/minislurm.XXXXXX)
        ( exec env -u MINISLURM_DIR -u SLURM_CONF "$MINISLURM" up --dir "$d" \
            --nodes 2 --switch none --conf 'DownNodes=n1 State=DRAIN' \
            >/dev/null 2>&1 ) &
        pid=$! began=$(started $!)
        wait_for 30 test -e "$d/$made"
        "$SF_TOP_SRCDIR/tests/cluster/mini/pidkill" KILL "start=$began" "$pid"
        wait "$pid" 2>/dev/null
        wait_for 30 no_traces "$d" || traces "$d" | sed "s,^,# $made: ,"
    done
}

# One that was killed while it made its entry.
case_entry_without_a_keeper_is_swept() {
    mkdir -p /run/minislurm/msnobody1
    ( run_two_nodes "$(mktemp -d /tmp/minislurm.XXXXXX)" -- true \
        >/dev/null 2>&1 )
    assert_equal 0 $? "exit code"
    [ ! -e /run/minislurm/msnobody1 ] || fail "it is still there"
}

case_terminated_run_leaves_nothing() {
    local d pid began
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    run_two_nodes "$d" -- srun -N2 sleep 300 >/dev/null 2>&1 &
    pid=$! began=$(started $!)
    wait_for 20 grep -q StepId=1.0 "$d/log/slurmd.n0.log"
    "$SF_TOP_SRCDIR/tests/cluster/mini/pidkill" TERM "start=$began" "$pid"
    wait "$pid" && fail "exit code 0"
    assert_empty "$(traces "$d")" "left behind"
}

case_two_clusters_at_once() {
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    env -u MINISLURM_DIR -u SLURM_CONF "$MINISLURM" up --dir "$d" \
        --owner $$ --nodes 2 --switch none >/dev/null
    assert_equal 0 $? "exit code of up"
    capture "$MINISLURM" exec --dir "$d" -- srun -N2 true
    assert_code 0
    run_as_user srun -N4 true
    assert_code 0
    "$MINISLURM" down --dir "$d"
    assert_empty "$(traces "$d")" "left behind"
    "$MINISLURM" down --dir "$d"
    assert_equal 0 $? "second down"
    run_as_user srun -N4 true
    assert_code 0
}

case_all_waits_are_longer_on_a_slow_machine() {
    (
        . "$SF_TOP_SRCDIR/tests/cluster/mini/patience.sh"
        SF_SLOW=2 SECONDS=0
        ! wait_until 1 false && [ $SECONDS -ge 2 ]
    )
    assert_equal 0 $? "wait_until 1 with SF_SLOW=2"
    assert_empty "$(grep -nE 'timeout (-k [0-9]+ )?[0-9]|seq [0-9]+[);]' \
        "$MINISLURM" "${MINISLURM%/*}"/{fabric.sh,mini/*.sh} \
        "$SF_TOP_SRCDIR/tools/demo")" "limits of their own"
    assert_equal "30 100 " "$(for slow in 3 20 ''; do message_timeout "$slow"; done)" \
        "MessageTimeout of Slurm"
}

message_timeout() { # SF_SLOW
    (
        for part in patience conf; do . "${MINISLURM%/*}/mini/$part.sh"; done
        dir=/ plain='' no_cgroup='' switch=none mpi_default=none proctrack=pgid ports=(1) SF_SLOW=$1
        conf_defaults | sed -n 's/^MessageTimeout=//p' | tr '\n' ' '
    )
}

case_unready_cluster_leaves_nothing() {
    local d
    d=$(mktemp -d /tmp/minislurm.XXXXXX)
    capture env -u MINISLURM_DIR "$MINISLURM" up --dir "$d" --nodes 1 \
        --switch none --conf SelectType=select/nonsense
    assert_code 2
    assert_empty "$(traces "$d")" "left behind"
}

run_cases
