# SPDX-License-Identifier: BSD-3-Clause
# Starting and stopping the daemons of a cluster, and running commands on its
# nodes.  Uses: dir, id, mini, user.

# spawn PLACE LOG COMMAND..: start it in the place's cgroups, in a session of
# its own, without any of our descriptors.
spawn() {
    local place=$1 log=$2
    shift 2
    (
        if [ -n "$plain" ]; then
            plain_environment "$place"
        else
            cg_enter "$id" "$place" leaf
        fi
        exec setsid -f "$@" </dev/null >>"$log" 2>&1 7>&- 8>&- 9>&-
    )
}

# The words that run a command inside a place.
nsenter_words() {
    [ -z "$plain" ] || return 0
    echo "nsenter -t $(cat "$dir/ns/$1") -r -u -m -C --wdns=/ --"
}

start_holder() {
    if [ -n "$plain" ]; then
        : >"$dir/ns/$1"
        return
    fi
    (
        cg_enter "$id" "$1"
        # shellcheck disable=SC2030
        export -f spaces
        exec setsid -f bash -c 'spaces unshare --uts --cgroup "$@"' spaces \
            bash "$mini/holder.sh" "$mini" "$dir" "$id" "$1" "$fabric_etc" \
            </dev/null >>"$dir/log/holder.$1.log" 2>&1 7>&- 8>&- 9>&-
    )
    wait_until 60 test -r "$dir/ns/$1" || {
        cat "$dir/log/holder.$1.log" >&2
        die "cannot set up the namespaces of $1"
    }
}

start_munged() {
    # shellcheck disable=SC2046
    spawn "$1" "$dir/log/munged.$1.log" $(nsenter_words "$1") \
        setpriv --reuid munge --regid munge --clear-groups \
        munged -F --num-threads 4 ${plain:+--origin "$(place_addr "$1")"} -S "$dir/munge.$1/munge.socket" \
        --key-file "$dir/etc/munge.key" \
        --pid-file "$dir/munge.$1/munged.pid" \
        --seed-file "$dir/munge.$1/munged.seed" \
        --log-file "$dir/munge.$1/munged.log"
    wait_until 60 test -S "$dir/munge.$1/munge.socket" || {
        cat "$dir/log/munged.$1.log" "$dir/munge.$1/munged.log" >&2
        die "munged of $1 does not start"
    }
}

# Where start_daemon writes who it is, pid and start time.  (The daemon's own
# pid file comes when it likes, and a daemon that is stopped before that is to
# be met, too.)
daemon_file() {
    case $1 in
    ctl | slurmctld) echo "$dir/state/slurmctld.stamp" ;;
    *) echo "$dir/state/slurmd.$1.stamp" ;;
    esac
}

# spawn_stamped FILE PLACE LOG COMMAND..: and its stamp in FILE.
spawn_stamped() {
    local file=$1
    rm -f "$file"
    # shellcheck disable=SC2016
    spawn "$2" "$3" sh -c 'awk "{ print \$1, \$22 }" /proc/$$/stat >"$0.new" &&
        mv "$0.new" "$0" && exec "$@"' "$file" "${@:4}"
}

# Comes back before the daemon, even before its stamp, is there.
start_daemon() {
    case $1 in
    ctl | slurmctld)
        # shellcheck disable=SC2046
        spawn_stamped "$(daemon_file ctl)" ctl "$dir/log/slurmctld.err" \
            $(nsenter_words ctl) slurmctld -D -i -f "$dir/etc/slurm.conf" ;;
    *)
        # shellcheck disable=SC2046
        spawn_stamped "$(daemon_file "$1")" "$1" "$dir/log/slurmd.$1.err" \
            $(nsenter_words "$1") slurmd -D -N "$1" -f "$(conf_of "$1")" ;;
    esac
}

daemon_stamp() {
    cat "$(daemon_file "$1")" 2>/dev/null
}

# The pid of a daemon that runs.
daemon_pid() {
    local stamp
    stamp=$(daemon_stamp "$1") || return 1
    # shellcheck disable=SC2086
    proc_alive $stamp && echo "${stamp% *}"
}

# How often a slurmd has said that it listens.
times_started() {
    cat "$dir/log/slurmd.$1.log" 2>/dev/null | grep -c '\] slurmd started on '
}

# It takes steps from now on, or is dead.
slurmd_decided() { # NODE TIMES-BEFORE
    [ "$(times_started "$1")" != "$2" ] || ! daemon_pid "$1"
}

# start_and_wait NAME: a slurmctld is waited for with `scontrol ping`.
start_and_wait() {
    local before
    before=$(times_started "$1")
    start_daemon "$1"
    wait_until 60 test -e "$(daemon_file "$1")" || die "$1 does not start"
    case $1 in ctl | slurmctld) return ;; esac
    wait_until 60 slurmd_decided "$1" "$before" || die "$1 says nothing"
}

stop_daemon() {
    local stamp
    stamp=$(daemon_stamp "$1") || return 0
    "$mini/pidkill" "$2" "start=${stamp#* }" "${stamp% *}"
    # shellcheck disable=SC2086
    wait_until 60 proc_gone $stamp || die "$1 (${stamp% *}) does not stop"
}

nodes_ready() {
    local states
    states=$(SLURM_CONF=$dir/etc/slurm.conf timeout "$(patience 20)" \
        sinfo -h -N -o %T 2>/dev/null) || return 1
    [ "$(grep -c . <<<"$states")" = "$nodes" ] &&
        ! grep -qvE '^(idle|mixed|allocated)$' <<<"$states"
}

one_is_dead() {
    grep -qs ': fatal:' "$dir"/log/slurm*.err
}

ready_or_dead() {
    one_is_dead || nodes_ready
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
    wait_until 120 ready_or_dead && ! one_is_dead && return 0
    show_logs 30 >&2
    die "the cluster did not become ready"
}
