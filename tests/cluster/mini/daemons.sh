# SPDX-License-Identifier: BSD-3-Clause
# Starting and stopping the daemons of a cluster, and running commands on its
# nodes.  Uses: dir, id, mini, user.

# spawn PLACE LOG COMMAND..: start it in the place's cgroups, in a session of
# its own, without any of our descriptors.
spawn() {
    local place=$1 log=$2
    shift 2
    (
        cg_enter "$id" "$place" leaf
        exec setsid -f "$@" </dev/null >>"$log" 2>&1 7>&- 8>&- 9>&-
    )
}

# The words that run a command inside a place.
nsenter_words() {
    echo "nsenter -t $(cat "$dir/ns/$1") -r -u -m -C --"
}

start_holder() {
    (
        cg_enter "$id" "$1"
        exec setsid -f unshare --uts --mount --cgroup \
            bash "$mini/holder.sh" "$mini" "$dir" "$id" "$1" "$fabric_etc" \
            </dev/null >>"$dir/log/holder.$1.log" 2>&1 7>&- 8>&- 9>&-
    )
    wait_until 10 test -r "$dir/ns/$1" || {
        cat "$dir/log/holder.$1.log" >&2
        die "cannot set up the namespaces of $1"
    }
}

start_munged() {
    # shellcheck disable=SC2046
    spawn "$1" "$dir/log/munged.$1.log" $(nsenter_words "$1") \
        setpriv --reuid munge --regid munge --clear-groups \
        munged -F --num-threads 4 -S "$dir/munge.$1/munge.socket" \
        --key-file "$dir/etc/munge.key" \
        --pid-file "$dir/munge.$1/munged.pid" \
        --seed-file "$dir/munge.$1/munged.seed" \
        --log-file "$dir/munge.$1/munged.log"
    wait_until 10 test -S "$dir/munge.$1/munge.socket" || {
        cat "$dir/log/munged.$1.log" "$dir/munge.$1/munged.log" >&2
        die "munged of $1 does not start"
    }
}

start_daemon() {
    case $1 in
    ctl | slurmctld)
        # shellcheck disable=SC2046
        spawn ctl "$dir/log/slurmctld.err" $(nsenter_words ctl) \
            slurmctld -D -i -f "$dir/etc/slurm.conf" ;;
    *)
        # shellcheck disable=SC2046
        spawn "$1" "$dir/log/slurmd.$1.err" $(nsenter_words "$1") \
            slurmd -D -N "$1" -f "$dir/etc/slurm.conf" ;;
    esac
}

# The pid of a daemon that runs, by its pid file; checked to be ours.
daemon_pid() {
    local file=$dir/state/slurmd.$1.pid pid
    case $1 in ctl | slurmctld) file=$dir/state/slurmctld.pid ;; esac
    pid=$(cat "$file" 2>/dev/null) || return 1
    cg_pids "$id" | grep -qx "$pid" && echo "$pid"
}

stop_daemon() {
    local pid stamp
    pid=$(daemon_pid "$1") || return 0
    stamp=$(proc_stamp "$pid") || return 0
    "$mini/pidkill" "$2" "cgroup=/minislurm-$id/" "$pid"
    # shellcheck disable=SC2086
    wait_until 20 proc_gone $stamp || die "$1 ($pid) does not stop"
}

nodes_ready() {
    local states
    states=$(SLURM_CONF=$dir/etc/slurm.conf timeout "$(patience 5)" \
        sinfo -h -N -o %T 2>/dev/null) || return 1
    [ "$(grep -c . <<<"$states")" = "$nodes" ] &&
        ! grep -qvE '^(idle|mixed|allocated)$' <<<"$states"
}

ready_or_dead() {
    grep -qs ': fatal:' "$dir"/log/slurm*.err || nodes_ready
}

show_logs() {
    local f
    for f in "$dir"/log/*; do
        [ -s "$f" ] || continue
        echo "--- ${f##*/}"
        tail -n "${1:-40}" "$f"
    done
}

start_all() {
    local k
    for k in ctl $(node_names); do
        start_holder "$k"
        start_munged "$k"
    done
    start_daemon ctl
    for k in $(node_names); do start_daemon "$k"; done
    wait_until 60 ready_or_dead
    nodes_ready && return 0
    show_logs 30 >&2
    die "the cluster did not become ready"
}
