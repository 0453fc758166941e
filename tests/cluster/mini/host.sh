# SPDX-License-Identifier: BSD-3-Clause
# What clusters on one machine share: a registry (one directory per live
# cluster: dir, ports, keeper) under a lock, free ports, the check of tools.

registry=/run/minislurm
runtime_dir=/run/slurm-fabric

die() {
    echo "minislurm: $*" >&2
    exit 2
}

# host_why_not: why no cluster can run here (nothing printed: it can).
host_why_not() {
    local tool
    [ "$(id -u)" = 0 ] || { echo "must run as root"; return; }
    for tool in slurmctld slurmd scontrol srun munged unshare nsenter \
        setpriv perl flock; do
        command -v $tool >/dev/null ||
            { echo "$tool is not installed (see packages.txt)"; return; }
    done
    for tool in slurm munge; do
        getent passwd $tool >/dev/null ||
            { echo "there is no user $tool"; return; }
    done
}

# host_why_plain: why a cluster here has no namespaces and no cgroups.
host_why_plain() {
    if [ -n "${MINISLURM_PLAIN-}" ]; then
        echo "so wanted"
    elif ! spaces unshare --uts --cgroup true 2>/dev/null; then
        echo "no mount namespaces"
    elif [ ! -f /etc/hosts ]; then
        echo "no /etc/hosts"
    elif ! cg_writable; then
        echo "no writable cgroup tree"
    fi
}

# spaces COMMAND..: in a mount namespace from which no mount gets out.  A root
# directory that is no mount point (a chroot) cannot be made private from
# within, so that is done from the namespace's own root directory.
spaces() {
    # shellcheck disable=SC2016
    unshare --mount --propagation unchanged sh -c '
        mount --make-rprivate / 2>/dev/null ||
            nsenter -m/proc/self/ns/mnt mount --make-rprivate / || exit
        exec "$@"' spaces "$@"
}

# registry_locked FUNCTION ARG..: call it while no other cluster registers.
registry_locked() {
    mkdir -p $registry
    (
        flock 8
        "$@"
    ) 8>$registry/.lock
}

# A process that is still the same one: pid and start time.
proc_stamp() {
    local stat
    stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
    set -- "$1" ${stat##*) }
    [ "$2" != Z ] && echo "$1 ${21}"
}

proc_alive() {
    [ -n "${2-}" ] && [ "$(proc_stamp "$1")" = "$1 $2" ]
}

proc_gone() {
    ! proc_alive "$@"
}

# Print a run of COUNT free TCP ports below the ephemeral range that no other
# cluster has reserved.
ports_free() {
    perl -MIO::Socket::INET -e '
        my ($count, %taken) = (shift);
        $taken{$_} = 1 for map { split } @ARGV;
        srand($$ ^ time);
        TRY: for (1 .. 500) {
            my $first = 20000 + int(rand(12000 - $count));
            for my $p ($first .. $first + $count - 1) {
                next TRY if $taken{$p};
                IO::Socket::INET->new(LocalAddr => "0.0.0.0", Listen => 1,
                    LocalPort => $p, Proto => "tcp") or next TRY;
            }
            print join(" ", $first .. $first + $count - 1), "\n";
            exit 0;
        }
        exit 1;' "$1" "$(cat $registry/*/ports 2>/dev/null)"
}

# registry_add ID DIR COUNT: make a cluster's directory and reserve its ports;
# sweeps what dead keepers left.  Called by the cluster's keeper.
registry_add() {
    registry_sweep
    mkdir -p "$registry/$1"
    proc_stamp $$ >"$registry/$1/keeper"
    echo "$2" >"$registry/$1/dir"
    mkdir -p "$2/log" && touch "$2/.minislurm" || return 1
    ports_free "$3" >"$registry/$1/ports.new" ||
        { echo "minislurm: no free ports" >&2; return 1; }
    mv "$registry/$1/ports.new" "$registry/$1/ports"
    if [ ! -d $runtime_dir ] && [ -z "$plain" ]; then
        mkdir -m 755 $runtime_dir
        touch $registry/.made-runtime-dir
    fi
}

# What of a cluster is in memory.
memory_dir() {
    echo "/dev/shm/minislurm-$1"
}

# registry_remove ID: the last one out removes the mount point if we made it.
registry_remove() {
    rm -rf "${registry:?}/${1:?}"
    [ -z "$(ls $registry)" ] || return 0
    if [ -e $registry/.made-runtime-dir ]; then
        rm -f $registry/.made-runtime-dir
        rmdir $runtime_dir 2>/dev/null
    fi
    return 0
}

# Under the lock, so an entry without its keeper's name is of one that was
# killed while it made it.
registry_sweep() {
    local entry
    for entry in $registry/*/; do
        [ -d "$entry" ] || continue
        # shellcheck disable=SC2046
        proc_alive $(cat "$entry/keeper" 2>/dev/null) && continue
        cluster_erase "$(basename "$entry")" "$(cat "$entry/dir" 2>/dev/null)"
    done
    return 0
}

# cluster_erase ID DIR: kill and remove all of a cluster but its registration.
# A process that was on its way into a control group is met in the next round.
cluster_erase() {
    [ -d "$registry/$1" ] || return 0
    wait_until 60 cg_erase "$1"
    [ ! -e "$registry/$1/plain" ] || wait_until 60 plain_erase "$1"
    [ -f "$2/.minislurm" ] && [ ! -e "$2/.keep" ] && rm -rf "${2:?}"
    rm -rf "$(memory_dir "${1:?}")"
    registry_remove "$1"
}
