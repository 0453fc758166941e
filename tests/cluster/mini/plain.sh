# SPDX-License-Identifier: BSD-3-Clause
# A cluster on a machine that allows no namespaces, or has no cgroup tree that
# can be written to (a container's root): the nodes share host name, /dev/shm
# and /etc/hosts of the machine; the environment says where a node's files are.
# Its processes are found by a word in their environment, and with them all who
# descend from them.  What leaves its parents and empties its environment is
# not found: whoever wants that to be seen wants cgroups.
# Uses: dir, id, mini, registry, switch, memory_dir().

plain_environment() { # PLACE
    export MINISLURM_ID=$id MINISLURM_PLACE=$1
    [ "$1" = ctl ] || export SLURMD_NODENAME=$1 # what scontrol asks for
    SLURM_FABRIC_RUNDIR=$(readlink -f "$dir/run.$1") # it may be in memory
    export SLURM_FABRIC_RUNDIR SLURM_FABRIC_CONFDIR=$dir/etc.fabric
    SLURM_CONF=$dir/etc/slurm.conf
    [ "$1" = ctl ] || [ ! -e "$dir/etc/slurm.$1.conf" ] ||
        SLURM_CONF=$dir/etc/slurm.$1.conf
    export SLURM_CONF
}

# plain_members ID: "PID:START" of every process of the cluster.
plain_members() {
    "$mini/members" "MINISLURM_ID=$1" "$(cat "$registry/$1/dir")" \
        "$(memory_dir "$1")"
}

plain_pids() {
    plain_members "$1" | cut -d: -f1
}

# plain_kill ID SIGNAL PID..: those that are members.
plain_kill() {
    local signal=$2 id=$1 pid members
    shift 2
    members=$(plain_members "$id")
    for pid; do grep "^$pid:" <<<"$members"; done |
        xargs -r "$mini/pidkill" "$signal" stamps
}

# plain_erase ID: kill all members; true when there is none any more.
plain_erase() {
    local members
    members=$(plain_members "$1") || return 1
    [ -n "$members" ] || return 0
    # shellcheck disable=SC2086
    "$mini/pidkill" KILL stamps $members
    return 1
}
